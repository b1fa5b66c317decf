package server_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/blob"
	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/server"
	"thole.example/ssp"
)

// limited is a server with a ledger.
func limited(t *testing.T, total int64) *site {
	return serve(t, func(s *server.Server) { s.Ledger = budget.New(total) })
}

// floats is a matrix of f32, whose values are easily counted.
func floats(name string, cols int64, layout matrix.Layout) rpc.Spec {
	s := spec(name, 1, cols, layout)
	s.Meta.DType = matrix.F32
	return s
}

// TestDenseMemory: matrices that do not fit are refused with both numbers before they are made; those that are made count
// once.
func TestDenseMemory(t *testing.T) {
	s := limited(t, 1<<20)
	used := s.server.Ledger.Lasting
	most := s.server.Ledger.Most(budget.Tables)
	c := s.joinAs(rpc.Join{Job: "a", Tasks: 1})
	ofJob := used()
	other := s.joinAs(rpc.Join{Job: "b", Tasks: 1})
	create := func(c *conn, specs ...rpc.Spec) error {
		return c.refusal(rpc.Request{Op: rpc.OpCreate, Arg: arg(rpc.Create{Matrices: specs, Servers: 1})})
	}
	fails(t, "huge", create(c, floats("huge", 1<<36, 0)), rpc.ErrRefused, `matrix "huge" would take 256 GiB`,
		"beside 12.1 KiB", "--memory is 1 MiB")
	fails(t, "slots", create(c, floats("ok", 1000, 0), with(floats("slots", 1<<17, 0), "adam")), rpc.ErrRefused, `matrix "slots" would take 1.5 MiB`)
	if used() != 2*ofJob {
		t.Errorf("%d bytes in use after creates that failed", used())
	}
	c.create(floats("half", 1<<17, 0), floats("half", 1<<17, 0)) // the same twice is one
	if n := used() - 2*ofJob; n < 1<<19 || n > 1<<19+1<<16 {
		t.Errorf("%d bytes in use for a matrix of %d", n, 1<<19)
	}
	rest := (most - used()) / 4
	fails(t, "a little more", create(other, floats("more", rest+1, 0)), rpc.ErrRefused, "beside 5")
	before := used()
	other.create(floats("rest", rest-1<<13, 0))
	fails(t, "one more", create(c, floats("last", 1<<13+100, 0)), rpc.ErrRefused, `matrix "last" would take 32`)
	other.leave()
	comesTo(t, "in use after a job ended", used, before-ofJob)
	c.leave()
	comesTo(t, "in use when all jobs have ended", used, 0)
}

// comesTo waits until so many bytes are taken: partitions that another processor helps with give theirs back when it is done.
func comesTo(t *testing.T, what string, bytes func() int64, want int64) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); bytes() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d bytes %s, want %d", bytes(), what, want)
		}
	}
}

// TestOthersMemory: what requests take for the moment is no reason to refuse what fits without them.
func TestOthersMemory(t *testing.T) {
	s := limited(t, 1<<20)
	c := s.join(0, 1, ssp.ASP)
	k := c.create(floats("k", 1<<40, matrix.RowSparse))[0]
	frames := s.server.Ledger.Force(budget.Frames, 1<<20)
	c.create(floats("dense", 1<<10, 0))
	c.pushed([]rpc.Part{k.columns(0, map[int64]float64{1: 1, 1 << 30: 1})})
	frames.Release()
}

