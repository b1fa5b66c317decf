package server_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/server"
	"thole.example/ssp"
)

// panics wants an answer that has the value of a panic and not the stack, which the log has, with the file where it was.
func panics(t *testing.T, what string, err error, value string, log *bytes.Buffer, file string) {
	t.Helper()
	fails(t, what, err, rpc.ErrInternal, value)
	if err != nil && (strings.Contains(err.Error(), "goroutine") || strings.Contains(err.Error(), ".go:")) {
		t.Errorf("%s: the answer has the stack: %v", what, err)
	}
	synctest.Wait()
	if text := log.String(); !strings.Contains(text, value) || !strings.Contains(text, file) {
		t.Errorf("%s: the log has %q, want %q and the stack with %s", what, text, value, file)
	}
	log.Reset()
}

// TestPanic: a function that panics is answered as such, and its partition, its job and its connection go on.
func TestPanic(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		get := asking("wildget", func(psf.View) ([]byte, error) { panic("no such thing") })
		update := everywhere("wild", func(v psf.View) ([]byte, error) {
			return nil, psf.Each(v, psf.Rows{All: true}, true, func(c *psf.Chunk[float64]) error {
				c.Rows[0][len(c.Rows[0])] = 1
				return nil
			})
		}, nil)
		log := &bytes.Buffer{}
		s := serve(t, func(s *server.Server) {
			s.Funcs, s.Log = table(t, get, update), slog.New(slog.NewTextHandler(log, nil))
		})
		c := s.join(0, 1, ssp.BSP)
		m := c.create(spec("m", 1, 100, matrix.RowDense))[0]
		of := []rpc.Part{m.at(0, matrix.At(0, 1, 0, 1))}
		err := c.refusal(rpc.Request{Op: rpc.OpGet, Func: "wildget", Parts: of})
		panics(t, "get", err, "no such thing", log, "panic_test.go")
		c.seq++
		err = c.refusal(rpc.Request{Op: rpc.OpUpdate, Seq: c.seq, Func: "wild", Parts: of})
		panics(t, "update", err, "out of range", log, "panic_test.go")
		c.pushed([]rpc.Part{m.row(0, 2)}, m.tick(0, 0, 0))
		if got := c.pulled(m.at(1, matrix.At(0, 1, 0, 1))); got[0] != 2 {
			t.Errorf("value is %v, want 2", got)
		}
		fails(t, "the update again", c.refusal(rpc.Request{Op: rpc.OpUpdate, Seq: 1, Func: "wild", Parts: of}), rpc.ErrInternal, "out of range")
	})
}

// TestRulePanics: a rule that panics when it is bound to a matrix again, or later when the partition is made, or in
// a step, is answered as such by the request that meets it or by the job, which fails; other jobs go on.
func TestRulePanics(t *testing.T) {
	for _, binds := range []int64{1, 2, 3} {
		bubble(t, fmt.Sprint(binds), func(t *testing.T) {
			var bound atomic.Int64
			rule := psf.Rule{Name: "wild", New: func(map[string]float64) psf.Step {
				if bound.Add(1) > binds {
					panic("no such thing")
				}
				step := func([]float64, []float64, [][]float64, float64, int64) { panic("no such thing") }
				return psf.Step{F32: func([]float32, []float32, [][]float32, float64, int64) {}, F64: step}
			}}
			funcs, err := psf.NewTable(psf.Funcs(), append(optim.Rules(), rule))
			if err != nil {
				t.Fatal(err)
			}
			log := &bytes.Buffer{}
			s := serve(t, func(s *server.Server) { s.Funcs, s.Log = funcs, slog.New(slog.NewTextHandler(log, nil)) })
			other := s.joinAs(rpc.Join{Job: "other", Tasks: 1})
			o := other.create(one("w", 1, 2))[0]
			c := s.join(0, 1, ssp.BSP)
			made := with(one("w", 1, 2), "wild")
			_, err = c.ask(rpc.Request{Op: rpc.OpCreate, Arg: arg(rpc.Create{Matrices: []rpc.Spec{made}, Servers: 1})})
			if err == nil {
				synctest.Wait()
				m := known{made.Meta, 1, o.parts}
				_, err = c.outcome(c.push([]rpc.Part{m.row(0, 1, 2)}, m.tick(0, 1, 1)))
			}
			if err == nil {
				synctest.Wait()
				_, err = c.ask(rpc.Request{Op: rpc.OpMembers, Arg: []byte("{}")})
			}
			panics(t, "the rule", err, "no such thing", log, "panic_test.go")
			other.pushed([]rpc.Part{o.row(0, 3, 4)}, o.tick(0, 0, 0))
			if got := other.pulled(o.whole(1)); got[0] != 3 {
				t.Errorf("the other job has %v", got)
			}
		})
	}
}
