package matrix

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPickAgreesWithModel(t *testing.T) {
	everyType(t, properties{
		picks[float64], picks[float32], picks[int64], picks[int32], picks[int16], picks[int8],
		picks[uint64], picks[uint32], picks[uint16], picks[uint8],
		picks[Float16], picks[BFloat16], picks[Boolean],
	})
}

func picks[T Stored](t *rapid.T) {
	at := Rect{drawRange(t, "rows", 4), drawRange(t, "cols", 6)}
	b, m := drawBlock[T](t, at)
	parity := rapid.Int64Range(0, 1).Draw(t, "parity")
	keep := func(col int64) bool { return col&1 == parity }
	want := cells[T]{}
	for c, v := range m {
		if keep(c.col) {
			want[c] = v
		}
	}
	got := b.Pick(keep)
	agree(t, "picked", got, at, want)
	overwrite[T](got)
	agree(t, "after changing what was picked", b, at, m)
	if k, ok := b.Data.(Keyed); ok {
		for c := range m {
			if !slices.Contains(k.Keys(), c.col) {
				t.Fatalf("keys %v, want %d among them", k.Keys(), c.col)
			}
		}
	}
}

func TestPutColsAgreesWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cols := drawRange(t, "cols", 6)
		draw := func(what string, rows Range, with []int64) (Block, cells[float32]) {
			d, m := &Cols[float32]{}, cells[float32]{}
			for c := cols.Lo; c < cols.Hi; c++ {
				if slices.Contains(with, c) || rapid.Bool().Draw(t, what) {
					d.Idx = append(d.Idx, c)
					for r := rows.Lo; r < rows.Hi; r++ {
						m[cell{r, c}] = drawValue[float32](t)
						d.Val = append(d.Val, m[cell{r, c}])
					}
				}
			}
			return Block{Rect{rows, cols}, d}, m
		}
		rows := drawRange(t, "rows", 4)
		src, m := draw("column put", rows, nil)
		near := drawNear(t, "rows of the target", rows)
		dst, want := draw("column of the target", Range{near.Lo, max(near.Lo, near.Hi)}, src.Data.(Keyed).Keys())
		for c := range want {
			if v, ok := m[c]; ok {
				want[c] = v
			}
		}
		if err := PutCols(dst, src); err != nil {
			t.Fatal(err)
		}
		agree(t, "put", dst, dst.At, want)
	})
}

func TestPutColsRefuses(t *testing.T) {
	at := At(0, 1, 0, 3)
	cols := Block{at, &Cols[float32]{[]int64{1}, []float32{5}}}
	for _, c := range []struct {
		dst, src Block
		want     string
	}{
		{cols, NewDense(F32, at), "want columns"},
		{NewDense(F32, at), cols, "put f32 columns into"},
		{Block{at, &Cols[float64]{[]int64{1}, []float64{5}}}, cols, "put f32 columns into"},
		{Block{at, &Cols[float32]{[]int64{2}, []float32{5}}}, cols, "column 1 is not"},
		{Block{At(0, 1, 2, 3), &Cols[float32]{[]int64{2}, []float32{5}}}, cols, "column 1 is not"},
	} {
		if err := PutCols(c.dst, c.src); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
