package ps_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/ssp"
)

// futures is a job of two tasks in every setting of a matrix: the first task changes it, the second one reads. Next to it is what the
// matrix has to be: all values are small integers, which every type and every rounding holds.
type futures struct {
	*rapid.T
	ctx     context.Context
	tasks   [2]*ps.Client
	m       [2]*ps.Matrix
	bound   ssp.Bound
	own     bool
	average bool
	filter  float64 // -1: none
	float   bool    // values are floats: they may be infinite
	rounded bool    // values cross the wire in fewer bytes
	doubled int     // how often the matrix was

	applied map[cell]float64
	staged  []func() // of the clock: what the servers have, and apply with it
	unsent  []func() // in the order of the calls
	sums    map[cell]float64
}

// rows and columns of the matrix of futures.
const futureRows, futureCols = 3, 40

// drawFutures draws the settings and starts the job. end ends it.
func drawFutures(t *rapid.T) (f *futures, end func()) {
	var types []matrix.RowType
	for _, r := range matrix.RowTypes() {
		if !r.Object() {
			types = append(types, r)
		}
	}
	row := rapid.SampledFrom(types).Draw(t, "row type")
	f = &futures{T: t, ctx: t.Context(), float: row.DType().Float(), applied: map[cell]float64{}, sums: map[cell]float64{}, filter: -1}
	f.bound = rapid.SampledFrom([]ssp.Bound{ssp.ASP, ssp.ASP, ssp.BSP, 1, 3}).Draw(t, "bound")
	f.own = rapid.Bool().Draw(t, "own writes")
	f.average = rapid.Bool().Draw(t, "average")
	if rapid.Bool().Draw(t, "filtered") {
		f.filter = rapid.SampledFrom([]float64{0, 2, 5}).Draw(t, "filter")
	}
	o := ps.Options{Job: "j", Tasks: 2, Bound: f.bound, InFlight: rapid.IntRange(1, 4).Draw(t, "in flight")}
	if rapid.Bool().Draw(t, "local") {
		o.Local = ps.NewLocal()
	}
	oplog := rapid.SampledFrom(ps.OplogTypes(row.DType())).Draw(t, "oplog")
	cuts := []string{"", "range", "column"}
	if row.Layout() == matrix.RowSparse {
		cuts = append(cuts, "hash")
	}
	cut, hogwild := rapid.SampledFrom(cuts).Draw(t, "cut"), rapid.Bool().Draw(t, "hogwild")
	wire := ""
	if f.float {
		wire = rapid.SampledFrom([]string{"", "f16", "bf16", "int8"}).Draw(t, "wire")
		f.rounded = wire != ""
	}
	servers, cached := rapid.IntRange(1, 3).Draw(t, "servers"), rapid.SampledFrom([]int64{0, 4096, 1 << 20}).Draw(t, "cache")
	blockRows := rapid.SampledFrom([]int64{-1, 2}).Draw(t, "rows of a block")
	stop, err := realServers(&o, setting{real: "mem"}, servers, &blob.Mem{})
	must(t, err)
	for task := range f.tasks {
		o.Task = task
		f.tasks[task], err = ps.Dial(f.ctx, o)
		must(t, err)
		model := ps.NewModel("m", futureRows, futureCols, blockRows, -1)
		model.SetRowType(row)
		model.SetOplogType(oplog)
		model.SetPartitioner(cut)
		model.SetHogwild(hogwild)
		model.SetWire(wire)
		model.SetReadMyWrites(f.own)
		model.SetAverage(f.average)
		if f.filter >= 0 {
			model.SetFilter(f.filter)
		}
		model.SetCache(cached, 0)
		ms, err := f.tasks[task].CreateModels(f.ctx, model)
		must(t, err)
		f.m[task] = ms[0]
	}
	return f, func() {
		for _, c := range f.tasks {
			c.Close()
		}
		stop()
	}
}