// TestSparseMemory: a sparse matrix grows until it may not, which is said with both numbers; columns that are there can
// still be changed, and nothing of what was refused stays.
func TestSparseMemory(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, ssp.ASP} {
		t.Run(bound.String(), func(t *testing.T) {
			s := limited(t, 8<<20)
			c := s.join(0, 1, bound)
			sp := floats("k", 1<<40, matrix.RowSparse)
			sp.Meta.Rows = 16
			k := c.create(sp)[0]
			clock := 0
			push := func(from int64, n int) error {
				of := map[int64]float64{}
				for i := range n {
					of[from+int64(i)<<20] = 1
				}
				_, err := c.outcome(c.push([]rpc.Part{k.columns(clock, of)}, k.tick(clock, 0, 0)))
				if err == nil {
					clock++
				}
				return err
			}
			grown := int64(0)
			var err error
			for ; err == nil && grown < 1000; grown++ {
				err = push(grown, 500)
			}
			grown--
			most := s.server.Ledger.Most(budget.Tables)
			fails(t, "growth", err, rpc.ErrRefused, `new columns of matrix "k" would take`, "--memory is 8 MiB")
			if n := s.server.Ledger.Used()[budget.Tables]; n > most+most/16 || grown < 20 || n < most/2 {
				t.Errorf("refused after %d times 500 columns with %d bytes in use, at most are %d", grown, n, most)
			}
			if err := push(0, 500); err != nil {
				t.Errorf("columns that are there: %v", err)
			}
			for i, want := range []float64{2, 1} {
				if got := c.pulled(k.keys(clock, int64(i)+3<<20)); !slices.Equal(got, slices.Repeat([]float64{want}, 16)) {
					t.Errorf("column of push %d: %v, want %v", i, got, want)
				}
			}
			if got := c.pulled(k.keys(clock, grown+499<<20)); got[0] != 0 {
				t.Errorf("of what was refused there is %v", got)
			}
			c.leave()
			if u := s.server.Ledger.Used(); u.Total() != 0 {
				t.Errorf("%v in use in the end", u)
			}
		})
	}
}

// TestMarks: a save gives back what it took of the partitions' memory: when it is done, when it failed, when it was given up.
func TestMarks(t *testing.T) {
	for _, how := range []string{"done", "fails", "given up"} {
		bubble(t, how, func(t *testing.T) {
			store := &gate{Bucket: &blob.Mem{}}
			s := serve(t, func(s *server.Server) { s.Ledger, s.Bucket = budget.New(64<<20), store })
			c := s.join(0, 1, ssp.ASP)
			ms := c.create(spec("k", 4, 1<<40, matrix.RowSparse), spec("w", 1, 1<<16, matrix.RowDense))
			of := map[int64]float64{}
			for i := range int64(2000) {
				of[i<<20] = 1
			}
			change := func() {
				parts := []rpc.Part{ms[0].columns(0, of)}
				for _, id := range ms[1].parts.Owned(0) {
					at := ms[1].parts.At(id)
					parts = append(parts, ms[1].dense(0, at, make([]float64, at.Cols.Len())...))
				}
				c.pushed(parts)
			}
			change()
			synctest.Wait()
			before := s.server.Ledger.Used()
			store.close()
			ctx, cancel := context.WithCancel(t.Context())
			a := rpc.Save{Codec: "angel", Path: "p", Stage: "s", Matrices: []string{"k", "w"}}
			call := c.Start(ctx, &rpc.Request{Op: rpc.OpSave, Arg: arg(a)})
			synctest.Wait()
			change() // which the marks keep from what is saved
			synctest.Wait()
			if during := s.server.Ledger.Used(); during[budget.Tables] <= before[budget.Tables]+1<<19 {
				t.Errorf("a save takes %d bytes of %d", during[budget.Tables]-before[budget.Tables], before[budget.Tables])
			}
			if how == "given up" {
				cancel()
				_, _ = call.Wait(ctx)
				synctest.Wait()
			}
			if how == "fails" {
				store.fail = errFull
			}
			store.open()
			r, err := call.Wait(t.Context())
			if (err == nil) != (how == "done") {
				t.Errorf("the save ends with %v", err)
			}
			r.Release()
			synctest.Wait()
			if after := s.server.Ledger.Used(); after != before {
				t.Errorf("in use are %v, before the save %v", after, before)
			}
			cancel()
		})
	}
}

