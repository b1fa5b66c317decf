package server

import (
	"thole.example/matrix"
	"thole.example/rpc"
)

// Urgent implements rpc.Urgent: the requests of a task at the slowest clock free what the pushes of the others hold, and so
// does the Join of one that has not come, or is coming back. The pushes of who is ahead can wait.
func (s *Server) Urgent(from *rpc.Peer) bool {
	m := memberOf(from)
	return m == nil || !m.joined.Load() || m.clock.Load() <= m.job.slowest.Load()
}

// Size implements rpc.Sizer: the values that a request asks for.
func (s *Server) Size(x *rpc.Exchange) int64 {
	m := memberOf(x.From)
	if m == nil || x.Op != rpc.OpPull && x.Op != rpc.OpPush {
		return 0
	}
	var total int64
	for i := range x.Parts {
		p := &x.Parts[i]
		st, err := m.job.store(p.Matrix)
		if err != nil || p.Values != nil {
			continue
		}
		n, ok := matrix.Cells(p.Rows.Len(), int64(len(p.Keys)))
		if p.Kind == rpc.KindDense {
			n, ok = matrix.Rect{Rows: p.Rows, Cols: p.Cols}.Cells()
		}
		if !ok || n > pullLimit {
			return 0 // it will be refused
		}
		total += n * int64(st.meta.DType.Size())
	}
	return total
}

var (
	_ rpc.Urgent = (*Server)(nil)
	_ rpc.Sizer  = (*Server)(nil)
)
