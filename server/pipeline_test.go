package server_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/server"
	"thole.example/ssp"
)

// TestPipelined (D9): a task that sends changes and pulls without waiting sees in each pull all that it sent before, and
// nothing that it sent after, while others do the same.
func TestPipelined(t *testing.T) {
	const tasks, rounds = 4, 800
	for _, rule := range []string{"", "sgd"} {
		t.Run("rule "+rule, func(t *testing.T) {
			s := serve(t, nil)
			s.net.Window = 4 * rounds
			var wg sync.WaitGroup
			for task := range tasks {
				c := s.join(task, tasks, ssp.ASP)
				ms := c.create(with(spec("w", 1, 40*tasks, matrix.RowDense), rule), with(spec("k", 2, 1<<40, matrix.RowSparse), rule))
				wg.Go(func() { pipeline(t, c, task, rounds, rule, ms[0], ms[1]) })
			}
			wg.Wait()
		})
	}
}

// pipeline adds 1 to a cell and two columns that are the task's own, again and again, and reads them in between.
func pipeline(t *testing.T, c *conn, task, rounds int, rule string, w, k *known) {
	at := matrix.At(0, 1, int64(40*task), int64(40*task+1))
	keys := []int64{int64(task), int64(task) + 1<<35}
	var pushes, pulls []*rpc.Call
	for i := range rounds {
		unit, clock := 1.0, 0
		var ticks []rpc.Tick
		if rule != "" {
			unit, clock = -1, i
			ticks = []rpc.Tick{w.tick(i, 1, 1), k.tick(i, 1, 1)}
		}
		parts := []rpc.Part{w.dense(clock, at, unit), k.columns(clock, map[int64]float64{keys[0]: unit, keys[1]: unit})}
		pushes = append(pushes, c.push(parts, ticks...))
		pulls = append(pulls, c.pull(w.at(0, at), k.keys(0, keys...)))
	}
	for i := range rounds {
		if _, err := c.outcome(pushes[i]); err != nil {
			t.Errorf("task %d, change %d: %v", task, i, err)
			return
		}
		r, err := c.outcome(pulls[i])
		n := float64(i + 1)
		if err != nil || !slices.Equal(numbers(r.Parts), []float64{n, n, n, n, n}) {
			t.Errorf("task %d, after change %d it sees %v, %v", task, i, numbers(r.Parts), err)
			return
		}
		r.Release()
	}
}

// slowLog is a log that waits at every line until it is let go.
type slowLog struct{ gate chan struct{} }

func (l slowLog) Enabled(context.Context, slog.Level) bool { return true }
func (l slowLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l slowLog) WithGroup(string) slog.Handler            { return l }
func (l slowLog) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		<-l.gate
	}
	return nil
}

// TestAfterChanges: what a task asks for is answered after the changes that it sent before, also when the job is busy with
// others and the changes have to wait.
func TestAfterChanges(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		gate := make(chan struct{})
		s := serve(t, func(s *server.Server) { s.Log = slog.New(slowLog{gate}) })
		c, other := s.join(0, 2, ssp.ASP), s.join(1, 2, ssp.ASP)
		m := c.create(one("m", 1, 1))[0]
		c.pushed([]rpc.Part{m.row(0, 3)})
		other.start(rpc.Request{Op: rpc.OpBarrier, Clock: 1})
		time.Sleep(time.Minute) // there is something to log about the barrier: the job is busy with that
		synctest.Wait()
		c.seq += 2
		of := []rpc.Part{m.whole(0)}
		sum := rpc.Request{Op: rpc.OpGet, Func: "sum", Parts: of}
		double := rpc.Request{Op: rpc.OpUpdate, Func: "scale", Arg: []byte(`{"by":2}`), Parts: of}
		double.Seq = 2
		first := c.start(double)
		pulled, got := c.pull(m.whole(0)), c.start(sum)
		double.Seq = 3
		second := c.start(double)
		save := c.saving("p", 0, m)
		synctest.Wait()
		close(gate)
		c.wait(first)
		c.wait(second)
		if v := numbers(c.wait(pulled).Parts); v[0] != 6 {
			t.Errorf("between the changes it pulls %v, want 6", v)
		}
		total, err := s.server.Funcs.Bind("sum", nil, &matrix.Meta{Rows: 1, DType: matrix.F64})
		if err != nil {
			t.Fatal(err)
		}
		text, err := total.Merge([][]byte{c.wait(got).Results[0].Data})
		if v, _ := text.Number(); err != nil || v != 6 {
			t.Errorf("between the changes the sum is %s, %v, want 6", text, err)
		}
		c.commit("p", c.wait(save), m)
		if v := saved(t, s.server.Bucket, "p", m); v[0] != 12 {
			t.Errorf("after the changes it saves %v, want 12", v)
		}
	})
}

