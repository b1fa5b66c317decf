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
	if err := client.Create(ctx, "", matrix.Meta{Name: "bench", Rows: 1, Cols: c.Cols, DType: matrix.F32}); err != nil {
		return Result{}, err
	}
	m, err := client.Matrix("bench")
	if err != nil {
		return Result{}, err
	}
	meter := c.begin()
	for n := 0; n < 2 || meter.more(ctx); n++ {
		if n == 1 { // pages are there now
			meter = c.begin()
		}
		began := time.Now()
		if _, err := m.GetRow(ctx, 0); err != nil {
			return Result{}, err
		}
		meter.done(began)
	}
	r := meter.result(0)
	r.volume(meter)
	return r, client.Leave(ctx)
}
