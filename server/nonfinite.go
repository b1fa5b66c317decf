package server

import (
	"errors"
	"fmt"
	"slices"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/wire"
)

// nonFinite is a part of a push with a value that is not finite: who pushed it, and the place of the first such value. As an
// error it refuses the push; else it goes through the job's core with its delta, so that it is counted once, however often the
// push comes.
type nonFinite struct {
	of       *store
	task     int
	row, col int64
}

func (n *nonFinite) Error() string {
	return fmt.Sprintf("matrix %q: the gradient of row %d, column %d is not finite: %v (a smaller rate or clipped gradients help)",
		n.of.meta.Name, n.row, n.col, rpc.ErrRefused)
}

func (n *nonFinite) Unwrap() error { return rpc.ErrRefused }

// finite looks for values that are not finite in a part that a task pushed; nil: there is none.
func (s *store) finite(task int, p *rpc.Part) *nonFinite {
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
		return nil
	}
	row, col := s.cell(p, at)
	return &nonFinite{s, task, row, col}
}

// leftOut reports whether the delta is only counted.
func (d *delta) leftOut() bool { return d.nonFinite != nil && d.of.choice == rpc.SkipNonFinite }

// screen counts the deltas of a clock that are not finite, in the job's mailbox, and takes out those that are left out.
func (s *store) screen(deltas []*delta) []*delta {
	return slices.DeleteFunc(deltas, func(d *delta) bool {
		d.nonFinite.count()
		if !d.leftOut() {
			return false
		}
		d.drop()
		return true
	})
}

// countRefused counts a push that was refused for not being finite, in the job's mailbox.
func countRefused(err error) {
	if n, ok := errors.AsType[*nonFinite](err); ok {
		n.count()
	}
}

// count counts it, if it is not nil, and logs the first of its matrix.
func (n *nonFinite) count() {
	if n == nil {
		return
	}
	if n.of.nonFinite++; n.of.nonFinite == 1 {
		j := n.of.job
		j.server.logger().Warn("a gradient is not finite; more of this matrix are counted only", "job", j.full.String(),
			"matrix", n.of.meta.Name, "task", n.task, "row", n.row, "column", n.col, "choice", n.of.choice.String())
	}
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
