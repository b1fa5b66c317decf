package matrix

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// cell is an absolute place in a matrix.
type cell struct{ row, col int64 }

// cells is the naive model of a block: what is stored where.
type cells[T Stored] map[cell]T

// same reports whether two models hold the same bits; all NaN count as one value.
func (m cells[T]) same(n cells[T]) error {
	if len(m) != len(n) {
		return fmt.Errorf("%d cells, want %d", len(m), len(n))
	}
	for at, want := range n {
		got, ok := m[at]
		if !ok || bitsOf(got) != bitsOf(want) {
			return fmt.Errorf("cell %v is %v (stored: %v), want %v", at, got, ok, want)
		}
	}
	return nil
}

// within is the part of the model that lies in the rectangle.
func (m cells[T]) within(r Rect) cells[T] {
	part := cells[T]{}
	for at, v := range m {
		if r.Rows.Has(at.row) && r.Cols.Has(at.col) {
			part[at] = v
		}
	}
	return part
}

// bitsOf tells every two values apart that Cast tells apart.
func bitsOf(v any) uint64 {
	float := func(f float64) uint64 {
		if f != f {
			return math.Float64bits(math.NaN())
		}
		return math.Float64bits(f)
	}
	switch v := v.(type) {
	case float64:
		return float(v)
	case float32:
		return float(float64(v))
	case Float16:
		return float(float64(v.Float32()))
	case BFloat16:
		return float(float64(v.Float32()))
	case int64:
		return uint64(v)
	case int32:
		return uint64(v)
	case int16:
		return uint64(v)
	case int8:
		return uint64(v)
	case uint64:
		return v
	case uint32:
		return uint64(v)
	case uint16:
		return uint64(v)
	case uint8:
		return uint64(v)
	case Boolean:
		return uint64(v)
	}
	panic(fmt.Sprintf("no element type %T", v))
}

// read is the model of a block, read cell by cell from the definition of each way to hold data.
func read[T Stored](t interface{ Fatalf(string, ...any) }, b Block) cells[T] {
	m := cells[T]{}
	put := func(row, col int64, v T) {
		if _, twice := m[cell{row, col}]; twice {
			t.Fatalf("cell (%d,%d) twice in %v", row, col, b)
		}
		m[cell{row, col}] = v
	}
	rows, cols := b.At.Rows.Len(), b.At.Cols.Len()
	switch d := b.Data.(type) {
	case Empty:
	case *Dense[T]:
		for i, v := range d.Val {
			put(b.At.Rows.Lo+int64(i)/cols, b.At.Cols.Lo+int64(i)%cols, v)
		}
	case *CSR[T]:
		for r := range len(d.Ptr) - 1 {
			for i := d.Ptr[r]; i < d.Ptr[r+1]; i++ {
				put(b.At.Rows.Lo+int64(r), d.Idx[i], d.Val[i])
			}
		}
	case *COO[T]:
		for i := range d.Val {
			put(b.At.Rows.Lo+d.Row[i], d.Col[i], d.Val[i])
		}
	case *Cols[T]:
		for i, v := range d.Val {
			put(b.At.Rows.Lo+int64(i)%rows, d.Idx[int64(i)/rows], v)
		}
	default:
		t.Fatalf("data %T in a block of %v", b.Data, DTypeOf[T]())
	}
	return m
}

// drawRange is a short range, empty now and then, at a usual or an extreme place.
func drawRange(t *rapid.T, what string, longest int64) Range {
	lo := rapid.OneOf(
		rapid.Int64Range(-3, 5),
		rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64 - 9, 1 << 40}),
	).Draw(t, what+" from")
	n := rapid.Int64Range(0, longest).Draw(t, what+" length")
	return Range{lo, lo + n}
}

// drawNear is a range around r: overlapping, beside it, empty, reversed.
func drawNear(t *rapid.T, what string, r Range) Range {
	if rapid.IntRange(0, 9).Draw(t, what+" anywhere") == 0 {
		return drawRange(t, what, 9)
	}
	near := func(i int64, d int64) int64 {
		if s := i + d; (s < i) == (d < 0) {
			return s
		}
		return i
	}
	return Range{
		near(r.Lo, rapid.Int64Range(-3, 7).Draw(t, what+" shift")),
		near(r.Hi, rapid.Int64Range(-7, 3).Draw(t, what+" stretch")),
	}
}

// drawValue is a value of T, one at the edges of its type as often as not.
func drawValue[T Stored](t *rapid.T) T {
	switch d := DTypeOf[T](); d {
	case Bool:
		return T(rapid.IntRange(0, 1).Draw(t, "bool"))
	case F16, BF16:
		return T(rapid.Uint16().Draw(t, "half"))
	case F64, F32:
		return T(rapid.OneOf(
			rapid.Float64(),
			rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 0.1, 1 << 53}),
		).Draw(t, "float"))
	case U64:
		return T(rapid.Uint64().Draw(t, "uint"))
	default:
		lo, hi := limits(d)
		return T(rapid.OneOf(
			rapid.Int64Range(lo, int64(hi)),
			rapid.SampledFrom([]int64{lo, int64(hi), 0, 1}),
		).Draw(t, "int"))
	}
}

