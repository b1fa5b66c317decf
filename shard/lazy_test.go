package shard_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/shard"
	"thole.example/wire"
)

// lagging is a matrix whose columns are behind, twice: in one partition that nobody looks at, and in several that are read, marked,
// and put back from marks into other partitions.
type lagging struct {
	m     matrix.Meta
	rule  *psf.Rule
	quiet *shard.Shard
	all   []*shard.Shard // by the top bits of a key's hash
	marks []laggingMark
}

type laggingMark struct {
	*shard.Mark
	at    matrix.Rect
	want  map[int64][]float32
	steps int64
}

const laggingKeys = 30

func newLagging(t *rapid.T) *lagging {
	of := rapid.SampledFrom([]struct {
		rule  string
		hyper map[string]float64
	}{
		{"sgd", map[string]float64{"l1": 1e-4, "l2": 1e-3}}, {"momentum", nil}, {"momentum", map[string]float64{"l2": 0.01}},
		{"nesterov", nil}, {"adagrad", map[string]float64{"l1": 1e-3}}, {"rmsprop", nil}, {"adadelta", nil},
	}).Draw(t, "rule")
	rule, err := optim.Find(nil, of.rule)
	if err != nil {
		t.Fatal(err)
	}
	x := &lagging{rule: rule}
	x.m = matrix.Meta{
		Name: "m", Rows: rapid.Int64Range(1, 9).Draw(t, "rows"), Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse,
		Rule: of.rule, Hyper: of.hyper,
		Keep: matrix.Keep{ExpireAfter: rapid.SampledFrom([]int64{0, 0, 500}).Draw(t, "expire")},
		Init: rapid.SampledFrom([]matrix.Init{{}, {Kind: "uniform", Scale: 1, Seed: 3}}).Draw(t, "init"),
	}
	x.quiet, x.all = newShard(t, &x.m, 0, rule), x.cut(t)
	return x
}

// cut is partitions without columns.
func (x *lagging) cut(t *rapid.T) (all []*shard.Shard) {
	bits := rapid.IntRange(0, 3).Draw(t, "bits")
	for range 1 << bits {
		all = append(all, newShard(t, &x.m, bits, x.rule))
	}
	return all
}

func shardOf(all []*shard.Shard, key int64) int {
	return int(kernel.Hash(uint64(key)) >> 32 * uint64(len(all)) >> 32)
}

// changed has both change some columns.
func (x *lagging) changed(t *rapid.T, f func(s *shard.Shard, d shard.Delta) error) {
	keys := rapid.SliceOfNDistinct(rapid.Int64Range(0, laggingKeys-1), 0, laggingKeys, rapid.ID[int64]).Draw(t, "keys")
	val := make([]float32, int(x.m.Rows)*len(keys))
	for i := range val {
		val[i] = float32(rapid.IntRange(-20, 20).Draw(t, "value")) / 7
	}
	rows := x.m.Rect().Rows
	part := func(keep func(key int64) bool) shard.Delta {
		d, some := shard.Delta{Rows: rows, Cols: x.m.Rect().Cols, Keys: []int64{}}, []float32{}
		for i, key := range keys {
			if keep(key) {
				d.Keys, some = append(d.Keys, key), append(some, val[i*int(x.m.Rows):][:x.m.Rows]...)
			}
		}
		d.Values = wire.View(some)
		return d
	}
	must(t, f(x.quiet, part(func(int64) bool { return true })))
	for i, s := range x.all {
		must(t, f(s, part(func(key int64) bool { return shardOf(x.all, key) == i })))
	}
}

func (x *lagging) Add(t *rapid.T) { x.changed(t, (*shard.Shard).Add) }

func (x *lagging) Apply(t *rapid.T) {
	rate := rapid.SampledFrom([]float64{0, 0.01, 0.3}).Draw(t, "rate")
	twice := rapid.Bool().Draw(t, "twice")
	x.changed(t, func(s *shard.Shard, d shard.Delta) error {
		deltas := []shard.Delta{d}
		if twice {
			deltas = append(deltas, d)
		}
		return s.Apply(deltas, 2, rate)
	})
}

