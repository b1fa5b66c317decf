package mtx

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/format"
	"thole.example/matrix"
)

// TestFarBlocks: what is read of cells far apart follows the cells.
func TestFarBlocks(t *testing.T) {
	var text strings.Builder
	const n = 2000
	fmt.Fprintf(&text, "%%%%MatrixMarket matrix coordinate real general\n%d 1 %d\n", n<<19, n)
	for i := range n {
		fmt.Fprintf(&text, "%d 1 %d\n", i<<19+1, i)
	}
	r, err := open(t, text.String())
	if err != nil {
		t.Fatal(err)
	}
	m := r.Matrices()[0]
	work := 0
	for b, err := range r.Blocks(context.Background(), "a", m.Rect()) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := b.Data.(matrix.Rowed); ok {
			work += len(d.Ends())
		}
		work += b.Data.NNZ()
	}
	if work > 20*n {
		t.Errorf("%d numbers in blocks of %d cells", work, n)
	}
}

// TestFarRows writes sparse matrices with more rows than anybody could go through.
func TestFarRows(t *testing.T) {
	m := matrix.Meta{Name: "a", Rows: math.MaxInt64, Cols: 2, DType: matrix.I8, Layout: matrix.RowSparse}
	one := func(row int64) matrix.Block {
		return matrix.Block{At: matrix.At(row, row+1, 0, 2), Data: &matrix.COO[int8]{Row: []int64{0}, Col: []int64{1}, Val: []int8{5}}}
	}
	nothing := matrix.Block{At: matrix.At(1, 1<<62, 0, 2), Data: matrix.Empty{D: matrix.I8}}
	for _, stage := range []string{"", "s"} {
		_, cells, err := load(t, save(t, m, format.Options{Stage: stage}, one(0), nothing, one(1<<62), one(1<<62+9)))
		if want := fmt.Sprintf("0,1=5 %d,1=5 %d,1=5", 1<<62, 1<<62+9); err != nil || cells != want {
			t.Errorf("%s, %v, want %s", cells, err, want)
		}
	}
}

// TestOrder reads the same cells in any order of lines, in matrices with few and with very many rows.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := rapid.SampledFrom([]int64{1, 3, 40, 1 << 20, math.MaxInt64}).Draw(t, "rows")
		anywhere := rapid.Custom(func(t *rapid.T) [2]int64 {
			return [2]int64{rapid.Int64Range(1, top).Draw(t, "row"), rapid.Int64Range(1, 9).Draw(t, "column")}
		})
		all := rapid.SliceOfNDistinct(anywhere, 0, 20, rapid.ID[[2]int64]).Draw(t, "cells")
		text := fmt.Sprintf("%%%%MatrixMarket matrix coordinate integer general\n%d 9 %d\n", top, len(all))
		for i, c := range all {
			text += fmt.Sprintf("%d %d %d\n", c[0], c[1], i)
		}
		_, got, err := load(t, text)
		var want []string
		order := slices.Clone(all)
		slices.SortFunc(order, func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
		for _, c := range order {
			want = append(want, fmt.Sprintf("%d,%d=%d", c[0]-1, c[1]-1, slices.Index(all, c)))
		}
		if err != nil || got != strings.Join(want, " ") {
			t.Fatalf("%s, %v, want %s", got, err, want)
		}
	})
}

// TestLarge crosses the bounds of blocks, bands and pieces of text: rows longer than a block, columns longer than a band.
func TestLarge(t *testing.T) {
	for _, size := range [][2]int64{{2, blockCells + 3}, {blockCells + 3, 2}, {1100, 1000}} {
		for _, l := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
			m := matrix.Meta{Name: "a", Rows: size[0], Cols: size[1], DType: matrix.I32, Layout: l}
			b := matrix.NewDense(m.DType, m.Rect())
			val := b.Data.Values().([]int32)
			for i := range val {
				val[i] = int32(i) % 1000
			}
			r, err := open(t, save(t, m, format.Options{}, b))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []matrix.Rect{m.Rect(), matrix.At(1, m.Rows-1, 1, m.Cols), matrix.At(m.Rows-1, m.Rows, m.Cols-1, m.Cols)} {
				n := int64(0)
				for blk, err := range r.Blocks(t.Context(), "a", want) {
					if err == nil {
						err = blk.Check()
					}
					if err != nil {
						t.Fatal(err)
					}
					n += int64(blk.Data.NNZ())
					got := blk.ToDense().Data.Values().([]int32)
					if !slices.Equal(got, b.Cut(blk.At).Data.Values().([]int32)) {
						t.Fatalf("%v: block %v differs", m.Rect(), blk.At)
					}
				}
				if cells, _ := want.Cells(); n != cells {
					t.Errorf("%v %v of %v: %d cells, want %d", l, want, m.Rect(), n, cells)
				}
			}
			r.Close()
		}
	}
}

// shuffled are entries in no order.
func shuffled(n int) string {
	rnd := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	fmt.Fprintf(&b, "%%%%MatrixMarket matrix coordinate real general\n1000000 1000000 %d\n", n)
	for i := range n {
		fmt.Fprintf(&b, "%d %d %v\n", 1+rnd.IntN(1000000), 1+i, rnd.NormFloat64())
	}
	return b.String()
}
