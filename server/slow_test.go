package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/server"
	"thole.example/ssp"
)

// gate is a bucket that lets nobody write or read while it is shut, as one that is slow.
type gate struct {
	blob.Bucket
	mu   sync.Mutex
	shut chan struct{} // nil: it is open
	fail error         // of the next that comes
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.shut)
	g.shut = nil
}

func (g *gate) pass(ctx context.Context) error {
	g.mu.Lock()
	shut, err := g.shut, g.fail
	g.fail = nil
	g.mu.Unlock()
	if shut != nil && err == nil {
		select {
		case <-shut:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return err
}

func (g *gate) Create(ctx context.Context, name string) (blob.Writer, error) {
	if err := g.pass(ctx); err != nil {
		return nil, err
	}
	return g.Bucket.Create(ctx, name)
}

func (g *gate) Open(ctx context.Context, name string) (blob.Object, error) {
	if err := g.pass(ctx); err != nil {
		return nil, err
	}
	return g.Bucket.Open(ctx, name)
}

// saving asks for a save of matrices as of the clock, in the form of Angel: a file for each partition.
func (c *conn) saving(stage string, clock int, ms ...*known) *rpc.Call {
	a := rpc.Save{Codec: "angel", Path: stage, Stage: stage}
	q := rpc.Request{Op: rpc.OpSave}
	for _, m := range ms {
		a.Matrices = append(a.Matrices, m.Name)
		q.Parts = append(q.Parts, rpc.Part{Matrix: m.number, Clock: int32(clock)})
	}
	q.Arg = arg(a)
	return c.start(q)
}

// commit makes what was put visible.
func (c *conn) commit(stage string, r *rpc.Response, ms ...*known) {
	c.s.t.Helper()
	a := rpc.Save{Codec: "angel", Path: stage, Stage: stage}
	for _, res := range r.Results {
		a.Parts = append(a.Parts, res.Data)
	}
	for _, m := range ms {
		a.Matrices = append(a.Matrices, m.Name)
	}
	c.must(rpc.Request{Op: rpc.OpCommit, Arg: arg(a)})
}

// loading asks for matrices from a path, as the next change.
func (c *conn) loading(path string, ms ...*known) *rpc.Call {
	a := rpc.Load{Path: path}
	for _, m := range ms {
		a.Matrices = append(a.Matrices, m.Name)
	}
	c.seq++
	return c.start(rpc.Request{Op: rpc.OpLoad, Seq: c.seq, Arg: arg(a)})
}

// saved is the values of a matrix that was saved, the stored ones of a sparse matrix column by column.
func saved(t *testing.T, b blob.Bucket, path string, m *known) (out []float64) {
	t.Helper()
	r, _, err := codecs.Open(t.Context(), b, path, "", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for b, err := range r.Blocks(t.Context(), m.Name, m.Rect()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b.Data.Values().([]float64)...)
	}
	return out
}

// TestSlowSave (D4): while a save waits for a slow bucket, pulls and pushes of all matrices are served, also of those that
// are saved; what is saved is what they were at the clock.
func TestSlowSave(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, 2, ssp.ASP} {
		bubble(t, bound.String(), func(t *testing.T) {
			store := &gate{Bucket: &blob.Mem{}}
			s := serve(t, func(s *server.Server) { s.Bucket = store })
			c := s.join(0, 1, bound)
			ms := c.create(one("w", 2, 3), spec("k", 1, 1<<40, matrix.RowSparse), with(one("g", 1, 2), "sgd"), one("other", 1, 1))
			w, k, g, other := ms[0], ms[1], ms[2], ms[3]
			step := func(clock int) {
				c.pushed([]rpc.Part{
					w.dense(clock, w.Rect(), 1, 2, 3, 4, 5, 6), k.columns(clock, map[int64]float64{7: 1, 1 << 33: 2, int64(clock) + 100: 1}),
					g.row(clock, 1, -1), other.row(clock, 1),
				}, own(clock), w.tick(clock, 0, 0), k.tick(clock, 0, 0), g.tick(clock, 1, 0.5), other.tick(clock, 0, 0))
			}
			step(0)
			step(1)
			store.close()
			call := c.saving("m", 2, w, k, g)
			synctest.Wait()
			for clock := 2; clock < 12; clock++ {
				step(clock)
				n := float64(clock + 1)
				got := c.pulled(w.whole(clock+1), k.keys(clock+1, 1<<33), g.whole(clock+1), other.whole(clock+1))
				if want := []float64{n, 2 * n, 3 * n, 4 * n, 5 * n, 6 * n, 2 * n, -n / 2, n / 2, n}; !slices.Equal(got, want) {
					t.Fatalf("beside the save, at clock %d: %v, want %v", clock+1, got, want)
				}
			}
			if call.Ready() {
				t.Fatal("the save did not wait")
			}
			store.open()
			c.commit("m", c.wait(call), w, k, g)
			for m, want := range map[*known][]float64{w: {2, 4, 6, 8, 10, 12}, k: {2, 1, 1, 4}, g: {-1, 1}} {
				if got := saved(t, store, "m", m); !slices.Equal(got, want) {
					t.Errorf("saved of %s: %v, want %v", m.Name, got, want)
				}
			}
		})
	}
}

// TestSaveAtItsClock: a save that waits for others has the state of its clock, though the task that asked goes on, and
// though the slowest task leaves.
func TestSaveAtItsClock(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, 2} {
		for _, leaves := range []bool{false, true} {
			bubble(t, fmt.Sprintf("%v, leaves %v", bound, leaves), func(t *testing.T) { saveAtClocks(t, bound, leaves) })
		}
	}
}