// TestTurns: changes are made in the order of their numbers, each once, however they come; what came before is answered
// again as it was then.
func TestTurns(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := serve(t, nil)
		c := s.join(0, 1, ssp.ASP)
		m := c.create(one("m", 1, 1))[0]
		add := func(seq uint64, v float64) rpc.Request {
			return rpc.Request{Op: rpc.OpPush, Seq: seq, Parts: []rpc.Part{m.row(0, v), m.whole(0)}}
		}
		double := rpc.Request{Op: rpc.OpUpdate, Seq: 3, Func: "scale", Arg: []byte(`{"by":2}`), Parts: []rpc.Part{m.whole(0)}}
		wrong := add(4, 1)
		wrong.Parts[0].Clock = 7
		calls := []*rpc.Call{c.start(add(5, 100)), c.start(double), c.start(wrong), c.start(add(2, 10)), c.start(add(2, 10))}
		synctest.Wait()
		for i, call := range calls {
			if call.Ready() {
				t.Errorf("change %d is answered before its turn", i)
			}
		}
		if got := c.pulled(m.whole(0)); got[0] != 0 {
			t.Errorf("before their turn: %v", got)
		}
		first := c.must(add(1, 1))
		if got := numbers(first.Parts); got[0] != 1 {
			t.Errorf("after the first: %v, want 1", got)
		}
		for i, want := range []float64{122, 0, 0, 11, 11} {
			r, err := c.outcome(calls[i])
			switch {
			case i == 2:
				fails(t, "the wrong change", err, rpc.ErrMalformed, "clock 7")
			case err != nil:
				t.Errorf("change %d: %v", i, err)
			case want > 0 && i == 0 && numbers(r.Parts)[0] != want:
				t.Errorf("change %d: %v, want %v", i, numbers(r.Parts), want)
			}
		}
		again := []rpc.Request{add(1, 1), add(2, 10), double, add(5, 100)}
		for _, q := range append(again, again...) {
			r := c.must(q)
			if q.Op == rpc.OpPush && numbers(r.Parts)[0] != 122 {
				t.Errorf("change %d again: %v, want 122", q.Seq, numbers(r.Parts))
			}
		}
		for range 2 {
			fails(t, "the wrong change again", c.refusal(wrong), rpc.ErrMalformed, "clock 7")
		}
		fails(t, "a change far ahead", c.refusal(add(6+ssp.Window, 1)), rpc.ErrRefused, "6 is awaited")
		for seq := uint64(6); seq < 6+ssp.Window; seq++ {
			c.must(add(seq, 0))
		}
		fails(t, "a change long ago", c.refusal(add(5, 1)), rpc.ErrRefused, "one of the last")
		if got := c.pulled(m.whole(0)); got[0] != 122 {
			t.Errorf("in the end: %v, want 122", got)
		}
	})
}

