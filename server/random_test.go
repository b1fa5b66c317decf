package server_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/server"
	"thole.example/ssp"
)

// TestRandomRequests sends requests whose every field is right, nearly right or wild, over the connections of a job. None of
// them makes the server panic or fails the job for a reason without a name, all are answered once the job has ended, and then nothing is left that was counted.
func TestRandomRequests(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		bound := rapid.SampledFrom([]ssp.Bound{ssp.BSP, 1, ssp.ASP}).Draw(r, "bound")
		n := rapid.IntRange(1, 40).Draw(r, "requests")
		var plan []randomRequest
		for range n {
			plan = append(plan, drawRequest(r))
		}
		var wrong []string // told outside of the bubble
		synctest.Test(t, func(t *testing.T) {
			s := serve(t, func(s *server.Server) { s.Ledger, s.Bucket = budget.New(1<<20), &blob.Mem{} })
			tasks := []*conn{s.join(0, 2, bound), s.join(1, 2, bound)}
			ms := tasks[0].create(
				one("w", 3, 50), spec("v", 2, 70, matrix.RowDense), with(spec("k", 2, 1<<40, matrix.RowSparse), "adam"), under(spec("s", 1, 90, matrix.RowSparse), 2),
			)
			var calls []*rpc.Call
			for i := range plan {
				calls = append(calls, plan[i].send(tasks, ms))
			}
			synctest.Wait()
			for _, c := range tasks {
				c.Close()
			}
			synctest.Wait()
			for i, call := range calls {
				if !call.Ready() {
					wrong = append(wrong, fmt.Sprintf("request %d, %v, is not answered", i, &plan[i]))
					continue
				}
				resp, err := call.Wait(t.Context())
				if fault := (*rpc.Fault)(nil); errors.As(err, &fault) && (fault.Kind == rpc.ErrInternal || fault.Kind == nil && !plan[i].files()) {
					wrong = append(wrong, fmt.Sprintf("request %d, %v: %v", i, &plan[i], err))
				}
				resp.Release()
			}
			if used := s.server.Ledger.Used(); used.Total() != 0 {
				wrong = append(wrong, fmt.Sprintf("in use are %v in the end", used))
			}
		})
		for _, text := range wrong {
			r.Error(text)
		}
	})
}

// randomRequest is a request of a task. The parts are made when it is sent.
type randomRequest struct {
	task  int
	q     rpc.Request
	parts []randomPart
	right bool // the next number and the present clocks
}

// randomPart is a part of a matrix, and how it is wrong.
type randomPart struct {
	of     int
	values bool
	keys   []int64
	spoil  func(p *rpc.Part)
}

func drawRequest(r *rapid.T) (out randomRequest) {
	out.task = rapid.IntRange(0, 1).Draw(r, "task")
	ops := []rpc.Op{
		rpc.OpPush, rpc.OpPush, rpc.OpPush, rpc.OpPush, rpc.OpPull, rpc.OpPull, rpc.OpUpdate, rpc.OpGet, rpc.OpBarrier, rpc.OpMembers,
		rpc.OpCreate, rpc.OpSave, rpc.OpLoad, rpc.OpLook, rpc.OpCommit, rpc.OpAbort, rpc.OpJoin, rpc.OpDirect, rpc.OpDirect, rpc.OpCatalog, 77,
	}
	out.q.Op = rapid.SampledFrom(ops).Draw(r, "op")
	out.right = rapid.IntRange(0, 9).Draw(r, "right") > 0
	out.q.Seq = rapid.Uint64Range(0, 300).Draw(r, "seq")
	out.q.Clock = rapid.Int32Range(-1, 4).Draw(r, "clock")
	out.q.Func = rapid.SampledFrom([]string{"sum", "max", "scale", "fill", ""}).Draw(r, "func")
	out.q.Arg = []byte(rapid.SampledFrom([]string{
		"", "{", `{"by":2}`, `{"value":3}`, `{"rows":[9]}`, `{"matrices":["w","k"],"codec":"npz","path":"p","stage":"x"}`,
		`{"matrices":["s"],"codec":"angel","path":"p","stage":"y"}`, `{"matrices":[{"meta":{"Name":"n","Rows":1,"Cols":9000,"DType":1}}],"servers":1}`,
		`{"job":"j","task":0,"tasks":2}`, `{"path":"p","matrices":["s"]}`, `{"joined":2}`, `{"stage":"x","codec":"npz","path":"p"}`,
	}).Draw(r, "arg"))
	for range rapid.IntRange(0, 3).Draw(r, "parts") {
		out.parts = append(out.parts, drawPart(r))
	}
	for range rapid.IntRange(0, 4).Draw(r, "ticks") {
		out.q.Ticks = append(out.q.Ticks, rpc.Tick{
			Matrix: rapid.Uint32Range(0, 5).Draw(r, "tick"), Clock: rapid.Int32Range(-1, 4).Draw(r, "clock"),
			Weight: rapid.SampledFrom([]float64{0, 1, 1, 2, -1, math.NaN()}).Draw(r, "weight"), Rate: rapid.SampledFrom([]float64{0.1, 0, math.Inf(1)}).Draw(r, "rate"),
		})
	}
	return out
}

