package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/graph"
	"thole.example/matrix"
)

// fieldRows are n examples of one value in each of fields fields of each columns, which are step apart.
func fieldRows(n, fields, each int, step int64, seed uint64) *data.Batch {
	rng, x := rand.New(rand.NewPCG(seed, 1)), &matrix.CSR[float32]{Ptr: []int{0}}
	b := &data.Batch{Label: make([]float32, n), Fields: fields}
	for range n {
		for f := range fields {
			x.Idx = append(x.Idx, int64(f*each+rng.IntN(each))*step)
			x.Val, b.Field = append(x.Val, rng.Float32()), append(b.Field, int32(f))
		}
		x.Ptr = append(x.Ptr, len(x.Idx))
	}
	b.X = matrix.Block{At: matrix.At(0, int64(n), 0, int64(fields*each)*step), Data: x}
	return b
}

// TestTable wants every recipe to score as training's way forward does, to the last bit, whether its columns are all there, one after the other, or found by their keys,
// and whatever way the stored values came; a column that is not there counts as one of zeros.
func TestTable(t *testing.T) {
	const fields, each = 4, 5
	for _, a := range algo.Algos() {
		var want []float32
		for _, step := range []int64{1, 1000} {
			dim := int64(fields*each) * step
			m, err := a.Build(algo.Conf{Dim: dim, Sparse: true, Size: algo.Size{Fields: fields}})
			if err != nil {
				t.Fatal(err)
			}
			var keys []int64
			for c := range int64(fields * each) {
				if c%6 != 5 {
					keys = append(keys, c*step)
				}
			}
			for kind := range 4 {
				table, err := graph.NewTable(m, &data.Columns{Hi: dim, Keys: keys})
				if err != nil {
					t.Fatal(err)
				}
				for i, p := range m.Params() {
					if err := table.Set(p.Name, stored(&p, keys, kind, uint64(i))); err != nil {
						t.Fatalf("%s: %v", a.Name, err)
					}
				}
				scorer, err := graph.NewScorer(m, table)
				if err != nil {
					t.Fatal(err)
				}
				none := &data.Batch{Label: make([]float32, 3), Fields: fields,
					X: matrix.Block{At: matrix.At(0, 3, 0, dim), Data: &matrix.CSR[float32]{Ptr: make([]int, 4)}}}
				none.Field = []int32{}
				if out, err := scorer.Score(none); err != nil || out.Val[0] != out.Val[2] {
					t.Fatalf("%s: rows without values: %v", a.Name, err)
				}
				x := fieldRows(600, fields, each, step, 3)
				if want == nil {
					want = forward(t, m, keys, x)
				}
				for range 2 {
					out, err := scorer.Score(x)
					if err != nil {
						t.Fatalf("%s: %v", a.Name, err)
					}
					if !slices.Equal(out.Val, want) {
						t.Errorf("%s: columns %d apart, stored in way %d: other scores", a.Name, step, kind)
					}
				}
			}
		}
		if slices.Max(want)-slices.Min(want) < 1e-3 || slices.ContainsFunc(want, func(v float32) bool { return math.IsNaN(float64(v)) }) {
			t.Errorf("%s: scores from %v to %v", a.Name, slices.Min(want), slices.Max(want))
		}
	}
}

// forward takes examples through all layers, as in training, on the matrices of stored; columns that are no key have zeros.
func forward(t *testing.T, m *graph.Model, keys []int64, b *data.Batch) []float32 {
	rows := b.Rows()
	x := &graph.Input{Label: b.Label, Ptr: rows.Ptr, Idx: rows.Idx, Val: rows.Val, Field: b.Field, Fields: b.Fields, Train: true}
	at := make([]uint32, len(x.Idx))
	for i, c := range x.Idx {
		at[i] = uint32(len(keys))
		if k, ok := slices.BinarySearch(keys, c); ok {
			at[i] = uint32(k)
		}
	}
	var outs []*graph.Tensor
	params := uint64(0)
	for _, node := range m.Nodes {
		var values []graph.Values
		for _, p := range node.Layer.Params() {
			v := graph.Values{}
			if p.Features {
				v.At = at
				for i, w := range stored(&p, keys, 0, params).Data.(*matrix.Cols[float32]).Val {
					if int64(i)%(p.Rows+1) < p.Rows {
						v.Val = append(v.Val, w)
					}
				}
				v.Val = append(v.Val, make([]float32, p.Rows)...)
			} else {
				v.Val = stored(&p, keys, 0, params).Data.(*matrix.Dense[float32]).Val
			}
			values = append(values, v)
			params++
		}
		var in []*graph.Tensor
		for _, i := range node.In {
			in = append(in, outs[i])
		}
		out, err := node.Layer.Forward(x, values, in)
		if err != nil {
			t.Fatal(err)
		}
		outs = append(outs, out)
	}
	return slices.Clone(outs[len(outs)-1].Val)
}