func saveAtClocks(t *testing.T, bound ssp.Bound, leaves bool) {
	store := &blob.Mem{}
	s := serve(t, func(s *server.Server) { s.Bucket = store })
	c, slow := s.join(0, 2, bound), s.join(1, 2, bound)
	m := c.create(one("m", 1, 1))[0]
	var calls []*rpc.Call
	var pulls []*rpc.Call
	for clock := range 4 {
		calls = append(calls, c.saving(fmt.Sprint(clock), clock, m))
		pulls = append(pulls, c.pull(m.whole(clock)))
		c.pushed([]rpc.Part{m.row(clock, 1)}, own(clock), m.tick(clock, 0, 0))
	}
	for clock := range 4 {
		if clock == 1 && leaves {
			slow.leave()
			break
		}
		slow.pushed([]rpc.Part{m.row(clock, 10)}, own(clock), m.tick(clock, 0, 0))
	}
	for clock := range 4 {
		c.commit(fmt.Sprint(clock), c.wait(calls[clock]), m)
		want := float64(11 * clock)
		if leaves && clock > 0 {
			want = float64(10 + clock)
		}
		if got := numbers(c.wait(pulls[clock]).Parts); bound == ssp.BSP && got[0] != want {
			t.Errorf("pulled at clock %d: %v, want %v", clock, got, want)
		}
		if got := saved(t, store, fmt.Sprint(clock), m); got[0] != want {
			t.Errorf("saved at clock %d: %v, want %v", clock, got, want)
		}
	}
}

// TestSaveFailsOnce: a bucket that fails at one partition and works at the next ends the save with that error.
func TestSaveFailsOnce(t *testing.T) {
	s := serve(t, func(s *server.Server) { s.Bucket = &gate{Bucket: &blob.Mem{}, fail: errFull} })
	c := s.join(0, 1, ssp.BSP)
	ms := c.create(one("a", 1, 4), spec("b", 1, 100, matrix.RowDense), one("c", 1, 4))
	if _, err := c.outcome(c.saving("m", 0, ms...)); err == nil || err.Error() != "server s: angel: m: "+errFull.Error() {
		t.Errorf("save into a bucket that failed once: %v, want %v", err, errFull)
	}
	c.commit("m", c.wait(c.saving("m", 0, ms...)), ms...)
}

var errFull = errors.New("no space left")

