package main

import (
	"context"
	"math"
	"slices"

	"thole.example/format"
	"thole.example/matrix"
)

// statistics is what the stored values of a matrix are like. Smallest, largest, mean and deviation are of the finite ones;
// they are absent if there are none.
type statistics struct {
	Stored    int64    `json:"stored"`
	NonZeros  int64    `json:"nonZeros"`
	Zeros     int64    `json:"zeros"` // stored ones
	ZeroShare float64  `json:"zeroShare"`
	NaNs      int64    `json:"nans"`
	Infs      int64    `json:"infinite"`
	Min       *float64 `json:"min,omitempty"`
	Mean      *float64 `json:"mean,omitempty"`
	Max       *float64 `json:"max,omitempty"`
	Std       *float64 `json:"std,omitempty"`
	Bins      []int64  `json:"bins,omitempty"`      // finite values from Min to Max in equal steps
	Shape     string   `json:"histogram,omitempty"` // the same, drawn
}

// moments are gathered in one walk.
type moments struct {
	n, zeros, nans, infs int64
	lo, hi               float64
	mean, spread         float64
}

// take adds values. They are gathered by blocks, and blocks are put together as Chan, Golub and LeVeque do: no digits are lost
// where values are large and close together.
func (s *moments) take(val []float64) {
	var n, zeros int64
	sum := 0.0
	for _, v := range val {
		if v-v != 0 {
			if v != v {
				s.nans++
			} else {
				s.infs++
			}
			continue
		}
		if v == 0 {
			zeros++
		}
		n++
		sum += v
		s.lo, s.hi = min(s.lo, v), max(s.hi, v)
	}
	s.zeros += zeros
	if n == 0 {
		return
	}
	mean, spread := sum/float64(n), 0.0
	for _, v := range val {
		if d := v - mean; d-d == 0 {
			spread += d * d
		}
	}
	both := float64(s.n + n)
	gap := mean - s.mean
	s.spread += spread + gap*gap*float64(s.n)*float64(n)/both
	s.mean += gap * float64(n) / both
	s.n += n
}

// absent adds cells of a dense matrix that are stored by not being there: zeros.
func (s *moments) absent(n int64) {
	if n == 0 {
		return
	}
	both := float64(s.n) + float64(n)
	s.spread += s.mean * s.mean * float64(s.n) * float64(n) / both
	s.mean -= s.mean * float64(n) / both
	s.lo, s.hi = min(s.lo, 0), max(s.hi, 0)
	s.n, s.zeros = s.n+n, s.zeros+n
}

// count goes over the stored values: once for the statistics, once more for the histogram, whose ends they are.
func (f *statistics) count(ctx context.Context, r format.Reader, m matrix.Meta, p *progress) error {
	s := moments{lo: math.Inf(1), hi: math.Inf(-1)}
	if err := eachRun(ctx, r, m, p, s.take, s.absent); err != nil {
		return err
	}
	f.Stored, f.Zeros, f.NaNs, f.Infs = s.n+s.nans+s.infs, s.zeros, s.nans, s.infs
	f.NonZeros = f.Stored - f.Zeros
	if s.n == 0 {
		return nil
	}
	f.ZeroShare = float64(f.Zeros) / float64(f.Stored)
	std := math.Sqrt(s.spread / float64(s.n))
	f.Min, f.Max = &s.lo, &s.hi
	if s.mean-s.mean == 0 && std-std == 0 { // else beyond what a float64 holds
		f.Mean, f.Std = &s.mean, &std
	}
	if s.hi == s.lo || math.IsInf(s.hi-s.lo, 0) {
		return nil
	}
	f.Bins = make([]int64, histogramBins)
	bin := func(v float64) *int64 { return &f.Bins[min(histogramBins-1, int((v-s.lo)/(s.hi-s.lo)*histogramBins))] }
	err := eachRun(ctx, r, m, p, func(val []float64) {
		for _, v := range val {
			if v-v == 0 {
				*bin(v)++
			}
		}
	}, func(n int64) { *bin(0) += n })
	if err != nil {
		return err
	}
	f.Shape = sparkline(f.Bins)
	return nil
}

// runValues is how many values are looked at together.
const runValues = 1 << 12

// eachRun calls do for the stored values, as the nearest float64, some at a time, and absent with how many cells of a dense
// matrix are zero because their block is stored sparse.
func eachRun(ctx context.Context, r format.Reader, m matrix.Meta, p *progress, do func(val []float64), absent func(n int64)) error {
	var wide [runValues]float64
	_, countable := m.Rect().Cells()
	return format.Look(ctx, r, m.Name, func(b matrix.Block) error {
		p.add(b.Data.NNZ())
		if cells, _ := b.At.Cells(); m.Layout == matrix.RowDense && countable && cells > int64(b.Data.NNZ()) {
			absent(cells - int64(b.Data.NNZ()))
		}
		switch val := b.Data.Values().(type) {
		case []float64:
			for run := range slices.Chunk(val, runValues) {
				do(run)
			}
		case []float32:
			for run := range slices.Chunk(val, runValues) {
				for i, v := range run {
					wide[i] = float64(v)
				}
				do(wide[:len(run)])
			}
		default:
			if cast, _ := b.Cast(matrix.F64); cast.Data.NNZ() > 0 {
				do(cast.Data.Values().([]float64))
			}
		}
		return ctx.Err()
	})
}

// histogramBins is how many bars the picture of a matrix's values has.
const histogramBins = 16

// sparkline draws counts as bars of eight heights; what is not empty is never drawn as empty.
func sparkline(bins []int64) string {
	bars := []rune(" ▁▂▃▄▅▆▇█")
	highest := slices.Max(bins)
	line := make([]rune, len(bins))
	for i, n := range bins {
		height := int((n*int64(len(bars)-1) + highest - 1) / highest)
		line[i] = bars[height]
	}
	return string(line)
}
