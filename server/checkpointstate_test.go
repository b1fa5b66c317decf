package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"thole.example/blob"
	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/server"
	"thole.example/ssp"
	"thole.example/state"
	"thole.example/wire"
)

// checkpointing asks for a checkpoint as of the clock; the stage is its name.
func (c *conn) checkpointing(name string, clock int, ms ...*known) *rpc.Call {
	q := rpc.Request{Op: rpc.OpSave, Clock: int32(clock)}
	a := rpc.Save{Path: name, Stage: name, Checkpoint: true, Servers: 1}
	for _, m := range ms {
		a.Matrices = append(a.Matrices, m.Name)
		q.Parts = append(q.Parts, rpc.Part{Matrix: m.number, Clock: int32(clock)})
	}
	q.Arg = arg(a)
	return c.start(q)
}

// checkpointed makes a checkpoint visible that was put.
func (c *conn) checkpointed(name string, r *rpc.Response) {
	c.s.t.Helper()
	c.must(rpc.Request{Op: rpc.OpCommit, Arg: arg(rpc.Save{Path: name, Stage: name, Checkpoint: true, Servers: 1, Parts: [][]byte{r.Results[0].Data}})})
}

// records is the values of a matrix in a checkpoint with its slots, as read band after band.
func records(t *testing.T, in *state.Input, name string) (keys []int64, values []float64) {
	t.Helper()
	m, err := in.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	for id := range m.Records {
		err := in.Record(t.Context(), m, id, func(_ *state.Partition, b state.Band) error {
			keys = append(keys, b.Keys...)
			for _, v := range b.Values {
				values = append(values, v.Data.Values().([]float64)...)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return keys, values
}

// TestCheckpointOfAJob: what is staged, the windows and the clocks are in the checkpoint, of the moment that its values are of,
// though the tasks go on while it is written, and what is staged is folded and forgotten.
func TestCheckpointOfAJob(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		store := &gate{Bucket: &blob.Mem{}}
		ledger := budget.New(1 << 28)
		s := serve(t, func(s *server.Server) { s.Bucket, s.Ledger = store, ledger })
		c, slow := s.join(0, 2, 2), s.join(1, 2, 2)
		ms := c.create(with(one("g", 1, 2), "adagrad"), spec("k", 2, 1<<40, matrix.RowSparse))
		g, k := ms[0], ms[1]
		push := func(c *conn, clock int, v float64) {
			c.pushed([]rpc.Part{g.row(clock, v, -v), k.columns(clock, map[int64]float64{7: v, 1 << 39: 2 * v})},
				own(clock), g.tick(clock, 1, 0.5), k.tick(clock, 0, 0))
		}
		push(c, 0, 1)
		push(slow, 0, 3)
		push(c, 1, 100)
		push(c, 2, 200)
		c.seq++ // refused: a clock that is over
		if _, err := c.ask(rpc.Request{Op: rpc.OpPush, Seq: c.seq, Ticks: []rpc.Tick{own(0)}}); err == nil {
			t.Fatal("a clock ticks twice")
		}
		store.close()
		call := slow.checkpointing("c", 1, g, k)
		synctest.Wait()
		push(slow, 1, 300)
		push(slow, 2, 400)
		if call.Ready() {
			t.Fatal("the checkpoint did not wait for its bucket")
		}
		store.open()
		slow.checkpointed("c", slow.wait(call))
		in, err := state.NewInput(t.Context(), store, "c")
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if _, got := records(t, in, "g"); !reflect.DeepEqual(got, []float64{-0.5 * 4 / (4 + 1e-10), 0.5 * 4 / (4 + 1e-10), 4 * 4 / 4, 4}) && (len(got) != 4 || got[2] != got[3] || got[0] != -got[1]) {
			t.Errorf("values and slots of g: %v", got)
		}
		keys, got := records(t, in, "k")
		if len(keys) != 2 || len(got) != 4 || got[0]+got[2] != 12 {
			t.Errorf("columns %v of k: %v, want 4 and 8 for both rows", keys, got)
		}
		js, err := in.Job(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if js.Members[0].Last != 4 || len(js.Members[0].Refused) != 1 || js.Members[1].Last != 1 || !reflect.DeepEqual(js.Matrices[1].Clocks, []int{3, 1}) {
			t.Errorf("members %+v, clocks %v", js.Members, js.Matrices[1].Clocks)
		}
		var staged []string
		for _, m := range js.Matrices {
			for _, e := range m.Staged {
				v, _ := wire.Numbers[float64](e.Delta.Values)
				staged = append(staged, fmt.Sprint(m.Name, e.Clock, e.Task, e.Tick, e.Weight, e.Rate, e.Delta.Keys, v))
			}
		}
		low, high := "[7 549755813888] [100 100 200 200]", "[7 549755813888] [200 200 400 400]"
		if k.parts.Of(7) > k.parts.Of(1<<39) {
			low, high = "[549755813888 7] [200 200 100 100]", "[549755813888 7] [400 400 200 200]"
		}
		want := []string{"g1 0 false 0 0 [] [100 -100]", "g1 0 true 1 0.5 [] []", "g2 0 false 0 0 [] [200 -200]", "g2 0 true 1 0.5 [] []",
			"k1 0 false 0 0 " + low, "k2 0 false 0 0 " + high}
		if strings.Join(staged, "\n") != strings.Join(want, "\n") {
			t.Errorf("staged\n%s\nwant\n%s", strings.Join(staged, "\n"), strings.Join(want, "\n"))
		}
		twin, err := ssp.FromState[state.Delta, int](*js, 0)
		if err != nil {
			t.Fatal(err)
		}
		if again := twin.State(); again.Members[0].Last != 4 || len(again.Matrices[1].Staged) != 4 {
			t.Errorf("a job of the state: %+v", again)
		}
		c.leave()
		slow.leave()
		synctest.Wait()
		if used := ledger.Used(); used != (budget.Usage{}) {
			t.Errorf("not given back: %+v", used)
		}
	})
}

// TestCheckpointDuringUpdate: a checkpoint has all of an update that runs, or nothing.
func TestCheckpointDuringUpdate(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s, c, m, update, busy := updating(t)
		call := c.checkpointing("c", 0, m)
		synctest.Wait()
		if call.Ready() {
			t.Fatal("the checkpoint did not wait for the update")
		}
		close(busy)
		c.wait(update)
		c.checkpointed("c", c.wait(call))
		in, err := state.NewInput(t.Context(), s.server.Bucket, "c")
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if _, got := records(t, in, "m"); !reflect.DeepEqual(got, []float64{1}) {
			t.Errorf("value %v, want 1", got)
		}
	})
}

// TestCheckpointAfterLoad: a checkpoint that is asked for while a load runs has what was loaded.
func TestCheckpointAfterLoad(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		store := &gate{Bucket: &blob.Mem{}}
		s := serve(t, func(s *server.Server) { s.Bucket = store })
		c := s.join(0, 1, ssp.ASP)
		m := c.create(one("m", 1, 1))[0]
		c.pushed([]rpc.Part{m.row(0, 5)})
		c.commit("model", c.wait(c.saving("model", 0, m)), m)
		c.pushed([]rpc.Part{m.row(0, 1)})
		store.close()
		load := c.loading("model", m)
		synctest.Wait()
		call := c.checkpointing("c", 0, m)
		synctest.Wait()
		store.open()
		c.wait(load)
		c.checkpointed("c", c.wait(call))
		in, err := state.NewInput(t.Context(), store, "c")
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		js, err := in.Job(t.Context(), 0)
		if _, got := records(t, in, "m"); err != nil || !reflect.DeepEqual(got, []float64{5}) || js.Members[0].Last != 3 {
			t.Errorf("value %v after change %d, want 5 after 3: %v", got, js.Members[0].Last, err)
		}
	})
}