// TestSlowRule (D4b): while a rule makes a long step in one matrix, whatever the bound, the others are served, pushes to that one
// are taken, and who waits for the step gets what it left.
func TestSlowRule(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, ssp.ASP} {
		bubble(t, bound.String(), func(t *testing.T) {
			busy := make(chan struct{})
			rule := psf.Rule{Name: "slow", New: func(map[string]float64) psf.Step {
				return psf.Step{
					F32: func([]float32, []float32, [][]float32, float64, int64) {},
					F64: func(w, g []float64, _ [][]float64, _ float64, _ int64) {
						<-busy
						for i := range w {
							w[i] -= g[i]
						}
					},
				}
			}}
			funcs, err := psf.NewTable(psf.Funcs(), append(optim.Rules(), rule))
			if err != nil {
				t.Fatal(err)
			}
			s := serve(t, func(s *server.Server) { s.Funcs = funcs })
			c, d := s.join(0, 2, bound), s.join(1, 2, bound)
			ms := c.create(with(one("a", 1, 1), "slow"), one("b", 1, 1))
			d.create(with(one("a", 1, 1), "slow"), one("b", 1, 1))
			a, b := ms[0], ms[1]
			if bound == ssp.BSP {
				d.pushed([]rpc.Part{a.row(0, 3)}, a.tick(0, 1, 1))
			}
			step := make(chan *rpc.Call, 1)
			go func() { step <- c.push([]rpc.Part{a.row(0, 3)}, a.tick(0, 1, 1)) }() // it may be this one that makes the step
			synctest.Wait()
			other := s.joinAs(rpc.Join{Job: "other", Tasks: 1})
			o := other.create(one("o", 1, 1))[0]
			for i := range 5 {
				other.pushed([]rpc.Part{o.row(i, 1)}, o.tick(i, 0, 0))
				if got := other.pulled(o.whole(i + 1)); got[0] != float64(i+1) {
					t.Fatalf("in another job: %v", got)
				}
			}
			if bound == ssp.ASP {
				d.pushed([]rpc.Part{b.row(0, 1)})
				if got := d.pulled(b.whole(0)); got[0] != 1 {
					t.Fatalf("in another matrix: %v", got)
				}
			} else if got := d.pulled(b.whole(0)); got[0] != 0 {
				t.Fatalf("in another matrix: %v", got)
			}
			clock := 1
			if bound == ssp.ASP {
				clock = 0
			}
			late := d.pull(a.whole(clock))
			synctest.Wait()
			if late.Ready() {
				t.Fatal("answered while the rule is busy")
			}
			close(busy)
			c.wait(<-step)
			if got := numbers(d.wait(late).Parts)[0]; got != -3 { // 3, or (3 + 3) / 2 examples
				t.Errorf("after the step the value is %v, want -3", got)
			}
		})
	}
}

// TestSlowFunction (D4b): while a function is busy beside one matrix the others are served, pushes to that one are taken,
// and who waits for the function gets what it left.
func TestSlowFunction(t *testing.T) {
	for _, update := range []bool{false, true} {
		bubble(t, fmt.Sprintf("update %v", update), func(t *testing.T) {
			busy := make(chan struct{})
			slow := asking("slow", func(psf.View) ([]byte, error) { <-busy; return []byte("done"), nil })
			if update {
				slow = changing("slow", func(x float64) float64 { <-busy; return 2 * x })
			}
			s := serve(t, func(s *server.Server) { s.Funcs = table(t, slow) })
			c, d := s.join(0, 2, ssp.ASP), s.join(1, 2, ssp.ASP)
			ms := c.create(one("a", 1, 1), one("b", 1, 1))
			a, b := ms[0], ms[1]
			c.pushed([]rpc.Part{a.row(0, 3)})
			q := rpc.Request{Op: rpc.OpGet, Func: "slow", Parts: []rpc.Part{a.whole(0)}}
			want := 4.0
			if update {
				c.seq++
				q.Op, q.Seq, want = rpc.OpUpdate, c.seq, 7
			}
			call := c.start(q)
			synctest.Wait()
			early := c.pull(a.whole(0))
			for i := range 20 {
				c.pushed([]rpc.Part{b.row(0, 1)})
				d.pushed([]rpc.Part{b.row(0, 1)})
				if got := d.pulled(b.whole(0)); got[0] != float64(2*i+2) {
					t.Fatalf("beside the function: %v", got)
				}
			}
			d.pushed([]rpc.Part{a.row(0, 1)})
			d.must(rpc.Request{Op: rpc.OpBarrier})
			late := d.pull(a.whole(0))
			synctest.Wait()
			if call.Ready() || early.Ready() || late.Ready() {
				t.Fatal("answered while the function is busy")
			}
			close(busy)
			c.wait(call)
			if got := numbers(c.wait(early).Parts); got[0] != want-1 {
				t.Errorf("asked for before the push: %v, want %v", got, want-1)
			}
			if got := numbers(d.wait(late).Parts); got[0] != want {
				t.Errorf("asked for after the push: %v, want %v", got, want)
			}
		})
	}
}

