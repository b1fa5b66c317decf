package tree

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// same reports whether scores have the same bits.
func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// TestScorer holds every way of scoring to the definition, bit for bit.
func TestScorer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawing{features: 8, trees: 6, leaves: 40, sets: rapid.Bool().Draw(t, "sets"), levels: 70}.ensemble(t)
		s := Compile(e)
		width := max(0, e.Features.Width+rapid.IntRange(-2, 1).Draw(t, "width"))
		n := rapid.IntRange(0, 70).Draw(t, "n")
		rows := drawRows(t, n, width)
		out, walked := make([]float64, n*e.Classes), make([]float64, n*e.Classes)
		s.Batch(rows, width, out)
		if s.walkRows(rows, width, walked); !same(out, walked) {
			t.Fatalf("Batch: %v, and by walking %v", out, walked)
		}
		for r := range n {
			row, want, got := rows[r*width:(r+1)*width], make([]float64, e.Classes), make([]float64, e.Classes)
			e.Score(row, want)
			if !same(out[r*e.Classes:(r+1)*e.Classes], want) {
				t.Fatalf("batch: row %d %v: %v, want %v", r, row, out[r*e.Classes:(r+1)*e.Classes], want)
			}
			if s.Row(row, got); !same(got, want) {
				t.Fatalf("row %v: %v, want %v", row, got, want)
			}
		}
	})
}

// TestOnto: scores are added to those that rows come with as if they were the ensemble's own.
func TestOnto(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawing{features: 8, trees: 6, leaves: 40, sets: rapid.Bool().Draw(t, "sets"), levels: 70}.ensemble(t)
		e.Mean = false
		n, width := rapid.IntRange(0, 70).Draw(t, "n"), e.Features.Width
		rows := drawRows(t, n, width)
		out := rapid.SliceOfN(rapid.Map(rapid.Float32Range(-9, 9), func(v float32) float64 { return float64(v) }), n*e.Classes, n*e.Classes).Draw(t, "start")
		starts := slices.Clone(out)
		s := Onto(e)
		s.Batch(rows, width, out)
		for r := range n {
			row, want, got := rows[r*width:(r+1)*width], make([]float64, e.Classes), slices.Clone(starts[r*e.Classes:(r+1)*e.Classes])
			e.Start = slices.Clone(got)
			if e.Score(row, want); !same(out[r*e.Classes:(r+1)*e.Classes], want) {
				t.Fatalf("batch: row %d %v onto %v: %v, want %v", r, row, e.Start, out[r*e.Classes:(r+1)*e.Classes], want)
			}
			if s.Row(row, got); !same(got, want) {
				t.Fatalf("row %v onto %v: %v, want %v", row, e.Start, got, want)
			}
		}
	})
}

// TestScorerOfLarge trees and of many columns, which are walked on every machine.
func TestScorerOfLarge(t *testing.T) {
	for what, e := range map[string]*Ensemble{"leaves": grown(7, 3, 0, 400), "depth": grown(7, 2, 9, 0), "columns": grown(50000, 800, 0, 30)} {
		s := Compile(e)
		if s.wides != nil {
			t.Errorf("%s: scored by blocks", what)
		}
		rng, n, width := rand.New(rand.NewPCG(1, 2)), 67, e.Features.Width
		rows, out := make([]float64, n*width), make([]float64, n)
		for i := range rows {
			rows[i] = number(rng)
		}
		s.Batch(rows, width, out)
		for r := range n {
			want := []float64{0}
			if e.Score(rows[r*width:(r+1)*width], want); !same(out[r:r+1], want) {
				t.Errorf("%s, row %d: %v, want %v", what, r, out[r], want[0])
			}
		}
	}
}

// TestSparse holds rows of ids and values to the same rows with all features.
func TestSparse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawing{features: 12, trees: 4, leaves: 12, sets: true, levels: 40}.ensemble(t)
		apart := 1 // how far features are
		if rapid.Bool().Draw(t, "far") {
			apart = 1 << 12
			e.Features.Width *= apart
			for i := range e.Trees {
				for n := range e.Trees[i].Feature {
					e.Trees[i].Feature[n] *= int32(apart)
				}
			}
		}
		s, width := Compile(e), e.Features.Width
		for range 2 { // the absent value changes
			absent := rapid.SampledFrom([]float64{0, 1, math.NaN()}).Draw(t, "absent")
			n := rapid.SampledFrom([]int{0, 1, 3, 15, 16, 70, 100}).Draw(t, "rows")
			rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "values"), 3))
			ptr, ids, values := []int{5}, make([]int64, 5), make([]float64, 5) // as of rows in the middle of a batch
			want, got := make([]float64, n*e.Classes), make([]float64, n*e.Classes)
			for r := range n {
				row := slices.Repeat([]float64{absent}, width)
				for range rng.IntN(6) {
					id, v := int64((rng.IntN(14)-1)*apart+rng.IntN(10)/9), number(rng)
					if ids, values = append(ids, id), append(values, v); id >= 0 && id < int64(width) {
						row[id] = v
					}
				}
				ptr = append(ptr, len(ids))
				e.Score(row, want[r*e.Classes:(r+1)*e.Classes])
			}
			single, exact := split(values)
			if s.Sparse(ptr, ids, single, exact, absent, got); !same(got, want) {
				t.Fatalf("%v %v %v absent %v: %v, want %v", ptr, ids, values, absent, got, want)
			}
		}
	})
}