// Pass makes steps that name nothing.
func (x *lagging) Pass(t *rapid.T) {
	n, rate := rapid.SampledFrom([]int{1, 1, 2, 3, 20, 20, 100, 600, 9000}).Draw(t, "steps"), rapid.Float64Range(0, 0.2).Draw(t, "rate")
	for _, s := range append(x.all, x.quiet) {
		for i := range n {
			must(t, s.Apply(nil, 1, rate/float64(1+i)))
		}
	}
}

// Update runs a function that changes the first row.
func (x *lagging) Update(t *rapid.T) {
	for i, s := range append(slices.Clone(x.all), x.quiet) {
		err := s.View(i).Cells().(psf.Cells[float32]).Apart([]int64{0}, true, func(c *psf.Chunk[float32]) error {
			for j := range c.Rows[0] {
				c.Rows[0][j] = 1 - c.Rows[0][j]
			}
			return nil
		})
		must(t, err)
	}
}

// Few reads columns of all partitions at once, which has to give what Read gives.
func (x *lagging) Few(t *rapid.T) {
	var few shard.Few
	var got [][]float32
	var keys []int64
	for range 2 {
		few.Reset()
		got, keys = nil, keys[:0]
		for key := range int64(laggingKeys) {
			s := x.all[shardOf(x.all, key)]
			val := make([]float32, x.m.Rows)
			must(t, few.Add(s, wire.View(val), s.At().Rows, []int64{key}))
			got, keys = append(got, val), append(keys, key)
		}
		must(t, few.Read())
	}
	for i, key := range keys {
		if want := x.column(t, x.all[shardOf(x.all, key)], key); !slices.Equal(got[i], want) {
			t.Fatalf("a read of few gives %v for column %d, want %v", got[i], key, want)
		}
	}
}

// Look has a function read, which has to see what Read gives.
func (x *lagging) Look(t *rapid.T) {
	for i, s := range x.all {
		err := s.View(i).Cells().(psf.Cells[float32]).Together(columnsIn(s.At().Rows), 0, func(c *psf.Chunk[float32]) error {
			for j := range c.Rows[0] {
				want := x.column(t, s, c.Column(j))
				for r := range c.Rows {
					if c.Rows[r][j] != want[c.IDs[r]] {
						t.Fatalf("a function sees %v in row %d of column %d, want %v", c.Rows[r][j], c.IDs[r], c.Column(j), want)
					}
				}
			}
			return nil
		})
		must(t, err)
	}
}

func (x *lagging) column(t *rapid.T, s *shard.Shard, key int64) []float32 {
	val := make([]float32, x.m.Rows)
	must(t, s.Read(wire.View(val), s.At().Rows, []int64{key}))
	return val
}

func (x *lagging) Mark(t *rapid.T) {
	for _, s := range x.all {
		m := laggingMark{Mark: s.Mark(), at: s.At(), want: map[int64][]float32{}, steps: s.Steps()}
		for _, key := range s.Keys(s.At().Cols) {
			m.want[key] = x.column(t, s, key)
		}
		x.marks = append(x.marks, m)
	}
}

// Unmark reads the marks, which have to be as they were, in one of the ways that there are.
func (x *lagging) Unmark(t *rapid.T) {
	how := rapid.SampledFrom([]string{"values", "with slots", "as a function"}).Draw(t, "how")
	for _, m := range x.marks {
		if how == "as a function" {
			cells := m.View(0, func(read func() error) error { return read() }).Cells().(psf.Cells[float32])
			must(t, cells.Together(columnsIn(m.at.Rows), 0, func(c *psf.Chunk[float32]) error {
				for j := range c.Rows[0] {
					for r := range c.Rows {
						if want := m.want[c.Column(j)]; c.Rows[r][j] != want[r] {
							t.Fatalf("a function sees %v in row %d of column %d of step %d, want %v", c.Rows[r][j], r, c.Column(j), m.steps, want)
						}
					}
					delete(m.want, c.Column(j))
				}
				return nil
			}))
		}
		for keys := m.Keys(7); len(keys) > 0; keys = m.Keys(7) {
			each := int(x.m.Rows)
			if how == "with slots" {
				each *= 1 + x.rule.Slots
			}
			val := make([]float32, len(keys)*each)
			must(t, m.Read(wire.View(val), keys, how == "with slots"))
			for i, key := range keys {
				if got := val[i*each:][:x.m.Rows]; !slices.Equal(got, m.want[key]) {
					t.Fatalf("the mark of step %d has %v in column %d, want %v", m.steps, got, key, m.want[key])
				}
				delete(m.want, key)
			}
		}
		if len(m.want) > 0 {
			t.Fatalf("the mark of step %d does not list %v", m.steps, m.want)
		}
		m.Close()
	}
	x.marks = nil
}