// TestLoadIsAChange: a load is done once, in its turn among the changes of its task, and one that fails changes nothing.
func TestLoadIsAChange(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		store := &gate{Bucket: &blob.Mem{}}
		s := serve(t, func(s *server.Server) { s.Bucket = store })
		c := s.join(0, 1, ssp.ASP)
		ms := c.create(one("m", 1, 2), spec("k", 1, 1<<40, matrix.RowSparse))
		m, k := ms[0], ms[1]
		key := map[int64]float64{1 << 39: 5}
		c.pushed([]rpc.Part{m.row(0, 1, 2), k.columns(0, key)})
		c.commit("m", c.wait(c.saving("m", 0, m, k)), m, k)
		store.close()
		calls := []*rpc.Call{c.push([]rpc.Part{m.row(0, 9, 9)}), c.loading("m", m, k), c.loading("none", m), c.push([]rpc.Part{k.columns(0, key)})}
		synctest.Wait()
		store.open()
		for i, call := range calls {
			if _, err := c.outcome(call); (i == 2) != errors.Is(err, rpc.ErrNotFound) || i != 2 && err != nil {
				t.Errorf("change %d: %v", i, err)
			}
		}
		c.pushed([]rpc.Part{m.row(0, 1, 1)})
		again := rpc.Request{Op: rpc.OpLoad, Seq: 3, Arg: arg(rpc.Load{Path: "m", Matrices: []string{"m"}})}
		c.must(again)
		if got := c.pulled(m.whole(0)); !slices.Equal(got, []float64{2, 3}) {
			t.Errorf("after a load, a push and the load again: %v, want 2 3", got)
		}
		// The push after the load went on while it was read, and its partition was replaced after.
		if got := c.pulled(k.keys(0, 1<<39)); got[0] != 5 && got[0] != 10 {
			t.Errorf("after a load beside a push: %v", got)
		}
	})
}

// TestLoadWhileSaving: a save of a matrix that is loaded meanwhile ends with an error, and nothing else does.
func TestLoadWhileSaving(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		store := &gate{Bucket: &blob.Mem{}}
		s := serve(t, func(s *server.Server) { s.Bucket = store })
		c := s.join(0, 1, ssp.ASP)
		ms := c.create(one("a", 1, 2), spec("k", 1, 1<<40, matrix.RowSparse), one("m", 1, 2))
		c.pushed([]rpc.Part{ms[0].row(0, 1, 2), ms[1].columns(0, map[int64]float64{5: 5}), ms[2].row(0, 3, 4)})
		c.commit("m", c.wait(c.saving("m", 0, ms...)), ms...)
		entered := make(chan struct{})
		slow := &hold{gate: store, entered: entered}
		s.server.Bucket = slow
		call := c.saving("n", 0, ms...)
		<-entered // the first partition is being written
		c.wait(c.loading("m", ms...))
		close(slow.release())
		_, err := c.outcome(call)
		fails(t, "a save beside a load", err, rpc.ErrAborted, "loaded while it was being read")
		if got := c.pulled(ms[2].whole(0)); !slices.Equal(got, []float64{3, 4}) {
			t.Errorf("values are %v", got)
		}
		c.commit("n", c.wait(c.saving("n", 0, ms...)), ms...)
	})
}

