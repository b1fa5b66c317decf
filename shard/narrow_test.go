package shard_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/shard"
	"thole.example/wire"
)

// narrowed is a sparse matrix with narrow weights as vectors by column, and partitions of it.
type narrowed struct {
	m      matrix.Meta
	rule   *psf.Rule
	step   func(w, g []float32, slots [][]float32, rate float64, t int64)
	shards []*shard.Shard
	cells  map[int64][]float32 // of the columns that are there: weights, and those of each slot
	steps  int64
	clock  int64
}

// narrowing is the kernel's name of a type.
var narrowing = map[matrix.DType]kernel.NarrowType{matrix.F16: kernel.Float16, matrix.BF16: kernel.BFloat16, matrix.I8: kernel.Int8}

// narrow rounds values: to nearest, or by a seed, from a place on.
func narrow(as matrix.DType, val []float32, nearest bool, seed, first uint32) {
	row := []uint32{0}
	r := kernel.NarrowRows{As: narrowing[as], Slab: make([]byte, kernel.NarrowBytes(narrowing[as], len(val))), N: len(val)}
	if nearest {
		r.Nearest(val, 0)
	} else {
		r.Dither(val, row, []uint32{seed}, first)
	}
	r.Widen(val, row, 0, len(val))
}

// narrow rounds the weights of a column: to nearest, or for the t-th time after a step.
func (x *narrowed) narrow(val []float32, key, t int64, nearest bool) {
	narrow(x.m.Storage, val, nearest, matrix.NewDraw(^x.m.Init.Seed, x.m.Name).Noise(key, t), 0)
}

func newNarrowed(t *rapid.T) *narrowed {
	x := &narrowed{cells: map[int64][]float32{}}
	x.m = matrix.Meta{
		Name: "n", Rows: rapid.Int64Range(1, 20).Draw(t, "rows"), Cols: 90, ColLo: -30, DType: matrix.F32, Layout: matrix.RowSparse,
		Storage: rapid.SampledFrom([]matrix.DType{matrix.F16, matrix.BF16, matrix.I8}).Draw(t, "storage"),
		Init:    rapid.SampledFrom([]matrix.Init{{}, {Kind: "normal", Scale: 1, Seed: 4}}).Draw(t, "init"),
		Rule:    rapid.SampledFrom([]string{"", "sgd", "adagrad", "adam"}).Draw(t, "rule"),
	}
	if x.m.Rule != "" {
		var err error
		if x.rule, err = optim.Find(nil, x.m.Rule); err != nil {
			t.Fatal(err)
		}
		bound, err := x.rule.Bind(nil)
		if err != nil {
			t.Fatal(err)
		}
		x.step = bound.F32
	}
	all := cut(t, &x.m)
	if x.m.Storage == matrix.I8 { // its rows must not be cut
		all = []matrix.Rect{matrix.At(0, x.m.Rows, -30, 10), matrix.At(0, x.m.Rows, 10, 60)}
	}
	x.shards = cutShards(t, &x.m, x.rule, all)
	return x
}

// initial is a column that is not there.
func (x *narrowed) initial(key int64) []float32 {
	slots := 0
	if x.rule != nil {
		slots = x.rule.Slots
	}
	val := make([]float32, x.m.Rows*int64(1+slots))
	if x.m.Init.Random() {
		draw := matrix.NewDraw(x.m.Init.Seed, x.m.Name)
		for r := range x.m.Rows {
			val[r] = float32(x.m.Init.Cell(draw, r, key))
		}
		x.narrow(val[:x.m.Rows], key, 0, true)
	}
	return val
}

func (x *narrowed) column(key int64) []float32 {
	if x.cells[key] == nil {
		x.cells[key] = x.initial(key)
	}
	return x.cells[key]
}

