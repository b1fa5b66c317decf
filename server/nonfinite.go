package server

import (
	"fmt"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/wire"
)

// NonFinite is what a server does with a delta that has infinite values or values that are no number.
type NonFinite uint8

// The choices.
const (
	RefuseNonFinite NonFinite = iota // the push fails; nothing of it is applied
	SkipNonFinite                    // the delta is left out and counted
	AllowNonFinite                   // it is applied
)

// ParseNonFinite is the choice of the name; "" is refuse.
func ParseNonFinite(name string) (NonFinite, error) {
	switch name {
	case "", "refuse":
		return RefuseNonFinite, nil
	case "skip":
		return SkipNonFinite, nil
	case "allow":
		return AllowNonFinite, nil
	}
	return 0, fmt.Errorf("what to do with values that are not finite: %q, want refuse, skip or allow", name)
}

// finite says what to do with the values of a part: use them, leave them out, or refuse the push.
func (s *store) finite(p *rpc.Part) (use bool, err error) {
	if s.nonFinite == AllowNonFinite {
		return true, nil
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
		return true, nil
	}
	s.refused.Add(1)
	if s.nonFinite == SkipNonFinite {
		return false, nil
	}
	row, col := s.cell(p, at)
	return false, fmt.Errorf("matrix %q: the gradient of row %d, column %d is not finite: %w (a smaller rate or clipped gradients help)",
		s.meta.Name, row, col, rpc.ErrRefused)
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
