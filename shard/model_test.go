package shard_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/shard"
)

// naive is a matrix as a map of cells; absent cells of a sparse matrix are not in it.
type naive struct {
	m    matrix.Meta
	cell map[[2]int64]float64
	init func(row, col int64) float64
}

// column makes the column there, with its initial values.
func (n *naive) column(col int64) {
	for r := range n.m.Rows {
		if _, ok := n.cell[[2]int64{r, col}]; !ok {
			n.cell[[2]int64{r, col}] = n.init(r, col)
		}
	}
}

func (n *naive) get(row, col int64) float64 {
	if v, ok := n.cell[[2]int64{row, col}]; ok {
		return v
	}
	return n.init(row, col)
}

// stored calls f for the cells that the block stores.
func stored(b matrix.Block, f func(row, col int64, v float64)) {
	rows, width := b.At.Rows.Len(), b.At.Cols.Len()
	switch d := b.Data.(type) {
	case *matrix.Dense[float64]:
		for i, v := range d.Val {
			f(b.At.Rows.Lo+int64(i)/width, b.At.Cols.Lo+int64(i)%width, v)
		}
	case *matrix.CSR[float64]:
		for r := range len(d.Ptr) - 1 {
			for i := d.Ptr[r]; i < d.Ptr[r+1]; i++ {
				f(b.At.Rows.Lo+int64(r), d.Idx[i], d.Val[i])
			}
		}
	case *matrix.COO[float64]:
		for i, r := range d.Row {
			f(b.At.Rows.Lo+r, d.Col[i], d.Val[i])
		}
	case *matrix.Cols[float64]:
		for k, c := range d.Idx {
			for r := range rows {
				f(b.At.Rows.Lo+r, c, d.Val[int64(k)*rows+r])
			}
		}
	}
}

// block draws a block at some place within the whole, held in any way. Values are small integers, so that sums are
// exact in any order.
func block(t *rapid.T, whole matrix.Rect) matrix.Block {
	between := func(r matrix.Range) matrix.Range {
		lo := rapid.Int64Range(r.Lo, r.Hi).Draw(t, "lo")
		return matrix.Range{Lo: lo, Hi: rapid.Int64Range(lo, r.Hi).Draw(t, "hi")}
	}
	at := matrix.Rect{Rows: between(whole.Rows), Cols: between(whole.Cols)}
	b := matrix.NewDense(matrix.F64, at)
	for i := range b.Data.NNZ() {
		b.Data.Values().([]float64)[i] = float64(rapid.IntRange(-9, 9).Draw(t, "v"))
	}
	some := rapid.Int64Range(1, 4).Draw(t, "some")
	keep := func(col int64) bool { return col%some == 0 }
	switch rapid.SampledFrom([]string{"dense", "csr", "coo", "cols", "empty"}).Draw(t, "kind") {
	case "csr":
		return b.Pick(keep)
	case "coo":
		d := &matrix.COO[float64]{}
		stored(b.Pick(keep), func(row, col int64, v float64) {
			if rapid.Bool().Draw(t, "stored") {
				d.Row, d.Col, d.Val = append(d.Row, row-at.Rows.Lo), append(d.Col, col), append(d.Val, v)
			}
		})
		return matrix.Block{At: at, Data: d}
	case "cols":
		d := &matrix.Cols[float64]{}
		for c := at.Cols.Lo; c < at.Cols.Hi; c++ {
			if keep(c) {
				d.Idx = append(d.Idx, c)
				for range at.Rows.Len() {
					d.Val = append(d.Val, float64(rapid.IntRange(-9, 9).Draw(t, "v")))
				}
			}
		}
		return matrix.Block{At: at, Data: d}
	case "empty":
		return matrix.Block{At: at, Data: matrix.Empty{D: matrix.F64}}
	}
	return b
}

// step is what the rule of the model tests does: plain descent, with a slot that counts.
var step = psf.Rule{
	Name:  "step",
	Slots: 1,
	New: func(map[string]float64) psf.Step {
		return psf.Step{
			F64: func(w, g []float64, slots [][]float64, rate float64, t int64) {
				for i := range w {
					slots[0][i]++
					w[i] -= rate*g[i] + slots[0][i] + float64(t)
				}
			},
			F32: func([]float32, []float32, [][]float32, float64, int64) {},
		}
	},
}

