package matrix

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestBlockAgreesWithModel(t *testing.T) {
	everyType(t, properties{
		agrees[float64], agrees[float32], agrees[int64], agrees[int32], agrees[int16], agrees[int8],
		agrees[uint64], agrees[uint32], agrees[uint16], agrees[uint8],
		agrees[Float16], agrees[BFloat16], agrees[Boolean],
	})
}

// agrees holds every operation that all element types have to the model.
func agrees[T Stored](t *rapid.T) {
	at := Rect{drawRange(t, "rows", 4), drawRange(t, "cols", 6)}
	b, m := drawBlock[T](t, at)
	if err := b.Check(); err != nil {
		t.Fatalf("check: %v", err)
	}
	if b.Data.DType() != DTypeOf[T]() || b.Data.NNZ() != len(m) {
		t.Fatalf("%v, %d values; want %v, %d", b.Data.DType(), b.Data.NNZ(), DTypeOf[T](), len(m))
	}
	if v, ok := b.Data.Values().([]T); ok != (b.Data != Data(Empty{DTypeOf[T]()})) || len(v) != len(m) {
		t.Fatalf("values %v of %T", b.Data.Values(), b.Data)
	}

	full := cells[T]{}
	for r := at.Rows.Lo; r < at.Rows.Hi; r++ {
		for c := at.Cols.Lo; c < at.Cols.Hi; c++ {
			full[cell{r, c}] = m[cell{r, c}]
		}
	}
	agree(t, "dense", b.ToDense(), at, full)
	agree(t, "csr", b.ToCSR(), at, m)
	if _, ok := b.ToDense().Data.(*Dense[T]); !ok {
		t.Fatalf("ToDense is %T", b.ToDense().Data)
	}
	if _, ok := b.ToCSR().Data.(*CSR[T]); !ok {
		t.Fatalf("ToCSR is %T", b.ToCSR().Data)
	}

	want := Rect{drawNear(t, "wanted rows", at.Rows), drawNear(t, "wanted cols", at.Cols)}
	cut := b.Cut(want)
	agree(t, "cut", cut, at.Intersect(want), m.within(want))
	copied := b.Clone()
	agree(t, "clone", copied, at, m)
	overwrite[T](cut)
	overwrite[T](copied)
	agree(t, "after changing copies", b, at, m)
	agreeText(t, b, m)
}