// block draws values of some rows and columns, of one kind of data or another, as the matrix's type.
func (f *futures) block() matrix.Block {
	at := matrix.At(0, futureRows, 0, futureCols)
	at.Rows.Lo = rapid.Int64Range(0, futureRows-1).Draw(f.T, "row")
	at.Rows.Hi = rapid.Int64Range(at.Rows.Lo+1, futureRows).Draw(f.T, "last row")
	at.Cols.Lo = rapid.Int64Range(0, futureCols-1).Draw(f.T, "column")
	at.Cols.Hi = rapid.Int64Range(at.Cols.Lo+1, futureCols).Draw(f.T, "last column")
	b := matrix.NewDense(matrix.F64, at)
	val := b.Data.Values().([]float64)
	for i := range val {
		val[i] = float64(2 * (1 + (i*7+len(f.unsent))%4)) // even: halves of them are whole
	}
	some := rapid.Int64Range(1, 9).Draw(f.T, "some")
	if rapid.Bool().Draw(f.T, "scattered") {
		b = b.Pick(func(col int64) bool { return col%some == 0 })
	}
	out, ok := b.Cast(f.m[0].Meta().DType)
	return f.exactly(out, ok)
}

// exactly is a block that was cast to another type and lost nothing.
func (f *futures) exactly(b matrix.Block, exact bool) matrix.Block {
	f.Helper()
	if !exact {
		f.Fatal("a value does not fit")
	}
	return b
}

// cells are the values of a block that it stores.
func (f *futures) cells(b matrix.Block) map[cell]float64 {
	wide := f.exactly(b.ToDense().Cast(matrix.F64))
	all := map[cell]float64{}
	for i, v := range wide.Data.Values().([]float64) {
		if v != 0 { // values that are drawn are above zero
			all[cell{b.At.Rows.Lo + int64(i)/b.At.Cols.Len(), b.At.Cols.Lo + int64(i)%b.At.Cols.Len()}] = v
		}
	}
	return all
}

// add notes an increment that was not sent.
func (f *futures) add(cells map[cell]float64) {
	for at, v := range cells {
		if f.average {
			v /= 2
		}
		f.sums[at] += v
	}
}

// fold notes that what was added so far is not added to any more; what the filter holds back is.
func (f *futures) fold() {
	sent := map[cell]float64{}
	for at, v := range f.sums {
		if math.Abs(v) > f.filter {
			sent[at] = v
			delete(f.sums, at)
		}
	}
	f.unsent = append(f.unsent, func() {
		for at, v := range sent {
			f.applied[at] += v
		}
	})
}

// flushed notes that everything was sent.
func (f *futures) flushed() {
	f.fold()
	f.staged = append(f.staged, f.unsent...)
	f.unsent = nil
	if f.bound == ssp.ASP {
		f.ticked()
	}
}

// ticked notes the end of a clock.
func (f *futures) ticked() {
	for _, apply := range f.staged {
		apply()
	}
	f.staged = nil
}

// wait waits for a future in one way or another: every way says the same.
func (f *futures) wait(what string, future *ps.Future) {
	f.Helper()
	if rapid.Bool().Draw(f.T, "cancelled first") {
		over, cancel := context.WithCancel(f.ctx)
		cancel()
		if err := future.Wait(over); err != nil && !errors.Is(err, context.Canceled) {
			f.Fatalf("%s, waited for with a cancelled context: %v", what, err)
		}
	}
	for range 2 {
		if err := future.Wait(f.ctx); err != nil {
			f.Fatalf("%s: %v", what, err)
		}
		if !future.Done() {
			f.Fatalf("%s: it was waited for, and is not done", what)
		}
	}
}

// seen compares what a task reads with what the matrix has to be.
func (f *futures) seen(task int, after string) {
	f.Helper()
	if task == 0 && f.own {
		f.flushed() // a read of own writes sends them first
	}
	rows := []int64{0, 1, 2}
	got, err := f.m[task].GetRows(f.ctx, rows)
	must(f.T, err)
	for r, b := range got {
		f.equal(fmt.Sprintf("task %d after %s", task, after), int64(r), b)
	}
}

