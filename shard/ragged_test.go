package shard_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/shard"
	"thole.example/wire"
)

// raggedMeta is a matrix of five rows whose columns store 5, 2, 1 or 3 of them.
func raggedMeta() matrix.Meta {
	return matrix.Meta{
		Name: "v", Rows: 5, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "sgd", Hyper: map[string]float64{"l2": 0},
		Widths: []matrix.Width{
			{Cols: matrix.Range{Lo: 10, Hi: 20}, Rows: 2}, {Cols: matrix.Range{Lo: 20, Hi: 25}, Rows: 1},
			{Cols: matrix.Range{Lo: 40, Hi: 60}, Rows: 3}, {Cols: matrix.Range{Lo: 60, Hi: 70}, Rows: 2},
		},
	}
}

// TestRaggedValues has values by hand: a column stores its rows alone, a step changes those alone, and what else is set is refused.
func TestRaggedValues(t *testing.T) {
	m := raggedMeta()
	m.Rows, m.Widths = 3, []matrix.Width{{Cols: matrix.Range{Lo: 10, Hi: 20}, Rows: 1}}
	rule, err := optim.Find(nil, m.Rule)
	if err != nil {
		t.Fatal(err)
	}
	s := newShard(t, &m, 0, rule)
	defer s.Close()
	keys := []int64{10, 9, 19, 20}
	delta := func(rows matrix.Range, keys []int64, val ...float32) shard.Delta {
		return shard.Delta{Rows: rows, Cols: m.Rect().Cols, Keys: keys, Values: wire.View(val)}
	}
	all := matrix.Range{Hi: 3}
	must(t, s.Apply([]shard.Delta{delta(all, keys, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)}, 1, 0.5))
	must(t, s.Set(delta(all, []int64{9, 10}, 40, 50, 60, 70, 0, 0)))
	must(t, s.Set(delta(matrix.Range{Lo: 1, Hi: 3}, []int64{20}, 80, 90)))
	got := make([]float32, 12)
	must(t, s.Read(wire.View(got), all, keys))
	if want := []float32{70, 0, 0, 40, 50, 60, -3.5, 0, 0, -5, 80, 90}; !slices.Equal(got, want) {
		t.Errorf("columns %v have %v, want %v", keys, got, want)
	}
	must(t, s.Read(wire.View(got[:4]), matrix.Range{Lo: 1, Hi: 2}, keys))
	if want := []float32{0, 50, 0, 80}; !slices.Equal(got[:4], want) {
		t.Errorf("row 1 of columns %v has %v, want %v", keys, got[:4], want)
	}
	err = s.Set(delta(all, []int64{10}, 1, 0, 2))
	if want := "column 10 stores 1 rows, found 2 in row 2, want 0"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a value that column 10 does not store: %v, want %q", err, want)
	}
	state := []float32{5, 0, 1}
	err = s.RestoreColumns(all, []int64{11}, wire.View(state))
	if want := "found 1 in row 2, want 0; want the widths of columns with which it was written"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a state that column 11 does not store: %v, want %q", err, want)
	}
}

