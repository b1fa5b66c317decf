package shard_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/shard"
	"thole.example/wire"
)

// memoryDisk is a Disk that is none.
type memoryDisk struct {
	pages          map[int][]byte
	puts, gets     int
	putErr, getErr error
	closed         bool
}

func (d *memoryDisk) Put(page int, b []byte) error {
	if d.putErr != nil {
		return d.putErr
	}
	d.puts++
	d.pages[page] = bytes.Clone(b)
	return nil
}

func (d *memoryDisk) Get(page int, b []byte) error {
	if d.getErr != nil {
		return d.getErr
	}
	d.gets++
	if copy(b, d.pages[page]) != len(b) {
		return fmt.Errorf("page %d of %d bytes, want %d", page, len(d.pages[page]), len(b))
	}
	return nil
}

func (d *memoryDisk) Bytes() int64 { return 0 }

func (d *memoryDisk) Close() error {
	d.closed = true
	return nil
}

// paged gives a partition a place on disk.
func paged(t fataler, s *shard.Shard) *memoryDisk {
	d := &memoryDisk{pages: map[int][]byte{}}
	must(t, s.Page(d))
	return d
}

// twins is a matrix twice: in memory, and with most of its rows on disk.
type twins struct {
	*testing.T
	m    matrix.Meta
	rule *psf.Rule
	r    *rand.Rand
	s    [2]*shard.Shard
	disk *memoryDisk
	most int64 // bytes that were on disk
}

func newTwins(t *testing.T, m matrix.Meta, seed uint64) *twins {
	x := &twins{T: t, m: m, r: rand.New(rand.NewPCG(seed, 1))}
	if m.Rule != "" {
		rule, err := optim.Find(nil, m.Rule)
		must(t, err)
		x.rule = rule
	}
	x.s = [2]*shard.Shard{newShard(t, &x.m, 0, x.rule), newShard(t, &x.m, 0, x.rule)}
	x.disk = paged(t, x.s[1])
	t.Cleanup(func() { x.s[0].Close(); x.s[1].Close() })
	return x
}

// both does something with both.
func (x *twins) both(f func(s *shard.Shard)) {
	x.Helper()
	f(x.s[0])
	f(x.s[1])
	if x.r.IntN(2) == 0 {
		if err := x.s[1].Room(-1 << 40); !errors.Is(err, x.disk.putErr) {
			x.Fatal(err)
		}
	}
	away, _, _ := x.s[1].Paged()
	x.most = max(x.most, away)
}

// same has both say the same.
func (x *twins) same(what string, f func(s *shard.Shard) []byte) {
	x.Helper()
	var said [2][]byte
	i := 0
	x.both(func(s *shard.Shard) { said[i] = f(s); i++ })
	if !bytes.Equal(said[0], said[1]) {
		x.Fatalf("%s: on disk it is not what it is in memory (%d and %d bytes)", what, len(said[1]), len(said[0]))
	}
}

// columns that there may be.
const twinKeys = 4000

func (x *twins) keys() []int64 {
	from := x.r.IntN(twinKeys)
	keys := make([]int64, 1+x.r.IntN(900))
	for i := range keys {
		keys[i] = int64((from + x.r.IntN(2*len(keys))) % twinKeys)
	}
	return keys
}

// delta changes some columns, sometimes in some rows alone.
func (x *twins) delta(some bool) shard.Delta {
	d := shard.Delta{Rows: x.m.Rect().Rows, Cols: x.m.Rect().Cols, Keys: x.keys()}
	if some && x.r.IntN(3) == 0 {
		d.Rows = matrix.Range{Lo: 1, Hi: x.m.Rows - 2}
	}
	slices.Sort(d.Keys)
	d.Keys = slices.Compact(d.Keys)
	x.r.Shuffle(len(d.Keys), func(i, j int) { d.Keys[i], d.Keys[j] = d.Keys[j], d.Keys[i] })
	n := len(d.Keys) * int(d.Rows.Len())
	if x.m.DType == matrix.F64 {
		val := make([]float64, n)
		for i := range val {
			val[i] = x.r.NormFloat64()
		}
		d.Values = wire.View(val)
		return d
	}
	val := make([]float32, n)
	for i := range val {
		val[i] = float32(x.r.NormFloat64())
	}
	d.Values = wire.View(val)
	return d
}

