package shard

import "thole.example/matrix"

// fill gives the initial values of cells.
type fill struct {
	init matrix.Init
	draw matrix.Draw
}

// newFill is nil if cells begin as zero.
func newFill(m *matrix.Meta) *fill {
	if !m.Init.Random() {
		return nil
	}
	return &fill{m.Init, matrix.NewDraw(m.Init.Seed, m.Name)}
}

func (f *fill) cell(row, col int64) float64 {
	if f == nil {
		return 0
	}
	return f.init.Cell(f.draw, row, col)
}