// hold is a bucket whose first Create waits.
type hold struct {
	*gate
	once    sync.Once
	entered chan struct{}
	until   chan struct{}
	mu      sync.Mutex
}

func (h *hold) release() chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.until == nil {
		h.until = make(chan struct{})
	}
	return h.until
}

func (h *hold) Create(ctx context.Context, name string) (blob.Writer, error) {
	h.once.Do(func() {
		close(h.entered)
		<-h.release()
	})
	return h.gate.Create(ctx, name)
}

// TestSaveBesideTheEnd: a save that the end of its job cuts off leaves nothing, and another job may save there.
func TestSaveBesideTheEnd(t *testing.T) {
	for _, how := range []rpc.Op{rpc.OpLeave, rpc.OpQuit, rpc.OpInvalid} {
		bubble(t, how.String(), func(t *testing.T) {
			files := &blob.Mem{}
			store := &gate{Bucket: files}
			s := serve(t, func(s *server.Server) { s.Bucket = store })
			c := s.join(0, 1, ssp.BSP)
			ms := c.create(one("a", 1, 2), spec("k", 1, 1<<40, matrix.RowSparse))
			store.close()
			call := c.saving("m", 0, ms...)
			synctest.Wait()
			if how != rpc.OpInvalid {
				c.must(rpc.Request{Op: how})
			}
			c.Close()
			if _, err := c.outcome(call); err == nil {
				t.Error("no error of a save that was cut off")
			}
			synctest.Wait()
			store.open()
			time.Sleep(time.Second)
			infos, err := files.List(t.Context(), "")
			if err != nil || len(infos) > 0 {
				text, _ := json.Marshal(infos)
				t.Errorf("left behind: %s, %v", text, err)
			}
			next := s.join(0, 1, ssp.BSP)
			ms = next.create(one("a", 1, 2))
			next.commit("m", next.wait(next.saving("m", 0, ms...)), ms...)
		})
	}
}

// TestSameStage: a second save of one name is refused and leaves the first alone; one that is given up while it is busy ends,
// and leaves nothing.
func TestSameStage(t *testing.T) {
	for _, abort := range []bool{false, true} {
		bubble(t, fmt.Sprintf("abort %v", abort), func(t *testing.T) {
			files := &blob.Mem{}
			store := &gate{Bucket: files}
			s := serve(t, func(s *server.Server) { s.Bucket = store })
			c := s.join(0, 1, ssp.ASP)
			m := c.create(spec("m", 1, 100, matrix.RowDense))[0]
			c.pushed([]rpc.Part{m.row(0, 1, 2)})
			store.close()
			first := c.saving("m", 0, m)
			synctest.Wait()
			fails(t, "a second save", c.outcomeErr(c.saving("m", 0, m)), rpc.ErrExists)
			if abort {
				c.must(rpc.Request{Op: rpc.OpAbort, Arg: arg(rpc.Save{Codec: "angel", Path: "m", Stage: "m"})})
			}
			store.open()
			r, err := c.outcome(first)
			name := "m"
			if abort {
				if err == nil || len(names(t, files)) > 0 {
					t.Errorf("given up: %v, left are %v", err, names(t, files))
				}
				fails(t, "a save of a name that was given up", c.outcomeErr(c.saving("m", 0, m)), rpc.ErrAborted)
				name = "again"
				r = c.wait(c.saving(name, 0, m))
			} else if err != nil {
				t.Fatal(err)
			}
			c.commit(name, r, m)
			if got := saved(t, files, name, m); got[0] != 1 || got[1] != 2 || len(got) != 100 {
				t.Errorf("saved are %v", got)
			}
			fails(t, "a second commit", c.refusal(rpc.Request{Op: rpc.OpCommit, Arg: arg(rpc.Save{Stage: name})}), rpc.ErrNotFound)
		})
	}
}
