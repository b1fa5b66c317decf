package server_test

import (
	"context"
	"errors"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
)

// TestLoadRounds wants values of another type refused, rounded if that is asked for, and never made infinite.
func TestLoadRounds(t *testing.T) {
	bucket := &blob.Mem{}
	wide := matrix.Meta{Name: "w", Rows: 1, Cols: 2, DType: matrix.F64}
	for path, val := range map[string][]float64{"fine": {0.1, 3}, "huge": {1e300, 3}} {
		onServers(t, bucket, 1, "", []matrix.Meta{wide}, func(ctx context.Context, p *ps.Client) error {
			if err := p.Push("w", matrix.Block{At: wide.Rect(), Data: &matrix.Dense[float64]{Val: val}}); err != nil {
				return err
			}
			if err := p.Clock(ctx, 1, 1); err != nil {
				return err
			}
			return p.Save(ctx, ps.SaveOptions{Codec: "angel", Path: path})
		})
	}
	narrow := wide
	narrow.DType = matrix.F32
	onServers(t, bucket, 1, "", []matrix.Meta{narrow}, func(ctx context.Context, p *ps.Client) error {
		if err := p.Load(ctx, ps.LoadOptions{Path: "fine"}); err == nil {
			return errors.New("0.1 is loaded as f32 unasked")
		}
		if err := p.Load(ctx, ps.LoadOptions{Path: "huge", Round: true}); err == nil {
			return errors.New("1e300 is loaded as f32")
		}
		if err := p.Load(ctx, ps.LoadOptions{Path: "fine", Round: true}); err != nil {
			return err
		}
		got, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "w"}})
		if err == nil && got[0].Data.Values().([]float32)[0] != 0.1 {
			err = errors.New("0.1 is not rounded to the nearest f32")
		}
		return err
	})
}
