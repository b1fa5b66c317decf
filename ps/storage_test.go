package ps_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"thole.example/matrix"
	"thole.example/ps"
)

// TestStorage: a matrix that servers keep in fewer bytes reads as f32, rounded; increments too small for the type are right in the mean.
func TestStorage(t *testing.T) {
	for _, tt := range []struct {
		name, rows string
		gap        float64 // of numbers from 1 on
	}{{"f16", "T_FLOAT_DENSE", 0x1p-10}, {"bf16", "T_FLOAT_SPARSE", 0x1p-7}, {"int8", "T_FLOAT_SPARSE_LONGKEY", 0x1p-6}} {
		t.Run(tt.name, func(t *testing.T) {
			const cols, times, tiny = 500, 60, 1e-4
			p, stop := onReal(t, ps.Options{}, 2)
			defer stop()
			model := ps.NewModel("m", 1, cols)
			model.SetRowType(rowType(t, tt.rows))
			model.SetAttribute("matrix.storage", tt.name)
			ms, err := p.CreateModels(t.Context(), model)
			must(t, err)
			m, at := ms[0], matrix.At(0, 1, 0, cols)
			if m.Meta().DType != matrix.F32 || m.Meta().Storage == matrix.Invalid {
				t.Fatalf("a matrix of %v, kept as %v", m.Meta().DType, m.Meta().Storage)
			}
			ones := make([]float32, cols)
			for i := range ones {
				ones[i] = 1
			}
			must(t, m.Increment(floats(at, ones...)))
			must(t, p.Clock(t.Context(), 0, 0))
			for i := range ones {
				ones[i] = tiny
			}
			for range times {
				must(t, m.Increment(floats(at, ones...)))
				must(t, p.Clock(t.Context(), 0, 0))
			}
			row, err := m.GetRow(t.Context(), 0)
			must(t, err)
			sum, some := 0.0, row.ToDense().Data.Values().([]float32)
			for _, v := range some {
				sum += float64(v) - 1
				if units := (float64(v) - 1) / tt.gap; units != math.Trunc(units) {
					t.Fatalf("%v is not of %s", v, tt.name)
				}
			}
			if off := math.Abs(sum/cols - times*tiny); off > 4*math.Sqrt(times*tiny*tt.gap/cols) {
				t.Errorf("%d times %v are %v in the mean", times, tiny, sum/cols)
			}
			if slices.Max(some) == slices.Min(some) {
				t.Error("all columns are rounded alike")
			}
		})
	}
}

// TestStorageNames: a wrong name, and types that cannot be kept so, are told when the matrix is created.
func TestStorageNames(t *testing.T) {
	p, stop := onReal(t, ps.Options{}, 1)
	defer stop()
	for want, set := range map[string]func(m *ps.Model){
		`values are kept as "f8", want f16, bf16, int8`: func(m *ps.Model) { m.SetStorage("f8") },
		"values of f64 kept as f16, want those of f32":  func(m *ps.Model) { m.SetAttribute("matrix.storage", "f16") },
		"dense matrix kept as int8":                     func(m *ps.Model) { m.SetRowType(rowType(t, "T_FLOAT_DENSE")); m.SetStorage("int8") },
	} {
		model := ps.NewModel("m", 1, 1)
		set(model)
		if _, err := p.CreateModels(t.Context(), model); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// TestStorageEmbeddings: embeddings of which products are known are found by steps of a rule, kept narrow nearly as well as f32.
func TestStorageEmbeddings(t *testing.T) {
	const things, dim, batch, steps = 60, 16, 40, 1500
	truth := rand.New(rand.NewPCG(1, 2))
	var known [2 * things][2]float64 // products have rank 2
	for i := range known {
		known[i] = [2]float64{truth.NormFloat64(), truth.NormFloat64()}
	}
	product := func(i, j int64) float64 { return known[i][0]*known[j][0] + known[i][1]*known[j][1] }
	learn := func(t *testing.T, storage string) (off float64) {
		p, stop := onReal(t, ps.Options{}, 2)
		defer stop()
		model := ps.NewModel("e", dim, 2*things)
		model.SetRowType(rowType(t, "T_FLOAT_SPARSE"))
		model.SetStorage(storage)
		model.SetMeta(func(m *matrix.Meta) {
			m.Rule, m.Init = "adagrad", matrix.Init{Kind: "normal", Scale: 0.3, Seed: 5}
		})
		_, err := p.CreateModels(t.Context(), model)
		must(t, err)
		rng := rand.New(rand.NewPCG(3, 4))
		all := make([]int64, 2*things)
		for i := range all {
			all[i] = int64(i)
		}
		for step := range steps + 1 {
			got, err := p.Pull(t.Context(), []matrix.Lookup{{Matrix: "e", Cols: all}})
			must(t, err)
			val := got[0].Data.Values().([]float32)
			grad := make([]float32, len(val))
			sum, pairs := 0.0, 0
			each := func(i, j int64) {
				a, b := val[i*dim:][:dim], val[j*dim:][:dim]
				wrong := -product(i, j)
				for r := range a {
					wrong += float64(a[r]) * float64(b[r])
				}
				for r := range a {
					grad[i*dim+int64(r)] += float32(wrong) * b[r]
					grad[j*dim+int64(r)] += float32(wrong) * a[r]
				}
				sum, pairs = sum+wrong*wrong, pairs+1
			}
			if step == steps { // of all pairs
				for i := range int64(things) {
					for j := range int64(things) {
						each(i, things+j)
					}
				}
				return math.Sqrt(sum / float64(pairs))
			}
			for range batch {
				each(rng.Int64N(things), things+rng.Int64N(things))
			}
			must(t, p.Push("e", matrix.Block{At: got[0].At, Data: &matrix.Cols[float32]{Idx: all, Val: grad}}))
			must(t, p.Clock(t.Context(), batch, 0.3))
		}
		return off
	}
	for _, tt := range []struct {
		storage string
		most    float64 // distance of a product, which is about 1.4, from the truth
	}{{"", 0.02}, {"f16", 0.02}, {"bf16", 0.02}, {"int8", 0.03}} {
		off := learn(t, tt.storage)
		t.Logf("%q: products are %.4f off", tt.storage, off)
		if !(off <= tt.most) {
			t.Errorf("%q: products are %v off, want at most %v", tt.storage, off, tt.most)
		}
	}
}