// delta draws values for some columns, of all rows or only some.
func (x *narrowed) delta(t *rapid.T) (b matrix.Block) {
	at := x.m.Rect()
	if rapid.Bool().Draw(t, "part") {
		at.Rows.Lo = rapid.Int64Range(0, x.m.Rows-1).Draw(t, "lo")
		at.Rows.Hi = rapid.Int64Range(at.Rows.Lo+1, x.m.Rows).Draw(t, "hi")
	}
	keys := rapid.SliceOfNDistinct(rapid.Int64Range(-30, 59), 0, 60, rapid.ID).Draw(t, "keys")
	slices.Sort(keys)
	val := make([]float32, len(keys)*int(at.Rows.Len()))
	size, first := rapid.SampledFrom([]float32{1e-4, 0.3, 50, 3e4}).Draw(t, "size"), rapid.IntRange(0, 100).Draw(t, "first")
	for i := range val {
		val[i] = size * float32(math.Sin(float64(first+i)))
	}
	return matrix.Block{At: at, Data: &matrix.Cols[float32]{Idx: keys, Val: val}}
}

// eachColumn calls f for the columns of a delta.
func eachColumn(b matrix.Block, f func(key int64, val []float32)) {
	d, n := b.Data.(*matrix.Cols[float32]), int(b.At.Rows.Len())
	for i, key := range d.Idx {
		f(key, d.Val[i*n:][:n])
	}
}

