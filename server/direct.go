package server

import (
	"fmt"

	"thole.example/rpc"
	"thole.example/ssp"
)

// direct adds values to the cells of a matrix, or puts them there, at once under every protocol: a push that waits for no clock,
// and with which no rule makes a step.
func (s *Server) direct(m *member, x *rpc.Exchange) {
	j, q := m.job, m.change(x)
	e := ssp.Update[*request]{Req: q, Conn: m.conn, Seq: x.Seq}
	deltas, err := s.bringDirect(m, x)
	q.deltas = deltas
	if err != nil {
		e.Err = err
		j.post(e, q)
		return
	}
	q.toLog(j)
	q.run = func(r ssp.Run[*request]) {
		q.deltas = nil // they are the fold's
		f := newFold(deltas[0].Data.of, int(x.Seq))
		for _, d := range deltas {
			f.deltas = append(f.deltas, d.Data)
			j.later.bytes += d.Data.bytes()
		}
		f.deltas = f.of.screen(f.deltas)
		f.over = func(err error) {
			j.ranBeside(r.Task, r.Seq, err)
			j.post(ssp.Ran{Task: r.Task, Seq: r.Seq, Err: err}, nil)
		}
		f.prepare(false)
		_, j.later.idle = f.post(j.later.idle)
	}
	j.post(e, q)
}

// bringDirect is what a direct push brings, which is not counted as staged.
func (s *Server) bringDirect(m *member, x *rpc.Exchange) ([]ssp.Delta[*delta], error) {
	for i := range x.Parts {
		if p := &x.Parts[i]; p.Values == nil || p.Kind == rpc.KindFunc || p.Matrix != x.Parts[0].Matrix {
			return nil, fmt.Errorf("a direct push with part %d of kind %d, matrix %d and %d bytes of values, want values of one matrix: %w",
				i, p.Kind, p.Matrix, len(p.Values), rpc.ErrMalformed)
		}
	}
	if len(x.Parts) == 0 || len(x.Ticks) > 0 {
		return nil, fmt.Errorf("a direct push with %d parts and %d ticks, want parts alone: %w", len(x.Parts), len(x.Ticks), rpc.ErrMalformed)
	}
	var e ssp.Push[*delta, *request]
	err := s.widen(m.job, x)
	if err == nil {
		err = m.job.bring(m.task, x, &e)
	}
	return e.Deltas, err
}