// limits are the bounds of an integer type, as its definition says.
func limits(d DType) (lo int64, hi uint64) {
	if d == Bool {
		return 0, 1
	}
	bits := 8 * d.Size()
	if d.Signed() {
		return -1 << (bits - 1), 1<<(bits-1) - 1
	}
	return 0, math.MaxUint64 >> (64 - bits)
}

// drawBlock is a block at the place and its model. Ways of holding data are drawn too; dense only if it may be.
func drawBlock[T Stored](t *rapid.T, at Rect) (Block, cells[T]) {
	m := cells[T]{}
	pick := func(what string) bool { return rapid.Bool().Draw(t, what) }
	var data Data
	switch rapid.SampledFrom([]string{"empty", "dense", "csr", "coo", "cols"}).Draw(t, "held as") {
	case "empty":
		data = Empty{DTypeOf[T]()}
	case "dense":
		d := &Dense[T]{}
		for r := at.Rows.Lo; r < at.Rows.Hi; r++ {
			for c := at.Cols.Lo; c < at.Cols.Hi; c++ {
				m[cell{r, c}] = drawValue[T](t)
				d.Val = append(d.Val, m[cell{r, c}])
			}
		}
		data = d
	case "csr":
		d := &CSR[T]{Ptr: []int{0}}
		for r := at.Rows.Lo; r < at.Rows.Hi; r++ {
			for c := at.Cols.Lo; c < at.Cols.Hi; c++ {
				if pick("stored") {
					m[cell{r, c}] = drawValue[T](t)
					d.Idx, d.Val = append(d.Idx, c), append(d.Val, m[cell{r, c}])
				}
			}
			d.Ptr = append(d.Ptr, len(d.Idx))
		}
		data = d
	case "coo":
		d := &COO[T]{}
		for r := at.Rows.Lo; r < at.Rows.Hi; r++ {
			for c := at.Cols.Lo; c < at.Cols.Hi; c++ {
				if pick("stored") {
					m[cell{r, c}] = drawValue[T](t)
					d.Row, d.Col = append(d.Row, r-at.Rows.Lo), append(d.Col, c)
					d.Val = append(d.Val, m[cell{r, c}])
				}
			}
		}
		shuffle(t, d)
		data = d
	case "cols":
		d := &Cols[T]{}
		for c := at.Cols.Lo; c < at.Cols.Hi; c++ {
			if pick("stored") {
				d.Idx = append(d.Idx, c)
				for r := at.Rows.Lo; r < at.Rows.Hi; r++ {
					m[cell{r, c}] = drawValue[T](t)
					d.Val = append(d.Val, m[cell{r, c}])
				}
			}
		}
		data = d
	}
	return Block{at, data}, m
}

// shuffle reverses and swaps coordinates: their order means nothing.
func shuffle[T Stored](t *rapid.T, d *COO[T]) {
	for i := range d.Val {
		j := rapid.IntRange(0, i).Draw(t, "swap")
		d.Row[i], d.Row[j] = d.Row[j], d.Row[i]
		d.Col[i], d.Col[j] = d.Col[j], d.Col[i]
		d.Val[i], d.Val[j] = d.Val[j], d.Val[i]
	}
}

// everyType runs a property for each element type.
func everyType(t *testing.T, p properties) {
	t.Run("f64", rapid.MakeCheck(p.f64))
	t.Run("f32", rapid.MakeCheck(p.f32))
	t.Run("i64", rapid.MakeCheck(p.i64))
	t.Run("i32", rapid.MakeCheck(p.i32))
	t.Run("i16", rapid.MakeCheck(p.i16))
	t.Run("i8", rapid.MakeCheck(p.i8))
	t.Run("u64", rapid.MakeCheck(p.u64))
	t.Run("u32", rapid.MakeCheck(p.u32))
	t.Run("u16", rapid.MakeCheck(p.u16))
	t.Run("u8", rapid.MakeCheck(p.u8))
	if p.f16 != nil {
		t.Run("f16", rapid.MakeCheck(p.f16))
		t.Run("bf16", rapid.MakeCheck(p.bf16))
		t.Run("bool", rapid.MakeCheck(p.bool))
	}
}

// properties is one generic property, written out for each type; without the storage-only types for arithmetic.
type properties struct {
	f64, f32, i64, i32, i16, i8, u64, u32, u16, u8, f16, bf16, bool func(*rapid.T)
}