// room is memory for columns.
func (x *twins) room(columns int, state bool, s *shard.Shard) []byte {
	n := columns * int(x.m.Rows) * x.m.DType.Size()
	if state {
		n *= 1 + s.Slots()
	}
	return wire.View(make([]uint64, (n+7)/8))[:n]
}

func (x *twins) read() {
	keys, rows := x.keys(), x.m.Rect().Rows
	if x.r.IntN(2) == 0 {
		x.r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	}
	few := x.r.IntN(2) == 0
	x.same("read", func(s *shard.Shard) []byte {
		dst := x.room(len(keys), false, s)
		if few {
			must(x, readFew(s, dst, rows, keys, len(keys)/3))
		} else {
			must(x, s.Read(dst, rows, keys))
		}
		return dst
	})
}

func (x *twins) stored() {
	x.same("stored", func(s *shard.Shard) []byte {
		keys, values, err := s.Stored(x.m.Rect().Rows, x.m.Rect().Cols, func(n, _ int) []byte { return x.room(n, false, s) })
		must(x, err)
		return append(wire.View(keys), values...)
	})
}

func (x *twins) apply() {
	var deltas []shard.Delta
	for range 1 + x.r.IntN(3) {
		deltas = append(deltas, x.delta(true))
	}
	x.both(func(s *shard.Shard) { must(x, s.Apply(deltas, 2, 0.05)) })
}

func (x *twins) change() {
	d, add := x.delta(true), x.r.IntN(2) == 0
	x.both(func(s *shard.Shard) {
		if add {
			must(x, s.Add(d))
		} else {
			must(x, s.Set(d))
		}
	})
}

// remove takes some columns out, and makes others in their rows.
func (x *twins) remove() {
	keys, others := x.keys(), x.keys()
	x.both(func(s *shard.Shard) { s.Remove(keys); must(x, s.Make(others)) })
}

// put puts back some rows of columns.
func (x *twins) put() {
	keys := x.delta(false).Keys
	rows := matrix.Range{Lo: int64(x.r.IntN(9)), Hi: x.m.Rows - 1}
	val := make([]uint64, len(keys)*int(rows.Len())*(1+x.s[0].Slots()))
	for i := range val {
		val[i] = uint64(x.r.IntN(99)) << 52 // a number of either type
	}
	x.both(func(s *shard.Shard) {
		n := len(keys) * int(rows.Len()) * (1 + s.Slots()) * x.m.DType.Size()
		must(x, s.RestoreColumns(rows, keys, wire.View(val)[:n]))
	})
}

// pass makes steps that name nothing.
func (x *twins) pass() {
	n := 1 + x.r.IntN(200)
	x.both(func(s *shard.Shard) {
		for range n {
			must(x, s.Apply(nil, 1, 0.001))
		}
	})
}

// function has a function see and change cells.
func (x *twins) function() {
	how, keys := x.r.IntN(3), x.keys()
	x.same("function", func(s *shard.Shard) []byte {
		if x.m.DType == matrix.F64 {
			return doubled[float64](x, s, how, keys)
		}
		return doubled[float32](x, s, how, keys)
	})
}

func doubled[T kernel.Float](x *twins, s *shard.Shard, how int, keys []int64) (seen []byte) {
	cells, rows := s.View(0).Cells().(psf.Cells[T]), []int64{0, 2, x.m.Rows - 1}
	f := func(c *psf.Chunk[T]) error {
		for _, row := range c.Rows {
			seen = append(seen, wire.View(row)...)
			if how > 0 {
				for j := range row {
					row[j] *= 2
				}
			}
		}
		return nil
	}
	switch how {
	case 0:
		must(x, cells.Together(rows, 0, f))
	case 1:
		must(x, cells.Apart(rows, true, f))
	default:
		must(x, cells.Pick(rows, keys, f))
	}
	return seen
}