// TestAfterTheEnd: whatever a connection asks for whose task has left, its job has ended and its partitions are gone; when
// memory is short, too.
func TestAfterTheEnd(t *testing.T) {
	s := limited(t, 1<<20)
	c, other := s.joinAs(rpc.Join{Job: "a", Tasks: 1}), s.joinAs(rpc.Join{Job: "b", Tasks: 1})
	ms := c.create(floats("k", 1<<40, matrix.RowSparse), floats("w", 100, 0))
	k, w := ms[0], ms[1]
	other.create(floats("most", s.server.Ledger.Left()/4-1<<14, 0))
	c.leave()
	of := map[int64]float64{}
	for i := range int64(1000) {
		of[i<<20] = 1
	}
	fails(t, "a push", c.outcomeErr(c.push([]rpc.Part{k.columns(0, of)})), rpc.ErrRefused, "has left")
	fails(t, "a pull", c.outcomeErr(c.pull(k.keys(0, 1, 2), w.at(0, w.parts.At(0)))), rpc.ErrRefused, "has left")
	fails(t, "a get", c.refusal(rpc.Request{Op: rpc.OpGet, Func: "sum", Parts: []rpc.Part{k.stored(0, 0)}}), rpc.ErrRefused, "has left")
	fails(t, "a save", c.outcomeErr(c.saving("p", 0, k, w)), rpc.ErrRefused, "has left")
	fails(t, "a load", c.outcomeErr(c.loading("p", k)), rpc.ErrRefused, "has left")
}

// everything makes a task have something of everything under way: changes that are staged, early, refused, given up, long
// made; pulls that wait or were given up; saves that wait, are busy, done and committed; a load that failed and one that is
// busy; and a function that is busy.
func everything(t *testing.T, s *site, store *gate, c *conn, task int, name string) {
	cols := int64(3000)
	ms := c.create(spec(name+"w", 1, cols, matrix.RowDense), with(spec(name+"k", 4, 1<<40, matrix.RowSparse), "adagrad"))
	w, k := ms[0], ms[1]
	keys := map[int64]float64{}
	for i := range int64(100) {
		keys[i<<33+int64(task)] = 1
	}
	parts := func(clock int) []rpc.Part {
		at := w.parts.At(1)
		return []rpc.Part{w.dense(clock, at, make([]float64, at.Cols.Len())...), k.columns(clock, keys)}
	}
	for clock := range 3 { // the other task makes none
		c.pushed(parts(clock), own(clock), w.tick(clock, 0, 0), k.tick(clock, 1, 1))
	}
	c.commit(name, c.wait(c.saving(name, 0, w, k)), w, k)
	c.wait(c.saving(name+"left", 0, w))
	fails(t, "a load", c.outcomeErr(c.loading("nowhere", w)), rpc.ErrNotFound)
	bad := parts(3)
	bad[1].Values[0], bad[1].Values[7], bad[1].Values[6] = 1, 0x7f, 0xff // no number
	fails(t, "a wrong push", c.outcomeErr(c.push(append(parts(3), bad...))), rpc.ErrRefused)
	fails(t, "a late push", c.outcomeErr(c.push(parts(1))), rpc.ErrMalformed)
	ctx, cancel := context.WithCancel(t.Context())
	q := c.change(rpc.Request{Op: rpc.OpPush, Parts: append(parts(3), w.at(3, w.parts.At(0)))})
	givenUp := []*rpc.Call{c.Start(ctx, &q), c.Start(ctx, &rpc.Request{Op: rpc.OpPull, Parts: k.all(3)})}
	q.Memory.Release()
	synctest.Wait()
	cancel()
	for _, call := range givenUp {
		_, _ = call.Wait(ctx)
	}
	c.pull(w.all(3)...)
	c.saving(name+"waits", 3, w)
	store.close()
	c.saving(name+"busy", 0, w, k)
	c.loading(name, w, k)
	c.seq++
	c.start(rpc.Request{Op: rpc.OpUpdate, Seq: c.seq, Func: "stall", Parts: []rpc.Part{w.at(0, w.parts.At(2))}})
	c.push(parts(3))
	c.seq++
	c.push(parts(3)) // one before it does not come
	synctest.Wait()
	store.open()
}

