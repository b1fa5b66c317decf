package shard_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/shard"
	"thole.example/wire"
)

// narrowCells is a dense matrix with narrow cells as a vector, and partitions of it.
type narrowCells struct {
	m      matrix.Meta
	rule   *psf.Rule
	step   func(w, g []float32, slots [][]float32, rate float64, t int64)
	shards []*shard.Shard
	val    []float32 // and those of each slot
	steps  int64
	clock  int64
}

// narrow rounds cells of a row: to nearest, or for the t-th time after a step.
func (x *narrowCells) narrow(row, col, n int64, t int64, nearest bool) {
	val := x.val[row*x.m.Cols+col:][:n]
	narrow(x.m.Storage, val, nearest, matrix.NewDraw(^x.m.Init.Seed, x.m.Name).Noise(row, t), uint32(x.m.ColLo+col))
}

func newNarrowCells(t *rapid.T) *narrowCells {
	x := &narrowCells{m: matrix.Meta{
		Name: "n", Rows: rapid.Int64Range(1, 4).Draw(t, "rows"), Cols: rapid.SampledFrom([]int64{1, 37, 9000}).Draw(t, "cols"), ColLo: -30, DType: matrix.F32,
		Storage: rapid.SampledFrom([]matrix.DType{matrix.F16, matrix.BF16}).Draw(t, "storage"),
		Init:    rapid.SampledFrom([]matrix.Init{{}, {Kind: "normal", Scale: 1, Seed: 4}}).Draw(t, "init"),
		Rule:    rapid.SampledFrom([]string{"", "sgd", "adagrad", "adam"}).Draw(t, "rule"),
	}}
	if x.m.Rule != "" {
		var err error
		x.rule, err = optim.Find(nil, x.m.Rule)
		must(t, err)
		bound, err := x.rule.Bind(nil)
		must(t, err)
		x.step = bound.F32
	}
	x.shards = cutShards(t, &x.m, x.rule, cut(t, &x.m))
	x.val = make([]float32, x.m.Rows*x.m.Cols*int64(1+x.shards[0].Slots()))
	if x.m.Init.Random() {
		draw := matrix.NewDraw(x.m.Init.Seed, x.m.Name)
		for i := range x.m.Rows * x.m.Cols {
			x.val[i] = float32(x.m.Init.Cell(draw, i/x.m.Cols, x.m.ColLo+i%x.m.Cols))
		}
		x.all(0, true)
	}
	return x
}

func (x *narrowCells) all(t int64, nearest bool) {
	for r := range x.m.Rows {
		x.narrow(r, 0, x.m.Cols, t, nearest)
	}
}

// delta draws values for cells of some place, or for some columns.
func (x *narrowCells) delta(t *rapid.T) matrix.Block {
	at := x.m.Rect()
	size, first := rapid.SampledFrom([]float32{1e-4, 0.3, 50}).Draw(t, "size"), rapid.IntRange(0, 100).Draw(t, "first")
	fill := func(val []float32) {
		for i := range val {
			val[i] = size * (float32((first+i)*7919%1000)/500 - 1)
		}
	}
	if rapid.Bool().Draw(t, "part") {
		at.Rows.Lo = rapid.Int64Range(0, x.m.Rows-1).Draw(t, "row")
		at.Cols.Hi = rapid.Int64Range(at.Cols.Lo+1, at.Cols.Hi).Draw(t, "end")
	}
	if rapid.Bool().Draw(t, "columns") {
		d := &matrix.Cols[float32]{Idx: rapid.SliceOfNDistinct(rapid.Int64Range(at.Cols.Lo, at.Cols.Hi-1), 0, 5, rapid.ID).Draw(t, "keys")}
		slices.Sort(d.Idx)
		d.Val = make([]float32, len(d.Idx)*int(at.Rows.Len()))
		fill(d.Val)
		return matrix.Block{At: at, Data: d}
	}
	b := matrix.NewDense(matrix.F32, at)
	fill(b.Data.Values().([]float32))
	return b
}

func (x *narrowCells) change(t *rapid.T, b matrix.Block, do func(s *shard.Shard, b matrix.Block) error, cell func(i int64, v float32), nearest bool) {
	for _, s := range x.shards {
		if at := s.At().Intersect(b.At); !at.Empty() {
			must(t, do(s, b.Cut(at)))
		}
	}
	cells := func(row, col int64, v float32) {
		cell(row*x.m.Cols+col-x.m.ColLo, v)
		x.narrow(row, col-x.m.ColLo, 1, x.steps+x.clock, nearest)
	}
	switch d := b.Data.(type) {
	case *matrix.Dense[float32]:
		for i, v := range d.Val {
			cells(b.At.Rows.Lo+int64(i)/b.At.Cols.Len(), b.At.Cols.Lo+int64(i)%b.At.Cols.Len(), v)
		}
	case *matrix.Cols[float32]:
		for i, v := range d.Val {
			cells(b.At.Rows.Lo+int64(i)%b.At.Rows.Len(), d.Idx[int64(i)/b.At.Rows.Len()], v)
		}
	}
}

func (x *narrowCells) Add(t *rapid.T) {
	x.clock++
	add := func(s *shard.Shard, b matrix.Block) error { s.SetClock(x.clock); return s.AddBlock(b) }
	x.change(t, x.delta(t), add, func(i int64, v float32) { x.val[i] += v }, false)
}

func (x *narrowCells) Set(t *rapid.T) {
	x.change(t, x.delta(t), (*shard.Shard).SetBlock, func(i int64, v float32) { x.val[i] = v }, true)
}

