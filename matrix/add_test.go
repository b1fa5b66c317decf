package matrix

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAddAgreesWithModel(t *testing.T) {
	everyType(t, properties{
		f64: adds[float64], f32: adds[float32], i64: adds[int64], i32: adds[int32], i16: adds[int16], i8: adds[int8],
		u64: adds[uint64], u32: adds[uint32], u16: adds[uint16], u8: adds[uint8],
	})
}

// adds adds a block to dense values and to columns that lie somewhere near it.
func adds[T Elem](t *rapid.T) {
	at := Rect{drawRange(t, "rows", 4), drawRange(t, "cols", 6)}
	src, m := drawBlock[T](t, at)
	to := Rect{drawNear(t, "rows of the sum", at.Rows), drawNear(t, "cols of the sum", at.Cols)}
	to = Rect{Range{to.Rows.Lo, max(to.Rows.Lo, to.Rows.Hi)}, Range{to.Cols.Lo, max(to.Cols.Lo, to.Cols.Hi)}}

	dst := NewDense(DTypeOf[T](), to)
	for i := range dst.Data.Values().([]T) {
		dst.Data.Values().([]T)[i] = drawValue[T](t)
	}
	addTo(t, dst, src, m)

	cols := &Cols[T]{}
	for c := to.Cols.Lo; c < to.Cols.Hi; c++ {
		if needed(m, to, c) || rapid.Bool().Draw(t, "one more column") {
			cols.Idx = append(cols.Idx, c)
			for range to.Rows.Len() {
				cols.Val = append(cols.Val, drawValue[T](t))
			}
		}
	}
	addTo(t, Block{to, cols}, src, m)
}

func needed[T Elem](m cells[T], to Rect, col int64) bool {
	for at := range m {
		if at.col == col && to.Rows.Has(at.row) {
			return true
		}
	}
	return false
}

func addTo[T Elem](t *rapid.T, dst, src Block, m cells[T]) {
	want := read[T](t, dst)
	for at := range want {
		if v, ok := m[at]; ok {
			want[at] += v
		}
	}
	if err := Add(dst, src); err != nil {
		t.Fatalf("add to %v: %v", dst, err)
	}
	agree(t, "sum", dst, dst.At, want)
}

func TestAddRefuses(t *testing.T) {
	at := At(0, 1, 0, 2)
	dense := Block{at, &Dense[float32]{make([]float32, 2)}}
	for _, c := range []struct {
		name     string
		dst, src Block
		want     string
	}{
		{"other type", dense, Block{at, &Dense[float64]{make([]float64, 2)}}, "add f64 to f32"},
		{"empty of other type", dense, Block{at, Empty{I8}}, "add i8 to f32"},
		{"storage only", Block{at, &Dense[Float16]{make([]Float16, 2)}}, Block{at, Empty{F16}}, "f16 can be stored but not added"},
		{"to csr", Block{at, &CSR[float32]{[]int{0, 0}, nil, nil}}, dense, "want dense values or columns"},
		{"to coo", Block{at, &COO[float32]{}}, Block{at, &Cols[float32]{}}, "want dense values or columns"},
		{"to empty", Block{at, Empty{F32}}, Block{at, &COO[float32]{}}, "want dense values or columns"},
		{"dense to few columns", Block{at, &Cols[float32]{[]int64{0}, []float32{1}}}, dense, "column 1 is not"},
		{"csr to few columns", Block{at, &Cols[float32]{}},
			Block{at, &CSR[float32]{[]int{0, 1}, []int64{1}, []float32{1}}}, "column 1 is not"},
		{"cols to few columns", Block{at, &Cols[float32]{}},
			Block{at, &Cols[float32]{[]int64{1}, []float32{1}}}, "column 1 is not"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := Add(c.dst, c.src); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// The offset of a place that is not shared may lie far outside the values.
func TestAddOfDisjointPlaces(t *testing.T) {
	for _, to := range []Rect{At(0, 1, 100, 200), At(5, 6, 0, 3), At(0, 1, -50, -40)} {
		for _, src := range []Block{
			{At(0, 1, 0, 3), &Dense[float64]{[]float64{1, 2, 3}}},
			{At(0, 1, 0, 3), &CSR[float64]{[]int{0, 1}, []int64{2}, []float64{1}}},
			{At(0, 1, 0, 3), &COO[float64]{[]int64{0}, []int64{2}, []float64{1}}},
			{At(0, 1, 0, 3), &Cols[float64]{[]int64{2}, []float64{1}}},
		} {
			dst := NewDense(F64, to)
			if err := Add(dst, src); err != nil {
				t.Errorf("%T to %v: %v", src.Data, to, err)
			}
			for _, v := range dst.Data.Values().([]float64) {
				if v != 0 {
					t.Fatalf("%T to %v: changed a cell", src.Data, to)
				}
			}
			if err := Add(Block{to, &Cols[float64]{}}, src); err != nil {
				t.Errorf("%T to columns of %v: %v", src.Data, to, err)
			}
		}
	}
}

func TestScale(t *testing.T) {
	at := At(0, 1, 0, 4)
	for _, c := range []struct {
		by   float64
		data Data
		want string
	}{
		{0.5, &Dense[float32]{[]float32{1, -3, 0, 8}}, "[0.5 -1.5 0 4]"},
		{0.5, &Cols[int32]{[]int64{0, 1, 2, 3}, []int32{1, -3, 5, 8}}, "[0 -1 2 4]"},
		{3, &CSR[uint8]{[]int{0, 3}, []int64{0, 1, 2}, []uint8{1, 85, 100}}, "[3 255 255]"},
		{-1, &COO[uint16]{[]int64{0}, []int64{1}, []uint16{5}}, "[0]"},
		{2, &Dense[int64]{[]int64{1 << 62, -1 << 62, -1<<62 - 1, 3}},
			"[9223372036854775807 -9223372036854775808 -9223372036854775808 6]"},
		{1, &Dense[int64]{[]int64{1<<63 - 1, -1 << 63, 1<<53 + 1, -1}},
			"[9223372036854775807 -9223372036854775808 9007199254740993 -1]"},
		{1, &Dense[uint64]{[]uint64{1<<64 - 1, 1<<63 + 1, 0, 1}}, "[18446744073709551615 9223372036854775809 0 1]"},
		{2, &Dense[Boolean]{[]Boolean{0, 1, 1, 0}}, "[0 1 1 0]"},
		{2, Empty{F32}, "<nil>"},
	} {
		Block{at, c.data}.Scale(c.by)
		if got := fmt.Sprint(c.data.Values()); got != c.want {
			t.Errorf("%T by %v: %s, want %s", c.data, c.by, got, c.want)
		}
	}
}

func BenchmarkAddDense(b *testing.B) {
	at := At(0, 64, 0, 1024)
	dst, src := NewDense(F32, at), NewDense(F32, at)
	b.SetBytes(64 * 1024 * 4)
	for b.Loop() {
		if err := Add(dst, src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAddCols(b *testing.B) {
	const rows, ids = 16, 4096
	cols := &Cols[float32]{make([]int64, ids), make([]float32, ids*rows)}
	for i := range cols.Idx {
		cols.Idx[i] = int64(i) * 7
	}
	at := At(0, rows, 0, ids*7)
	src := Block{at, cols}
	for name, dst := range map[string]Block{"to dense": NewDense(F32, at), "to cols": src.Clone()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(ids * rows * 4)
			for b.Loop() {
				if err := Add(dst, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