// TestCheckpointTooLate: a task that goes on without waiting for its checkpoint is told that the clock is over, if it is.
func TestCheckpointTooLate(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := serve(t, nil)
		c, slow := s.join(0, 2, ssp.BSP), s.join(1, 2, ssp.BSP)
		m := c.create(one("m", 1, 1))[0]
		c.pushed(nil, own(0), m.tick(0, 0, 0))
		call := c.checkpointing("c", 1, m)
		c.pushed([]rpc.Part{m.row(1, 1)}, own(1), m.tick(1, 0, 0))
		slow.leave()
		_, err := c.outcome(call)
		fails(t, "checkpoint", err, rpc.ErrPassed, `matrix "m" is at clock 2, want 1 as when the checkpoint was asked for`)
	})
}

// TestCheckpointReplaces: a job replaces its own checkpoint, and the one that it was restored from; nobody else does.
func TestCheckpointReplaces(t *testing.T) {
	bucket := &blob.Mem{}
	for turn, want := range []string{"", "is there now", ""} {
		f := newFleet(t, "mem", 2, bucket, small())
		f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
			if turn == 2 {
				if _, err := p.Restore(ctx, "c"); err != nil {
					return err
				}
			}
			for range 2 {
				if err := p.Checkpoint(ctx, "c"); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
					return fmt.Errorf("job %d: %v, want %q", turn, err, want)
				}
			}
			return nil
		})
	}
}