func (f *futures) equal(what string, row int64, b matrix.Block) {
	f.Helper()
	wide := f.exactly(b.ToDense().Cast(matrix.F64))
	for i, v := range wide.Data.Values().([]float64) {
		f.near(what, cell{row, b.At.Cols.Lo + int64(i)}, v)
	}
}

// near wants a value to be what was applied, but for what rounding keeps back.
func (f *futures) near(what string, at cell, v float64) {
	f.Helper()
	lost := 0.0
	if f.rounded {
		for _, x := range f.applied {
			lost = max(lost, x/32)
		}
	}
	if math.Abs(v-f.applied[at]) > lost {
		f.Fatalf("%s: row %d, column %d is %v, want %v", what, at.row, at.col, v, f.applied[at])
	}
}

// visible wants the other task to see what was applied: at once under ASP, and after a barrier under the others.
func (f *futures) visible(after string) {
	f.Helper()
	if f.bound != ssp.ASP {
		must(f.T, f.tasks[1].Clock(f.ctx, 0, 0))
		f.wait("clock", f.tasks[0].StartClock(f.ctx, 0, 0))
		f.flushed()
		f.ticked()
		f.barrier()
	}
	f.seen(1, after)
}

// barrier has both tasks come to one.
func (f *futures) barrier() {
	f.Helper()
	var errs [2]error
	var wg sync.WaitGroup
	for i, c := range f.tasks {
		wg.Go(func() { errs[i] = c.Barrier(f.ctx) })
	}
	wg.Wait()
	must(f.T, errors.Join(errs[:]...))
}

// step is one call of the first task.
func (f *futures) step() {
	c, m := f.tasks[0], f.m[0]
	kinds := []string{"increment", "rows", "keys", "push", "assign", "assign keys", "flush", "start flush", "clock",
		"start clock", "push now", "assign now", "pull", "cancelled", "wrong"}
	if f.doubled < 3 { // f16 ends at 65504
		kinds = append(kinds, "stage", "update", "start update")
	}
	switch kind := rapid.SampledFrom(kinds).Draw(f.T, "step"); kind {
	case "increment", "push":
		b := f.block()
		f.add(f.cells(b))
		if kind == "push" {
			must(f.T, c.Push("m", b))
		} else {
			must(f.T, m.Increment(b))
		}
	case "rows":
		b := f.block()
		b.At.Rows = matrix.Range{Hi: b.At.Rows.Len()}
		rows := make([]int64, b.At.Rows.Len())
		for i := range rows {
			rows[i] = rapid.Int64Range(0, futureRows-1).Draw(f.T, "to row")
		}
		for at, v := range f.cells(b) {
			f.add(map[cell]float64{{rows[at.row], at.col}: v})
		}
		must(f.T, m.IncrementRows(rows, b))
	case "keys", "assign keys", "pull":
		f.byKey(kind)
	case "assign":
		b := f.block()
		f.assign(f.cells(b))
		must(f.T, m.Assign(b))
	case "stage":
		f.fold()
		f.unsent = append(f.unsent, f.double)
		f.doubled++
		must(f.T, m.Stage("scale", psf.Args{"by": 2}))
	case "flush", "start flush":
		if kind == "flush" {
			must(f.T, c.Flush(f.ctx))
		} else {
			f.wait(kind, c.StartFlush(f.ctx))
		}
		f.flushed()
		f.visible(kind)
	case "clock", "start clock":
		future := &ps.Future{}
		if kind == "clock" {
			must(f.T, c.SyncClock(f.ctx))
		} else {
			future = c.StartClock(f.ctx, 0, 0)
		}
		must(f.T, f.tasks[1].Clock(f.ctx, 0, 0))
		f.wait(kind, future)
		f.flushed()
		f.ticked()
		if f.bound != ssp.ASP {
			f.barrier()
		}
		f.seen(1, kind)
	case "update", "start update":
		if kind == "update" {
			must(f.T, m.Update(f.ctx, "scale", psf.Args{"by": 2}))
		} else {
			f.wait(kind, m.StartUpdate(f.ctx, "scale", psf.Args{"by": 2}))
		}
		f.double()
		f.doubled++
		f.visible(kind)
	case "push now", "assign now":
		f.now(kind)
	case "cancelled":
		f.cancelled()
	case "wrong":
		for range 2 {
			if err := m.StartUpdate(f.ctx, "nothing", nil).Wait(f.ctx); !errors.Is(err, rpc.ErrNotFound) {
				f.Fatalf("update by a function that is not there: %v", err)
			}
		}
	}
}

