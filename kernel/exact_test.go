package kernel

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// oracle is a sum with as many bits as it takes.
type oracle struct {
	sum                *big.Float
	plus, minus, isNaN bool
}

const oracleBits = 4600

func newOracle() *oracle { return &oracle{sum: new(big.Float).SetPrec(oracleBits)} }

func bigOf(v float64) *big.Float { return new(big.Float).SetPrec(oracleBits).SetFloat64(v) }

func (o *oracle) add(v float64) {
	o.plus, o.minus, o.isNaN = o.plus || math.IsInf(v, 1), o.minus || math.IsInf(v, -1), o.isNaN || v != v
	if v-v == 0 {
		o.sum.Add(o.sum, bigOf(v))
	}
}

func (o *oracle) addProduct(a, b float64) {
	if a-a != 0 || b-b != 0 {
		o.add(a * b)
		return
	}
	p := bigOf(a)
	o.sum.Add(o.sum, p.Mul(p, bigOf(b)))
}

func (o *oracle) value() float64 {
	switch {
	case o.isNaN || o.plus && o.minus:
		return math.NaN()
	case o.plus:
		return math.Inf(1)
	case o.minus:
		return math.Inf(-1)
	}
	v, _ := o.sum.Float64()
	return v + 0
}

// nasty draws values of which sums go wrong: of all sizes, that cancel, at the ends of the range; rarely not finite.
func nasty() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.Float64(), rapid.Float64Range(-1, 1), rapid.Float64Range(1, 2), rapid.Float64Range(0, 0x1p-1000),
		rapid.Float64Range(0x1p-540, 0x1p-530), rapid.Map(rapid.Int64(), func(v int64) float64 { return float64(v) }),
		rapid.SampledFrom([]float64{
			math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 0x1p-1022, 1, -1, 0,
			math.Copysign(0, -1), 0x1p-53, 0x1p53, 0x1p-149, math.MaxFloat32, 0x1p-126, 0x1p-540, 1 + 0x1p-52, 1 - 0x1p-53,
		}))
}

// nastySlice is long enough for the fast ways; most of it looks like data, and a few values are nasty.
func nastySlice[T Float](t *rapid.T, n int, name string) []T {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, name+" seed"), 1))
	at := float64(rapid.SampledFrom([]int{0, 0, 0, 100, -100, 500, -500, -530, -560, 1000, -1000, -1060}).Draw(t, name+" at"))
	spread := rapid.SampledFrom([]float64{0, 1, 20, 35, 60, 300}).Draw(t, name+" spread")
	v := make([]T, n)
	for i := range v {
		v[i] = T(r.NormFloat64() * math.Pow(2, at+spread*(r.Float64()-0.5)))
		if math.IsInf(float64(v[i]), 0) {
			v[i] = T(math.Float32frombits(r.Uint32() & 0xbfffffff))
		}
	}
	for range rapid.IntRange(0, 4).Draw(t, name+" how many") {
		if n > 0 {
			v[rapid.IntRange(0, n-1).Draw(t, "place")] = T(nasty().Draw(t, "value"))
		}
	}
	if n > 0 && rapid.IntRange(0, 9).Draw(t, name+" special") == 0 {
		odd := rapid.SampledFrom([]float64{math.Inf(1), math.Inf(-1), math.NaN()})
		v[rapid.IntRange(0, n-1).Draw(t, "place")] = T(odd.Draw(t, "value"))
	}
	return v
}

func lengthOf(t *rapid.T) int {
	return rapid.SampledFrom([]int{0, 1, 5, 31, 32, 33, 64, 100, 2047, 2048, 2049, 2080, 4500}).Draw(t, "n")
}

