package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// withFields is a run of rows whose values have fields, in any order and again and again, or by position.
func withFields(r *rand.Rand, fields, k int, byPosition bool) *fieldCall {
	c := &fieldCall{sparseCall: *oneRun(r, fields*k, r.IntN(4) > 0, r.IntN(4) > 0), fields: fields, k: k}
	if byPosition {
		return c
	}
	c.field = make([]int32, c.values)
	for i := range c.field {
		c.field[i] = int32(r.IntN(fields))
	}
	return c
}

// eachPairPlain calls f for each pair of values of each row: where v_i[field j] and v_j[field i] begin, and both x.
func eachPairPlain(c *fieldCall, f func(row, i, j int, vij, vji int, xi, xj float32)) {
	one := func(row, i int) (at, field int, x float32) {
		at, field, x = i, i-(c.Ptr[row]-c.Ptr[0]), 1
		if c.At != nil {
			at = int(c.At[i])
		}
		if c.field != nil {
			field = int(c.field[i])
		}
		if c.X != nil {
			x = c.X[i]
		}
		return at, field, x
	}
	for row := range c.rows() {
		lo, hi := c.Ptr[row]-c.Ptr[0], c.Ptr[row+1]-c.Ptr[0]
		for i := lo; i < hi; i++ {
			for j := i + 1; j < hi; j++ {
				ai, fi, xi := one(row, i)
				aj, fj, xj := one(row, j)
				f(row, i, j, (ai*c.fields+fj)*c.k, (aj*c.fields+fi)*c.k, xi, xj)
			}
		}
	}
}

// Every implementation has the bits of plain loops as the contract words them, and writes nothing beside.
func TestFieldPairs(t *testing.T) {
	const fields, beside = 41, 32
	for on := plain; on <= machine; on++ {
		for k := 1; k <= 17; k++ {
			for seed := range 12 {
				r := rand.New(rand.NewPCG(uint64(k), uint64(seed)))
				c := withFields(r, fields, k, seed%3 == 0)
				sums := make([][8]float32, c.values) // of each i
				eachPairPlain(c, func(_, i, _, vij, vji int, _, xj float32) {
					for l := range k {
						sums[i][l%8] += float32(float32(c.src[vij+l]*c.src[vji+l]) * xj)
					}
				})
				out := numbers(r, c.rows()+beside)
				want := clone(out)
				for row := range c.rows() {
					var s [8]float32
					for i := c.Ptr[row] - c.Ptr[0]; i < c.Ptr[row+1]-c.Ptr[0]; i++ {
						for l := range s {
							x := float32(1)
							if c.X != nil {
								x = c.X[i]
							}
							s[l] += float32(sums[i][l] * x)
						}
					}
					want[row] = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
				}
				what := fmt.Sprintf("level %d, k %d, seed %d", on, k, seed)
				c.dst = out[:c.rows()]
				fieldPairs(on, c)
				sameBits(t, what, out, want)

				grad, dsrc := numbers(r, c.rows()), numbers(r, len(c.src)+beside)
				want = clone(dsrc)
				eachPairPlain(c, func(row, _, _, vij, vji int, xi, xj float32) {
					w := float32(grad[row]*xi) * xj
					for l := range k {
						want[vij+l] += float32(w * c.src[vji+l])
					}
					for l := range k {
						want[vji+l] += float32(w * c.src[vij+l])
					}
				})
				c.dst, c.grad = dsrc[:len(c.src)], grad
				fieldPairsGrad(on, c)
				sameBits(t, what+", back", dsrc, want)
			}
		}
	}
}

