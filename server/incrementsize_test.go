package server_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/ssp"
	"thole.example/state"
)

// TestIncrementSize: an increment after a twentieth of the columns has changed takes no more than 0.08 of what a whole checkpoint takes,
// whatever a column has: few values or many, slots, an age, steps that it is behind.
func TestIncrementSize(t *testing.T) {
	for _, m := range []matrix.Meta{
		{Rows: 1, DType: matrix.F32},
		{Rows: 1, DType: matrix.F64, Rule: "ftrl"},
		{Rows: 16, DType: matrix.F32, Rule: "adagrad"},
		{Rows: 4, DType: matrix.F32, Rule: "adam", Keep: matrix.Keep{ExpireAfter: 100}},
		{Rows: 8, DType: matrix.F32, Rule: "momentum"},
	} {
		t.Run(fmt.Sprintf("%d of %v %s", m.Rows, m.DType, m.Rule), func(t *testing.T) {
			m.Name, m.Cols, m.Layout = "w", 1<<40, matrix.RowSparse
			const columns = 40000
			bucket := &blob.Mem{}
			newFleet(t, "mem", 2, bucket, []matrix.Meta{m}).run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
				push := func(each int64) error {
					var keys []int64
					for key := int64(0); key < columns; key += each {
						keys = append(keys, key*key+key) // of no order that the servers have
					}
					grad := matrix.KindOf(m.DType).Cols(keys, int(m.Rows))
					halves(grad)
					return errors.Join(p.Push("w", matrix.Block{At: m.Rect(), Data: grad}), p.Clock(ctx, 1, 0.1))
				}
				size := func(path string) (n int64) {
					head, err := state.Open(ctx, bucket, path)
					if err != nil {
						t.Fatal(err)
					}
					for _, f := range head.Files {
						n += f.Size
					}
					return n
				}
				err := errors.Join(push(1), p.CheckpointSince(ctx, "whole", ""), push(20), p.CheckpointSince(ctx, "since", "whole"))
				if err != nil {
					return err
				}
				if whole, since := size("whole"), size("since"); float64(since) > 0.08*float64(whole) {
					t.Errorf("%d bytes after a twentieth has changed, %d of all: %.3f", since, whole, float64(since)/float64(whole))
				} else {
					t.Logf("%.3f", float64(since)/float64(whole))
				}
				return nil
			})
		})
	}
}

// halves makes all values of a block 0.5.
func halves(d matrix.Data) {
	switch v := d.Values().(type) {
	case []float32:
		for i := range v {
			v[i] = 0.5
		}
	case []float64:
		for i := range v {
			v[i] = 0.5
		}
	}
}
