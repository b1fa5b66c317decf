package shard_test

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/shard"
	"thole.example/wire"
)

// eager says how the columns of a sparse matrix, whose steps go over those that gradients name, take the other steps, beside a
// dense matrix, whose steps go over all: by rule, with what it is given beside its defaults. docs/algorithms.md says the same.
//
//	bits    a gradient of zero changes nothing: the bits of a dense matrix
//	lazy    they catch up when they are read or named: what a dense matrix has, but for rounding
//	others  why they stand still
var eager = map[string]string{
	"sgd": bits, "adagrad": bits, "ftrl": bits, "ftrl l1": bits, "ftrl l2": bits,
	"sgd l1": lazily, "sgd l2": lazily, "momentum": lazily, "momentum l2": lazily, "nesterov": lazily, "nesterov l2": lazily,
	"adagrad l1": lazily, "rmsprop": lazily, "adadelta": lazily,

	"adagrad l2":  "the decay is in its own sum of squares",
	"rmsprop l2":  "the decay is in its own mean square",
	"adadelta l2": "the decay is in both of its own mean squares",
	"adam":        "each step divides by another root, with eps beside it",
	"adam l2":     "each step divides by another root, with eps beside it",
	"adamw":       "each step divides by another root, with eps beside it",
	"adamw decay": "each step divides by another root, with eps beside it",
	"amsgrad":     "each step divides by another root, with eps beside it",
	"amsgrad l2":  "each step divides by another root, with eps beside it",
}

const bits, lazily = "bits", "lazily"

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
		if eager[name] != bits {
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

// Whatever stands still differs, so that the list tells all: a column with one gradient, whose dense twin goes on.
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
			same, near := alike(t, p), apart(t, p, []int64{3, 5}) < 1e-12
			if how := eager[name]; how == "" || same != (how == bits) && how != lazily || near != (how == bits || how == lazily) {
				t.Errorf("the same bits as dense: %v, nearly the same: %v, want %q", same, near, how)
			}
		})
	}
}

// apart is by how much two partitions differ at some columns, relative to weights of 1 and above.
func apart(t fataler, p [2]*shard.Shard, keys []int64) (most float64) {
	var got [2][]float64
	for i, s := range p {
		got[i] = weights(t, s, keys)
	}
	for i, v := range got[0] {
		if d := math.Abs(v-got[1][i]) / max(1, math.Abs(v)); !(d <= most) {
			most = d
		}
	}
	return most
}

// weights is all rows of some columns.
func weights(t fataler, s *shard.Shard, keys []int64) []float64 {
	n := len(keys) * int(s.At().Rows.Len())
	if s.Meta().DType == matrix.F64 {
		val := make([]float64, n)
		if err := s.Read(wire.View(val), s.At().Rows, keys); err != nil {
			t.Fatal(err)
		}
		return val
	}
	val, wide := make([]float32, n), make([]float64, n)
	if err := s.Read(wire.View(val), s.At().Rows, keys); err != nil {
		t.Fatal(err)
	}
	for i, v := range val {
		wide[i] = float64(v)
	}
	return wide
}

// TestLazy: with rules that catch up a sparse matrix has the weights of a dense one in every step, however long ago its columns
// were named. That of float32 is held to the dense one of float64, which has not rounded in each of the steps between.
func TestLazy(t *testing.T) {
	for name, v := range variants() {
		if eager[name] != lazily {
			continue
		}
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				d := rapid.SampledFrom([]matrix.DType{matrix.F64, matrix.F32}).Draw(t, "type")
				m := matrix.Meta{Name: "m", Rows: 2, Cols: 5, DType: matrix.F64, Rule: v.rule.Name, Hyper: v.hyper}
				sparse := m
				sparse.Layout, sparse.DType = matrix.RowSparse, d
				all := matrix.Range{Hi: m.Cols}
				p := [2]*shard.Shard{newShard(t, &m, 0, &v.rule), newShard(t, &sparse, 0, &v.rule)}
				defer p[1].Close()
				rate, falls := rapid.SampledFrom([]float64{0, 0.01, 0.1, 0.5}).Draw(t, "rate"), rapid.Float64Range(0.99, 1).Draw(t, "falls")
				for range rapid.IntRange(1, 5).Draw(t, "events") {
					keys := rapid.SliceOfNDistinct(rapid.Int64Range(0, m.Cols-1), 0, int(m.Cols), rapid.ID[int64]).Draw(t, "keys")
					val := make([]float64, 2*len(keys))
					for i := range val {
						val[i] = float64(rapid.IntRange(-32, 32).Draw(t, "val")) / 8
					}
					for i := range p {
						must(t, p[i].Apply([]shard.Delta{gradient(p[i], keys, val)}, 1, rate))
					}
					gap := rapid.SampledFrom([]int{0, 0, 1, 1, 2, 3, 30, 100, 700, 4000}).Draw(t, "gap")
					for range gap {
						rate *= falls
						must(t, p[0].Apply(nil, 1, rate))
						must(t, p[1].Apply(nil, 1, rate))
					}
					limit := 1e-12
					if d == matrix.F32 {
						limit = 40 * 0x1p-24
					}
					if far := apart(t, p, columnsIn(all)); !(far <= limit) {
						t.Fatalf("after %d steps the sparse matrix differs from the dense one by %g, want at most %g: %v and %v", p[0].Steps(), far, limit,
							weights(t, p[1], columnsIn(all)), weights(t, p[0], columnsIn(all)))
					}
				}
			})
		})
	}
}

func columnsIn(r matrix.Range) (keys []int64) {
	for key := r.Lo; key < r.Hi; key++ {
		keys = append(keys, key)
	}
	return keys
}

func newShard(t fataler, m *matrix.Meta, bits int, rule *psf.Rule) *shard.Shard {
	s, err := shard.New(m, m.Rect(), bits, rule)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
