package shard_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/shard"
	"thole.example/wire"
)

// cells is a dense matrix as slices, row after row.
type cells[T float32 | float64] struct {
	m     matrix.Meta
	s     *shard.Shard
	rule  *psf.Rule
	run   func(w, g []T, slots [][]T, rate float64, t int64)
	all   [][]T // values, then slots
	steps int64
	rng   *rand.Rand
	marks []*markedCells[T]
}

type markedCells[T float32 | float64] struct {
	*shard.Mark
	all    [][]T
	passed []int
}

func newCells[T float32 | float64](t *rapid.T) *cells[T] {
	c := &cells[T]{rng: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))}
	size := rapid.SampledFrom([][2]int64{{1, 1}, {3, 7}, {1, 40_000}, {5, 9_000}, {20_000, 3}, {0, 4}, {4, 0}}).Draw(t, "size")
	c.m = matrix.Meta{Name: "m", Rows: size[0], Cols: size[1], ColLo: -5, DType: dtypeOf[T]()}
	rules := append(optim.Rules(), tripled)
	c.rule = &rules[rapid.IntRange(0, len(rules)-1).Draw(t, "rule")]
	step, err := c.rule.Bind(nil)
	if err != nil {
		t.Fatal(err)
	}
	c.run, _ = any(step.F32).(func(w, g []T, slots [][]T, rate float64, t int64))
	if f, ok := any(step.F64).(func(w, g []T, slots [][]T, rate float64, t int64)); ok {
		c.run = f
	}
	if c.s, err = shard.New(&c.m, c.m.Rect(), 0, c.rule); err != nil {
		t.Fatal(err)
	}
	for range 1 + c.rule.Slots {
		c.all = append(c.all, make([]T, size[0]*size[1]))
	}
	return c
}

// place draws a rectangle, often the whole one.
func (c *cells[T]) place(t *rapid.T) matrix.Rect {
	at := c.m.Rect()
	if rapid.Bool().Draw(t, "whole") {
		return at
	}
	between := func(r matrix.Range) matrix.Range {
		lo := rapid.Int64Range(r.Lo, r.Hi).Draw(t, "lo")
		return matrix.Range{Lo: lo, Hi: rapid.Int64Range(lo, r.Hi).Draw(t, "hi")}
	}
	return matrix.Rect{Rows: between(at.Rows), Cols: between(at.Cols)}
}

func (c *cells[T]) delta(t *rapid.T) shard.Delta {
	at := c.place(t)
	d := shard.Delta{Rows: at.Rows, Cols: at.Cols}
	n := int(at.Rows.Len() * at.Cols.Len())
	if rapid.IntRange(0, 2).Draw(t, "by key") == 0 {
		d.Keys = []int64{}
		for _, k := range c.rng.Perm(int(min(at.Cols.Len(), 50))) {
			d.Keys = append(d.Keys, at.Cols.Lo+int64(k))
		}
		n = len(d.Keys) * int(at.Rows.Len())
	}
	val := make([]T, n)
	for i := range val {
		val[i] = T(c.rng.IntN(17) - 8)
	}
	d.Values = wire.View(val)
	return d
}

func (c *cells[T]) cell(row, col int64) int { return int(row*c.m.Cols + col - c.m.ColLo) }

func (c *cells[T]) Add(t *rapid.T) {
	d := c.delta(t)
	must(t, c.s.Add(d))
	each(d, func(col, row int64, v T) { c.all[0][c.cell(row, col)] += v })
}

func (c *cells[T]) Set(t *rapid.T) {
	d := c.delta(t)
	must(t, c.s.Set(d))
	each(d, func(col, row int64, v T) { c.all[0][c.cell(row, col)] = v })
}

func (c *cells[T]) Apply(t *rapid.T) {
	deltas := make([]shard.Delta, rapid.IntRange(0, 3).Draw(t, "deltas"))
	sum := make([]T, len(c.all[0]))
	for i := range deltas {
		deltas[i] = c.delta(t)
		each(deltas[i], func(col, row int64, v T) { sum[c.cell(row, col)] += v })
	}
	must(t, c.s.Apply(deltas, 3, 0.25))
	for i := range sum {
		sum[i] *= T(1. / 3)
	}
	c.steps++
	c.run(c.all[0], sum, c.all[1:], 0.25, c.steps)
}

