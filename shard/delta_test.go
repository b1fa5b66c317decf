package shard_test

import (
	"fmt"
	"math/rand/v2"
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

type number interface {
	float64 | float32 | int64 | int32
}

// column is the values of a column and its slots.
type column[T number] struct {
	w     []T
	slots [][]T
}

func (c column[T]) clone() column[T] {
	out := column[T]{w: slices.Clone(c.w)}
	for _, s := range c.slots {
		out.slots = append(out.slots, slices.Clone(s))
	}
	return out
}

// state is the values with the slots after them.
func (c column[T]) state() []T { return slices.Concat(append([][]T{c.w}, c.slots...)...) }

// standing is the rule when columns stand still in the steps that do not name them; TestLazy is of those that do not.
func standing(rule psf.Rule) *psf.Rule {
	bind := rule.New
	rule.New = func(h map[string]float64) psf.Step {
		step := bind(h)
		step.Idle = nil
		return step
	}
	return &rule
}

// oracle is a sparse matrix as a map of slices, with the rule's form for cells.
type oracle[T number] struct {
	t     *rapid.T
	m     matrix.Meta
	rule  *psf.Rule
	run   func(w, g []T, slots [][]T, rate float64, t int64)
	s     *shard.Shard
	fresh func(key int64) []T
	cols  map[int64]column[T]
	steps int64
	bits  int // of the hashes of all keys, which are 0
	rng   *rand.Rand
	marks []*marked[T]
}

// marked is an open mark and what it has to give.
type marked[T number] struct {
	*shard.Mark
	want   map[int64]column[T]
	last   uint64
	unread []int64
}

// tripled is a rule of a user: it knows only cells.
var tripled = psf.Rule{Name: "tripled", Slots: 2, New: func(map[string]float64) psf.Step {
	return psf.Step{
		F32: func(w, g []float32, s [][]float32, rate float64, t int64) { triple(w, g, s, float32(rate), float32(t)) },
		F64: func(w, g []float64, s [][]float64, rate float64, t int64) { triple(w, g, s, rate, float64(t)) },
	}
}}

func triple[T float32 | float64](w, g []T, s [][]T, rate, t T) {
	for i := range w {
		s[0][i] += g[i]
		s[1][i] = t
		w[i] -= T(3*rate*g[i]) + s[0][i]
	}
}

func dtypeOf[T number]() matrix.DType {
	switch any(T(0)).(type) {
	case float64:
		return matrix.F64
	case float32:
		return matrix.F32
	case int64:
		return matrix.I64
	}
	return matrix.I32
}

func newOracle[T number](t *rapid.T) *oracle[T] {
	o := &oracle[T]{t: t, cols: map[int64]column[T]{}, rng: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))}
	o.m = matrix.Meta{
		Name: "m", Rows: rapid.SampledFrom([]int64{1, 2, 5, 8, 16, 17, 33}).Draw(t, "rows"), Cols: 1 << 62, ColLo: -1 << 61,
		DType: dtypeOf[T](), Layout: matrix.RowSparse,
		Init: rapid.SampledFrom([]matrix.Init{{}, {Kind: "uniform", Scale: 2, Seed: 9}}).Draw(t, "init"),
	}
	rules := append(optim.Rules(), tripled)
	if d := o.m.DType; (d == matrix.F32 || d == matrix.F64) && rapid.Bool().Draw(t, "with a rule") {
		o.rule = standing(rules[rapid.IntRange(0, len(rules)-1).Draw(t, "rule")])
		step, err := o.rule.Bind(nil)
		o.must(err)
		o.run, _ = any(step.F32).(func(w, g []T, slots [][]T, rate float64, t int64))
		if f, ok := any(step.F64).(func(w, g []T, slots [][]T, rate float64, t int64)); ok {
			o.run = f
		}
	}
	var err error
	o.bits = rapid.IntRange(0, 2).Draw(t, "bits")
	o.s, err = shard.New(&o.m, o.m.Rect(), o.bits, o.rule)
	o.must(err)
	o.fresh = func(key int64) []T { // as a partition without any column reads it
		empty, err := shard.New(&o.m, o.m.Rect(), 0, nil)
		o.must(err)
		w := make([]T, o.m.Rows)
		o.must(empty.Read(wire.View(w), o.m.Rect().Rows, []int64{key}))
		return w
	}
	return o
}

func (o *oracle[T]) must(err error) {
	if err != nil {
		o.t.Fatal(err)
	}
}

// column is the column, made if it is not there.
func (o *oracle[T]) column(key int64) column[T] {
	c, ok := o.cols[key]
	if !ok {
		c.w = o.fresh(key)
		for range o.slots() {
			c.slots = append(c.slots, make([]T, o.m.Rows))
		}
		o.cols[key] = c
	}
	return c
}

func (o *oracle[T]) slots() int {
	if o.rule == nil {
		return 0
	}
	return o.rule.Slots
}