// Rows of as many values as the assembly takes, and of more.
func TestFieldPairsLong(t *testing.T) {
	const fields, k = 5, 4
	r := rand.New(rand.NewPCG(6, 6))
	c := &fieldCall{fields: fields, k: k, sparseCall: sparseCall{n: fields * k, src: random[float32](9 * fields * k), grad: []float32{1, 2}}}
	c.Ptr = []int{0, fieldRowValues, 2*fieldRowValues + 1}
	for range c.Ptr[2] {
		c.At, c.X = append(c.At, uint32(r.IntN(9))), append(c.X, float32(r.NormFloat64()))
		c.field = append(c.field, int32(r.IntN(fields)))
	}
	var outs, grads [2][]float32
	for i, on := range []level{plain, machine} {
		outs[i], grads[i] = make([]float32, 2), make([]float32, len(c.src))
		c.dst = outs[i]
		fieldPairs(on, c)
		c.dst = grads[i]
		fieldPairsGrad(on, c)
	}
	sameBits(t, "sums", outs[1], outs[0])
	sameBits(t, "gradients", grads[1], grads[0])
}

// The gradient is that of the sum, by central differences.
func TestFieldPairsSlope(t *testing.T) {
	const fields, k, h = 3, 4, 1.0 / 64
	s := Sparse{Ptr: []int{0, 3}, At: []uint32{2, 0, 1}, X: []float32{1, 0.5, -2}}
	field := []int32{0, 2, 1}
	v := random[float32](3 * fields * k)
	dv, out := make([]float32, len(v)), make([]float32, 1)
	FieldPairsGrad(dv, []float32{1}, v, fields, k, s, field)
	for i, old := range v {
		var ends [2]float64
		for e, by := range []float32{h, -h} {
			v[i] = old + by
			FieldPairs(out, v, fields, k, s, field)
			ends[e] = float64(out[0])
		}
		v[i] = old
		if slope := (ends[0] - ends[1]) / (2 * h); math.Abs(slope-float64(dv[i])) > 1e-4 {
			t.Errorf("slope of number %d: %v, want %v", i, dv[i], slope)
		}
	}
}

func TestFieldPairsPanics(t *testing.T) {
	src, s := make([]float32, 4*6), Sparse{Ptr: []int{0, 2}, At: []uint32{0, 3}}
	out := []float32{7}
	for name, wrong := range map[string]func(){
		"field":     func() { FieldPairs(out, src, 3, 2, s, []int32{0, 3}) },
		"below 0":   func() { FieldPairs(out, src, 3, 2, s, []int32{0, -1}) },
		"fields":    func() { FieldPairs(out, src, 3, 2, s, []int32{0}) },
		"positions": func() { FieldPairs(out, src, 1, 6, s, nil) },
		"place":     func() { FieldPairs(out, src[:18], 3, 2, s, []int32{0, 1}) },
		"k":         func() { FieldPairs(out, src, 3, 0, s, []int32{0, 1}) },
		"out":       func() { FieldPairs(make([]float32, 2), src, 3, 2, s, []int32{0, 1}) },
		"gradient":  func() { FieldPairsGrad(src, make([]float32, 2), make([]float32, 24), 3, 2, s, []int32{0, 1}) },
		"no grad":   func() { FieldPairsGrad(src, nil, make([]float32, 24), 3, 2, s, []int32{0, 1}) },
		"dsrc":      func() { FieldPairsGrad(src[:18], out, make([]float32, 24), 3, 2, s, []int32{0, 1}) },
	} {
		if !panics(wrong) {
			t.Errorf("a wrong %s did not panic", name)
		}
	}
	if out[0] != 7 {
		t.Error("written before it was checked")
	}
	sameBits(t, "gradient", src, make([]float32, len(src)))
}

func BenchmarkFieldPairs(b *testing.B) {
	const fields = 39
	for _, k := range []int{4, 8} {
		runs := clicks(fields * k)
		for on := plain; on <= min(machine, avx2); on++ {
			for name, f := range map[string]func(level, *fieldCall){"Sum": fieldPairs, "Grad": fieldPairsGrad} {
				b.Run(fmt.Sprintf("%s/k=%d/%d", name, k, on), func(b *testing.B) {
					out, d := make([]float32, 256), random[float32](256)
					for i := 0; b.Loop(); i++ {
						c := fieldCall{sparseCall: runs[i%len(runs)], fields: fields, k: k}
						c.grad = d
						if name == "Sum" {
							c.dst = out
						}
						f(on, &c)
					}
					b.ReportMetric(256*float64(b.N)/float64(b.Elapsed().Microseconds()), "Mrows/s")
				})
			}
		}
	}
}