// TestLeaveBefore: a task cannot leave while a change of its has not come, and goes on when that is refused.
func TestLeaveBefore(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := serve(t, nil)
		c := s.join(0, 1, ssp.BSP)
		m := c.create(one("m", 1, 1))[0]
		early := c.start(rpc.Request{Op: rpc.OpPush, Seq: 2, Parts: []rpc.Part{m.row(0, 2)}, Ticks: []rpc.Tick{m.tick(0, 0, 0)}})
		fails(t, "leave", c.refusal(rpc.Request{Op: rpc.OpLeave}), rpc.ErrRefused, "its change 1 has not come")
		c.must(rpc.Request{Op: rpc.OpPush, Seq: 1, Parts: []rpc.Part{m.row(0, 1)}})
		c.wait(early)
		c.commit("p", c.wait(c.saving("p", 1, m)), m)
		if got := saved(t, s.server.Bucket, "p", m); got[0] != 3 {
			t.Errorf("saved is %v, want 3", got)
		}
		c.leave()
	})
}

// TestCancelled: a push whose answer nobody waits for any more was made all the same, with what it brought, though its memory
// is the network's again.
func TestCancelled(t *testing.T) {
	for _, duplicate := range []bool{false, true} {
		bubble(t, fmt.Sprintf("duplicate %v", duplicate), func(t *testing.T) {
			s := serve(t, nil)
			c, other := s.join(0, 2, ssp.BSP), s.join(1, 2, ssp.BSP)
			m := c.create(one("m", 1, 4))[0]
			ctx, cancel := context.WithCancel(t.Context())
			q := c.change(rpc.Request{Op: rpc.OpPush, Parts: []rpc.Part{m.row(0, 1, 2, 3, 4), m.whole(1)}, Ticks: []rpc.Tick{m.tick(0, 0, 0)}})
			calls := []*rpc.Call{c.Start(ctx, &q)}
			if duplicate {
				same := s.inMemory(q)
				calls = append(calls, c.Start(ctx, &same))
				same.Memory.Release()
			}
			q.Memory.Release()
			synctest.Wait()
			cancel()
			for _, call := range calls {
				if _, err := call.Wait(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("given up: %v", err)
				}
			}
			synctest.Wait()
			for range 50 { // what was released is used by others now
				b := rpc.NewBuffer(32, budget.Charge{})
				copy(b.Bytes(), slices.Repeat([]byte{0x41}, 32))
				defer b.Release()
			}
			other.pushed([]rpc.Part{m.row(0, 10, 20, 30, 40)}, m.tick(0, 0, 0))
			if got := c.pulled(m.whole(1)); !slices.Equal(got, []float64{11, 22, 33, 44}) {
				t.Errorf("after a push that was given up: %v", got)
			}
		})
	}
}

// TestUpdateGivenUp: a function that is busy goes on with its argument when nobody waits for it any more.
func TestUpdateGivenUp(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		busy := make(chan struct{})
		add := psf.Func{Name: "more", Params: []psf.Param{{Name: "by", Kind: psf.Number}},
			Bind: func(a psf.Args, _ *matrix.Meta) (*psf.Call, error) {
				return &psf.Call{Writes: psf.Rows{All: true}, Part: func(v psf.View) ([]byte, error) {
					<-busy
					return nil, changeAll(v, func(x float64) float64 { return x + a.Number("by") })
				}}, nil
			}}
		s := serve(t, func(s *server.Server) { s.Funcs = table(t, add) })
		c := s.join(0, 1, ssp.BSP)
		m := c.create(one("m", 1, 1))[0]
		ctx, cancel := context.WithCancel(t.Context())
		q := rpc.Request{Op: rpc.OpUpdate, Seq: 1, Func: "more", Arg: []byte(`{"by":7}`), Parts: []rpc.Part{m.whole(0)}}
		call := c.Start(ctx, &q)
		cancel()
		if _, err := call.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("given up: %v", err)
		}
		synctest.Wait()
		q.Arg[6] = '9' // the caller's again
		close(busy)
		c.must(rpc.Request{Op: rpc.OpUpdate, Seq: 1, Func: "more", Arg: []byte(`{"by":7}`), Parts: []rpc.Part{m.whole(0)}})
		if got := c.pulled(m.whole(0)); got[0] != 7 {
			t.Errorf("value is %v, want 7", got)
		}
	})
}