// stored is a matrix as a reader of some format gives it, of columns by key only those: random values, and a row more, which is
// none of the weights.
func stored(p *graph.Param, keys []int64, kind int, seed uint64) matrix.Block {
	cols := p.Cols
	if p.Features {
		cols = int64(len(keys))
	}
	rng, rows := rand.New(rand.NewPCG(seed, 7)), p.Rows
	vals := make([]float32, rows*cols)
	for i := range vals {
		vals[i] = rng.Float32() - 0.5
	}
	if !p.Features {
		return matrix.Block{At: p.Rect(), Data: &matrix.Dense[float32]{Val: vals}}
	}
	at := matrix.At(0, rows+1, 0, p.Cols)
	all := &matrix.Cols[float32]{Idx: keys}
	for c := range cols {
		all.Val = append(append(all.Val, vals[c*rows:(c+1)*rows]...), 99)
	}
	b := matrix.Block{At: at, Data: all}
	switch kind {
	case 1:
		return b.ToCSR()
	case 2:
		coo := &matrix.COO[float32]{}
		for i, v := range all.Val {
			coo.Row, coo.Col = append(coo.Row, int64(i)%(rows+1)), append(coo.Col, keys[i/int(rows+1)])
			coo.Val = append(coo.Val, v)
		}
		return matrix.Block{At: at, Data: coo}
	case 3:
		return b.ToDense()
	}
	return b
}

// BenchmarkScore is scoring of examples in memory: 39 fields, vectors of 8, a million columns, of which a part is there; and of clicks, whose
// columns are rare and frequent ones, and of which some miss some.
func BenchmarkScore(b *testing.B) {
	const fields, each, rows = 39, 25600, 8192
	even := sync.OnceValue(func() *data.Set {
		x := fieldRows(rows, fields, each, 1, 1)
		x.Field, x.Fields = nil, 0
		return set(x)
	})
	for _, name := range []string{"lr", "fm", "deepfm"} {
		for _, c := range []struct {
			what string
			rows int
			of   func() *data.Set
			part int64
		}{{"", rows, even, 1}, {"/quarter", rows, even, 4}, {"/sixteenth", rows, even, 16}, {"/clicks", 8 * rows, clicks, 1}} {
			b.Run(name+c.what, func(b *testing.B) {
				all := c.of()
				a, err := algo.Find(name)
				if err != nil {
					b.Fatal(err)
				}
				m, err := a.Build(algo.Conf{Dim: all.Dim(), Size: algo.Size{Fields: fields}})
				if err != nil {
					b.Fatal(err)
				}
				var keys []int64
				for k := int64(0); k < all.Dim(); k += c.part {
					keys = append(keys, k)
				}
				columns := &data.Columns{Hi: all.Dim()}
				if c.part > 1 {
					columns.Keys = keys
				}
				table, err := graph.NewTable(m, columns)
				if err != nil {
					b.Fatal(err)
				}
				for i, p := range m.Params() { // weights of zero may all be one page of memory
					if err := table.Set(p.Name, stored(&p, keys, 0, uint64(i))); err != nil {
						b.Fatal(err)
					}
				}
				scorer, err := graph.NewScorer(m, table)
				if err != nil {
					b.Fatal(err)
				}
				var parts []*data.Batch
				for lo := 0; lo < c.rows; lo += stepBatch {
					parts = append(parts, all.Slice(lo, lo+stepBatch))
				}
				before := cpu()
				for b.Loop() {
					for _, one := range parts {
						if _, err := scorer.Score(one); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(c.rows)*float64(b.N)/(cpu()-before).Seconds(), "rows/CPU-s")
			})
		}
	}
}
