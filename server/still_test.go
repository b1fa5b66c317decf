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

	"thole.example/blob"
	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/ssp"
	"thole.example/state"
)

// function asks for a function of everything in matrices.
func function(op rpc.Op, name, text string, ms ...*known) rpc.Request {
	q := rpc.Request{Op: op, Func: name, Arg: []byte(text)}
	for _, m := range ms {
		q.Parts = append(q.Parts, rpc.Part{Kind: rpc.KindDense, DType: m.DType, Matrix: m.number, Version: 1, Rows: m.Rect().Rows, Cols: m.Rect().Cols})
	}
	return q
}

// TestMatrixTwice: a function that names a matrix twice is refused: atomic, it would wait for itself.
func TestMatrixTwice(t *testing.T) {
	for _, op := range []rpc.Op{rpc.OpUpdate, rpc.OpGet} {
		bubble(t, op.String(), func(t *testing.T) {
			c := serve(t, nil).join(0, 1, ssp.ASP)
			m := c.create(one("m", 1, 10))[0]
			name, text := "fill", `{"value":1,"atomic":true}`
			if op == rpc.OpGet {
				name, text = "sum", `{"atomic":true}`
			}
			err := c.refusal(c.change(function(op, name, text, m, m)))
			fails(t, "a matrix twice", err, rpc.ErrMalformed, `matrix "m" comes twice`)
			if got := c.pulled(m.whole(0)); got[0] != 0 {
				t.Errorf("a cell is %v after what was refused", got[0])
			}
			c.leave()
		})
	}
}