// model compares a shard with the naive matrix under random changes.
type model struct {
	naive
	s      *shard.Shard
	count  map[[2]int64]float64 // the rule's slot
	steps  float64
	sparse bool
}

func newModel(t *rapid.T, layout matrix.Layout) *model {
	m := matrix.Meta{
		Name: "m", Rows: rapid.Int64Range(0, 4).Draw(t, "rows"), Cols: rapid.Int64Range(0, 600).Draw(t, "cols"),
		ColLo: rapid.SampledFrom([]int64{0, -300, math.MinInt64, math.MaxInt64 - 1000}).Draw(t, "first"),
		DType: matrix.F64, Layout: layout,
		Init: rapid.SampledFrom([]matrix.Init{{}, {Kind: "uniform", Scale: 2, Seed: 9}}).Draw(t, "init"),
	}
	x := &model{sparse: layout == matrix.RowSparse, count: map[[2]int64]float64{}}
	x.m, x.cell = m, map[[2]int64]float64{}
	whole := m
	whole.Layout = matrix.RowDense
	all, err := shard.New(&whole, whole.Rect(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, err := all.ReadBlock(whole.Rect(), nil)
	if err != nil {
		t.Fatal(err)
	}
	val := first.Data.Values().([]float64)
	x.init = func(row, col int64) float64 { return val[row*m.Cols+col-m.ColLo] }
	if x.s, err = shard.New(&m, m.Rect(), 0, &step); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *model) touch(b matrix.Block) {
	stored(b, func(_, col int64, _ float64) { x.column(col) })
}

func (x *model) Add(t *rapid.T) {
	b := block(t, x.m.Rect())
	x.must(t, x.s.AddBlock(b.Clone()))
	x.touch(b)
	stored(b, func(row, col int64, v float64) { x.cell[[2]int64{row, col}] = x.get(row, col) + v })
}

func (x *model) Set(t *rapid.T) {
	b := block(t, x.m.Rect())
	x.must(t, x.s.SetBlock(b.Clone()))
	x.touch(b)
	stored(b, func(row, col int64, v float64) { x.cell[[2]int64{row, col}] = v })
}

func (x *model) Apply(t *rapid.T) {
	weight := float64(rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "weight"))
	var grads []matrix.Block
	sum := map[[2]int64]float64{}
	cols := map[int64]bool{}
	for range rapid.IntRange(0, 3).Draw(t, "grads") {
		b := block(t, x.m.Rect())
		grads = append(grads, b.Clone())
		if weight == 0 {
			continue
		}
		x.touch(b)
		stored(b, func(row, col int64, v float64) { sum[[2]int64{row, col}] += v; cols[col] = true })
	}
	x.must(t, x.s.ApplyBlocks(grads, weight, 0.5))
	if weight == 0 {
		return
	}
	x.steps++
	for r := range x.m.Rows {
		for c := x.m.ColLo; c < x.m.ColLo+x.m.Cols; c++ {
			if at := [2]int64{r, c}; cols[c] || !x.sparse {
				x.count[at]++
				x.cell[at] = x.get(r, c) - (0.5*(sum[at]*(1/weight)) + x.count[at] + x.steps)
			}
		}
	}
}

// Each doubles and counts what a function sees.
func (x *model) Each(t *rapid.T) {
	seen := 0
	err := psf.Each(x.s.View(0), psf.Rows{All: true}, true, func(c *psf.Chunk[float64]) error {
		for r, val := range c.Rows {
			for i := range val {
				if want := x.get(c.IDs[r], c.Column(i)); val[i] != want {
					t.Fatalf("each: cell (%d,%d) is %v, want %v", c.IDs[r], c.Column(i), val[i], want)
				}
				val[i] = -val[i]
				seen++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := len(x.cell)
	if !x.sparse {
		want = int(x.m.Rows * x.m.Cols)
	}
	if seen != want {
		t.Fatalf("each: %d cells, want %d", seen, want)
	}
	for r := range x.m.Rows {
		for c := x.m.ColLo; c < x.m.ColLo+x.m.Cols; c++ {
			if _, ok := x.cell[[2]int64{r, c}]; ok || !x.sparse {
				x.cell[[2]int64{r, c}] = -x.get(r, c)
			}
		}
	}
}

// Check reads some columns, some place, and the blocks for saving.
func (x *model) Check(t *rapid.T) {
	at := block(t, x.m.Rect()).At
	cols := []int64{}
	for c := at.Cols.Lo; c < at.Cols.Hi; c += rapid.Int64Range(1, 90).Draw(t, "gap") {
		cols = append(cols, c)
	}
	got, err := x.s.ReadBlock(at, cols)
	x.must(t, err)
	if got.At != at || got.Data.NNZ() != len(cols)*int(at.Rows.Len()) || got.Check() != nil {
		t.Fatalf("read of %d columns of %v: %d values at %v, %v", len(cols), at, got.Data.NNZ(), got.At, got.Check())
	}
	stored(got, func(row, col int64, v float64) { x.same(t, row, col, v) })
	whole, err := x.s.ReadBlock(at, nil)
	x.must(t, err)
	n := 0
	stored(whole, func(row, col int64, v float64) { x.same(t, row, col, v); n++ })
	if want := x.within(at); n != want || whole.Check() != nil {
		t.Fatalf("read of %v: %d cells, want %d; %v", at, n, want, whole.Check())
	}
	n = 0
	for b := range x.s.Blocks() {
		stored(b, func(row, col int64, v float64) { x.same(t, row, col, v); n++ })
	}
	if want := x.within(x.m.Rect()); n != want {
		t.Fatalf("blocks: %d cells, want %d", n, want)
	}
}

// within counts the cells that are stored in the place.
func (x *model) within(at matrix.Rect) int {
	if !x.sparse {
		n, _ := at.Cells()
		return int(n)
	}
	n := 0
	for c := range x.cell {
		if at.Rows.Has(c[0]) && at.Cols.Has(c[1]) {
			n++
		}
	}
	return n
}

func (x *model) same(t *rapid.T, row, col int64, v float64) {
	if want := x.get(row, col); v != want {
		t.Fatalf("cell (%d,%d) is %v, want %v", row, col, v, want)
	}
}

func (x *model) must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func TestModel(t *testing.T) {
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		t.Run(layout.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				x := newModel(t, layout)
				t.Repeat(map[string]func(*rapid.T){
					"add": x.Add, "set": x.Set, "apply": x.Apply, "each": x.Each, "": x.Check,
				})
			})
		})
	}
}

// TestInitial wants every cell to begin with the same value however the matrix is cut and kept.
func TestInitial(t *testing.T) {
	for _, kind := range []string{"normal", "uniform"} {
		rapid.Check(t, func(t *rapid.T) {
			m := matrix.Meta{Name: "w", Rows: 6, Cols: 40, ColLo: -7, DType: matrix.F64, Init: matrix.Init{Kind: kind, Scale: 0.5, Seed: 3}}
			read := func(m matrix.Meta, at matrix.Rect) matrix.Block {
				s, err := shard.New(&m, at, 0, nil)
				if err != nil {
					t.Fatal(err)
				}
				cols := []int64{}
				for c := at.Cols.Lo; c < at.Cols.Hi; c++ {
					cols = append(cols, c)
				}
				b, err := s.ReadBlock(at, cols)
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			whole := map[string]float64{}
			stored(read(m, m.Rect()), func(row, col int64, v float64) { whole[fmt.Sprint(row, col)] = v })
			m.Layout = rapid.SampledFrom([]matrix.Layout{matrix.RowDense, matrix.RowSparse}).Draw(t, "layout")
			at := block(t, m.Rect()).At
			stored(read(m, at), func(row, col int64, v float64) {
				if want := whole[fmt.Sprint(row, col)]; v != want || v == 0 || math.Abs(v) > 10 {
					t.Fatalf("cell (%d,%d) begins with %v in the part %v, want %v", row, col, v, at, want)
				}
			})
		})
	}
}
