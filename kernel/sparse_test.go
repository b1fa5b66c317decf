package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// oneRun is a run of rows of 0 to 40 values, of places that come again and again.
func oneRun(r *rand.Rand, n int, withAt, withX bool) *sparseCall {
	c := &sparseCall{n: n, Sparse: Sparse{Ptr: []int{5}}}
	for range r.IntN(6) {
		c.Ptr = append(c.Ptr, c.Ptr[len(c.Ptr)-1]+r.IntN(41)*r.IntN(2))
	}
	c.values = c.Ptr[len(c.Ptr)-1] - 5
	places := c.values
	if withAt {
		places = 7
		c.At = make([]uint32, c.values)
		for i := range c.At {
			c.At[i] = uint32(r.IntN(places))
		}
	}
	if withX {
		c.X = numbers(r, c.values)
	}
	c.src = numbers(r, places*n)
	return c
}

// numbers are random, at times none or infinite.
func numbers(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
		if r.IntN(500) == 0 {
			x[i] = []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), -math.MaxFloat32, 1e-42}[r.IntN(6)]
		}
	}
	return x
}

// plainSparse are the kernels as their contracts word them. They write dst, and sums where they have them.
var plainSparse = [sparseKernels]func(c *sparseCall){
	embedRows: func(c *sparseCall) {
		eachPlain(c, func(_, i, j, at int, x float32) { c.dst[i*c.n+j] = x * c.src[at] })
	},
	embedRowsGrad: func(c *sparseCall) {
		eachPlain(c, func(_, i, j, at int, x float32) { c.dst[at] += float32(x * c.grad[i*c.n+j]) })
	},
	axpyRows: func(c *sparseCall) {
		eachPlain(c, func(_, i, j, at int, x float32) { c.dst[at] += float32(x * c.grad[int(c.from[i])*c.n+j]) })
	},
	linearRows: func(c *sparseCall) {
		eachPlain(c, func(r, _, j, at int, x float32) { c.dst[r*c.n+j] += float32(x * c.src[at]) })
	},
	linearRowsGrad: func(c *sparseCall) {
		eachPlain(c, func(r, _, j, at int, x float32) { c.dst[at] += float32(x * c.grad[r*c.n+j]) })
	},
	interactRows: func(c *sparseCall) { copy(c.dst, plainHalves(c)) },
	interactRowsSum: func(c *sparseCall) {
		half := plainHalves(c)
		for r := range c.rows() {
			var s [8]float32
			for j := range c.n {
				s[j%8] += half[r*c.n+j]
			}
			c.dst[r] = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
		}
	},
	interactRowsGrad: func(c *sparseCall) {
		eachPlain(c, func(r, _, j, at int, x float32) {
			c.dst[at] += float32(float32(x*c.grad[r*c.n+j]) * (c.sums[r*c.n+j] - float32(x*c.src[at])))
		})
	},
	interactRowsSumGrad: func(c *sparseCall) {
		eachPlain(c, func(r, _, j, at int, x float32) {
			c.dst[at] += float32(float32(x*c.grad[r]) * (c.sums[r*c.n+j] - float32(x*c.src[at])))
		})
	},
	dotRows: func(c *sparseCall) {
		sums := make([][4]float32, c.rows())
		eachPlain(c, func(r, i, _, at int, x float32) { sums[r][(i-c.Ptr[r]+c.Ptr[0])%4] += float32(x * c.src[at]) })
		for r, s := range sums {
			c.dst[r] += (s[0] + s[2]) + (s[1] + s[3])
		}
	},
	dotRowsGrad: func(c *sparseCall) {
		eachPlain(c, func(r, _, j, at int, x float32) { c.dst[at] += float32(x * c.grad[r]) })
	},
}

// plainHalves writes S, and returns (S*S - Q)/2.
func plainHalves(c *sparseCall) []float32 {
	clear(c.sums)
	half := make([]float32, len(c.sums))
	eachPlain(c, func(r, _, j, at int, x float32) {
		u := float32(x * c.src[at])
		c.sums[r*c.n+j] += u
		half[r*c.n+j] += float32(u * u)
	})
	for i, s := range c.sums {
		half[i] = 0.5 * (float32(s*s) - half[i])
	}
	return half
}

