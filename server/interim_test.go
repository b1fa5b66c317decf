package server_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/ssp"
)

// An interim checkpoint brings its moment back as often as asked for, is replaced by a later one, and is gone after the job.
func TestInterim(t *testing.T) {
	bucket := &blob.Mem{}
	m := matrix.Meta{Name: "w", Rows: 1, Cols: 3, DType: matrix.F32}
	f := newFleet(t, "tcp", 2, bucket, []matrix.Meta{m})
	f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		add := func(v float32) {
			block := matrix.Block{At: m.Rect(), Data: &matrix.Dense[float32]{Val: []float32{v, v, v}}}
			if err := p.Push("w", block); err != nil {
				t.Fatal(err)
			}
			if err := p.Clock(ctx, 1, 1); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(v float32) {
			t.Helper()
			got, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "w"}})
			if err != nil {
				t.Fatal(err)
			}
			if val := got[0].Data.Values().([]float32); !slices.Equal(val, []float32{v, v, v}) {
				t.Fatalf("%v, want %v", val, v)
			}
		}
		for _, v := range []float32{1, 2} { // the second one replaces the first
			add(v)
			if err := p.Interim(ctx, "best"); err != nil {
				return err
			}
		}
		for range 2 {
			add(10)
			if _, err := p.Restore(ctx, "best"); err != nil {
				return err
			}
			expect(3)
		}
		return nil
	})
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) { // the servers hear of the end, and then remove it
		left, err := bucket.List(t.Context(), "best")
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("left: %v", left)
		}
	}
}
