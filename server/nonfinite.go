package server

import (
	"fmt"
	"slices"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/wire"
)

// skip says why a delta is left out: who pushed it, and the place of its first value that is not finite. It goes through the
// job's core like any other, so that it is counted once, however often the push comes.
type skip struct {
	task     int
	row, col int64
}

// finite looks for values that are not finite in a part that a task pushed: it is used (skip is nil), left out, or refused.
func (s *store) finite(task int, p *rpc.Part) (*skip, error) {
	if s.nonFinite == rpc.AllowNonFinite {
		return nil, nil
	}
	at := -1
	switch p.DType {
	case matrix.F32:
		v, _ := wire.Numbers[float32](p.Values)
		at = kernel.NonFinite(v)
	case matrix.F64:
		v, _ := wire.Numbers[float64](p.Values)
		at = kernel.NonFinite64(v)
	}
	if at < 0 {
		return nil, nil
	}
	row, col := s.cell(p, at)
	if s.nonFinite == rpc.SkipNonFinite {
		return &skip{task, row, col}, nil
	}
	s.refused.Add(1)
	return nil, fmt.Errorf("matrix %q: the gradient of row %d, column %d is not finite: %w (a smaller rate or clipped gradients help)",
		s.meta.Name, row, col, rpc.ErrRefused)
}

// leaveOut takes deltas that are left out from those of a clock, in the job's mailbox. It counts them, and logs the first.
func (s *store) leaveOut(deltas []*delta) []*delta {
	return slices.DeleteFunc(deltas, func(d *delta) bool {
		if d.skip == nil {
			return false
		}
		if s.skipped++; s.skipped == 1 {
			s.job.server.logger().Warn("a gradient is not finite and is left out; more of this matrix are counted only",
				"job", s.job.name, "matrix", s.meta.Name, "task", d.skip.task, "row", d.skip.row, "column", d.skip.col)
		}
		d.drop()
		return true
	})
}

// cell is the row and column of a value.
func (s *store) cell(p *rpc.Part, at int) (row, col int64) {
	if p.Kind == rpc.KindKeys {
		rows := p.Rows.Len()
		return p.Rows.Lo + int64(at)%rows, p.Keys[int64(at)/rows]
	}
	cols := p.Cols.Len()
	return p.Rows.Lo + int64(at)/cols, p.Cols.Lo + int64(at)%cols
}
