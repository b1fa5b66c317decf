package server_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/ssp"
)

// BenchmarkCheckpointPause is how long steps of a task take while checkpoints are written of a GB of tables: without, with a whole
// one, and with an increment of what has changed since. A step pushes gradients of some columns, and pulls them: of 26 features of
// 1,024 examples by Zipf's law or at random, or of 2,048 at random; of a dense matrix it changes all cells by a gradient of some.
// Its figures are the step in the middle, the 999 in 1,000th and the longest, steps of a second and of a second of the processor,
// and how fast the checkpoint is written. They go to the folder that TMPDIR says, with fsync.
func BenchmarkCheckpointPause(b *testing.B) {
	const width = 16
	sparse := matrix.Meta{Name: "sparse", Rows: width, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "adagrad"}
	dense := matrix.Meta{Name: "dense", Rows: 128, Cols: 1 << 20, DType: matrix.F32, Rule: "adagrad"}
	for _, c := range []struct {
		name string
		m    matrix.Meta
		keys int
		zipf float64
	}{
		{"zipf", sparse, 26 << 10, 1.05}, {"random", sparse, 26 << 10, 0}, {"few", sparse, 2048, 0}, {"dense", dense, 64, 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := newFleet(b, "mem", 1, blob.NewDir(b.TempDir()).Synced(), []matrix.Meta{c.m})
			f.attempt = 1 // a job that has checkpoints
			f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
				g := &stepper{ctx: ctx, p: p, m: &c.m}
				if err := g.begin(c.keys, c.zipf); err != nil {
					return err
				}
				for _, mode := range []string{"none", "whole", "none", "increment", "none"} {
					b.Run(mode, func(b *testing.B) { g.measure(b, mode) })
				}
				return nil
			})
		})
	}
}

const pauseColumns = 8 << 20

// stepper makes steps, each for some columns.
type stepper struct {
	ctx   context.Context
	p     *ps.Client
	m     *matrix.Meta
	steps [][]int64 // columns, over and over
	at, n int
	base  string
}

// begin makes all columns, and chooses those of steps.
func (g *stepper) begin(keys int, zipf float64) error {
	for key := int64(0); key < pauseColumns && g.m.Layout == matrix.RowSparse; key += 1 << 16 {
		all := make([]int64, 1<<16)
		for i := range all {
			all[i] = key + int64(i)
		}
		if err := g.columns(all); err != nil {
			return err
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func() int64 { return rng.Int64N(min(g.m.Cols, pauseColumns)) }
	if zipf > 0 {
		z := rand.NewZipf(rng, zipf, 1, pauseColumns-1)
		draw = func() int64 { return int64(z.Uint64()) }
	}
	for range 256 {
		step := make([]int64, keys)
		for i := range step {
			step[i] = draw()
		}
		slices.Sort(step)
		g.steps = append(g.steps, slices.Compact(step))
	}
	for range 20 {
		if err := g.step(); err != nil {
			return err
		}
	}
	return nil
}

// columns is a step for columns.
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

// step is the next step, and a read of its columns.
func (g *stepper) step() error {
	keys := g.steps[g.at%len(g.steps)]
	g.at++
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
	_, err := g.p.Pull(g.ctx, []matrix.Lookup{{Matrix: g.m.Name, Cols: keys}})
	return err
}

// measure makes steps while a checkpoint is written, or for some seconds.
func (g *stepper) measure(b *testing.B, mode string) {
	var took []time.Duration
	var under *ps.Checkpointing
	if err := findMemory(2 << 30); err != nil { // for the system, and for copies of columns
		b.Fatal(err)
	}
	begun, busy := time.Now(), processor(b)
	if mode != "none" {
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
	for done := false; !done; {
		start := time.Now()
		if err := g.step(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
		if done = time.Since(begun) > 3*time.Second; under != nil {
			var err error
			if done, err = under.Poll(g.ctx); err != nil {
				b.Fatal(err)
			}
		}
	}
	all, used := time.Since(begun), processor(b)-busy
	slices.Sort(took)
	ms := func(at int) float64 { return float64(took[at].Microseconds()) / 1e3 }
	b.ReportMetric(ms(len(took)/2), "ms-p50")
	b.ReportMetric(ms(len(took)*999/1000), "ms-p99.9")
	b.ReportMetric(ms(len(took)-1), "ms-longest")
	b.ReportMetric(float64(len(took))/all.Seconds(), "steps/s")
	b.ReportMetric(float64(len(took))/used.Seconds(), "steps/cpu-s")
	if mode != "none" {
		b.ReportMetric(all.Seconds(), "s-writing")
	}
	b.ReportMetric(0, "ns/op")
}

// processor is how much time of processors this process has taken.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// findMemory has the machine find so much memory, which is then free: a virtual one has given back what was free for seconds, and takes
// longer to get a GB again than a disk to read it.
func findMemory(bytes int) error {
	all, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	err = unix.Madvise(all[:bytes/2], unix.MADV_HUGEPAGE) // as tables have: these are not where small pages are found
	for i := 0; i < len(all); i += 4 << 10 {
		all[i] = 1
	}
	return errors.Join(err, unix.Munmap(all))
}