func (x *narrowed) change(t *rapid.T, b matrix.Block, do func(s *shard.Shard, b matrix.Block) error) {
	for _, s := range x.shards {
		if at := s.At().Intersect(b.At); !at.Empty() {
			if err := do(s, b.Cut(at)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (x *narrowed) Add(t *rapid.T) {
	b := x.delta(t)
	x.clock++
	x.change(t, b, func(s *shard.Shard, b matrix.Block) error { s.SetClock(x.clock); return s.AddBlock(b) })
	eachColumn(b, func(key int64, val []float32) {
		w := x.column(key)[:x.m.Rows]
		for i, v := range val {
			w[b.At.Rows.Lo+int64(i)] += v
		}
		x.narrow(w, key, x.steps+x.clock, false)
	})
	x.whole(t, b)
}

// whole has partitions of other rows make the columns too, as where a change of whole columns comes.
func (x *narrowed) whole(t *rapid.T, b matrix.Block) {
	none := matrix.Block{At: x.m.Rect(), Data: &matrix.Cols[float32]{Idx: b.Data.(*matrix.Cols[float32]).Idx}}
	none.Data.(*matrix.Cols[float32]).Val = make([]float32, len(none.Data.(*matrix.Cols[float32]).Idx)*int(x.m.Rows))
	x.change(t, none, func(s *shard.Shard, _ matrix.Block) error {
		keys := slices.DeleteFunc(slices.Clone(none.Data.(*matrix.Cols[float32]).Idx), func(key int64) bool { return !s.At().Cols.Has(key) })
		return s.Make(keys)
	})
}

func (x *narrowed) Set(t *rapid.T) {
	b := x.delta(t)
	x.change(t, b, func(s *shard.Shard, b matrix.Block) error { return s.SetBlock(b) })
	eachColumn(b, func(key int64, val []float32) {
		w := x.column(key)[:x.m.Rows]
		copy(w[b.At.Rows.Lo:], val)
		x.narrow(w, key, 0, true)
	})
	x.whole(t, b)
}

func (x *narrowed) Apply(t *rapid.T) {
	var all []matrix.Block
	sums := map[int64][]float32{}
	for range rapid.IntRange(1, 3).Draw(t, "deltas") {
		b := x.delta(t)
		if x.rule == nil {
			break
		}
		b.At.Rows = x.m.Rect().Rows // gradients have all rows
		d := b.Data.(*matrix.Cols[float32])
		d.Val = slices.Repeat(d.Val, int(x.m.Rows))[:len(d.Idx)*int(x.m.Rows)]
		all = append(all, b)
		eachColumn(b, func(key int64, val []float32) {
			if sums[key] == nil {
				sums[key] = make([]float32, x.m.Rows)
			}
			for i, v := range val {
				sums[key][i] += v
			}
		})
	}
	if x.rule == nil {
		return
	}
	x.steps++
	for _, s := range x.shards {
		some := make([]matrix.Block, len(all))
		for i := range all {
			some[i] = all[i].Cut(s.At())
		}
		if err := s.ApplyBlocks(some, 2, 0.1); err != nil {
			t.Fatal(err)
		}
	}
	for key, sum := range sums {
		col, n := x.column(key), int(x.m.Rows)
		slots := make([][]float32, x.rule.Slots)
		for i := range slots {
			slots[i] = col[(i+1)*n:][:n]
		}
		for i := range sum {
			sum[i] *= 0.5
		}
		x.step(col[:n], sum, slots, 0.1, x.steps)
		x.narrow(col[:n], key, x.steps, false)
	}
}

// Each doubles all cells by a function, which sees float32s.
func (x *narrowed) Each(t *rapid.T) {
	for _, s := range x.shards {
		err := psf.Each(s.View(0), psf.Rows{All: true}, true, func(c *psf.Chunk[float64]) error {
			for r, val := range c.Rows {
				for i := range val {
					if want := x.column(c.Column(i))[c.IDs[r]]; float32(val[i]) != want {
						return fmt.Errorf("cell (%d,%d) is %v, want %v", c.IDs[r], c.Column(i), val[i], want)
					}
					val[i] *= 0.75
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for key, val := range x.cells {
		for i := range val[:x.m.Rows] {
			val[i] *= 0.75
		}
		x.narrow(val[:x.m.Rows], key, 0, true)
	}
}

// Restore reads all columns with their state while they are changed, and puts them into new partitions.
func (x *narrowed) Restore(t *rapid.T) {
	slots := 0
	if x.rule != nil {
		slots = x.rule.Slots
	}
	for i, s := range x.shards {
		m := s.Mark()
		before := map[int64][]float32{}
		for key, val := range x.cells {
			before[key] = slices.Clone(val)
		}
		if i == 0 && len(x.shards) == 1 {
			x.Set(t)
		}
		to := cutShards(t, &x.m, x.rule, []matrix.Rect{s.At()})[0]
		to.SetSteps(x.steps)
		for keys := m.Keys(7); len(keys) > 0; keys = m.Keys(7) {
			val := make([]float32, int(s.At().Rows.Len())*(1+slots)*len(keys))
			if err := m.Read(wire.View(val), keys, true); err != nil {
				t.Fatal(err)
			}
			if err := to.RestoreColumns(s.At().Rows, keys, wire.View(val)); err != nil {
				t.Fatal(err)
			}
		}
		m.Close()
		s.Close()
		x.shards[i] = to
		if len(x.shards) == 1 {
			x.cells = before
		}
	}
}

func (x *narrowed) Check(t *rapid.T) {
	for _, s := range x.shards {
		rows := s.At().Rows
		rows.Lo = rapid.Int64Range(rows.Lo, rows.Hi-1).Draw(t, "first row")
		keys := []int64{}
		for c := s.At().Cols.Lo; c < s.At().Cols.Hi; c++ {
			keys = append(keys, c)
		}
		got := make([]float32, len(keys)*int(rows.Len()))
		if err := s.Read(wire.View(got), rows, keys); err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			want := x.cells[key]
			if want == nil {
				want = x.initial(key)
			}
			for r := range rows.Len() {
				if g := got[int64(i)*rows.Len()+r]; g != want[rows.Lo+r] {
					t.Fatalf("%v: cell (%d,%d) is %v, want %v", x.m.Storage, rows.Lo+r, key, g, want[rows.Lo+r])
				}
			}
		}
	}
}

// TestNarrow: partitions that keep weights as narrow types, however cut, do what a matrix of float32s does whose columns are rounded
// after every change.
func TestNarrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newNarrowed(t)
		t.Repeat(map[string]func(*rapid.T){
			"add": x.Add, "set": x.Set, "apply": x.Apply, "each": x.Each, "restore": x.Restore, "": x.Check,
		})
	})
}

// TestNarrowTiny: changes that are far too small for the type are right in the mean; rounded to nearest all of them would be lost.
func TestNarrowTiny(t *testing.T) {
	const columns, times, tiny = 400, 500, 1e-5
	keys := make([]int64, columns)
	ones, changes := make([]float32, columns), make([]float32, columns)
	for i := range keys {
		keys[i], ones[i], changes[i] = int64(i), 1, tiny
	}
	for _, storage := range []matrix.DType{matrix.F16, matrix.BF16, matrix.I8} {
		m := &matrix.Meta{Name: "n", Rows: 1, Cols: columns, DType: matrix.F32, Layout: matrix.RowSparse, Storage: storage}
		s, err := shard.New(m, m.Rect(), 0, nil)
		must(t, err)
		must(t, s.Set(shard.Delta{Rows: m.Rect().Rows, Cols: m.Rect().Cols, Keys: keys, Values: wire.View(ones)}))
		got := make([]float32, columns)
		for n := range times {
			s.SetClock(int64(n))
			must(t, s.Apply([]shard.Delta{{Rows: m.Rect().Rows, Cols: m.Rect().Cols, Keys: keys, Values: wire.View(changes)}}, 0, 0))
		}
		must(t, s.Read(wire.View(got), m.Rect().Rows, keys))
		gap := map[matrix.DType]float64{matrix.F16: 1.0 / (1 << 10), matrix.BF16: 1.0 / (1 << 7), matrix.I8: 1.0 / 64}[storage]
		sum, moved := 0.0, 0
		for _, v := range got {
			sum += float64(v) - 1
			if v != 1 {
				moved++
			}
		}
		// Of each change the error has a variance of at most tiny*gap.
		if off, most := math.Abs(sum/columns-times*tiny), 4*math.Sqrt(times*tiny*gap/columns); off > most || moved == 0 {
			t.Errorf("%v: columns have grown by %v, want %v, %v off at most", storage, sum/columns, times*tiny, most)
		}
	}
}

// TestNarrowFunctions: functions see and change cells of narrow partitions as float32s, in every way that there is.
func TestNarrowFunctions(t *testing.T) {
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		m := &matrix.Meta{Name: "n", Rows: 3, Cols: 300, DType: matrix.F32, Layout: layout, Storage: matrix.F16}
		s, err := shard.New(m, m.Rect(), 0, nil)
		must(t, err)
		keys, val := make([]int64, m.Cols), make([]float32, m.Cols*m.Rows)
		for i := range val {
			keys[int64(i)/m.Rows], val[i] = int64(i)/m.Rows, float32(i)
		}
		must(t, s.Set(shard.Delta{Rows: m.Rect().Rows, Cols: m.Rect().Cols, Keys: keys, Values: wire.View(val)}))
		cells := s.View(0).Cells().(psf.Cells[float32])
		must(t, cells.Together([]int64{1, 2, 0}, 2, func(c *psf.Chunk[float32]) error {
			for i, v := range c.Rows[0] {
				c.Rows[1][i] += v
				c.Rows[2][i] = 0.1
			}
			return nil
		}))
		must(t, cells.Pick([]int64{0, 1}, []int64{7, 290}, func(c *psf.Chunk[float32]) error {
			for i, v := range c.Rows[0] {
				c.Rows[1][i] -= v
			}
			return nil
		}))
		got := make([]float32, len(val))
		must(t, s.Read(wire.View(got), m.Rect().Rows, keys))
		tenth := matrix.ToFloat16(0.1).Float32()
		for i := range keys {
			row1, row2 := val[3*i+1], val[3*i+1]+val[3*i+2]
			if i == 7 || i == 290 {
				row1 = matrix.ToFloat16(row1 - tenth).Float32()
			}
			if want := [3]float32{tenth, row1, row2}; [3]float32(got[3*i:]) != want {
				t.Fatalf("%v: column %d is %v, want %v", layout, i, got[3*i:][:3], want)
			}
		}
	}
}