func (f *futures) double() {
	for at := range f.applied {
		f.applied[at] *= 2
	}
}

func (f *futures) assign(cells map[cell]float64) {
	f.fold()
	f.unsent = append(f.unsent, func() {
		for at, v := range cells {
			f.applied[at] = v
		}
	})
}

// now changes the matrix at once.
func (f *futures) now(kind string) {
	b := f.block()
	if kind == "assign now" {
		f.wait(kind, f.m[0].AssignNow(f.ctx, b))
	} else {
		f.wait(kind, f.m[0].PushNow(f.ctx, b))
	}
	for at, v := range f.cells(b) {
		switch {
		case kind == "assign now":
			f.applied[at] = v
		case f.average:
			f.applied[at] += v / 2
		default:
			f.applied[at] += v
		}
	}
	f.visible(kind)
}

// cancelled calls everything that gives a future with a context that has ended: nothing happens.
func (f *futures) cancelled() {
	over, cancel := context.WithCancel(f.ctx)
	cancel()
	c, m := f.tasks[0], f.m[0]
	b := f.block()
	for i, future := range []*ps.Future{c.StartFlush(over), c.StartClock(over, 0, 0), m.StartUpdate(over, "scale", psf.Args{"by": 2}),
		m.PushNow(over, b), m.AssignNow(over, b)} {
		for range 2 {
			if err := future.Wait(f.ctx); !errors.Is(err, context.Canceled) {
				f.Fatalf("future %d of a call whose context had ended: %v", i, err)
			}
		}
	}
	f.seen(1, "cancelled calls")
}

// byKey pushes, assigns or pulls by key, as the matrix's type.
func (f *futures) byKey(kind string) {
	keys := rapid.SliceOfN(rapid.Int64Range(0, futureCols-1), 1, 9).Draw(f.T, "keys")
	switch f.m[0].Meta().DType {
	case matrix.F64:
		futureKeys[float64](f, kind, keys)
	case matrix.F32:
		futureKeys[float32](f, kind, keys)
	case matrix.I64:
		futureKeys[int64](f, kind, keys)
	case matrix.I32:
		futureKeys[int32](f, kind, keys)
	default:
		f.Fatalf("no keys of %v", f.m[0].Meta().DType)
	}
}

func futureKeys[T matrix.Elem](f *futures, kind string, keys []int64) {
	m := f.m[0]
	plan, err := m.Plan(nil, keys)
	must(f.T, err)
	vals := make([]T, len(keys)*futureRows)
	if kind == "pull" {
		futurePull(f, plan, keys, vals)
		return
	}
	cells := map[cell]float64{}
	for i := range vals {
		vals[i] = T(2 * (1 + i%3))
		at := cell{int64(i % futureRows), keys[i/futureRows]}
		if kind == "keys" {
			cells[at] += float64(vals[i])
		} else {
			cells[at] = float64(vals[i])
		}
	}
	if kind == "keys" {
		f.add(cells)
		must(f.T, ps.PushKeys(m, plan, vals))
		return
	}
	f.assign(cells)
	must(f.T, ps.AssignKeys(m, plan, vals))
}