// eachPlain calls f for each number of each value: its row, value, column, and where in the matrix it is.
func eachPlain(c *sparseCall, f func(r, i, j, at int, x float32)) {
	r := 0
	for i := range c.values {
		for r+1 < len(c.Ptr) && i >= c.Ptr[r+1]-c.Ptr[0] {
			r++
		}
		row, x := i, float32(1)
		if c.At != nil {
			row = int(c.At[i])
		}
		if c.X != nil {
			x = c.X[i]
		}
		for j := range c.n {
			f(r, i, j, row*c.n+j, x)
		}
	}
}

// sparseSizes are the lengths of dst, sums and grad: values, rows, places and columns.
var sparseSizes = [sparseKernels]func(v, r, p, n int) (dst, sums, grad int){
	embedRows:           func(v, r, p, n int) (int, int, int) { return v * n, 0, 0 },
	embedRowsGrad:       func(v, r, p, n int) (int, int, int) { return p * n, 0, v * n },
	axpyRows:            func(v, r, p, n int) (int, int, int) { return p * n, 0, v * n },
	linearRows:          func(v, r, p, n int) (int, int, int) { return r * n, 0, 0 },
	linearRowsGrad:      func(v, r, p, n int) (int, int, int) { return p * n, 0, r * n },
	interactRows:        func(v, r, p, n int) (int, int, int) { return r * n, r * n, 0 },
	interactRowsGrad:    func(v, r, p, n int) (int, int, int) { return p * n, r * n, r * n },
	interactRowsSum:     func(v, r, p, n int) (int, int, int) { return r, r * n, 0 },
	interactRowsSumGrad: func(v, r, p, n int) (int, int, int) { return p * n, r * n, r },
	dotRows:             func(v, r, p, n int) (int, int, int) { return r, 0, 0 },
	dotRowsGrad:         func(v, r, p, n int) (int, int, int) { return p, 0, r },
}

// Every implementation of every kernel over sparse rows gives the bits of its contract, and writes nothing beside.
func TestSparse(t *testing.T) {
	const beside = 64
	for _, table := range sparseTables() {
		for k := range sparseKernels {
			for n := 1; n <= 70; n++ {
				if !table.fits(n) || (k == dotRows || k == dotRowsGrad) && n > 1 {
					continue
				}
				for seed := range 12 {
					r := rand.New(rand.NewPCG(uint64(n), uint64(seed)))
					c := oneRun(r, n, seed%2 == 0, seed%3 > 0)
					if c.rows() == 0 || k <= axpyRows && c.values == 0 || k == axpyRows && c.At == nil {
						continue
					}
					for range c.values {
						c.from = append(c.from, uint32(r.IntN(c.values)))
					}
					dst, sums, grad := sparseSizes[k](c.values, c.rows(), len(c.src)/n, n)
					c.dst, c.sums, c.grad = numbers(r, dst+beside), numbers(r, sums+beside), numbers(r, grad)
					want := *c
					want.dst, want.sums = clone(c.dst), clone(c.sums)
					full := [2][]float32{c.dst, c.sums}
					c.dst, c.sums = c.dst[:dst], c.sums[:sums]
					want.dst, want.sums = want.dst[:dst], want.sums[:sums]
					table.run[k](c)
					plainSparse[k](&want)
					what := fmt.Sprintf("%s: kernel %d, n %d, seed %d", table.name, k, n, seed)
					sameBits(t, what, full[0], want.dst[:dst+beside])
					sameBits(t, what+", sums", full[1], want.sums[:sums+beside])
				}
			}
		}
	}
}

func TestLargest(t *testing.T) {
	for n := range 100 {
		at := make([]uint32, n)
		for i := range at {
			at[i] = uint32(i)<<20 ^ 1<<31
			if got, want := largestOn(machine, at[:i+1]), uint32(i)<<20^1<<31; got != want {
				t.Fatalf("largest of %d is %d, want %d", i+1, got, want)
			}
			if i > 0 {
				at[i], at[0] = at[0], at[i]
			}
		}
	}
}