// Sums, of every element type and at every level, are what arbitrary precision says, rounded once.
func exactAlike[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := lengthOf(t)
		a := nastySlice[T](t, n, "a")
		b := nastySlice[T](t, n, "b")
		if rapid.Bool().Draw(t, "square") {
			b = a
		}
		how := rapid.SampledFrom([]terms{valuesOf, absOf, productsOf}).Draw(t, "terms")
		want := newOracle()
		for i, v := range a {
			switch how {
			case valuesOf:
				want.add(float64(v))
			case absOf:
				want.add(math.Abs(float64(v)))
			case productsOf:
				want.addProduct(float64(v), float64(b[i]))
			}
		}
		first := rapid.IntRange(-1100, 1100).Draw(t, "scale") // what was added before changes no sum
		failed := rapid.SampledFrom([]int{0, 4 * failure}).Draw(t, "failed")
		var all [][]byte
		for on := plain; on <= machine; on++ {
			e := &Exact{scale: min(max(first, leastScale), mostScale), failed: failed}
			addFloats(on, e, a, b, how)
			if got := e.Value(); !identical(got, want.value()) {
				t.Fatalf("level %d, terms %d of %d: %v, want %v", on, how, n, got, want.value())
			}
			all = append(all, e.Append(nil))
		}
		for on, b := range all {
			if !bytes.Equal(b, all[0]) {
				t.Fatalf("bytes of level %d are %x, want %x", on, b, all[0])
			}
		}
	})
}

// identical compares bits; any NaN is as good as another.
func identical(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

func TestExactSums(t *testing.T) {
	t.Run("32", exactAlike[float32])
	t.Run("64", exactAlike[float64])
}

// The fast way is taken for data as it is; otherwise the tests above would pass while it is never used.
func TestSlicesSuffice(t *testing.T) {
	for on := plain; on <= machine; on++ {
		for _, how := range []terms{valuesOf, absOf, productsOf} {
			x, y := random[float64](chunk), random[float64](chunk + 1)[1:]
			for _, failed := range []int{0, 4 * failure} {
				e := &Exact{scale: firstScale(x, y, how), failed: failed}
				if n, added := addSlicesOn(on, e, x, y, how); !added || n != chunk {
					t.Errorf("level %d, terms %d, failed %d: %v, %d values", on, how, failed, added, n)
				}
			}
		}
	}
}

// A sum does not depend on how what is added is cut and grouped, and survives being bytes.
func TestExactCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vs := rapid.SliceOfN(nasty(), 0, 40).Draw(t, "values")
		cut := rapid.IntRange(0, len(vs)).Draw(t, "cut")
		one, two, want := &Exact{}, &Exact{}, newOracle()
		AddAll(one, vs[:cut])
		for _, v := range slices.Backward(vs[cut:]) {
			two.Add(v)
		}
		for _, v := range vs {
			want.add(v)
		}
		read, rest, err := ParseExact(two.Append(nil))
		if err != nil || len(rest) != 0 {
			t.Fatal(rest, err)
		}
		before := *read
		one.Merge(read)
		if got := one.Value(); !identical(got, want.value()) {
			t.Fatalf("sum of %v is %v, want %v", vs, got, want.value())
		}
		if *read != before {
			t.Fatal("a sum that was merged into another has changed")
		}
	})
}

func TestExactSpecial(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range [][3]float64{{inf, 1, inf}, {-inf, math.MaxFloat64, -inf}, {inf, -inf, nan}, {nan, 1, nan}, {inf, inf, inf}} {
		e := &Exact{}
		e.Add(c[0])
		e.Add(c[1])
		if got := e.Value(); !identical(got, c[2]) {
			t.Errorf("%v + %v = %v, want %v", c[0], c[1], got, c[2])
		}
		if v, ok := e.Int(); ok {
			t.Errorf("%v + %v is the integer %d", c[0], c[1], v)
		}
	}
	e := &Exact{}
	AddProducts(e, []float64{math.MaxFloat64, 0x1p-1074}, []float64{math.MaxFloat64, 0x1p-1074})
	if got := e.Value(); got != inf {
		t.Errorf("a sum beyond float64 is %v", got)
	}
	AddProducts(e, []float64{math.MaxFloat64}, []float64{-math.MaxFloat64})
	if got := e.Value(); got != 0 {
		t.Errorf("2^-2148 is %v, want 0, to which it is rounded", got)
	}
	AddProducts(e, []float64{-0x1p-1074}, []float64{0x1p-1074})
	if got := e.Append(nil); !bytes.Equal(got, make([]byte, exactHead)) {
		t.Errorf("nothing is %x", got)
	}
}

func TestExactTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := nasty().Draw(t, "v")
		n := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, 1, -1, math.MinInt64, math.MaxInt64})).Draw(t, "n")
		e := &Exact{}
		e.AddTimes(v, n)
		p := bigOf(v)
		want, _ := p.Mul(p, new(big.Float).SetPrec(oracleBits).SetInt64(n)).Float64()
		if got := e.Value(); got != want {
			t.Fatalf("%v times %d is %v, want %v", v, n, got, want)
		}
	})
	for _, c := range []struct {
		v    float64
		n    int64
		want float64
	}{{math.Inf(1), -3, math.Inf(-1)}, {math.Inf(1), 0, 0}, {math.NaN(), 2, math.NaN()}, {math.NaN(), 0, 0}} {
		e := &Exact{}
		if e.AddTimes(c.v, c.n); !identical(e.Value(), c.want) {
			t.Errorf("%v times %d is %v, want %v", c.v, c.n, e.Value(), c.want)
		}
	}
}

func exactInts[T int64 | int32](t *testing.T, draw *rapid.Generator[T], low, high T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(draw, rapid.SampledFrom([]T{low, low + 1, high, 0, 1, -1}))
		a := rapid.SliceOfN(v, 0, 70).Draw(t, "a")
		b := rapid.SliceOfN(v, len(a), len(a)).Draw(t, "b")
		sum, abs, squares, products := new(big.Int), new(big.Int), new(big.Int), new(big.Int)
		for i := range a {
			x, y := big.NewInt(int64(a[i])), big.NewInt(int64(b[i]))
			sum.Add(sum, x)
			abs.Add(abs, new(big.Int).Abs(x))
			squares.Add(squares, new(big.Int).Mul(x, x))
			products.Add(products, new(big.Int).Mul(x, y))
		}
		for _, c := range []struct {
			name string
			want *big.Int
			add  func(e *Exact)
		}{
			{"sum", sum, func(e *Exact) { AddAll(e, a) }},
			{"sum in pure Go", sum, func(e *Exact) { addInts(plain, e, a) }},
			{"abs", abs, func(e *Exact) { AddAbs(e, a) }},
			{"squares", squares, func(e *Exact) { AddSquares(e, a) }},
			{"products", products, func(e *Exact) { AddProducts(e, a, b) }},
		} {
			e := &Exact{}
			c.add(e)
			want, _ := new(big.Float).SetInt(c.want).Float64()
			if got := e.Value(); got != want {
				t.Fatalf("%s is %v, want %v", c.name, got, want)
			}
			if got, ok := e.Int(); ok != c.want.IsInt64() || ok && got != c.want.Int64() {
				t.Fatalf("%s is the integer %d, %v, want %v", c.name, got, ok, c.want)
			}
			e.Add(0.5)
			if got, ok := e.Int(); ok {
				t.Fatalf("%s and a half is the integer %d", c.name, got)
			}
		}
	})
}

func TestExactInts(t *testing.T) {
	t.Run("32", func(t *testing.T) { exactInts(t, rapid.Int32(), math.MinInt32, math.MaxInt32) })
	t.Run("64", func(t *testing.T) { exactInts(t, rapid.Int64(), math.MinInt64, math.MaxInt64) })
}

