package server_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/server"
	"thole.example/ssp"
	"thole.example/wasm"
)

// slow is a concurrent get function that waits in each partition before it adds up the cells.
type slow struct {
	began chan struct{} // gets a token in each partition
	goOn  chan struct{} // closed when it may go on
	runs  atomic.Int32
	err   atomic.Pointer[error] // the last that going through the cells gave
}

func newSlow() *slow { return &slow{began: make(chan struct{}, 100), goOn: make(chan struct{})} }

func (s *slow) function() psf.Func {
	all := psf.Rows{All: true}
	part := func(v psf.View) ([]byte, error) {
		s.runs.Add(1)
		s.began <- struct{}{}
		<-s.goOn
		var sum float64
		err := psf.Each(v, all, false, func(c *psf.Chunk[float64]) error {
			for _, row := range c.Rows {
				for _, x := range row {
					sum += x
				}
			}
			return nil
		})
		s.err.Store(&err)
		return fmt.Append(nil, sum), err
	}
	merge := func(parts [][]byte) (psf.Answer, error) { return parts[0], nil }
	return psf.Func{Name: "slow", Bind: func(psf.Args, *matrix.Meta) (*psf.Call, error) {
		return &psf.Call{Reads: all, Concurrent: true, Part: part, Merge: merge}, nil
	}}
}

// serve is a server that has the function.
func (s *slow) serve(t *testing.T) *site {
	return serve(t, func(on *server.Server) { on.Funcs = table(t, s.function()) })
}

// TestConcurrent: while a concurrent function runs, its partitions are read and changed, and it sees nothing of the changes.
func TestConcurrent(t *testing.T) {
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		for _, text := range []string{"", `{"atomic":true}`} {
			bubble(t, fmt.Sprint(layout, text), func(t *testing.T) {
				f := newSlow()
				c := f.serve(t).join(0, 1, ssp.ASP)
				m := c.create(spec("m", 2, 100, layout))[0]
				before, after := map[int64]float64{}, map[int64]float64{}
				want := 0.0
				for k := range int64(100) {
					before[k], after[k] = float64(k), 1000
					want += 2 * float64(k)
				}
				c.pushed([]rpc.Part{m.columns(0, before)})
				asked := c.start(function(rpc.OpGet, "slow", text, m))
				<-f.began // in one partition, when all are marked
				c.pushed([]rpc.Part{m.columns(0, after)})
				if got := c.pulled(m.keys(0, 7)); got[0] != 1007 {
					t.Errorf("a cell is %v while the function runs, want 1007", got[0])
				}
				close(f.goOn)
				got := 0.0
				for _, r := range c.wait(asked).Results {
					var x float64
					fmt.Sscan(string(r.Data), &x)
					got += x
				}
				if got != want {
					t.Errorf("the function saw cells of %v in all, want %v as when it began", got, want)
				}
				c.leave()
			})
		}
	}
}

// TestConcurrentTurns: of a job so many requests for concurrent functions run at once; those of another job do not wait for them.
func TestConcurrentTurns(t *testing.T) {
	bubble(t, "turns", func(t *testing.T) {
		f := newSlow()
		s := f.serve(t)
		start := func(job string) (c *conn, calls []*rpc.Call) {
			c = s.joinAs(rpc.Join{Job: job, Tasks: 1, Bound: ssp.ASP})
			m := c.create(one("m", 1, 10))[0]
			for range 6 {
				calls = append(calls, c.start(function(rpc.OpGet, "slow", "", m)))
			}
			synctest.Wait()
			return c, calls
		}
		a, first := start("a")
		if n := f.runs.Load(); n != 4 {
			t.Errorf("%d of 6 functions run, want 4", n)
		}
		b, second := start("b")
		if n := f.runs.Load(); n != 8 {
			t.Errorf("%d functions of two jobs run, want 8", n)
		}
		close(f.goOn)
		for _, call := range first {
			a.wait(call)
		}
		for _, call := range second {
			b.wait(call)
		}
		a.leave()
		b.leave()
	})
}

// TestConcurrentGone: a function whose caller has gone, or whose job has ended, ends with its next look at the cells; and who
// waited for a turn does not begin.
func TestConcurrentGone(t *testing.T) {
	bubble(t, "gone", func(t *testing.T) {
		f := newSlow()
		c := f.serve(t).join(0, 1, ssp.ASP)
		m := c.create(one("m", 1, 10))[0]
		for range 6 {
			c.start(function(rpc.OpGet, "slow", "", m))
		}
		synctest.Wait()
		c.Close()
		synctest.Wait()
		close(f.goOn)
		synctest.Wait()
		if err := f.err.Load(); err == nil || *err == nil {
			t.Error("the function went through the cells of a job that has ended")
		}
		if n := f.runs.Load(); n != 4 {
			t.Errorf("%d functions began, want 4", n)
		}
	})
}

// looping is a module whose get function never ends.
func looping() []byte {
	section := func(id byte, items ...[]byte) []byte {
		body := append([]byte{byte(len(items))}, slices.Concat(items...)...)
		return append([]byte{id, byte(len(body))}, body...)
	}
	const i32, i64 = 0x7f, 0x7e
	export := func(name string, kind, index byte) []byte {
		return slices.Concat([]byte{byte(len(name))}, []byte(name), []byte{kind, index})
	}
	code := func(ops ...byte) []byte { return append([]byte{byte(len(ops) + 2), 0}, append(ops, 0x0b)...) }
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, []byte{0x60, 0, 1, i32}, []byte{0x60, 1, i32, 1, i32}, []byte{0x60, 6, i32, i32, i32, i64, i32, i64, 1, i32},
			[]byte{0x60, 0, 1, i64}, []byte{0x60, 1, i32, 1, i64}),
		section(3, []byte{0}, []byte{1}, []byte{2}, []byte{3}, []byte{4}),
		section(5, []byte{0, 16}), // pages of memory
		section(7, export("memory", 2, 0), export("thole_abi", 0, 0), export("thole_buffer", 0, 1), export("thole_chunk", 0, 2),
			export("thole_end", 0, 3), export("thole_merge", 0, 4)),
		section(10, code(0x41, 1), code(0x41, 8), code(0x03, 0x40, 0x0c, 0, 0x0b, 0), code(0x42, 0), code(0x42, 0)))
}

// TestLoopingGet: a get function of a module that loops until its time is over keeps nobody from the partition meanwhile.
func TestLoopingGet(t *testing.T) {
	runtime, err := wasm.NewRuntime(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close(context.Background())
	c := serve(t, func(s *server.Server) { s.Modules = runtime }).join(0, 1, ssp.ASP)
	m := c.create(one("m", 1, 10))[0]
	c.must(rpc.Request{Op: rpc.OpDefine, Func: "looping", Arg: looping()})
	get := function(rpc.OpGet, "looping", "", m)
	_, err = c.ask(get)
	fails(t, "a function that loops", err, rpc.ErrMalformed, "looping: thole_chunk: it took longer than 1s")
	asked := c.start(get) // the server has it before what follows
	c.pushed([]rpc.Part{m.row(0, 5)})
	if got := c.pulled(m.whole(0)); got[0] != 5 {
		t.Errorf("pulled %v, want 5 in the first column", got)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := asked.Wait(over); !errors.Is(err, context.Canceled) {
		t.Errorf("a pull is answered after a function that loops, which gave %v", err)
	}
	c.leave()
}