// Worked values of a layer over a row of three values with two factors each.
func TestInteractWorked(t *testing.T) {
	v := []float32{0.1, 0.2, -0.3, 0.4, 0.5, -0.1}
	for _, c := range []struct {
		x, vector []float32
		sum       float32
		grad      []float32
	}{
		{nil, []float32{-0.13, 0.02}, -0.11, []float32{0.2, 0.3, 0.6, 0.1, -0.2, 0.6}},
		{[]float32{0.5, 2, 1}, []float32{-0.305, -0.01}, -0.315, []float32{-0.05, 0.35, 1.1, 0, -0.55, 0.9}},
	} {
		s := Sparse{Ptr: []int{0, 3}, At: []uint32{0, 1, 2}, X: c.x}
		out, sums, one, grad := make([]float32, 2), make([]float32, 2), make([]float32, 1), make([]float32, 6)
		Interact(out, sums, v, 2, s)
		InteractSum(one, sums, v, 2, s)
		InteractSumGrad(grad, []float32{1}, sums, v, 2, s)
		near(t, "vector", out, c.vector)
		near(t, "sum", one, []float32{c.sum})
		near(t, "gradient", grad, c.grad)
		again := make([]float32, 6)
		InteractGrad(again, []float32{1, 1}, sums, v, 2, s)
		near(t, "gradient of the vector", again, c.grad)
	}
}

func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Abs(float64(got[i]-want[i])) > 1e-6 {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
	}
}

// What does not fit panics before anything is written.
func TestSparsePanics(t *testing.T) {
	for name, s := range map[string]Sparse{
		"place outside":    {Ptr: []int{0, 2}, At: []uint32{0, 4}},
		"far outside":      {Ptr: []int{0, 2}, At: []uint32{1<<32 - 1, 0}},
		"too few places":   {Ptr: []int{0, 2}, At: []uint32{0}},
		"too many places":  {Ptr: []int{0, 2}, At: []uint32{0, 1, 2}},
		"too few factors":  {Ptr: []int{0, 2}, At: []uint32{0, 1}, X: []float32{1}},
		"a row backwards":  {Ptr: []int{0, 3, 2}, At: []uint32{0, 1}},
		"wrong rows":       {Ptr: []int{0, 2, 2}, At: []uint32{0, 1}},
		"no rows":          {At: []uint32{0}},
		"other than of at": {Ptr: []int{0, 2}},
	} {
		a, b := make([]float32, 4*2), []float32{1, 1}
		for kernel, run := range map[string]func(){
			"linear":   func() { Linear(a[:2], ones[float32](8), 2, s) },
			"linear 1": func() { Linear(a[:1], ones[float32](4), 1, s) },
			"grad":     func() { LinearGrad(a, b, 2, s) },
			"interact": func() { Interact(a[:2], a[2:4], ones[float32](8), 2, s) },
			"back":     func() { InteractGrad(a, b, b, ones[float32](8), 2, s) },
			"back sum": func() { InteractSumGrad(a, b[:1], b, ones[float32](8), 2, s) },
		} {
			if !panics(run) {
				t.Errorf("%s with %s did not panic", kernel, name)
			}
		}
		sameBits(t, name, a, make([]float32, len(a)))
	}
	for name, run := range map[string]func(){
		"no columns":  func() { Embed(nil, nil, 0, []uint32{0}, nil) },
		"place":       func() { Embed(make([]float32, 4), make([]float32, 6), 2, []uint32{2, 3}, nil) },
		"destination": func() { Embed(make([]float32, 3), make([]float32, 6), 2, []uint32{2, 1}, nil) },
		"grad":        func() { EmbedGrad(make([]float32, 6), make([]float32, 3), 2, []uint32{2, 1}, nil) },
		"row to":      func() { AxpyRows(make([]float32, 4), []uint32{0, 2}, make([]float32, 6), []uint32{0, 2}, 2, nil) },
		"row from":    func() { AxpyRows(make([]float32, 4), []uint32{0, 1}, make([]float32, 6), []uint32{3, 0}, 2, nil) },
		"from":        func() { AxpyRows(make([]float32, 4), []uint32{0, 1}, make([]float32, 6), []uint32{2}, 2, nil) },
		"factor": func() {
			AxpyRows(make([]float32, 4), []uint32{0, 1}, make([]float32, 6), []uint32{2, 0}, 2, []float32{1})
		},
	} {
		if !panics(run) {
			t.Errorf("embed with a wrong %s did not panic", name)
		}
	}
	Linear(nil, nil, 3, Sparse{})
	Embed(nil, nil, 3, []uint32{}, nil)
	AxpyRows(nil, nil, nil, nil, 3, nil)
}