func (c *conn) outcomeErr(call *rpc.Call) error {
	_, err := c.outcome(call)
	return err
}

// TestLedgerComesBack: however a job ends, whatever was under way, all that was counted for it is given back.
func TestLedgerComesBack(t *testing.T) {
	for how, end := range map[string]func(c *conn){
		"leave": func(c *conn) { _ = c.refusal(rpc.Request{Op: rpc.OpLeave}); c.Close() },
		"quit":  func(c *conn) { c.must(rpc.Request{Op: rpc.OpQuit}) },
		"close": func(c *conn) { c.Close() },
		"lost":  func(c *conn) { c.Close(); time.Sleep(time.Hour) },
	} {
		bubble(t, how, func(t *testing.T) {
			stall := make(chan struct{})
			store := &gate{Bucket: &blob.Mem{}}
			s := serve(t, func(s *server.Server) {
				s.Ledger, s.Bucket = budget.New(64<<20), store
				s.Funcs = table(t, everywhere("stall", func(psf.View) ([]byte, error) { <-stall; return nil, nil }, nil))
			})
			a := rpc.Join{Job: "j", Tasks: 2}
			if how == "lost" {
				a.Grace = int64(time.Minute)
			}
			var tasks []*conn
			for task := range 2 {
				a.Task, a.Client = task, fmt.Sprint(task)
				tasks = append(tasks, s.joinAs(a))
			}
			everything(t, s, store, tasks[0], 0, "a")
			if u := s.server.Ledger.Used(); u[budget.Tables] == 0 || u[budget.Frames]+u[budget.Stage] == 0 {
				t.Errorf("in use are %v while it runs", u)
			}
			end(tasks[0])
			end(tasks[1])
			close(stall)
			synctest.Wait()
			if u := s.server.Ledger.Used(); u.Total() != 0 {
				t.Errorf("in use are %v in the end", u)
			}
		})
	}
}

// TestStageToDisk: deltas that wait for their clock make room on the disk for those who would free them; folded, they are what
// they were.
func TestStageToDisk(t *testing.T) {
	for _, rule := range []string{"", "sgd"} {
		t.Run("rule "+rule, func(t *testing.T) {
			s := serve(t, func(s *server.Server) { s.Ledger, s.Scratch = budget.New(16<<20), t.TempDir() })
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); s.server.Relieve(ctx) }()
			defer func() { stop(); <-done }()
			fast, slow := s.join(0, 2, ssp.BSP), s.join(1, 2, ssp.BSP)
			ms := fast.create(with(spec("w", 2, 1<<17, matrix.RowDense), rule), with(spec("k", 2, 1<<40, matrix.RowSparse), rule))
			w, k := ms[0], ms[1]
			parts := func(clock int, v float64) (out []rpc.Part) {
				of := map[int64]float64{}
				for i := range int64(10_000) {
					of[i*i<<7] = v + float64(i)
				}
				for _, id := range w.parts.Owned(0) {
					at := w.parts.At(id)
					cells, _ := at.Cells()
					out = append(out, w.dense(clock, at, slices.Repeat([]float64{v + float64(id)}, int(cells))...))
				}
				return append(out, k.columns(clock, of))
			}
			for clock := range 3 {
				fast.pushed(parts(clock, 1), w.tick(clock, 1, 1), k.tick(clock, 1, 1))
			}
			used := s.server.Ledger.Used()
			within, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			urgent, err := s.server.Ledger.Take(within, budget.Frames, s.server.Ledger.Most(budget.Frames), func() bool { return true })
			if err != nil {
				t.Fatalf("no room was made beside %v: %v", s.server.Ledger.Used(), err)
			}
			now := s.server.Ledger.Used()
			before, left := used[budget.Frames]+used[budget.Stage], now[budget.Frames]+now[budget.Stage]-urgent.Bytes()
			if left >= before {
				t.Errorf("%d bytes of deltas are in memory, %d were", left, before)
			}
			urgent.Release()
			for clock := range 3 {
				slow.pushed(parts(clock, 10), w.tick(clock, 0, 0), k.tick(clock, 0, 0))
			}
			sign, at := 1.0, w.parts.At(3)
			if rule != "" {
				sign = -1
			}
			got := slow.pulled(w.at(3, matrix.At(1, 2, at.Cols.Lo, at.Cols.Lo+1)), k.keys(3, 0, 9999*9999<<7))
			n, last := sign*3*11, sign*3*(11+2*9999)
			if want := []float64{sign * 3 * (11 + 6), n, n, last, last}; !slices.Equal(got, want) && !slices.Equal(got, slices.Concat(want[:1], want[3:], want[1:3])) {
				t.Errorf("values are %v, want %v", got, want)
			}
			fast.leave()
			slow.leave()
			for s.server.Ledger.Used().Total() != 0 && within.Err() == nil {
				time.Sleep(time.Millisecond) // other goroutines are at it
			}
			if u := s.server.Ledger.Used(); u.Total() != 0 {
				t.Errorf("in use are %v in the end", u)
			}
		})
	}
}