// TestCheckpointRefused: what cannot be a checkpoint, or be restored, is refused with the reason.
func TestCheckpointRefused(t *testing.T) {
	s := serve(t, nil)
	c := s.join(0, 1, ssp.BSP)
	ms := c.create(one("a", 1, 2), with(one("b", 1, 2), "adam"))
	a, b := ms[0], ms[1]
	refused := func(what string, call *rpc.Call, kind error, texts ...string) {
		t.Helper()
		_, err := c.outcome(call)
		fails(t, what, err, kind, texts...)
	}
	refused("one of two", c.checkpointing("c", 0, a), rpc.ErrRefused, `without matrix "b" of job "j", want all`)
	refused("unknown", c.checkpointing("c", 0, a, &known{Meta: matrix.Meta{Name: "x"}}), rpc.ErrNotFound, `"x"`)
	q := rpc.Request{Op: rpc.OpSave, Arg: arg(rpc.Save{Path: "c", Checkpoint: true, Servers: 1, Index: 1})}
	refused("server 1 of 1", c.start(q), rpc.ErrMalformed, "server 1 of 1")
	c.checkpointed("c", c.wait(c.checkpointing("c", 0, a, b)))
	restoring := func(path string, names ...string) *rpc.Call {
		c.seq++
		return c.start(rpc.Request{Op: rpc.OpLoad, Seq: c.seq, Arg: arg(rpc.Load{Path: path, Matrices: names, Checkpoint: true})})
	}
	refused("no path", restoring("d", "a"), rpc.ErrNotFound, "checkpoint: d/checkpoint")
	for what, want := range map[string]struct {
		change func(m *matrix.Meta)
		text   string
	}{
		"rows":   {func(m *matrix.Meta) { m.Rows = 2 }, "rows [0,1) x cols [0,2)"},
		"type":   {func(m *matrix.Meta) { m.DType = matrix.F32 }, "of f64"},
		"origin": {func(m *matrix.Meta) { m.Layout, m.ColLo, m.Cols = matrix.RowSparse, 1, 9 }, "is dense at"},
		"rule":   {func(m *matrix.Meta) { m.Rule = "ftrl" }, "with rule adam, initially 0, and cannot fill"},
		"init":   {func(m *matrix.Meta) { m.Init = matrix.Init{Kind: "normal", Scale: 1} }, "initially normal(1, seed 0)"},
		"name":   {func(m *matrix.Meta) { m.Name = "x" }, `there are ["a" "b"]`},
	} {
		other := serve(t, func(o *server.Server) { o.Bucket = s.server.Bucket })
		d := other.join(0, 1, ssp.BSP)
		m := with(one("b", 1, 2), "adam")
		want.change(&m.Meta)
		name := d.create(m)[0].Name
		_, err := d.ask(rpc.Request{Op: rpc.OpLoad, Seq: 1, Arg: arg(rpc.Load{Path: "c", Matrices: []string{name}, Checkpoint: true})})
		kind := rpc.ErrRefused
		if what == "name" {
			kind = rpc.ErrNotFound
		}
		fails(t, what, err, kind, want.text)
	}
	r := c.wait(restoring("c", "a", "b"))
	again := c.must(rpc.Request{Op: rpc.OpLoad, Seq: c.seq, Arg: arg(rpc.Load{Path: "c", Matrices: []string{"a", "b"}, Checkpoint: true})})
	var one, two rpc.Restored
	if err := errors.Join(json.Unmarshal(r.Results[0].Data, &one), json.Unmarshal(again.Results[0].Data, &two)); err != nil || !reflect.DeepEqual(one, two) || len(one.Matrices) != 2 {
		t.Errorf("restored %+v, asked again %+v: %v", one, two, err)
	}
	if used := bytes.Equal(r.Results[0].Data, again.Results[0].Data); !used {
		t.Errorf("other answers")
	}
}