func (x *narrowCells) Apply(t *rapid.T) {
	if x.rule == nil {
		return
	}
	x.steps++
	n := x.m.Rows * x.m.Cols
	sum := make([]float32, n)
	b := matrix.NewDense(matrix.F32, x.m.Rect())
	for i := range sum {
		sum[i] = float32(i%7) - 3
	}
	copy(b.Data.Values().([]float32), sum)
	for _, s := range x.shards {
		must(t, s.ApplyBlocks([]matrix.Block{b.Cut(s.At())}, 2, 0.1))
	}
	for i := range sum {
		sum[i] *= 0.5
	}
	slots := make([][]float32, x.rule.Slots)
	for i := range slots {
		slots[i] = x.val[int64(i+1)*n:][:n]
	}
	x.step(x.val[:n], sum, slots, 0.1, x.steps)
	x.all(x.steps, false)
}

func (x *narrowCells) Each(t *rapid.T) {
	for _, s := range x.shards {
		must(t, psf.Each(s.View(0), psf.Rows{All: true}, true, func(c *psf.Chunk[float64]) error {
			for r, val := range c.Rows {
				for i := range val {
					if want := x.val[c.IDs[r]*x.m.Cols+c.Column(i)-x.m.ColLo]; float32(val[i]) != want {
						t.Fatalf("a function sees %v at (%d,%d), want %v", val[i], c.IDs[r], c.Column(i), want)
					}
					val[i] *= 0.75
				}
			}
			return nil
		}))
	}
	for i := range x.m.Rows * x.m.Cols {
		x.val[i] *= 0.75
	}
	x.all(0, true)
}

// Restore puts what marks read, while the partition changes, into new ones.
func (x *narrowCells) Restore(t *rapid.T) {
	for i, s := range x.shards {
		m := s.Mark()
		other := matrix.NewDense(matrix.F32, s.At())
		must(t, s.SetBlock(other))
		to := cutShards(t, &x.m, x.rule, []matrix.Rect{s.At()})[0]
		to.SetSteps(x.steps)
		for slot := range 1 + s.Slots() {
			val := other.Data.Values().([]float32)
			must(t, m.ReadRect(wire.View(val), s.At(), slot))
			must(t, to.RestoreRect(s.At(), slot, wire.View(val)))
		}
		m.Close()
		s.Close()
		x.shards[i] = to
	}
}

func (x *narrowCells) Check(t *rapid.T) {
	for _, s := range x.shards {
		at := s.At()
		at.Rows.Lo = rapid.Int64Range(at.Rows.Lo, at.Rows.Hi-1).Draw(t, "first row")
		got := make([]float32, at.Rows.Len()*at.Cols.Len())
		must(t, s.ReadRect(wire.View(got), at))
		last := make([]float32, at.Rows.Len())
		must(t, s.Read(wire.View(last), at.Rows, []int64{at.Cols.Hi - 1}))
		for i, g := range got {
			row, col := at.Rows.Lo+int64(i)/at.Cols.Len(), at.Cols.Lo+int64(i)%at.Cols.Len()
			if col == at.Cols.Hi-1 {
				g = last[row-at.Rows.Lo]
			}
			if want := x.val[row*x.m.Cols+col-x.m.ColLo]; g != want {
				t.Fatalf("%v: cell (%d,%d) is %v, want %v", x.m.Storage, row, col, g, want)
			}
		}
	}
}

// TestNarrowDense: dense partitions that keep cells as narrow types, however cut, do what a matrix of float32s does whose cells are
// rounded after every change.
func TestNarrowDense(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newNarrowCells(t)
		t.Repeat(map[string]func(*rapid.T){
			"add": x.Add, "set": x.Set, "apply": x.Apply, "each": x.Each, "restore": x.Restore, "": x.Check,
		})
	})
}

// TestNarrowNeed: partitions take the bytes of narrow values, and of slots of f32; int8 is for sparse matrices, all are for f32.
func TestNarrowNeed(t *testing.T) {
	adagrad, err := optim.Find(nil, "adagrad")
	must(t, err)
	for _, tt := range []struct {
		storage, of matrix.DType
		layout      matrix.Layout
		rule        *psf.Rule
		want        int64 // bytes of 16 rows by 10 columns, or of a column with its key
		err         string
	}{
		{0, matrix.F32, matrix.RowDense, nil, 640, ""},
		{matrix.F16, matrix.F32, matrix.RowDense, nil, 320, ""},
		{matrix.BF16, matrix.F32, matrix.RowDense, adagrad, 960, ""},
		{matrix.F16, matrix.F32, matrix.RowSparse, nil, 32 + 18, ""},
		{matrix.I8, matrix.F32, matrix.RowSparse, nil, 17 + 18, ""},
		{matrix.I8, matrix.F32, matrix.RowSparse, adagrad, 20 + 64 + 18, ""},
		{0, matrix.F32, matrix.RowSparse, adagrad, 128 + 18, ""},
		{matrix.I8, matrix.F32, matrix.RowDense, nil, 0, "want f16 or bf16"},
		{matrix.F16, matrix.F64, matrix.RowSparse, nil, 0, "want those of f32"},
		{matrix.I16, matrix.F32, matrix.RowSparse, nil, 0, "want those of f32"},
	} {
		m := &matrix.Meta{Name: "n", Rows: 16, Cols: 10, DType: tt.of, Layout: tt.layout, Storage: tt.storage}
		err := shard.Check(m, tt.rule)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%v of %v: %v, want %q", tt.storage, tt.of, err, tt.err)
			}
			continue
		}
		must(t, err)
		got := shard.ColumnBytes(m, tt.rule)
		if tt.layout == matrix.RowDense {
			got, err = shard.Need(m, m.Rect(), tt.rule)
			must(t, err)
		}
		if got != tt.want {
			t.Errorf("%v in %v storage: %d bytes, want %d", tt.layout, tt.storage, got, tt.want)
		}
	}
}