// TestPutTooMuch: a function that brings values is refused before it changes anything, on any partition, if its new columns have no
// room; staged, it fails the job. Columns that are there need none.
func TestPutTooMuch(t *testing.T) {
	put := func(from, n int) string {
		cols, values := make([]int, n), make([]int, n)
		for i := range cols {
			cols[i], values[i] = from+i, 1
		}
		return string(arg(map[string]any{"row": 0, "cols": cols, "values": values}))
	}
	bubble(t, "put", func(t *testing.T) {
		s := limited(t, 1<<20)
		c := s.join(0, 1, ssp.BSP)
		sp := spec("m", 1, 1<<40, matrix.RowSparse)
		sp.Partitioner = "hash"
		m := c.create(sp)[0]
		update := func(text string) error { return c.refusal(c.change(function(rpc.OpUpdate, "put", text, m))) }
		if err := update(put(0, 1000)); err != nil {
			t.Fatal(err)
		}
		fails(t, "too much", update(put(1000, 50_000)), rpc.ErrRefused, `new columns of matrix "m" would take`, "--memory is 1 MiB")
		r := c.wait(c.pull(m.all(0)...))
		columns := 0
		for i := range r.Parts {
			columns += len(r.Parts[i].Keys)
		}
		r.Release()
		if columns != 1000 {
			t.Errorf("%d columns are stored after a function that was refused, want 1000", columns)
		}
		for s.server.Ledger.Left() > 15<<10 { // until all of the cells could not be new
			if err := update(put(2000, 1)); err != nil {
				t.Fatal(err)
			}
			rest := floats(fmt.Sprint("rest", s.server.Ledger.Left()), 2000, 0)
			rest.Meta.BlockCols = 2000
			c.create(rest)
		}
		if err := update(put(0, 1000)); err != nil {
			t.Errorf("columns that are there: %v", err)
		}
		staged := m.at(0, m.parts.At(0))
		staged.Kind, staged.DType, staged.Groups = rpc.KindFunc, matrix.U8, nil
		staged.Rows, staged.Cols = m.Rect().Rows, m.Rect().Cols
		staged.Values = arg(rpc.Staged{Func: "put", Arg: []byte(put(1000, 50_000))})
		c.push([]rpc.Part{staged}, own(0), m.tick(0, 0, 0))
		synctest.Wait() // a pull may be answered before the job hears of it
		fails(t, "staged", c.refusal(rpc.Request{Op: rpc.OpPull, Parts: []rpc.Part{m.keys(1, 1)}}), rpc.ErrRefused, "a staged function on matrix")
	})
}