func (c *cells[T]) Each(t *rapid.T) {
	must(t, psf.Each(c.s.View(0), psf.Rows{All: true}, true, func(c *psf.Chunk[float64]) error {
		for _, row := range c.Rows {
			for i := range row {
				row[i]--
			}
		}
		return nil
	}))
	for i := range c.all[0] {
		c.all[0][i] = T(float64(c.all[0][i]) - 1)
	}
}

// cut is the cells of a rectangle, row after row.
func (c *cells[T]) cut(all []T, at matrix.Rect) []T {
	out := []T{}
	for r := at.Rows.Lo; r < at.Rows.Hi; r++ {
		out = append(out, all[c.cell(r, at.Cols.Lo):c.cell(r, at.Cols.Hi)]...)
	}
	return out
}

func (c *cells[T]) Check(t *rapid.T) {
	at := c.place(t)
	got := make([]T, at.Rows.Len()*at.Cols.Len())
	must(t, c.s.ReadRect(wire.View(got), at))
	if want := c.cut(c.all[0], at); !slices.Equal(got, want) {
		t.Fatalf("cells of %v differ", at)
	}
	if at.Rows.Len() == 0 || at.Cols.Len() == 0 {
		return
	}
	keys := []int64{at.Cols.Hi - 1, at.Cols.Lo, at.Cols.Lo}
	n := at.Rows.Len()
	cols := make([]T, 3*n)
	must(t, c.s.Read(wire.View(cols), at.Rows, keys))
	for i, v := range cols {
		if want := c.all[0][c.cell(at.Rows.Lo+int64(i)%n, keys[int64(i)/n])]; v != want {
			t.Fatalf("column %d is %v in row %d, want %v", keys[int64(i)/n], v, int64(i)%n, want)
		}
	}
}

func (c *cells[T]) Mark(*rapid.T) {
	m := &markedCells[T]{Mark: c.s.Mark(), passed: make([]int, len(c.all))}
	for _, v := range c.all {
		m.all = append(m.all, slices.Clone(v))
	}
	c.marks = append(c.marks, m)
}

// Band reads anywhere in a mark, or on in order.
func (c *cells[T]) Band(t *rapid.T) {
	if len(c.marks) == 0 || len(c.all[0]) == 0 {
		return
	}
	m := c.marks[rapid.IntRange(0, len(c.marks)-1).Draw(t, "mark")]
	slot := rapid.IntRange(0, len(c.all)-1).Draw(t, "slot")
	at := c.place(t)
	if next := int64(m.passed[slot]); rapid.Bool().Draw(t, "in order") && next < int64(len(c.all[0])) {
		at.Rows.Lo, at.Cols.Lo = next/c.m.Cols, next%c.m.Cols+c.m.ColLo
		at.Rows.Hi, at.Cols.Hi = at.Rows.Lo+1, rapid.Int64Range(at.Cols.Lo+1, c.m.ColLo+c.m.Cols).Draw(t, "end")
	}
	got := make([]T, at.Rows.Len()*at.Cols.Len())
	err := m.ReadRect(wire.View(got), at, slot)
	first := c.cell(at.Rows.Lo, at.Cols.Lo)
	if len(got) > 0 && first < m.passed[slot] {
		if err == nil {
			t.Fatalf("cells of %v are read, which lie before those read in order", at)
		}
		return
	}
	must(t, err)
	if !slices.Equal(got, c.cut(m.all[slot], at)) {
		t.Fatalf("cells of %v in slot %d differ from those at the mark", at, slot)
	}
	if first == m.passed[slot] && (at.Rows.Len() == 1 || at.Cols.Len() == c.m.Cols) {
		m.passed[slot] += len(got)
	}
}

func (c *cells[T]) Close(*rapid.T) {
	if len(c.marks) > 0 {
		c.marks[0].Close()
		c.marks = c.marks[1:]
	}
}

func must(t interface{ Fatal(args ...any) }, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func testDense[T float32 | float64](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCells[T](t)
		defer c.s.Close()
		t.Repeat(map[string]func(*rapid.T){
			"add": c.Add, "set": c.Set, "apply": c.Apply, "each": c.Each, "mark": c.Mark, "band": c.Band, "close": c.Close,
			"": c.Check,
		})
	})
}

// TestDense holds a dense partition to slices under random changes, with marks open.
func TestDense(t *testing.T) {
	t.Run("f64", testDense[float64])
	t.Run("f32", testDense[float32])
}
