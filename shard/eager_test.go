package shard_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/shard"
	"thole.example/wire"
)

// eager are the rules, with what they are given beside their defaults, that change nothing where the gradient is zero: with them
// a sparse matrix, whose steps go over the columns that gradients name, has the bits of a dense one, whose steps go over all.
// The others make their decay, velocity and running means in the steps that touch a column. docs/algorithms.md says the same.
var eager = map[string]bool{"sgd": true, "adagrad": true, "ftrl": true, "ftrl l1": true, "ftrl l2": true}

// variants are the rules without penalties, and with each of those that they have.
func variants() map[string]struct {
	rule  psf.Rule
	hyper map[string]float64
} {
	all := map[string]struct {
		rule  psf.Rule
		hyper map[string]float64
	}{}
	for _, r := range optim.Rules() {
		v := all[r.Name]
		v.rule, v.hyper = r, map[string]float64{}
		for _, h := range r.Hyper {
			if h.Name == "l1" || h.Name == "l2" || h.Name == "decay" {
				with := v
				with.hyper = map[string]float64{h.Name: 0.05}
				all[r.Name+" "+h.Name] = with
			}
		}
		all[r.Name] = v
	}
	return all
}

// both are a dense and a sparse partition of the same matrix.
func both(t fataler, d matrix.DType, rule *psf.Rule, hyper map[string]float64) (p [2]*shard.Shard) {
	for i, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		m := &matrix.Meta{Name: "m", Rows: 2, Cols: 40, DType: d, Layout: layout, Rule: rule.Name, Hyper: hyper,
			Init: matrix.Init{Kind: "normal", Scale: 1, Seed: 4}}
		s, err := shard.New(m, m.Rect(), 0, rule)
		if err != nil {
			t.Fatal(err)
		}
		p[i] = s
	}
	return p
}

type fataler interface{ Fatal(args ...any) }

// alike reports whether both read the same bits.
func alike(t fataler, p [2]*shard.Shard) bool {
	var got [2][]byte
	for i, s := range p {
		keys := make([]int64, s.At().Cols.Len())
		for c := range keys {
			keys[c] = int64(c)
		}
		got[i] = wire.View(make([]float64, 2*40))[:2*40*s.Meta().DType.Size()]
		if err := s.Read(got[i], s.At().Rows, keys); err != nil {
			t.Fatal(err)
		}
	}
	return bytes.Equal(got[0], got[1])
}

// gradient is a delta of the columns.
func gradient(p *shard.Shard, keys []int64, val []float64) shard.Delta {
	d := shard.Delta{Rows: p.At().Rows, Cols: p.At().Cols, Keys: keys, Values: wire.View(val)}
	if p.Meta().DType == matrix.F32 {
		narrow := make([]float32, len(val))
		for i, v := range val {
			narrow[i] = float32(v)
		}
		d.Values = wire.View(narrow)
	}
	return d
}

func TestEager(t *testing.T) {
	for name, v := range variants() {
		if !eager[name] {
			continue
		}
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := both(t, rapid.SampledFrom([]matrix.DType{matrix.F32, matrix.F64}).Draw(t, "type"), &v.rule, v.hyper)
				for step := range rapid.IntRange(1, 8).Draw(t, "steps") {
					var deltas [2][]shard.Delta
					for range rapid.IntRange(0, 3).Draw(t, "deltas") {
						keys := rapid.SliceOfNDistinct(rapid.Int64Range(0, 39), 1, 40, rapid.ID[int64]).Draw(t, "keys")
						val := rapid.SliceOfN(rapid.Float64Range(-4, 4), 2*len(keys), 2*len(keys)).Draw(t, "val")
						for i := range p {
							deltas[i] = append(deltas[i], gradient(p[i], keys, val))
						}
					}
					rate := rapid.Float64Range(0.01, 1).Draw(t, "rate")
					for i := range p {
						must(t, p[i].Apply(deltas[i], 3, rate))
					}
					if !alike(t, p) {
						t.Fatalf("step %d: the sparse matrix differs from the dense one", step+1)
					}
				}
			})
		})
	}
}

// Whatever is not in the list differs, so that the list tells all: a column with one gradient stands still where it is sparse.
func TestEagerList(t *testing.T) {
	for name, v := range variants() {
		t.Run(name, func(t *testing.T) {
			p := both(t, matrix.F64, &v.rule, v.hyper)
			for step := range 3 {
				for i := range p {
					// Column 3 has a gradient in the first and the last step.
					keys := []int64{3, 5}[step%2:]
					val := []float64{2, -1, 1, 0.5}[:2*len(keys)]
					if err := p[i].Apply([]shard.Delta{gradient(p[i], keys, val)}, 1, 0.1); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got := alike(t, p); got != eager[name] {
				t.Errorf("the same bits as dense: %v, want %v", got, eager[name])
			}
		})
	}
}