// TestRaggedRefused are widths that a matrix cannot have.
func TestRaggedRefused(t *testing.T) {
	for _, c := range []struct {
		change func(m *matrix.Meta)
		want   string
	}{
		{func(m *matrix.Meta) { m.Layout = matrix.RowDense }, "several widths in a dense matrix"},
		{func(m *matrix.Meta) { m.Widths[0].Rows = 6 }, "columns [10,20) of 6 rows, want 1 to 5"},
		{func(m *matrix.Meta) { m.Widths[0].Rows = 0 }, "columns [10,20) of 0 rows, want 1 to 5"},
		{func(m *matrix.Meta) { m.Widths[1].Cols.Lo = 19 }, "width of columns [19,25), want ascending ranges"},
		{func(m *matrix.Meta) { m.Widths[3].Cols.Hi = 1<<40 + 1 }, "width of columns [60,1099511627777), want ascending ranges"},
		{func(m *matrix.Meta) {
			m.Rows, m.Widths = 100, nil
			for i := range int64(matrix.WidthKinds) {
				m.Widths = append(m.Widths, matrix.Width{Cols: matrix.Range{Lo: i, Hi: i + 1}, Rows: 1 + i})
			}
		}, "columns of more than 16 different widths"},
	} {
		m := raggedMeta()
		c.change(&m)
		if err := m.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	m := raggedMeta()
	at := m.Rect()
	at.Rows.Hi = 2
	if _, err := shard.New(&m, at, 0, nil); err == nil || !strings.Contains(err.Error(), "partition of rows [0,2), want all 5") {
		t.Errorf("a part of the rows: %v", err)
	}
}

// pair is partitions of a matrix with columns of several widths, and one in which all columns store all rows.
type pair struct {
	m      matrix.Meta
	bits   int
	rule   *psf.Rule
	ragged []*shard.Shard
	whole  *shard.Shard
}

func newPair(t *rapid.T) *pair {
	m := raggedMeta()
	m.Rule = rapid.SampledFrom([]string{"", "sgd", "adagrad", "momentum", "ftrl", "adam"}).Draw(t, "rule")
	if m.Hyper = nil; m.Rule == "adagrad" || m.Rule == "momentum" {
		m.Hyper = map[string]float64{"l2": rapid.SampledFrom([]float64{0, 0.01}).Draw(t, "l2")} // columns catch up
	}
	m.Init = rapid.SampledFrom([]matrix.Init{{}, {Kind: "normal", Scale: 2, Seed: 9}}).Draw(t, "init")
	m.Storage = rapid.SampledFrom([]matrix.DType{matrix.Invalid, matrix.BF16}).Draw(t, "storage")
	if m.Rule != "" {
		m.Keep = rapid.SampledFrom([]matrix.Keep{{}, {ExpireAfter: 6}, {AdmitAfter: 2, ForgetAfter: 9}, {AdmitAfter: 2, ExpireAfter: 5},
			{ClickWeight: 1, HalfLife: 8, EvictBelow: 0.4}}).Draw(t, "keep")
	}
	if m.Keep.Counts() {
		m.Storage = matrix.Invalid
	}
	x := &pair{m: m, bits: rapid.IntRange(0, 2).Draw(t, "bits")}
	if m.Rule != "" {
		rule, err := optim.Find(nil, m.Rule)
		must(t, err)
		x.rule = rule
	}
	x.ragged = x.parts(t, x.bits)
	uniform := m
	uniform.Widths = nil
	x.whole = newShard(t, &uniform, 0, x.rule)
	return x
}

func (x *pair) parts(t fataler, bits int) (all []*shard.Shard) {
	for range 1 << bits {
		all = append(all, newShard(t, &x.m, bits, x.rule))
	}
	return all
}

func (x *pair) of(all []*shard.Shard, key int64) *shard.Shard {
	return all[int(kernel.Hash(uint64(key))>>(64-x.bits))%len(all)]
}

// delta draws columns with values of rows from the first on, with zeros or without in those that they do not store.
func (x *pair) delta(t *rapid.T, zeros bool) (d shard.Delta, parts []shard.Delta) {
	rows := matrix.Range{Hi: rapid.Int64Range(1, x.m.Rows).Draw(t, "rows")}
	keys := rapid.SliceOfNDistinct(rapid.Int64Range(0, 79), 0, 20, func(k int64) int64 { return k }).Draw(t, "keys")
	parts = make([]shard.Delta, len(x.ragged))
	var val []float32
	split := make([][]float32, len(parts))
	for _, key := range keys {
		i := slices.Index(x.ragged, x.of(x.ragged, key))
		parts[i].Keys = append(parts[i].Keys, key)
		for r := range rows.Hi {
			v := float32(rapid.IntRange(-9, 9).Draw(t, "v")) / 4
			if zeros && r >= x.m.RowsOf(key) {
				v = 0
			}
			val, split[i] = append(val, v), append(split[i], v)
		}
	}
	for i := range parts {
		parts[i].Rows, parts[i].Cols, parts[i].Values = rows, x.m.Rect().Cols, wire.View(split[i])
		if parts[i].Keys == nil {
			parts[i].Keys = []int64{}
		}
	}
	return shard.Delta{Rows: rows, Cols: x.m.Rect().Cols, Keys: keys, Values: wire.View(val)}, parts
}

func (x *pair) Add(t *rapid.T) {
	d, parts := x.delta(t, false)
	must(t, x.whole.Add(d))
	for i, s := range x.ragged {
		must(t, s.Add(parts[i]))
	}
}

func (x *pair) Set(t *rapid.T) {
	d, parts := x.delta(t, true)
	must(t, x.whole.Set(d))
	for i, s := range x.ragged {
		must(t, s.Set(parts[i]))
	}
}

func (x *pair) Remove(t *rapid.T) {
	d, parts := x.delta(t, true)
	n := x.whole.Remove(d.Keys)
	for i, s := range x.ragged {
		n -= s.Remove(parts[i].Keys)
	}
	if n != 0 {
		t.Fatalf("%d columns more were removed where all store all rows", n)
	}
}

func (x *pair) Apply(t *rapid.T) {
	n := rapid.IntRange(0, 2).Draw(t, "deltas")
	all, split := make([]shard.Delta, n), make([][]shard.Delta, len(x.ragged))
	for i := range all {
		d, parts := x.delta(t, false)
		all[i] = d
		for j := range parts {
			split[j] = append(split[j], parts[j])
		}
	}
	if n > 0 && x.m.Keep.Counts() {
		d, parts := all[0], make([]shard.Delta, len(split))
		for i := range split {
			parts[i] = split[i][0]
		}
		for _, p := range append([]*shard.Delta{&d}, pointers(parts)...) {
			val := make([]float32, 2*len(p.Keys))
			for i := range val {
				val[i] = float32(p.Keys[i/2]%3) * float32(i%2)
			}
			p.Rows, p.Values = x.m.CountRows(), wire.View(val)
		}
		all = append(all, d)
		for i := range split {
			split[i] = append(split[i], parts[i])
		}
	}
	must(t, x.whole.Apply(all, 2, 0.5))
	for i, s := range x.ragged {
		must(t, s.Apply(split[i], 2, 0.5))
	}
}

func pointers[T any](all []T) (p []*T) {
	for i := range all {
		p = append(p, &all[i])
	}
	return p
}

// Restart continues with partitions that have the state of the others, read at once or beside the owner, as it is or up to date.
func (x *pair) Restart(t *rapid.T) {
	bits := rapid.IntRange(0, 2).Draw(t, "bits")
	beside := rapid.Bool().Draw(t, "beside")
	next := x.parts(t, bits)
	x.bits = bits
	for _, s := range x.ragged {
		m := s.Mark()
		for _, to := range next {
			to.SetSteps(s.Steps())
			must(t, to.Reserve(m.Columns()))
		}
		for keys := range x.listed(t, m, beside) {
			for _, c := range keys {
				to := x.of(next, c.key)
				if m.Past() != nil {
					must(t, to.RestoreStale(m.Past(), x.m.Rect().Rows, []int64{c.key}, c.state, []int64{c.as}))
				} else {
					must(t, to.RestoreColumns(x.m.Rect().Rows, []int64{c.key}, c.state))
				}
				must(t, to.RestoreAges([]int64{c.key}, c.ages))
			}
		}
		for more := true; more; {
			some, err := m.Candidates(3)
			must(t, err)
			for _, c := range some {
				must(t, x.of(next, c.Key).RestoreCandidates([]shard.Candidate{c}))
			}
			more = len(some) > 0
		}
		m.Close()
		s.Close()
	}
	x.ragged = next
}

// restoredColumn is a column with its state.
type restoredColumn struct {
	key   int64
	state []byte
	as    int64
	ages  shard.Ages
}

// listed yields the columns of a mark, which come in the order of their hashes.
func (x *pair) listed(t *rapid.T, m *shard.Mark, beside bool) func(yield func([]restoredColumn) bool) {
	slots := shard.Slots(&x.m, x.rule)
	size := int(x.m.Rows) * (1 + slots) * 4
	last := uint64(0)
	return func(yield func([]restoredColumn) bool) {
		for c := (&shard.Columns{}); ; {
			var keys []int64
			if beside {
				if !m.List(c, 7) {
					return
				}
				m.Sort(c)
				keys = c.Keys
			} else if keys = m.Keys(7); keys == nil {
				return
			}
			val := wire.View(make([]float32, size/4*len(keys)))
			as, ages := make([]int64, len(keys)), c.Ages
			var err error
			switch {
			case beside && m.Past() == nil:
				err = m.Copy(val, nil, c, false)
			case beside:
				err = m.Copy(val, as, c, true)
			case m.Past() != nil:
				ages, err = m.ReadStale(val, as, keys)
			default:
				ages, err = m.ReadState(val, keys)
			}
			must(t, err)
			some := make([]restoredColumn, len(keys))
			for i, key := range keys {
				if hash := kernel.Hash(uint64(key)); hash < last {
					t.Fatalf("column %d comes after one with a larger hash", key)
				} else {
					last = hash
				}
				some[i] = restoredColumn{key: key, state: val[i*size:][:size], as: as[i]}
				if ages.Last != nil {
					some[i].ages.Last = ages.Last[i : i+1]
				}
				if ages.Ranks != nil {
					some[i].ages.Ranks = ages.Ranks[i : i+1]
				}
			}
			if !yield(some) {
				return
			}
		}
	}
}

// Check compares all cells, what is stored, and what functions see now and at a mark.
func (x *pair) Check(t *rapid.T) {
	rows := matrix.Range{Lo: rapid.Int64Range(0, x.m.Rows-1).Draw(t, "from"), Hi: x.m.Rows}
	n := int(rows.Len())
	for key := range int64(80) {
		got, want := make([]float32, n), make([]float32, n)
		must(t, x.of(x.ragged, key).Read(wire.View(got), rows, []int64{key}))
		must(t, x.whole.Read(wire.View(want), rows, []int64{key}))
		clear(want[min(n, int(max(0, x.m.RowsOf(key)-rows.Lo))):])
		if !bytes.Equal(wire.View(got), wire.View(want)) {
			t.Fatalf("rows %v of column %d are %v, want %v", rows, key, got, want)
		}
	}
	var have []int64
	columns := 0
	for _, s := range x.ragged {
		have = append(have, s.Keys(x.m.Rect().Cols)...)
		columns += s.Columns()
	}
	slices.Sort(have)
	if want := x.whole.Keys(x.m.Rect().Cols); !slices.Equal(have, want) || columns != len(want) {
		t.Fatalf("columns %v are stored, and %d counted, want %v", have, columns, want)
	}
	seen := map[[2]int64]float64{}
	look := func(c *psf.Chunk[float64]) error {
		for r, val := range c.Rows {
			for i, v := range val {
				seen[[2]int64{c.IDs[r], c.Column(i)}] += v
			}
		}
		return nil
	}
	for _, s := range x.ragged {
		m := s.Mark()
		must(t, psf.Each(s.View(0), psf.Rows{All: true}, false, look))
		must(t, psf.Each(m.View(0, func(read func() error) error { return read() }), psf.Rows{All: true}, false, look))
		m.Close()
	}
	if len(seen) != len(have)*int(x.m.Rows) {
		t.Fatalf("functions see %d cells, want those of %d columns", len(seen), len(have))
	}
	for at, v := range seen {
		one := make([]float32, 1)
		must(t, x.of(x.ragged, at[1]).Read(wire.View(one), matrix.Range{Lo: at[0], Hi: at[0] + 1}, []int64{at[1]}))
		if v != 2*float64(one[0]) {
			t.Fatalf("functions see %v twice in row %d of column %d, want %v", v/2, at[0], at[1], one[0])
		}
	}
}

// TestRaggedModel: columns of several widths have the bits of those that store all rows, in the rows that they store, whatever becomes of
// them, in any number of partitions and after any number of restarts.
func TestRaggedModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newPair(t)
		defer func() {
			for _, s := range append(x.ragged, x.whole) {
				s.Close()
			}
		}()
		t.Repeat(map[string]func(*rapid.T){
			"add": x.Add, "set": x.Set, "apply": x.Apply, "again": x.Apply, "remove": x.Remove, "restart": x.Restart, "": x.Check,
		})
	})
}