func drawPart(r *rapid.T) randomPart {
	p := randomPart{of: rapid.IntRange(0, 3).Draw(r, "matrix"), values: rapid.Bool().Draw(r, "values")}
	p.keys = rapid.SliceOfNDistinct(rapid.Int64Range(0, 49), 0, 5, rapid.ID[int64]).Draw(r, "keys")
	lo, hi := rapid.Int64Range(-1, 60).Draw(r, "lo"), rapid.Int64Range(-1, 60).Draw(r, "hi")
	number := rapid.SampledFrom([]uint32{0, 1, 2, 3, 15, 16, 99, math.MaxUint32}).Draw(r, "number")
	spoils := []func(p *rpc.Part){
		func(p *rpc.Part) { p.Kind = rpc.Kind(number) },
		func(p *rpc.Part) { p.Kind++ },
		func(p *rpc.Part) { p.DType++ },
		func(p *rpc.Part) { p.Matrix = number },
		func(p *rpc.Part) { p.Version = number },
		func(p *rpc.Part) { p.Clock = int32(number) },
		func(p *rpc.Part) { p.Rows = matrix.Range{Lo: lo, Hi: hi} },
		func(p *rpc.Part) { p.Cols = matrix.Range{Lo: lo, Hi: hi} },
		func(p *rpc.Part) { p.Cols, p.Rows = matrix.Range{Lo: math.MinInt64, Hi: math.MaxInt64}, p.Cols },
		func(p *rpc.Part) { p.Groups = append(p.Groups, rpc.Group{Partition: number, Keys: number}) },
		func(p *rpc.Part) { p.Groups = nil },
		func(p *rpc.Part) { p.Keys = append(p.Keys, lo) },
		func(p *rpc.Part) { p.Keys = append(p.Keys, p.Keys...) },
		func(p *rpc.Part) { slices.Reverse(p.Keys) },
		func(p *rpc.Part) { p.Keys = nil },
		func(p *rpc.Part) { p.Values = p.Values[:len(p.Values)/2] },
		func(p *rpc.Part) { p.Values = append(p.Values, p.Values...) },
		func(p *rpc.Part) { p.Values = []byte{} },
	}
	if rapid.Bool().Draw(r, "wrong") {
		p.spoil = rapid.SampledFrom(spoils).Draw(r, "spoil")
	}
	return p
}

// send makes the parts for the clocks that the task has, and sends the request.
func (q *randomRequest) send(tasks []*conn, ms []*known) *rpc.Call {
	c := tasks[q.task]
	for _, p := range q.parts {
		m := ms[p.of]
		var part rpc.Part
		switch {
		case len(p.keys) > 0:
			part = m.keys(int(q.q.Clock), p.keys...)
		case m.Layout == matrix.RowSparse:
			part = m.stored(int(q.q.Clock), 0)
		default:
			part = m.at(int(q.q.Clock), m.parts.At(0))
		}
		if p.values {
			cells := int(part.Rows.Len()) * max(len(part.Keys), 1)
			if part.Kind == rpc.KindDense {
				cells *= int(part.Cols.Len())
			}
			part.Values = make([]byte, 8*cells)
		}
		if p.spoil != nil {
			p.spoil(&part)
		}
		q.q.Parts = append(q.q.Parts, part)
	}
	change := q.q.Op == rpc.OpPush || q.q.Op == rpc.OpUpdate || q.q.Op == rpc.OpLoad
	if q.right {
		q.q.Seq = 0
		if change {
			c.seq++
			q.q.Seq = c.seq
		}
	}
	out := c.s.inMemory(q.q)
	defer out.Memory.Release()
	return c.start(out)
}

// files reports whether the request is about files, where errors are of many kinds.
func (q *randomRequest) files() bool {
	return q.q.Op == rpc.OpSave || q.q.Op == rpc.OpLoad || q.q.Op == rpc.OpCommit || q.q.Op == rpc.OpAbort
}

// String shows the request for errors.
func (q *randomRequest) String() string {
	text := fmt.Sprintf("%v of task %d: seq %d, clock %d, ticks %v, func %q, arg %q", q.q.Op, q.task, q.q.Seq, q.q.Clock, q.q.Ticks, q.q.Func, q.q.Arg)
	for _, p := range q.q.Parts {
		bytes := len(p.Values)
		p.Values = nil
		text += fmt.Sprintf(", part %+v with %d bytes", p, bytes)
	}
	return text
}
