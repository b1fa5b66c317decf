package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"
)

// lengths are those around every block size of the kernels.
func lengths() []int {
	all := []int{63, 64, 65, 100, 1023, 1024, 1025, 1056, 2048 + 32, 3000}
	for n := range 50 {
		all = append(all, n)
	}
	return all
}

func random[T Float](n int) []T {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	x := make([]T, n)
	for i := range x {
		x[i] = T(r.NormFloat64())
	}
	return x
}

func clone[T any](x []T) []T { return append([]T(nil), x...) }

func sameBits[T Float](t *testing.T, what string, got, want []T) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] && (got[i] == got[i] || want[i] == want[i]) {
			t.Fatalf("%s: element %d of %d is %v, want %v", what, i, len(want), got[i], want[i])
		}
	}
}

// orderedDot is Dot as its contract words the order of sums.
func orderedDot[T Float](x, y []T) T {
	var a [32]T
	var s [8]T
	i := 0
	for ; i < len(x)&^31; i++ {
		a[i%32] += T(x[i] * y[i])
	}
	for j := range 8 {
		s[j] = (a[j] + a[j+8]) + (a[j+16] + a[j+24])
	}
	for ; i < len(x)&^7; i++ {
		s[i%8] += T(x[i] * y[i])
	}
	total := ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
	for ; i < len(x); i++ {
		total += T(x[i] * y[i])
	}
	return total
}

func ones[T Float](n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

// vectors holds every table to plain loops, bit for bit.
func vectors[T Float](t *testing.T) {
	for _, k := range tables[T]() {
		for _, n := range lengths() {
			x, y, a := random[T](n), random[T](n + 1)[1:], T(-1.7)
			got, want := clone(y), clone(y)
			k.axpy(a, x, got)
			for i := range want {
				want[i] += T(a * x[i])
			}
			sameBits(t, k.name+" axpy", got, want)

			got, want = clone(y), clone(y)
			k.add(x, got)
			for i := range want {
				want[i] += x[i]
			}
			sameBits(t, k.name+" add", got, want)

			got, want = clone(x), clone(x)
			k.scale(a, got)
			for i := range want {
				want[i] *= a
			}
			sameBits(t, k.name+" scale", got, want)

			sameBits(t, k.name+" dot", []T{k.dot(x, y)}, []T{orderedDot(x, y)})
			sameBits(t, k.name+" sum", []T{k.sum(x)}, []T{orderedDot(x, ones[T](n))})
		}
	}
}

func TestVectors(t *testing.T) {
	t.Run("32", vectors[float32])
	t.Run("64", vectors[float64])
}

func TestDotAgainstBlas(t *testing.T) {
	for _, n := range lengths() {
		x, y := random[float64](n), random[float64](n + 1)[1:]
		want := blas64.Dot(blas64.Vector{N: n, Data: x, Inc: 1}, blas64.Vector{N: n, Data: y, Inc: 1})
		if got := Dot64(x, y); math.Abs(got-want) > 1e-12*float64(n+1) {
			t.Errorf("%d elements: %v, want %v", n, got, want)
		}
	}
}

func TestWrongLengthsPanic(t *testing.T) {
	x := make([]float32, 3)
	for name, f := range map[string]func(){
		"axpy":    func() { Axpy(1, x, x[:2]) },
		"dot":     func() { Dot(x[:2], x) },
		"add":     func() { Add(x, x[:2]) },
		"gemm":    func() { Gemm(1, 3, 2, x[:2], x, x) },
		"sigmoid": func() { Sigmoid(x, x[:2]) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s took lengths that do not fit", name)
				}
			}()
			f()
		}()
	}
}