// TestMixedParts: what a push brings and what it asks for may come in any order; it is answered for what it asks, in that
// order, also when all that it brings is left out.
func TestMixedParts(t *testing.T) {
	for _, skip := range []bool{false, true} {
		s := serve(t, nil)
		c := s.join(0, 1, ssp.ASP)
		a, b := one("a", 1, 2), one("b", 1, 1)
		a.NonFinite, b.NonFinite = "skip", "skip"
		ms := c.create(a, b)
		add := []float64{1, 2}
		want := []float64{4, 1, 2}
		if skip {
			add, want = []float64{math.NaN(), 2}, []float64{0, 0, 0}
		}
		four := add[0] * 4
		r := c.pushed([]rpc.Part{ms[1].whole(0), ms[0].row(0, add...), ms[0].whole(0), ms[1].row(0, four)})
		if got := numbers(r.Parts); !slices.Equal(got, want) || len(r.Parts) != 2 || r.Parts[0].Matrix != ms[1].number {
			t.Errorf("skip %v: answered are %v, want %v", skip, got, want)
		}
		r.Release()
	}
}

// TestSize: the network hears how many bytes of values a request asks for, before it is served.
func TestSize(t *testing.T) {
	s := &server.Server{Funcs: table(t), Codecs: codecs}
	gone := make(chan struct{})
	from := &rpc.Peer{Gone: gone}
	exchange := func(q rpc.Request) *rpc.Exchange {
		return rpc.NewExchange(&q, from, func(_ *rpc.Exchange, _ *rpc.Response, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	w, k := one("w", 3, 50), spec("k", 5, 1<<40, matrix.RowSparse)
	w.Meta.DType = matrix.F32
	s.Serve(exchange(joining(rpc.Join{Tasks: 1})))
	s.Serve(exchange(rpc.Request{Op: rpc.OpCreate, Arg: arg(rpc.Create{Matrices: []rpc.Spec{w, k}, Servers: 1})}))
	cells := rpc.Part{Kind: rpc.KindDense, Matrix: 1, Rows: matrix.Range{Hi: 2}, Cols: matrix.Range{Lo: 10, Hi: 50}}
	keys := rpc.Part{Kind: rpc.KindKeys, Matrix: 2, Rows: matrix.Range{Lo: 1, Hi: 5}, Keys: []int64{3, 4, 5}}
	brings := cells
	brings.Values = make([]byte, 320)
	most := keys
	most.Rows.Hi = 1 << 60
	for name, c := range map[string]struct {
		q    rpc.Request
		want int64
	}{
		"a pull":          {rpc.Request{Op: rpc.OpPull, Parts: []rpc.Part{cells, keys}}, 2*40*4 + 4*3*8},
		"a push":          {rpc.Request{Op: rpc.OpPush, Parts: []rpc.Part{brings, cells, brings, keys}}, 2*40*4 + 4*3*8},
		"a pull too much": {rpc.Request{Op: rpc.OpPull, Parts: []rpc.Part{cells, most}}, 0},
		"no matrix":       {rpc.Request{Op: rpc.OpPull, Parts: []rpc.Part{{Kind: rpc.KindDense, Matrix: 9, Rows: cells.Rows, Cols: cells.Cols}, keys}}, 4 * 3 * 8},
		"a get":           {rpc.Request{Op: rpc.OpGet, Parts: []rpc.Part{cells}}, 0},
	} {
		if got := s.Size(exchange(c.q)); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
	if got := s.Size(rpc.NewExchange(&rpc.Request{Op: rpc.OpPull, Parts: []rpc.Part{cells}}, &rpc.Peer{}, nil)); got != 0 {
		t.Errorf("of a stranger: %d bytes, want 0", got)
	}
	s.Serve(exchange(rpc.Request{Op: rpc.OpLeave}))
	close(gone)
}