func agree[T Stored](t *rapid.T, what string, b Block, at Rect, m cells[T]) {
	t.Helper()
	if b.At != at {
		t.Fatalf("%s: place %v, want %v", what, b.At, at)
	}
	if err := b.Check(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if err := read[T](t, b).same(m); err != nil {
		t.Fatalf("%s of %v: %v", what, b, err)
	}
}

// overwrite changes every slice of the block.
func overwrite[T Stored](b Block) {
	if v, ok := b.Data.Values().([]T); ok {
		for i := range v {
			v[i]++
		}
	}
	switch d := b.Data.(type) {
	case *CSR[T]:
		clear(d.Ptr)
		clear(d.Idx)
	case *COO[T]:
		clear(d.Row)
		clear(d.Col)
	case *Cols[T]:
		clear(d.Idx)
	}
}

func agreeText[T Stored](t *rapid.T, b Block, m cells[T]) {
	var last *cell
	left := len(m)
	err := b.EachText(func(row, col int64, value []byte) error {
		at := cell{row, col}
		if last != nil && (row < last.row || row == last.row && col <= last.col) {
			t.Fatalf("text: cell %v after %v", at, *last)
		}
		last = &at
		left--
		if v, ok := m[at]; !ok || bitsOf(parse[T](t, string(value))) != bitsOf(v) {
			t.Fatalf("text: cell %v is %s, want %v (stored: %v)", at, value, v, ok)
		}
		return nil
	})
	if err != nil || left != 0 {
		t.Fatalf("text: %v, %d cells left out", err, left)
	}
}

func parse[T Stored](t *rapid.T, text string) T {
	var v float64
	var err error
	switch d := DTypeOf[T](); d {
	case F64:
		v, err = strconv.ParseFloat(text, 64)
	case F32, F16, BF16:
		v, err = strconv.ParseFloat(text, 32)
	case U64:
		var u uint64
		u, err = strconv.ParseUint(text, 10, 64)
		if err == nil {
			return T(u)
		}
	default:
		var i int64
		i, err = strconv.ParseInt(text, 10, 64)
		if err == nil {
			return T(i)
		}
	}
	if err != nil {
		t.Fatalf("text %q: %v", text, err)
	}
	switch DTypeOf[T]() {
	case F16:
		return T(ToFloat16(float32(v)))
	case BF16:
		return T(ToBFloat16(float32(v)))
	}
	return T(v)
}

func TestEachTextStopsAtFirstError(t *testing.T) {
	stop := errors.New("stop")
	at := At(0, 2, 0, 2)
	for _, d := range []Data{
		&Dense[int8]{[]int8{1, 2, 3, 4}},
		&CSR[int8]{[]int{0, 2, 4}, []int64{0, 1, 0, 1}, []int8{1, 2, 3, 4}},
		&COO[int8]{[]int64{1, 0, 1, 0}, []int64{1, 1, 0, 0}, []int8{4, 2, 3, 1}},
		&Cols[int8]{[]int64{0, 1}, []int8{1, 3, 2, 4}},
	} {
		var seen []string
		err := Block{at, d}.EachText(func(_, _ int64, value []byte) error {
			seen = append(seen, string(value))
			if len(seen) == 2 {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) || !slices.Equal(seen, []string{"1", "2"}) {
			t.Errorf("%T: %v after %v, want stop after 1 and 2", d, err, seen)
		}
	}
}

// Rows cost nothing where nothing is stored: a hostile file can claim any number of them.
func TestTextOfVeryManyEmptyRows(t *testing.T) {
	tall := At(0, math.MaxInt64-1, 3, 4)
	for _, b := range []Block{
		{At(0, math.MaxInt64-1, 3, 3), &Dense[float32]{}},
		{tall, &COO[float32]{[]int64{1 << 61}, []int64{3}, []float32{7}}},
		{tall, &Cols[float32]{}},
		{tall, Empty{F32}},
	} {
		if err := b.Check(); err != nil {
			t.Fatal(err)
		}
		n := 0
		err := b.EachText(func(row, col int64, value []byte) error {
			n++
			if row != 1<<61 || col != 3 || string(value) != "7" {
				t.Errorf("cell (%d,%d) = %s", row, col, value)
			}
			return nil
		})
		if err != nil || n != b.Data.NNZ() {
			t.Errorf("%T: %v, %d cells, want %d", b.Data, err, n, b.Data.NNZ())
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	at := At(10, 12, 5, 8)
	for _, c := range []struct {
		name string
		b    Block
		want string
	}{
		{"no data", Block{At: at}, "no data"},
		{"reversed rows", Block{At(3, 2, 0, 1), Empty{F32}}, "reversed"},
		{"reversed columns", Block{At(0, 1, 7, 2), Empty{F32}}, "reversed"},
		{"no type", Block{at, Empty{}}, "unknown element type 0"},
		{"type beyond", Block{at, Empty{Bool + 1}}, "unknown element type 14"},
		{"dense short", Block{at, &Dense[int8]{make([]int8, 5)}}, "5 values, want 2 x 3"},
		{"dense of more than int64", Block{At(0, 1<<40, 0, 1<<40), &Dense[int8]{}}, "0 values"},
		{"csr without pointers", Block{at, &CSR[int8]{}}, "0 row pointers"},
		{"csr pointers", Block{at, &CSR[int8]{[]int{0, 0}, nil, nil}}, "2 row pointers, want 2 rows plus 1"},
		{"csr of all rows", Block{At(math.MinInt64, math.MaxInt64, 0, 1), &CSR[int8]{[]int{0}, nil, nil}}, "row pointers"},
		{"csr ids", Block{at, &CSR[int8]{[]int{0, 0, 1}, nil, []int8{1}}}, "0 column ids for 1"},
		{"csr start", Block{at, &CSR[int8]{[]int{1, 1, 1}, []int64{5}, []int8{1}}}, "from 1 to 1"},
		{"csr end", Block{at, &CSR[int8]{[]int{0, 0, 0}, []int64{5}, []int8{1}}}, "from 0 to 0"},
		{"csr falls", Block{at, &CSR[int8]{[]int{0, -1, 1}, []int64{5}, []int8{1}}}, "is -1 after 0"},
		{"csr beyond", Block{at, &CSR[int8]{[]int{0, 9, 1}, []int64{5}, []int8{1}}}, "is 9 after 0"},
		{"csr id outside", Block{at, &CSR[int8]{[]int{0, 0, 1}, []int64{8}, []int8{1}}}, "row 11: column 8"},
		{"csr twice", Block{at, &CSR[int8]{[]int{0, 2, 2}, []int64{6, 6}, []int8{1, 1}}}, "row 10: column 6 after 6"},
		{"coo lengths", Block{at, &COO[int8]{[]int64{0}, nil, []int8{1}}}, "1 rows and 0 columns for 1"},
		{"coo row", Block{at, &COO[int8]{[]int64{2}, []int64{5}, []int8{1}}}, "cell (2,5)"},
		{"coo negative row", Block{at, &COO[int8]{[]int64{-1}, []int64{5}, []int8{1}}}, "cell (-1,5)"},
		{"coo column", Block{at, &COO[int8]{[]int64{0}, []int64{4}, []int8{1}}}, "cell (0,4)"},
		{"coo twice", Block{at, &COO[int8]{[]int64{0, 0}, []int64{5, 5}, []int8{1, 2}}}, "(0,5) twice"},
		{"cols length", Block{at, &Cols[int8]{[]int64{5}, []int8{1}}}, "1 values for 1 columns of 2 rows"},
		{"cols order", Block{at, &Cols[int8]{[]int64{6, 5}, make([]int8, 4)}}, "column 5 after 6"},
		{"cols outside", Block{at, &Cols[int8]{[]int64{4}, make([]int8, 2)}}, "column 4, want one in [5,8)"},
		{"cols of very many rows", Block{At(0, 1<<62, 0, 9), &Cols[int8]{[]int64{1, 2, 3}, nil}}, "0 values for 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.b.Check()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestKinds(t *testing.T) {
	for _, d := range DTypes() {
		k := KindOf(d)
		at := At(0, 3, 10, 12)
		for _, b := range []Block{
			{at, k.Dense(6)},
			{at, k.CSR([]int{0, 1, 1, 2}, []int64{11, 10})},
			{at, k.COO([]int64{2, 0}, []int64{10, 11})},
			{at, k.Cols([]int64{10, 11}, 3)},
			NewDense(d, at),
		} {
			if err := b.Check(); err != nil || b.Data.DType() != d {
				t.Errorf("%v %T: type %v, %v", d, b.Data, b.Data.DType(), err)
			}
		}
	}
}
