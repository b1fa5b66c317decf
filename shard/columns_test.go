package shard_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/shard"
	"thole.example/wire"
)

// besideMetas are matrices whose marks are read beside their owner.
var besideMetas = []matrix.Meta{
	{Name: "plain", DType: matrix.F32, Rule: "adagrad"},
	{Name: "adds", DType: matrix.I64},
	{Name: "behind", DType: matrix.F32, Rule: "adam"},
	{Name: "narrow", DType: matrix.F32, Storage: matrix.BF16, Rule: "adagrad"},
	{Name: "expiring", DType: matrix.F32, Rule: "adagrad", Keep: matrix.Keep{ExpireAfter: 40}},
	{Name: "budget", DType: matrix.F32, Rule: "adagrad", Keep: matrix.Keep{MaxBytes: 1 << 20}},
	{Name: "widths", DType: matrix.F32, Rule: "adagrad", Widths: besideWidths},
	{Name: "widths behind", DType: matrix.F32, Rule: "momentum", Keep: matrix.Keep{ExpireAfter: 40}, Widths: besideWidths},
	{Name: "widths budget", DType: matrix.F32, Rule: "adagrad", Keep: matrix.Keep{MaxBytes: 3 << 20}, Widths: besideWidths},
}

// besideWidths are of some of the columns that those tests change.
var besideWidths = []matrix.Width{{Cols: matrix.Range{Lo: 100, Hi: 1500}, Rows: 2}, {Cols: matrix.Range{Lo: 1500, Hi: 1700}, Rows: 3},
	{Cols: matrix.Range{Lo: 2000, Hi: 1 << 20}, Rows: 2}}

// TestCopyBeside: a mark that is read beside the owner, while columns change, come, go and come again, and memory moves, has what one
// has that was read at once; with two marks of different moments at a time, and of what has changed alone.
func TestCopyBeside(t *testing.T) {
	for _, m := range besideMetas {
		m.Rows, m.Cols, m.Layout = 5, 1<<40, matrix.RowSparse
		t.Run(m.Name, func(t *testing.T) {
			x := newBeside(t, &m)
			for range 30 {
				x.change()
			}
			x.s.Track("0")
			for range 3 {
				x.change()
			}
			first := x.mark(false)
			for range 2 {
				x.change()
			}
			x.read(first, x.mark(true))
			x.read(x.mark(true))
		})
	}
}

// beside is a shard whose owner has its lock.
type beside struct {
	t     *testing.T
	mu    sync.Mutex
	s     *shard.Shard
	rng   *rand.Rand
	reach int64 // keys are below
	named int   // marks
}

func newBeside(t *testing.T, m *matrix.Meta) *beside {
	x := &beside{t: t, rng: rand.New(rand.NewPCG(3, 4)), reach: 4000}
	rule, err := optim.Find(nil, m.Rule)
	if m.Rule == "" {
		rule, err = nil, nil
	}
	if err == nil {
		x.s, err = shard.New(m, m.Rect(), 0, rule)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.s.Close)
	return x
}

// change is a step for some columns, or takes some away.
func (x *beside) change() {
	m := x.s.Meta()
	d := shard.Delta{Rows: m.Rect().Rows, Cols: m.Rect().Cols}
	for range 200 {
		d.Keys = append(d.Keys, x.rng.Int64N(x.reach))
	}
	x.reach += 20
	d.Keys = append(d.Keys, d.Keys[0])
	if d.Values = make([]byte, 8*len(d.Keys)*5)[:m.DType.Size()*len(d.Keys)*5]; m.DType == matrix.F32 {
		val, _ := wire.Numbers[float32](d.Values)
		for i := range val {
			val[i] = x.rng.Float32() - 0.5
		}
	} else {
		val, _ := wire.Numbers[int64](d.Values)
		for i := range val {
			val[i] = x.rng.Int64N(100)
		}
	}
	if err := x.s.Apply([]shard.Delta{d}, 1, 0.1); err != nil {
		x.t.Error(err)
	}
	if x.rng.IntN(3) == 0 {
		x.s.Remove(d.Keys[:50])
	}
}

// besideMark is a mark, and one of the same moment that was read at once.
type besideMark struct {
	*shard.Mark
	want map[int64]string
}

func (x *beside) mark(partial bool) besideMark {
	x.t.Helper()
	take := func() *shard.Mark {
		if !partial {
			return x.s.Mark()
		}
		x.named++
		m, err := x.s.MarkSince(fmt.Sprint(x.named-1), fmt.Sprint(x.named))
		if err != nil {
			x.t.Fatal(err)
		}
		return m
	}
	all := x.s.Mark()
	want := map[int64]string{}
	width := 5 * (1 + x.s.Slots())
	for keys := all.Keys(100); len(keys) > 0; keys = all.Keys(100) {
		x.row(all, keys, width, want)
	}
	all.Close()
	return besideMark{take(), want}
}