// TestCheckpointWhilePushing: tasks go on beside checkpoints, each of which is of one moment: in every step each of two matrices
// gets the same, so their values are the same.
func TestCheckpointWhilePushing(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, 1, ssp.ASP} {
		t.Run(bound.String(), func(t *testing.T) {
			metas := []matrix.Meta{{Name: "a", Rows: 1, Cols: 3000, DType: matrix.F64}, {Name: "b", Rows: 1, Cols: 3000, DType: matrix.F64, Layout: matrix.RowSparse}}
			bucket := &blob.Mem{}
			f := newFleet(t, "tcp", 2, bucket, metas)
			const steps = 12
			f.run(3, bound, func(ctx context.Context, p *ps.Client, task int) error {
				for step := range steps {
					for _, m := range metas {
						d := matrix.NewDense(m.DType, m.Rect())
						v := d.Data.Values().([]float64)
						for i := range v {
							v[i] = 1
						}
						if err := p.Push(m.Name, d); err != nil {
							return err
						}
					}
					if err := p.Clock(ctx, 0, 0); err != nil {
						return err
					}
					if task == 0 && step%4 == 3 {
						if err := p.Checkpoint(ctx, fmt.Sprint("c", step+1)); err != nil {
							return err
						}
					}
				}
				return nil
			})
			for _, step := range []int{4, 8, 12} {
				in, err := state.NewInput(t.Context(), bucket, fmt.Sprint("c", step))
				if err != nil {
					t.Fatal(err)
				}
				defer in.Close()
				for _, m := range metas {
					_, values := records(t, in, m.Name)
					if len(values) != 3000 {
						t.Fatalf("%d values of %s", len(values), m.Name)
					}
					for i, v := range values {
						if v != float64(3*step) && (bound != ssp.ASP || v < float64(step)) { // under ASP the others may be anywhere
							t.Fatalf("value %d of %s at clock %d is %v, want %d", i, m.Name, step, v, 3*step)
						}
					}
				}
			}
		})
	}
}

// updating is a task whose update of its matrix runs until busy is closed.
func updating(t *testing.T) (s *site, c *conn, m *known, update *rpc.Call, busy chan struct{}) {
	busy = make(chan struct{})
	add := changing("slow", func(x float64) float64 {
		<-busy
		return x + 1
	})
	s = serve(t, func(s *server.Server) { s.Funcs = table(t, add) })
	c = s.join(0, 1, ssp.BSP)
	m = c.create(one("m", 1, 1))[0]
	c.seq++
	update = c.start(rpc.Request{Op: rpc.OpUpdate, Seq: c.seq, Func: "slow", Parts: []rpc.Part{m.whole(0)}})
	synctest.Wait()
	return s, c, m, update, busy
}
