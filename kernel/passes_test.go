package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// oddNumbers are numbers that look like data, and some at which operations branch, overflow or wrap around.
func oddNumbers[T Number](r *rand.Rand, n int) []T {
	v := make([]T, n)
	for i := range v {
		switch any(v).(type) {
		case []float32, []float64:
			v[i] = T(r.NormFloat64())
			if r.IntN(4) == 0 {
				v[i] = T(odd[r.IntN(len(odd))])
			}
		case []int32:
			v[i] = T(int32(r.Uint32()) >> r.IntN(32))
			if r.IntN(8) == 0 {
				v[i] = T([]int32{math.MinInt32, math.MaxInt32, 0, 1, -1}[r.IntN(5)])
			}
		case []int64:
			v[i] = T(int64(r.Uint64()) >> r.IntN(64))
			if r.IntN(8) == 0 {
				v[i] = T([]int64{math.MinInt64, math.MaxInt64, 0, 1, -1}[r.IntN(5)])
			}
		}
	}
	return v
}

// same compares bits; any NaN is as good as another.
func same[T Number](a, b T) bool {
	return a == b && math.Signbit(float64(a)) == math.Signbit(float64(b)) || a != a && b != b
}

func sameAll[T Number](t *testing.T, what string, got, want []T) {
	t.Helper()
	for i := range want {
		if !same(got[i], want[i]) {
			t.Fatalf("%s: element %d of %d is %v, want %v", what, i, len(want), got[i], want[i])
		}
	}
}

// oneOp is an operation as its contract words it.
func oneOp[T Number](op Op, x, y T) T {
	switch op {
	case Plus:
		return x + y
	case Minus:
		return x - y
	case Times:
		return x * y
	case Over:
		if y == 0 && any(T(0)) != any(float32(0)) && any(T(0)) != any(float64(0)) {
			return 0
		}
		return x / y
	case Least:
		return min(x, y)
	}
	return max(x, y)
}

func oneChange[T Number](c change, x T) T {
	isInt := false
	switch any(x).(type) {
	case int32, int64:
		isInt = true
	}
	switch {
	case c == squareRoot:
		return T(math.Sqrt(float64(x)))
	case c == negation:
		return -x
	case isInt && x < 0:
		return -x
	case isInt:
		return x
	}
	return T(math.Abs(float64(x)))
}

// around are lengths around those that the passes in assembly go on by.
var around = []int{0, 1, 7, 15, 16, 17, 31, 32, 33, 64, 65, 200}

func passes[T Number](t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for on := plain; on <= machine; on++ {
		for _, n := range around {
			x, y := oddNumbers[T](r, n+1)[1:], oddNumbers[T](r, n)
			for op := range ops {
				want := make([]T, n)
				for i := range want {
					want[i] = oneOp(op, x[i], y[i])
				}
				for at := range 3 { // in a place of its own, over x, over y
					a, b, dst := clone(x), clone(y), make([]T, n)
					dst = [][]T{dst, a, b}[at]
					combine(on, op, dst, a, b)
					sameAll(t, fmt.Sprintf("level %d, operation %d, place %d", on, op, at), dst, want)
				}
			}
			for c := range changes {
				if _, isInt := any(x).([]int32); c == squareRoot && isInt {
					continue
				}
				if _, isInt := any(x).([]int64); c == squareRoot && isInt {
					continue
				}
				want := make([]T, n)
				for i := range want {
					want[i] = oneChange(c, x[i])
				}
				dst := make([]T, n)
				apply(on, c, dst, x)
				sameAll(t, fmt.Sprintf("level %d, change %d", on, c), dst, want)
				dst = clone(x)
				apply(on, c, dst, dst)
				sameAll(t, fmt.Sprintf("level %d, change %d in place", on, c), dst, want)
			}
			for range 3 {
				p := oddNumbers[T](r, 2)
				want, dst := make([]T, n), make([]T, n)
				for i := range want {
					want[i] = T(p[0]*x[i]) + p[1]
				}
				affine(on, dst, x, p[0], p[1])
				sameAll(t, fmt.Sprintf("level %d, %v x + %v", on, p[0], p[1]), dst, want)
			}
		}
	}
}

func TestPasses(t *testing.T) {
	t.Run("f32", passes[float32])
	t.Run("f64", passes[float64])
	t.Run("i32", passes[int32])
	t.Run("i64", passes[int64])
}

func fills[T Number](t *testing.T) {
	for on := plain; on <= machine; on++ {
		for _, n := range append([]int{pastCache/8 - 1, pastCache/4 + 33}, around...) {
			for off := range 9 {
				all := make([]T, n+off+8)
				fill(on, all[off:off+n], 3)
				for i, v := range all {
					if in := i >= off && i < off+n; in != (v == 3) || v != 3 && v != 0 {
						t.Fatalf("level %d, %d values from %d on: element %d is %v", on, n, off, i, v)
					}
				}
				if n > 1<<16 && off > 2 {
					break
				}
			}
		}
	}
}

func TestFill(t *testing.T) {
	t.Run("f32", fills[float32])
	t.Run("i64", fills[int64])
}
