package bench

import (
	"context"
	"time"

	"thole.example/matrix"
	"thole.example/ps"
)

// row pulls a whole dense row.
func row(ctx context.Context, c *Config) (Result, error) {
	client, err := ps.Dial(ctx, c.options())
	if err != nil {
		return Result{}, err
	}
	defer client.Close()
	meta := matrix.Meta{Name: "bench", Rows: 1, Cols: c.Cols, DType: matrix.F32}
	meta.Init = matrix.Init{Kind: "uniform", Scale: 1, Seed: 1} // pages that were never written would not be there
	c.tell(Phase{Name: "creating the row"})
	if err := client.Create(ctx, "", meta); err != nil {
		return Result{}, err
	}
	m, err := client.Matrix("bench")
	if err != nil {
		return Result{}, err
	}
	if err := m.SetWire(c.Wire); err != nil {
		return Result{}, err
	}
	dst := make([]float32, c.Cols)
	meter := c.warmUp(1, 1, measuring) // then the pages are there
	for meter.more(ctx) {
		began := time.Now()
		if err := ps.PullRow(ctx, m, 0, dst); err != nil {
			return Result{}, err
		}
		meter.done(began)
	}
	r := meter.dense()
	return r, client.Leave(ctx)
}