// TestAtomicCrossed: atomic functions of the same matrices in different orders do not wait for each other for ever, whoever asks.
func TestAtomicCrossed(t *testing.T) {
	const times = 2000
	s := serve(t, nil)
	c := s.join(0, 1, ssp.ASP)
	a, b := spec("a", 1, 1<<40, matrix.RowSparse), spec("b", 1, 1<<40, matrix.RowSparse)
	a.Partitioner, b.Partitioner = "hash", "hash"
	ms := c.create(a, b)
	crossed := []*known{ms[1], ms[0]}
	var all sync.WaitGroup
	for i := range 4 {
		reader := s.dial()
		reader.must(rpc.Request{Op: rpc.OpFollow, Arg: arg(rpc.Follow{Job: "j"})})
		of, q := ms, function(rpc.OpGet, "sum", `{"atomic":true}`)
		if i%2 == 0 {
			of = crossed
		}
		if i < 2 {
			q = function(rpc.OpUpdate, "mapinplace", `{"f":"x + 1","atomic":true}`)
		}
		q.Parts = function(q.Op, "", "", of...).Parts
		all.Go(func() {
			for range times {
				if _, err := reader.ask(q); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	c.leave()
}

// TestAtomicSeen: pulls see an atomic function done everywhere or nowhere, and atomic functions see what is pushed so.
func TestAtomicSeen(t *testing.T) {
	type task func(ctx context.Context, p *ps.Client, m *ps.Matrix, k *ps.Keys, room []float64) error
	increase := func(ctx context.Context, _ *ps.Client, m *ps.Matrix, _ *ps.Keys, _ []float64) error {
		return m.Update(ctx, "mapinplace", psf.Args{"f": "x + 1", "atomic": true, "stored": true})
	}
	push := func(ctx context.Context, p *ps.Client, m *ps.Matrix, k *ps.Keys, room []float64) error {
		for i := range room {
			room[i] = 1
		}
		return errors.Join(ps.PushKeys(m, k, room), p.Flush(ctx))
	}
	look := func(ctx context.Context, _ *ps.Client, m *ps.Matrix, _ *ps.Keys, _ []float64) error {
		return same(ctx, m)
	}
	pull := func(ctx context.Context, _ *ps.Client, m *ps.Matrix, k *ps.Keys, room []float64) error {
		if err := ps.PullKeys(ctx, m, k, room); err != nil || slices.Min(room) == slices.Max(room) {
			return err
		}
		return fmt.Errorf("a pull sees cells from %v to %v", slices.Min(room), slices.Max(room))
	}
	for what, pair := range map[string][2]task{"pulls": {increase, pull}, "pushes": {push, look}} {
		t.Run(what, func(t *testing.T) {
			c := newCluster(t, &mem.Network{}, 0)
			c.funcs = table(t, extremes)
			c.with = func(s *server.Server) { s.Funcs = c.funcs }
			c.start(1)
			c.run(2, ssp.ASP, func(ctx context.Context, p *ps.Client, task int) error {
				if err := p.Create(ctx, "hash", meta("m", 1, 1<<40, matrix.RowSparse)); err != nil {
					return err
				}
				m, err := p.Matrix("m")
				if err != nil {
					return err
				}
				keys, room := make([]int64, 64), make([]float64, 64)
				for i := range keys {
					keys[i] = int64(i) * 7919
				}
				k, err := m.Plan(nil, keys)
				if err == nil {
					err = errors.Join(ps.InitAndGet(ctx, m, k, room), p.Barrier(ctx))
				}
				for i := 0; i < 2000 && err == nil; i++ {
					err = pair[task](ctx, p, m, k, room)
				}
				if err != nil {
					t.Error(err)
				}
				return nil
			})
		})
	}
}

// extremes is a get function that answers with the least and the largest stored cell.
var extremes = everywhere("extremes", func(v psf.View) ([]byte, error) {
	var seen []float64
	err := psf.Each(v, psf.Rows{All: true}, false, func(c *psf.Chunk[float64]) error {
		for _, row := range c.Rows {
			seen = append(seen, row...)
		}
		return nil
	})
	if err != nil || len(seen) == 0 {
		return nil, err
	}
	return arg([]float64{slices.Min(seen), slices.Max(seen)}), nil
}, func(parts [][]byte) (psf.Answer, error) {
	var all []float64
	for _, p := range parts {
		var some []float64
		if len(p) > 0 {
			if err := json.Unmarshal(p, &some); err != nil {
				return nil, err
			}
		}
		all = append(all, some...)
	}
	return arg([]float64{slices.Min(all), slices.Max(all)}), nil
})

// same wants all stored cells to be the same in one atomic look.
func same(ctx context.Context, m *ps.Matrix) error {
	answer, err := m.Get(ctx, "extremes", psf.Args{"atomic": true})
	if err != nil {
		return err
	}
	var of []float64
	if err := answer.Decode(&of); err != nil || of[0] != of[1] {
		return fmt.Errorf("an atomic function sees cells of %v, %v", of, err)
	}
	return nil
}

// TestStagedMemory: what staged functions take of the ledger is given back, whatever becomes of them.
func TestStagedMemory(t *testing.T) {
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		for _, bound := range []ssp.Bound{ssp.BSP, ssp.ASP} {
			s := limited(t, 8<<20)
			c := s.join(0, 1, bound)
			m := c.create(spec("m", 1, 100, layout))[0]
			staged := func(clock int, text string) rpc.Part {
				return rpc.Part{Kind: rpc.KindFunc, DType: matrix.U8, Matrix: m.number, Version: 1, Clock: int32(clock),
					Rows: m.Rect().Rows, Cols: m.Rect().Cols, Values: []byte(text)}
			}
			scale := `{"func":"scale","arg":{"by":2}}`
			c.pushed([]rpc.Part{staged(0, scale), staged(0, scale)}, m.tick(0, 0, 0))
			for what, text := range map[string]string{"no function": `{"func":"none"}`, "a get function": `{"func":"sum"}`, "no JSON": `{`} {
				if _, err := c.outcome(c.push([]rpc.Part{staged(1, scale), staged(1, text)})); err == nil {
					t.Errorf("%s is staged", what)
				}
			}
			again := c.change(rpc.Request{Op: rpc.OpPush, Parts: []rpc.Part{staged(1, scale)}, Ticks: []rpc.Tick{m.tick(1, 0, 0)}})
			c.must(again)
			c.must(again) // the same once more
			again.Memory.Release()
			if n := s.server.Ledger.Used()[budget.Stage]; n != 0 {
				t.Errorf("%v, %v: %d bytes of the stage are in use when nothing waits", layout, bound, n)
			}
			c.pushed([]rpc.Part{staged(2, scale)}) // waits when the job ends
			c.leave()
			if n := s.server.Ledger.Used()[budget.Stage]; n != 0 {
				t.Errorf("%v, %v: %d bytes of the stage are in use after the job", layout, bound, n)
			}
		}
	}
}

// TestCheckpointOfStagedFunction: functions that wait for their clock are in a checkpoint as they came, between what was pushed
// before and after them, also when they are run before it is written.
func TestCheckpointOfStagedFunction(t *testing.T) {
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		bubble(t, layout.String(), func(t *testing.T) {
			bucket := &gate{Bucket: &blob.Mem{}}
			ledger := budget.New(1 << 28)
			s := serve(t, func(s *server.Server) { s.Bucket, s.Ledger = bucket, ledger })
			c, slow := s.join(0, 2, 2), s.join(1, 2, 2)
			m := c.create(spec("m", 1, 100, layout))[0]
			slow.create(spec("m", 1, 100, layout))
			staged := func(clock int, text string) rpc.Part {
				return rpc.Part{Kind: rpc.KindFunc, DType: matrix.U8, Matrix: m.number, Version: 1, Clock: int32(clock),
					Rows: m.Rect().Rows, Cols: m.Rect().Cols, Values: []byte(text)}
			}
			texts := []string{`{"func":"scale","arg":{"by":2}}`, `{"func":"mapinplace", "arg":{"f":"x * 3"}}`}
			for clock, text := range texts {
				c.pushed([]rpc.Part{m.columns(clock, map[int64]float64{7: 1}), staged(clock, text), m.columns(clock, map[int64]float64{7: 1})},
					own(clock), m.tick(clock, 0, 0))
			}
			bucket.close()
			call := slow.checkpointing("c", 0, m)
			synctest.Wait()
			for clock := range texts {
				slow.pushed(nil, own(clock), m.tick(clock, 0, 0))
			}
			if got := c.pulled(m.keys(2, 7)); got[0] != 13 { // ((1*2 + 1) + 1)*3 + 1
				t.Errorf("the cell is %v, want 13", got)
			}
			bucket.open()
			slow.checkpointed("c", slow.wait(call))
			in, err := state.NewInput(t.Context(), bucket, "c")
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			js, err := in.Job(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range js.Matrices[1].Staged {
				if e.Delta.Func {
					got = append(got, fmt.Sprint(e.Clock, string(e.Delta.Values)))
				} else {
					got = append(got, fmt.Sprintf("%d%v", e.Clock, e.Delta.Keys))
				}
			}
			want := []string{"0[7]", "0" + texts[0], "0[7]", "1[7]", "1" + texts[1], "1[7]"}
			if !slices.Equal(got, want) {
				t.Errorf("staged are %q, want %q", got, want)
			}
			c.leave()
			slow.leave()
			synctest.Wait()
			if used := ledger.Used(); used != (budget.Usage{}) {
				t.Errorf("not given back: %+v", used)
			}
		})
	}
}