// The carries of 2^30 additions that all go one way fit.
func TestExactCarry(t *testing.T) {
	e := &Exact{pending: carryAt - 3}
	for i := range e.limbs[:limbs-1] {
		e.limbs[i] = 1<<62 - 1
	}
	before := *e
	before.carry()
	for range 6 {
		e.Add(-math.MaxFloat64)
		e.Add(math.MaxFloat64)
		e.AddProduct(math.MaxFloat64, math.MaxFloat64)
		e.AddProduct(-math.MaxFloat64, math.MaxFloat64)
	}
	e.carry()
	if e.limbs != before.limbs {
		t.Error("adding and taking away changed the sum")
	}
}

// What is read as a sum is written as the same bytes; anything else is an error.
func FuzzParseExact(f *testing.F) {
	for _, v := range []float64{0, 1, -1.5, math.MaxFloat64, -math.SmallestNonzeroFloat64, math.Inf(1), math.NaN()} {
		e := &Exact{}
		e.AddTimes(v, 3)
		f.Add(append(e.Append(nil), 7))
	}
	f.Add([]byte{8, 0, 0, 0, 0})
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 0, 0})
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, rest, err := ParseExact(b)
		if err != nil {
			return
		}
		used := b[:len(b)-len(rest)]
		if got := e.Append(nil); !bytes.Equal(got, used) {
			t.Errorf("%x is read and written as %x", used, got)
		}
		e.Merge(e)
		_ = e.Value()
	})
}

// Nothing is allocated, whatever way the values take.
func TestExactAllocatesNothing(t *testing.T) {
	x, y := random[float64](3*chunk+7), random[float32](3*chunk+7)
	e := &Exact{}
	for name, add := range map[string]func(){
		"sum": func() { AddAll(e, x) }, "sum 32": func() { AddAll(e, y) }, "squares": func() { AddSquares(e, x) },
		"products 32": func() { AddProducts(e, y, y) },
	} {
		if n := testing.AllocsPerRun(10, add); n != 0 {
			t.Errorf("%s allocates %v times, want 0", name, n)
		}
	}
}

// One value among ones that does not fit with them in slices, or of whose square not all is a float64.
func TestExactTraps(t *testing.T) {
	traps := []float64{0x1p-1074, 0x1.8p-1030, 0x1.0000001p-600, 0x1.0000001p-540, 0x1.0000001p-510, 0x1.0000001p-485, 0x1.0000001p-300,
		0x1.0000001p-90, 0x1.0000001p-60, 0x1.0000001p-40, 1 + 0x1p-52, 0x1.0000001p9, 0x1.0000001p14, 0x1p60, 0x1.0000001p200,
		0x1p900, math.MaxFloat64, math.Inf(-1), math.NaN()}
	for on := plain; on <= machine; on++ {
		for _, trap := range traps {
			for _, with := range []float64{0, 1, -0x1.0000001p-3, 0x1p-500} {
				x := make([]float64, 96)
				for i := range x {
					x[i] = with
				}
				x[37] = trap
				for _, how := range []terms{valuesOf, absOf, productsOf} {
					for _, failed := range []int{0, 4 * failure} {
						e, want := &Exact{scale: firstScale(x[40:], x[40:], how), failed: failed}, newOracle()
						for _, v := range x {
							switch how {
							case valuesOf:
								want.add(v)
							case absOf:
								want.add(math.Abs(v))
							case productsOf:
								want.addProduct(v, v)
							}
						}
						addFloats(on, e, x, x, how)
						one := &Exact{} // by one, which also says what is below all float64
						addEach(one, x, x, how)
						if got, want := e.Append(nil), one.Append(nil); !bytes.Equal(got, want) {
							t.Errorf("level %d, %v among %v, terms %d: %x, want %x", on, trap, with, how, got, want)
						}
						e.Add(-want.value()) // what is left says more than what is rounded
						want.add(-want.value())
						if got := e.Value(); !identical(got, want.value()) {
							t.Errorf("level %d, %v among %v, terms %d: %v is left, want %v", on, trap, with, how, got, want.value())
						}
					}
				}
			}
		}
	}
}