// marked marks both, changes them, and reads what there was; then it puts that into others, and goes on with these.
func (x *twins) marked() {
	var marks [2]*shard.Mark
	i := 0
	x.both(func(s *shard.Shard) { marks[i] = s.MarkAll("", "a"); i++ })
	restored := [2]*shard.Shard{newShard(x, &x.m, 0, x.rule), newShard(x, &x.m, 0, x.rule)}
	disk := paged(x, restored[1])
	for i, s := range restored {
		s.SetSteps(x.s[i].Steps())
		if p := marks[i].Absent(); p != nil {
			x.Fatal("absent columns have values")
		}
	}
	for more := true; more; {
		x.apply()
		x.remove()
		i := 0
		x.same("mark", func(s *shard.Shard) []byte {
			m, to := marks[i], restored[i]
			i++
			keys := m.Keys(700)
			more = len(keys) > 0
			dst, stamps := x.room(len(keys), true, s), make([]int64, len(keys))
			if p := m.Past(); p != nil {
				ages, err := m.ReadStale(dst, stamps, keys)
				must(x, err)
				must(x, to.RestoreStale(p, x.m.Rect().Rows, keys, dst, stamps))
				must(x, to.RestoreAges(keys, ages))
			} else {
				ages, err := m.ReadState(dst, keys)
				must(x, err)
				must(x, to.RestoreColumns(x.m.Rect().Rows, keys, dst))
				must(x, to.RestoreAges(keys, ages))
			}
			if i == 2 {
				must(x, to.Room(-1<<40))
			}
			return append(wire.View(stamps), dst...)
		})
	}
	for i, m := range marks {
		m.Close()
		x.s[i].Close()
		x.s[i] = restored[i]
	}
	if !x.disk.closed {
		x.Fatal("the disk of a partition that is closed is not")
	}
	disk.gets += x.disk.gets
	x.disk = disk
}

// increment reads what has changed since a moment.
func (x *twins) increment() {
	x.both(func(s *shard.Shard) { s.Track("then") })
	x.change()
	x.remove()
	x.same("increment", func(s *shard.Shard) (all []byte) {
		m, err := s.MarkSince("then", "now")
		must(x, err)
		defer m.Close()
		for {
			keys := m.Keys(500)
			if len(keys) == 0 {
				return append(all, wire.View(m.Removed())...)
			}
			dst := x.room(len(keys), true, s)
			must(x, m.Read(dst, keys, true))
			all = append(all, dst...)
		}
	})
}

// TestPaging: a partition whose rows lie on disk for the most part is the same to the bit, whatever is done with it: with every rule,
// with columns that are behind, expire and are admitted, with values of narrow types, functions, marks and removals.
func TestPaging(t *testing.T) {
	metas := map[string]matrix.Meta{
		"none": {}, "f64": {Rule: "adagrad", DType: matrix.F64}, "penalty": {Rule: "sgd", Hyper: map[string]float64{"l1": 1e-4, "l2": 1e-3}},
		"expire": {Rule: "momentum", Keep: matrix.Keep{ExpireAfter: 500}}, "admit": {Rule: "adam", Keep: matrix.Keep{AdmitAfter: 2, ForgetAfter: 99}},
		"f16": {Rule: "adagrad", Storage: matrix.F16}, "int8": {Rule: "ftrl", Storage: matrix.I8}, "bf16": {Storage: matrix.BF16},
		"init": {Rule: "adagrad", Init: matrix.Init{Kind: "uniform", Scale: 1, Seed: 3}},
	}
	for _, rule := range optim.Rules() {
		metas[rule.Name] = matrix.Meta{Rule: rule.Name}
	}
	for name, m := range metas {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m.Name, m.Rows, m.Cols, m.Layout = "m", 300, twinKeys, matrix.RowSparse
			if m.DType == matrix.Invalid {
				m.DType = matrix.F32
			}
			x := newTwins(t, m, uint64(len(name)))
			do := []func(){x.read, x.stored, x.apply, x.apply, x.change, x.remove, x.put, x.pass, x.function, x.marked, x.increment}
			turns := 30
			if testing.Short() {
				turns = 6
			}
			for range turns {
				do[x.r.IntN(len(do))]()
			}
			x.stored()
			if (x.most < 1<<18 || x.disk.gets == 0) && !testing.Short() {
				t.Fatalf("%d bytes were on disk at most, and %d pages came back", x.most, x.disk.gets)
			}
		})
	}
}