// split is values as Sparse takes them.
func split(values []float64) (single []float32, exact []float64) {
	for _, v := range values {
		single = append(single, float32(v))
	}
	return single, values
}

// TestRowAllocates nothing, and neither do the others.
func TestRowAllocates(t *testing.T) {
	e := grown(20, 30, 6, 0)
	s, out, rows := Compile(e), make([]float64, 100), make([]float64, 100*20)
	for what, f := range map[string]func(){"Row": func() { s.Row(rows[:20], out[:1]) }, "Batch": func() { s.Batch(rows, 20, out) },
		"Sparse": func() { s.Sparse([]int{0, 2}, []int64{3, 9}, make([]float32, 2), rows[:2], 0, out[:1]) }} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", what, n)
		}
	}
}

// TestScorerIsShared scores in several goroutines with one Scorer.
func TestScorerIsShared(t *testing.T) {
	e := grown(10, 20, 5, 0)
	s := Compile(e)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 3))
			for range 50 {
				row, want, got := make([]float64, 10), make([]float64, 1), make([]float64, 1)
				for i := range row {
					row[i] = number(rng)
				}
				e.Score(row, want)
				if s.Row(row, got); !same(got, want) {
					t.Errorf("%v: %v, want %v", row, got, want)
				}
				single, exact := split(row)
				if s.Sparse([]int{0, 10}, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, single, exact, float64(g%2), got); !same(got, want) {
					t.Errorf("sparse %v: %v, want %v", row, got, want)
				}
			}
		})
	}
	all.Wait()
}

// grown is an ensemble of complete trees of a depth, or if leaves is above 0 of trees of so many that grow at random.
func grown(features, trees, depth, leaves int) *Ensemble {
	rng := rand.New(rand.NewPCG(5, 6))
	e := &Ensemble{Objective: Objective{Link: Identity}, Classes: 1, Group: 1, Start: []float64{0.5}, Features: Features{Width: features}}
	for range trees {
		n := 1<<depth - 1
		if leaves > 0 {
			n = leaves - 1
		}
		t := drawing{}.tree(rng, e.Features, n+1)
		for i := range t.Feature {
			t.Kind[i], t.Threshold[i] = NaNMissing|Kind(rng.IntN(2))*DefaultLeft, rng.NormFloat64()
			if leaves > 0 {
				continue
			}
			t.Left[i], t.Right[i] = int32(2*i+1), int32(2*i+2)
			if 2*i+1 >= n {
				t.Left[i], t.Right[i] = int32(^(2*i + 1 - n)), int32(^(2*i + 2 - n))
			}
		}
		e.Trees = append(e.Trees, t)
	}
	return e
}

// BenchmarkScore is of 28 features as of XGBoost's and LightGBM's benchmarks (docs/trees.md).
func BenchmarkScore(b *testing.B) {
	const features, n = 28, 4096
	rng := rand.New(rand.NewPCG(7, 8))
	rows, out := make([]float64, features*n), make([]float64, n)
	for i := range rows {
		rows[i] = float64(float32(rng.NormFloat64()))
	}
	rate := func(b *testing.B, rows int) {
		b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	}
	for _, width := range []int{123, 1 << 20} { // 40 ids of so many
		e := grown(width, 100, 6, 0)
		x, ptr, ids, values := Compile(e), []int{0}, []int64(nil), []float32(nil)
		for range n {
			for range 40 {
				ids, values = append(ids, int64(e.Trees[rng.IntN(100)].Feature[rng.IntN(63)])), append(values, float32(rng.NormFloat64()))
			}
			ptr = append(ptr, len(ids))
		}
		b.Run(fmt.Sprintf("width=%d/Sparse", width), func(b *testing.B) {
			for b.Loop() {
				x.Sparse(ptr, ids, values, nil, 0, out)
			}
			rate(b, n)
		})
	}
	for _, c := range []struct{ depth, leaves int }{{6, 0}, {8, 0}, {0, 31}, {0, 64}, {0, 255}} {
		e := grown(features, 100, c.depth, c.leaves)
		s := Compile(e)
		name := fmt.Sprintf("depth=%d/leaves=%d/", c.depth, c.leaves)
		b.Run(name+"Batch", func(b *testing.B) {
			for b.Loop() {
				s.Batch(rows, features, out)
			}
			rate(b, n)
		})
		b.Run(name+"Walk", func(b *testing.B) {
			for b.Loop() {
				s.walkRows(rows, features, out)
			}
			rate(b, n)
		})
		b.Run(name+"Row", func(b *testing.B) {
			i := 0
			for b.Loop() {
				s.Row(rows[i*features:(i+1)*features], out[:1])
				i = (i + 1) % n
			}
			rate(b, 1)
		})
		b.Run(name+"Score", func(b *testing.B) {
			i := 0
			for b.Loop() {
				e.Score(rows[i*features:(i+1)*features], out[:1])
				i = (i + 1) % n
			}
			rate(b, 1)
		})
	}
}
