package server_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/ssp"
)

// BenchmarkCheckpointPause is how long steps of a task take while checkpoints are written of a GB of tables, of which each step
// changes 2,048 columns: without, with a whole one, and with an increment of what has changed since. Its figures are the longest
// step, the 999 in 1,000th, and the steps of a second.
func BenchmarkCheckpointPause(b *testing.B) {
	const width = 16
	for _, m := range []matrix.Meta{
		{Name: "sparse", Rows: width, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "adagrad"},
		{Name: "dense", Rows: 128, Cols: 1 << 20, DType: matrix.F32, Rule: "adagrad"},
	} {
		f := newFleet(b, "mem", 1, &blob.Mem{}, []matrix.Meta{m})
		f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
			g := &stepper{ctx: ctx, p: p, m: &m, rng: rand.New(rand.NewPCG(1, 2))}
			if m.Layout == matrix.RowSparse {
				for key := int64(0); key < pauseColumns; key += 1 << 16 {
					if err := g.push(key, 1<<16); err != nil {
						return err
					}
				}
			}
			for _, mode := range []string{"none", "whole", "increment"} {
				b.Run(m.Name+"/"+mode, func(b *testing.B) { g.measure(b, mode) })
			}
			return nil
		})
	}
}

const pauseColumns = 8 << 20

// stepper makes steps, each for some columns.
type stepper struct {
	ctx  context.Context
	p    *ps.Client
	m    *matrix.Meta
	rng  *rand.Rand
	n    int
	base string
}

// push is a step for columns from one on.
func (g *stepper) push(key int64, n int) error {
	keys := make([]int64, n)
	for i := range keys {
		keys[i] = key + int64(i)
	}
	return g.columns(keys)
}

func (g *stepper) columns(keys []int64) error {
	d := matrix.KindOf(g.m.DType).Cols(keys, int(g.m.Rows)).(*matrix.Cols[float32])
	for i := range d.Val {
		d.Val[i] = 0.5
	}
	if err := g.p.Push(g.m.Name, matrix.Block{At: g.m.Rect(), Data: d}); err != nil {
		return err
	}
	return g.p.Clock(g.ctx, 1, 0.1)
}

// step is a step for random columns, and a read of them.
func (g *stepper) step() error {
	var keys []int64
	for range 2048 {
		keys = append(keys, g.rng.Int64N(min(g.m.Cols, pauseColumns)))
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	if g.m.Layout == matrix.RowSparse {
		if err := g.columns(keys); err != nil {
			return err
		}
		_, err := g.p.Pull(g.ctx, []matrix.Lookup{{Matrix: g.m.Name, Cols: keys}})
		return err
	}
	lo := keys[0]
	block := matrix.NewDense(g.m.DType, matrix.At(3, 4, lo, min(lo+1<<15, g.m.Cols)))
	if err := g.p.Push(g.m.Name, block); err != nil {
		return err
	}
	if err := g.p.Clock(g.ctx, 1, 0.1); err != nil {
		return err
	}
	_, err := g.p.Pull(g.ctx, []matrix.Lookup{{Matrix: g.m.Name, Cols: keys[:64]}})
	return err
}

func (g *stepper) measure(b *testing.B, mode string) {
	var took []time.Duration
	var under *ps.Checkpointing
	begun, writing := time.Now(), time.Duration(0)
	for time.Since(begun) < 3*time.Second || under != nil {
		start := time.Now()
		if mode != "none" && under == nil && writing == 0 {
			g.n++
			o := ps.CheckpointOptions{Path: fmt.Sprint("c", g.n), Track: true}
			if mode == "increment" {
				o.Base = g.base
			}
			g.base = o.Path
			var err error
			if under, err = g.p.BeginCheckpoint(g.ctx, o); err != nil {
				b.Fatal(err)
			}
		}
		if err := g.step(); err != nil {
			b.Fatal(err)
		}
		if under != nil {
			done, err := under.Poll(g.ctx)
			if err != nil {
				b.Fatal(err)
			}
			if done {
				under, writing = nil, time.Since(begun)
			}
		}
		took = append(took, time.Since(start))
		if under == nil && writing > 0 {
			break
		}
	}
	all := time.Since(begun)
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	b.ReportMetric(ms(took[len(took)-1]), "ms-longest")
	b.ReportMetric(ms(took[len(took)*999/1000]), "ms-p99.9")
	b.ReportMetric(float64(len(took))/all.Seconds(), "steps/s")
	b.ReportMetric(writing.Seconds(), "s-writing")
	b.ReportMetric(0, "ns/op")
}