// row adds columns as the owner reads them.
func (x *beside) row(m *shard.Mark, keys []int64, width int, into map[int64]string) {
	size := x.s.Meta().DType.Size()
	dst, stamps := make([]byte, len(keys)*width*size), make([]int64, len(keys))
	var ages shard.Ages
	var err error
	if m.Past() != nil {
		ages, err = m.ReadStale(dst, stamps, keys)
	} else {
		ages, err = m.ReadState(dst, keys)
	}
	if err != nil {
		x.t.Fatal(err)
	}
	for i, key := range keys {
		into[key] = said(dst[i*width*size:][:width*size], stamps, ages, i)
	}
}

// said is all that a mark has of a column.
func said(values []byte, stamps []int64, ages shard.Ages, i int) string {
	text := fmt.Sprintf("%x", values)
	if stamps != nil {
		text += fmt.Sprint(" as of ", stamps[i])
	}
	if ages.Last != nil {
		text += fmt.Sprint(" named ", ages.Last[i])
	}
	if ages.Ranks != nil {
		text += fmt.Sprint(" rank ", ages.Ranks[i])
	}
	return text
}

// read reads marks beside the owner, who makes steps meanwhile.
func (x *beside) read(marks ...besideMark) {
	done := make(chan struct{})
	var readers, owner sync.WaitGroup
	owner.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				x.mu.Lock()
				x.change()
				x.mu.Unlock()
			}
		}
	})
	for _, m := range marks {
		readers.Go(func() { x.readOne(m) })
	}
	readers.Wait()
	close(done)
	owner.Wait()
}

func (x *beside) readOne(m besideMark) {
	width, size := 5*(1+x.s.Slots()), x.s.Meta().DType.Size()
	got := map[int64]string{}
	var c shard.Columns
	last := uint64(0)
	for {
		x.mu.Lock()
		more := m.List(&c, 150)
		x.mu.Unlock()
		if !more {
			break
		}
		m.Sort(&c)
		for lo := 0; lo < c.Len(); lo += 40 {
			some := c.Part(lo, min(lo+40, c.Len()))
			dst, stamps := make([]byte, some.Len()*width*size), make([]int64, some.Len())
			if err := m.Copy(dst, stamps, some, false); err != nil {
				x.t.Error(err)
				return
			}
			for i, key := range some.Keys {
				hash := kernel.Hash(uint64(key))
				if len(got) > 0 && hash <= last {
					x.t.Errorf("column %d comes after one of a larger hash", key)
				}
				last = hash
				got[key] = said(dst[i*width*size:][:width*size], stamps, some.Ages, i)
			}
		}
	}
	want := m.want
	if m.Partial() { // which has some of them
		maps.DeleteFunc(want, func(key int64, _ string) bool { _, ok := got[key]; return !ok })
	}
	if len(got) == 0 || !maps.Equal(got, want) {
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if got[key] != want[key] {
				x.t.Fatalf("column %d is %s, want %s", key, got[key], want[key])
			}
		}
		x.t.Errorf("%d columns, want %d", len(got), len(want))
	}
	x.mu.Lock()
	m.Close()
	x.mu.Unlock()
}

// TestCopyTwice: columns that were copied cannot be had again, and the mark of a partition that was closed has none.
func TestCopyTwice(t *testing.T) {
	m := besideMetas[0]
	m.Rows, m.Cols, m.Layout = 5, 1<<40, matrix.RowSparse
	x := newBeside(t, &m)
	for range 5 {
		x.change()
	}
	mark := x.s.Mark()
	var c shard.Columns
	for mark.List(&c, 50); c.Len() == 0; mark.List(&c, 50) {
	}
	mark.Sort(&c)
	some := c.Part(0, 10)
	dst := make([]byte, 10*2*5*4)
	if err := mark.Copy(dst, nil, some, false); err != nil {
		t.Fatal(err)
	}
	if err := mark.Copy(dst, nil, some, false); err == nil {
		t.Error("columns are given twice")
	}
	x.change() // whatever was busy is not any more
	if err := mark.Copy(dst[1:], nil, some, false); err == nil {
		t.Error("bytes that are not aligned are filled")
	}
	x.s.Close()
	if err := mark.Copy(dst, nil, c.Part(10, 20), false); err == nil || errors.Is(err, shard.ErrOwner) {
		t.Errorf("a partition that was closed is read: %v", err)
	}
}