// futurePull pulls keys, while other things are pushed, and sees the matrix as it was when it began.
func futurePull[T matrix.Elem](f *futures, plan *ps.Keys, keys []int64, vals []T) {
	m := f.m[0]
	if f.bound == ssp.ASP && rapid.Bool().Draw(f.T, "flush first") {
		f.tasks[0].StartFlush(f.ctx) // it is not waited for: a pull comes after it all the same
		f.flushed()
	}
	pull, err := ps.StartPullKeys(f.ctx, m, plan, vals)
	must(f.T, err)
	if f.own {
		f.flushed()
	}
	b := f.block()
	f.add(f.cells(b))
	must(f.T, m.Increment(b))
	if rapid.Bool().Draw(f.T, "given up") {
		over, cancel := context.WithCancel(f.ctx)
		cancel()
		for _, ctx := range []context.Context{over, f.ctx} {
			if err := pull.Wait(ctx); !errors.Is(err, context.Canceled) {
				f.Fatalf("a pull that was given up: %v", err)
			}
		}
		return
	}
	for range 2 {
		must(f.T, pull.Wait(f.ctx))
	}
	if f.own && f.bound != ssp.ASP {
		return // it has what is staged
	}
	for i, v := range vals {
		f.near("a pull of keys", cell{int64(i % futureRows), keys[i/futureRows]}, float64(v))
	}
}

// refused pushes a value that the servers refuse: every way to wait for it says so, and nothing was changed.
func (f *futures) refused() {
	b := f.exactly(dense(matrix.At(1, 2, 3, 4), math.Inf(1)).Cast(f.m[0].Meta().DType))
	must(f.T, f.tasks[0].Flush(f.ctx))
	f.flushed()
	must(f.T, f.m[0].Increment(b))
	future := f.tasks[0].StartFlush(f.ctx)
	if rapid.Bool().Draw(f.T, "clock") {
		future = f.tasks[0].StartClock(f.ctx, 0, 0)
	}
	for range 2 {
		if err := future.Wait(f.ctx); !errors.Is(err, rpc.ErrMalformed) && !errors.Is(err, rpc.ErrRefused) {
			f.Fatalf("a push of an infinite value: %v", err)
		}
	}
	if err := f.tasks[0].Flush(f.ctx); err == nil {
		f.Fatal("what was refused has been forgotten")
	}
	if f.bound == ssp.ASP {
		f.seen(1, "a push that was refused")
	}
}

// TestFutures: in every setting, when a future says that a change is made another task sees it: under ASP at once, under BSP and SSP
// after the clock that it belongs to and a barrier. A future says the same however often and whatever way it is waited for, and
// errors come through it.
func TestFutures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, end := drawFutures(t)
		defer end()
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			f.step()
		}
		f.wait("last flush", f.tasks[0].StartFlush(f.ctx))
		f.flushed()
		f.visible("last flush")
		if f.float && rapid.Bool().Draw(t, "refused") {
			f.refused()
		}
	})
}

// TestFlushOplogs: StartFlush sends in every oplog type (C3).
func TestFlushOplogs(t *testing.T) {
	for _, oplog := range slices.DeleteFunc(ps.OplogTypes(matrix.F64), func(s string) bool { return s == "" }) {
		tasksOn(t, 2, ps.Options{Tasks: 1, Bound: ssp.ASP}, &blob.Mem{}, func(ctx context.Context, p *ps.Client, _ int) error {
			model := ps.NewModel("m", 1, 4)
			model.SetOplogType(oplog)
			ms, err := p.CreateModels(ctx, model)
			if err != nil {
				return err
			}
			if err := ms[0].Increment(dense(matrix.At(0, 1, 0, 4), 1, 2, 3, 4)); err != nil {
				return err
			}
			if err := p.StartFlush(ctx).Wait(ctx); err != nil {
				return err
			}
			row, err := ms[0].GetRow(ctx, 0)
			if err == nil && !slices.Equal(row.Data.Values().([]float64), []float64{1, 2, 3, 4}) {
				err = fmt.Errorf("%s: after a flush that was waited for the row is %v", oplog, row.Data.Values())
			}
			return err
		})
	}
}