// TestPagingDisk: when pages cannot go to disk they stay, and nothing is lost; when one does not come back everything fails, and
// nothing gives zeros for what was there.
func TestPagingDisk(t *testing.T) {
	m := matrix.Meta{Name: "m", Rows: 256, Cols: twinKeys, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "adagrad"}
	x := newTwins(t, m, 7)
	for range 30 {
		x.apply()
	}
	must(t, x.s[1].Room(-1<<40))
	full := errors.New("the disk is full")
	x.disk.putErr = full
	for range 10 {
		x.change()
		x.apply()
		x.read()
	}
	if err := x.s[1].Room(-1 << 40); !errors.Is(err, full) {
		t.Fatalf("room on a full disk: %v", err)
	}
	x.stored()
	x.disk.putErr = nil
	must(t, x.s[1].Room(-1<<40))
	x.stored()

	must(t, x.s[1].Room(-1<<40))
	broken := errors.New("the disk is broken")
	x.disk.getErr = broken
	s, keys := x.s[1], x.s[1].Keys(m.Rect().Cols)
	dst := x.room(len(keys), false, s)
	if err := s.Read(dst, m.Rect().Rows, keys); !errors.Is(err, broken) || !strings.Contains(err.Error(), "matrix m: rows") {
		t.Fatalf("read from a broken disk: %v", err)
	}
	x.disk.getErr = nil
	d := x.delta(false)
	mark := s.Mark()
	defer mark.Close()
	for what, err := range map[string]error{
		"read": s.Read(dst, m.Rect().Rows, keys), "add": s.Add(d), "set": s.Set(d), "apply": s.Apply([]shard.Delta{d}, 1, 1),
		"restore": s.RestoreColumns(m.Rect().Rows, nil, nil), "mark": mark.Read(x.room(1, true, s), mark.Keys(1)[:1], true),
		"function": s.View(0).Cells().(psf.Cells[float32]).Together([]int64{0}, 0, func(*psf.Chunk[float32]) error { return nil }),
	} {
		if !errors.Is(err, broken) {
			t.Errorf("%s after rows were lost: %v", what, err)
		}
	}
}

// TestPagingRefused: what cannot go to disk says so.
func TestPagingRefused(t *testing.T) {
	dense := newShard(t, &matrix.Meta{Name: "m", Rows: 2, Cols: 3, DType: matrix.F32}, 0, nil)
	if dense.Page(&memoryDisk{}) == nil || dense.Room(-1) == nil {
		t.Error("a dense partition has a place on disk")
	}
	s := newShard(t, &matrix.Meta{Name: "m", Rows: 2, Cols: 3, DType: matrix.F32, Layout: matrix.RowSparse}, 0, nil)
	if s.Room(-1) == nil {
		t.Error("rows went to no disk")
	}
	paged(t, s)
	must(t, s.Room(-1))
	none := newShard(t, &matrix.Meta{Name: "m", Cols: 3, DType: matrix.F32, Storage: matrix.F16, Layout: matrix.RowSparse}, 0, nil)
	if none.Page(&memoryDisk{}) == nil {
		t.Error("rows of no bytes have a place on disk")
	}
}