// Restore puts all columns into other partitions, as a checkpoint does.
func (x *lagging) Restore(t *rapid.T) {
	x.Unmark(t)
	to := x.cut(t)
	for _, s := range to {
		s.SetSteps(x.quiet.Steps())
	}
	for _, s := range x.all {
		mark, each := s.Mark(), int(x.m.Rows)*(1+x.rule.Slots)
		past, err := shard.NewPast(&x.m, x.rule, mark.Steps(), mark.Past().Rates())
		must(t, err)
		for keys := mark.Keys(5); len(keys) > 0; keys = mark.Keys(5) {
			val, stamps := make([]float32, len(keys)*each), make([]int64, len(keys))
			ages, err := mark.ReadStale(wire.View(val), stamps, keys)
			must(t, err)
			for i, key := range keys {
				into := to[shardOf(to, key)]
				must(t, into.RestoreStale(past, s.At().Rows, keys[i:][:1], wire.View(val[i*each:][:each]), stamps[i:][:1]))
				if ages.Last != nil {
					must(t, into.RestoreAges(keys[i:][:1], shard.Ages{Last: ages.Last[i:][:1]}))
				}
			}
		}
		mark.Close()
		s.Close()
	}
	x.all = to
}

// Check reads everything of the partitions that are read.
func (x *lagging) Check(t *rapid.T) {
	for key := range int64(laggingKeys) {
		x.column(t, x.all[shardOf(x.all, key)], key)
	}
}

// Same wants the same bits of both.
func (x *lagging) Same(t *rapid.T) {
	for key := range int64(laggingKeys) {
		got, want := x.column(t, x.all[shardOf(x.all, key)], key), x.column(t, x.quiet, key)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("after %d steps column %d is %v in %d partitions that were read, %v in one that was not",
				x.quiet.Steps(), key, got, len(x.all), want)
		}
	}
}

// TestLazyBits: the bits of a column depend neither on who read it, nor on marks and checkpoints, nor on partitions.
func TestLazyBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newLagging(t)
		t.Repeat(map[string]func(*rapid.T){
			"apply": x.Apply, "apply again": x.Apply, "add": x.Add, "pass": x.Pass, "update": x.Update, "look": x.Look, "mark": x.Mark,
			"unmark": x.Unmark, "restore": x.Restore, "": x.Check,
		})
		x.Same(t)
	})
}

// TestLazyReads: columns that are behind can be read by many at once, while nothing changes.
func TestLazyReads(t *testing.T) {
	m, rule := behindOf(t)
	s := newShard(t, m, 0, rule)
	keys := columnsIn(m.Rect().Cols)
	must(t, s.Apply([]shard.Delta{gradient(s, keys, make([]float64, 3*len(keys)))}, 1, 0.1))
	must(t, s.Apply([]shard.Delta{gradient(s, keys[:4], []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})}, 1, 0.1))
	must(t, s.Apply(nil, 1, 0.1))
	want := weights(t, s, keys)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				got := make([]float64, len(want))
				if err := s.Read(wire.View(got), m.Rect().Rows, keys); err != nil || !slices.Equal(got, want) {
					t.Errorf("read %v, %v, want %v", got, err, want)
				}
			}
		})
	}
	all.Wait()
}