// draw is some different keys, in any order: near each other, or equal in their low bits.
func (o *oracle[T]) draw() []int64 {
	n := rapid.SampledFrom([]int{0, 1, 3, 24, 25, 60, 300}).Draw(o.t, "keys")
	shift := rapid.SampledFrom([]int{0, 40}).Draw(o.t, "shift")
	keys := make([]int64, 0, n)
	for _, k := range o.rng.Perm(700)[:n] {
		if key := int64(k-350) << shift; o.mine(key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// mine tells keys that belong in the partition.
func (o *oracle[T]) mine(key int64) bool { return kernel.Hash(uint64(key))>>(64-o.bits) == 0 }

// delta draws a change of all or some rows.
func (o *oracle[T]) delta() shard.Delta {
	d := shard.Delta{Rows: o.m.Rect().Rows, Cols: o.m.Rect().Cols}
	if rapid.IntRange(0, 3).Draw(o.t, "part") == 0 {
		d.Rows.Lo = rapid.Int64Range(0, o.m.Rows).Draw(o.t, "lo")
		d.Rows.Hi = rapid.Int64Range(d.Rows.Lo, o.m.Rows).Draw(o.t, "hi")
	}
	n := 0
	if o.bits == 0 && rapid.IntRange(0, 3).Draw(o.t, "by place") == 0 {
		d.Cols.Lo = rapid.Int64Range(-20, 20).Draw(o.t, "first")
		d.Cols.Hi = d.Cols.Lo + rapid.Int64Range(0, 40).Draw(o.t, "width")
		n = int(d.Cols.Len())
	} else {
		d.Keys = o.draw()
		n = len(d.Keys)
	}
	val := make([]T, n*int(d.Rows.Len()))
	for i := range val {
		val[i] = T(o.rng.IntN(17) - 8)
	}
	d.Values = wire.View(val)
	return d
}

// each calls f for every value of a delta.
func each[T number](d shard.Delta, f func(key, row int64, v T)) {
	val, _ := wire.Numbers[T](d.Values)
	for r := range d.Rows.Len() {
		for i, key := range d.Keys {
			f(key, d.Rows.Lo+r, val[int64(i)*d.Rows.Len()+r])
		}
		for c := int64(0); d.Keys == nil && c < d.Cols.Len(); c++ {
			f(d.Cols.Lo+c, d.Rows.Lo+r, val[r*d.Cols.Len()+c])
		}
	}
}

func (o *oracle[T]) Add(*rapid.T) {
	d := o.delta()
	o.must(o.s.Add(d))
	each(d, func(key, row int64, v T) { o.column(key).w[row] += v })
}

func (o *oracle[T]) Set(*rapid.T) {
	d := o.delta()
	o.must(o.s.Set(d))
	each(d, func(key, row int64, v T) { o.column(key).w[row] = v })
}

func (o *oracle[T]) Apply(t *rapid.T) {
	weight := rapid.SampledFrom([]float64{0, 1, 3}).Draw(t, "weight")
	deltas := make([]shard.Delta, rapid.IntRange(0, 3).Draw(t, "deltas"))
	sum := map[int64][]T{}
	for i := range deltas {
		deltas[i] = o.delta()
		each(deltas[i], func(key, row int64, v T) {
			if o.rule == nil {
				o.column(key).w[row] += v
				return
			}
			if sum[key] == nil {
				sum[key] = make([]T, o.m.Rows)
			}
			sum[key][row] += v
		})
	}
	before := fmt.Sprint(deltas)
	o.must(o.s.Apply(deltas, weight, 0.25))
	if fmt.Sprint(deltas) != before {
		t.Fatal("the deltas have changed")
	}
	if o.rule == nil || weight == 0 {
		return
	}
	o.steps++
	for key, g := range sum {
		for i := range g {
			g[i] *= T(1 / weight)
		}
		c := o.column(key)
		o.run(c.w, g, c.slots, 0.25, o.steps)
	}
}

func (o *oracle[T]) Remove(*rapid.T) {
	keys, n := o.draw(), 0
	for _, key := range keys {
		if _, ok := o.cols[key]; ok {
			n++
			delete(o.cols, key)
		}
	}
	if got := o.s.Remove(keys); got != n {
		o.t.Fatalf("removed %d columns, want %d", got, n)
	}
}

func (o *oracle[T]) Each(*rapid.T) {
	must(o.t, psf.Each(o.s.View(0), psf.Rows{All: true}, true, func(c *psf.Chunk[float64]) error {
		for _, row := range c.Rows {
			for i := range row {
				row[i]++
			}
		}
		return nil
	}))
	for _, c := range o.cols {
		for i := range c.w {
			c.w[i] = T(float64(c.w[i]) + 1)
		}
	}
}

// same compares values of one column.
func (o *oracle[T]) same(what string, key int64, got, want []T) {
	if !slices.EqualFunc(got, want, func(a, b T) bool { return a == b || a != a && b != b }) {
		o.t.Fatalf("%s: column %d is %v, want %v", what, key, got, want)
	}
}

// Check reads keys, some twice, and all that is stored.
func (o *oracle[T]) Check(t *rapid.T) {
	keys := append(o.draw(), o.draw()...)
	rows := o.m.Rect().Rows
	rows.Lo = rapid.Int64Range(0, o.m.Rows).Draw(t, "from")
	n := int(rows.Len())
	got := make([]T, len(keys)*n)
	if rapid.Bool().Draw(t, "few") {
		o.must(readFew(o.s, wire.View(got), rows, keys, rapid.IntRange(0, len(keys)).Draw(t, "cut")))
	} else {
		o.must(o.s.Read(wire.View(got), rows, keys))
	}
	missing := 0
	for i, key := range keys {
		c, ok := o.cols[key]
		if !ok {
			missing++
			c.w = o.fresh(key)
		}
		o.same("read", key, got[i*n:][:n], c.w[rows.Lo:])
	}
	if m := o.s.Missing(keys); m != missing {
		t.Fatalf("%d of %d keys are missing, want %d", m, len(keys), missing)
	}
	stored, values, err := o.s.Stored(rows, o.m.Rect().Cols, func(columns, bytes int) []byte {
		if columns != o.s.Columns() {
			t.Fatalf("room for %d columns of %d", columns, o.s.Columns())
		}
		return wire.View(make([]T, bytes/o.m.DType.Size()))
	})
	must(t, err)
	val, _ := wire.Numbers[T](values)
	if len(stored) != len(o.cols) || !slices.IsSorted(stored) || o.s.Steps() != o.steps {
		t.Fatalf("%d columns stored after %d steps, want %d after %d", len(stored), o.s.Steps(), len(o.cols), o.steps)
	}
	for i, key := range stored {
		o.same("stored", key, val[i*n:][:n], o.cols[key].w[rows.Lo:])
	}
}

func (o *oracle[T]) Mark(*rapid.T) {
	m := &marked[T]{Mark: o.s.Mark(), want: map[int64]column[T]{}}
	for key, c := range o.cols {
		m.want[key] = c.clone()
	}
	o.marks = append(o.marks, m)
}

// Band lists and reads a little of one mark.
func (o *oracle[T]) Band(t *rapid.T) {
	if len(o.marks) == 0 {
		return
	}
	m := o.marks[rapid.IntRange(0, len(o.marks)-1).Draw(t, "mark")]
	o.band(m, rapid.IntRange(1, 100).Draw(t, "band"), rapid.IntRange(0, 100).Draw(t, "read"))
}

func (o *oracle[T]) band(m *marked[T], list, read int) (more bool) {
	keys := m.Keys(list)
	for _, key := range keys {
		if h := kernel.Hash(uint64(key)); h <= m.last && m.last > 0 {
			o.t.Fatalf("key %d with hash %x after %x", key, h, m.last)
		} else {
			m.last = h
		}
	}
	m.unread = append(m.unread, keys...)
	o.rng.Shuffle(len(m.unread), func(i, j int) { m.unread[i], m.unread[j] = m.unread[j], m.unread[i] })
	now := m.unread[:min(read, len(m.unread))]
	m.unread = m.unread[len(now):]
	n := int(o.m.Rows)
	state := o.rng.IntN(2) == 0
	if state {
		n *= 1 + o.slots()
	}
	got := make([]T, len(now)*n)
	o.must(m.Read(wire.View(got), now, state))
	for i, key := range now {
		c, ok := m.want[key]
		if !ok {
			o.t.Fatalf("the mark has column %d, which was not there", key)
		}
		o.same("mark", key, got[i*n:][:n], c.state()[:n])
		delete(m.want, key)
	}
	return len(keys) > 0
}

// Close reads what is left of a mark, and ends it.
func (o *oracle[T]) Close(t *rapid.T) {
	if len(o.marks) == 0 {
		return
	}
	m := o.marks[0]
	o.marks = o.marks[1:]
	if rapid.Bool().Draw(t, "to the end") {
		for o.band(m, 100, 1<<20) {
		}
		if len(m.want) > 0 {
			t.Fatalf("the mark left out %d columns", len(m.want))
		}
	}
	m.Close()
	m.Close()
}

func testDeltas[T number](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := newOracle[T](t)
		defer o.s.Close()
		act := func(f func(*rapid.T)) func(*rapid.T) {
			return func(t *rapid.T) { o.t = t; f(t) }
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": act(o.Add), "set": act(o.Set), "apply": act(o.Apply), "remove": act(o.Remove), "each": act(o.Each),
			"mark": act(o.Mark), "band": act(o.Band), "close": act(o.Close), "": act(o.Check),
		})
	})
}

// TestDeltas holds a sparse partition to a map of slices under random changes, with marks open.
func TestDeltas(t *testing.T) {
	t.Run("f64", testDeltas[float64])
	t.Run("f32", testDeltas[float32])
	t.Run("i64", testDeltas[int64])
	t.Run("i32", testDeltas[int32])
}
