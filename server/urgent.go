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

// Size implements rpc.Sizer: the values that a request asks for, of stored columns with their keys.
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
		switch p.Kind {
		case rpc.KindDense:
			n, ok = matrix.Rect{Rows: p.Rows, Cols: p.Cols}.Cells()
		case rpc.KindStored:
			columns := st.stored(p)
			n, ok = matrix.Cells(p.Rows.Len(), columns)
			total += 8 * columns // their keys
		}
		if !ok || n > pullLimit {
			return 0 // it will be refused
		}
		total = (total + n*int64(st.answerType(p).Size()) + 7) &^ 7 // as the parts of an answer lie in its memory
	}
	return total
}

// stored is how many columns the partitions of a part have now, whichever of them are asked for: about as many come, or as
// many more as are new by then.
func (s *store) stored(p *rpc.Part) (columns int64) {
	for _, g := range p.Groups {
		if int(g.Partition) < len(s.partitions) && s.partitions[g.Partition] != nil {
			columns += s.partitions[g.Partition].columns.Load()
		}
	}
	return columns
}

var (
	_ rpc.Urgent = (*Server)(nil)
	_ rpc.Sizer  = (*Server)(nil)
)
