package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// every rule with settings that go through all of its branches.
func allRules() map[string]Rule {
	return map[string]Rule{
		"sgd": SGD(0.1, 0, 0.01), "sgd l1": SGD(0.1, 0.2, 0.01), "momentum": Momentum(0.1, 0.9, 0.01),
		"adagrad": Adagrad(0.1, 1e-10, 0, 0), "adagrad l1": Adagrad(0.1, 0, 0.3, 0.01),
		"nesterov": Nesterov(0.1, 0.9, 0.01), "rmsprop": RMSProp(0.1, 0.99, 1e-8, 0.01), "rmsprop bare": RMSProp(0.1, 0, 0, 0),
		"adadelta": Adadelta(1, 0.9, 0.9, 1e-6, 0.01), "adadelta bare": Adadelta(1, 0.9, 0.9, 0, 0), "adadelta twice": Adadelta(1, 0.9, 0.5, 1e-6, 0.01),
		"adamw": AdamW(0.1, 0.9, 0.999, 1e-8, 0.01, 3), "adamw bare": AdamW(0.1, 0, 0, 0, 0, 1),
		"amsgrad": AMSGrad(0.1, 0.9, 0.999, 1e-8, 0.01, 3), "amsgrad bare": AMSGrad(0.1, 0.9, 0, 0, 0, 1),
		"adam": Adam(0.1, 0.9, 0.999, 1e-8, 0.01, 3), "adam bare": Adam(0.1, 0, 0, 0, 0, 1),
		"ftrl": FTRL(0.1, 0, 1, 0.2, 0.01, false), "ftrl fixed": FTRL(0.5, 0.1, 1, 0.2, 0.01, false),
		"ftrl warm": FTRL(0.5, 0.1, 1, 0.2, 0.01, true), "ftrl bare": FTRL(0.5, 0.1, 0, 0, 0, true),
		"ftrl rate 0": FTRL(0, 0, 1, 0.2, 0.01, false), "add": {kind: addition}, "sgd away": SGD(-0.1, 0.2, 0),
	}
}

// odd are numbers at which rules branch or leave the numbers that are.
var odd = []float64{0, math.Copysign(0, -1), 1, -1, 1e-30, -1e-30, 1e-45, 1e38, -1e38, math.Inf(1), math.Inf(-1), math.NaN()}

func oddly[T Float](r *rand.Rand, v []T, share float64) {
	for i := range v {
		v[i] = T(r.NormFloat64())
		if r.Float64() < share {
			v[i] = T(odd[r.IntN(len(odd))])
		}
	}
}

// sameNumbers compares bits; any NaN is as good as another.
func sameNumbers[T Float](a, b T) bool {
	return a == b && math.Signbit(float64(a)) == math.Signbit(float64(b)) || a != a && b != b
}

// Every implementation of a rule makes, of every row, the same bits as the rule for cells in pure Go, and touches no other.
func rulesAlike[T Float](t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, rule := range allRules() {
		for _, table := range tables[T]() {
			for _, dim := range []int{1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 40, 64, 65} {
				next, stride := dim+r.IntN(3), 0
				stride = (1+mostSlots)*next + r.IntN(4)
				if dim%16 == 0 && r.IntN(2) == 0 { // whole lines
					next, stride = dim, (1+mostSlots)*dim
				}
				const rows = 9
				slab := make([]T, rows*stride)
				oddly(r, slab, 0.3)
				for i := range rows { // most sums of squares are positive
					for j := range 2 * next {
						slab[i*stride+2*next+j] = T(math.Abs(float64(slab[i*stride+2*next+j])))
					}
				}
				b := Batch[T]{Slab: slab, Stride: stride, Dim: dim, Next: next, Rows: []uint32{8, 1, 3, 4}, Scale: 0.25}
				want := clone(slab)
				for _, row := range b.Rows {
					g := make([]T, dim)
					oddly(r, g, 0.3)
					b.Grad = append(b.Grad, &g[0])
					val, scaled := want[int(row)*stride:], make([]T, dim)
					for j := range g {
						scaled[j] = (0 + g[j]) * b.Scale
					}
					if rule.kind == addition {
						scaled = g
					}
					Cells(rule, val[:dim], scaled, [][]T{val[next:][:dim], val[2*next:][:dim], val[3*next:][:dim]})
				}
				if rule.kind != noRule {
					k, was := settingsOf[T](rule), clone(slab)
					b.Into = unsafe.Slice((*T)(unsafe.Pointer(&aligned(len(slab) * int(unsafe.Sizeof(slab[0])))[0])), len(slab))
					copy(b.Into, slab)
					table.rules[rule.kind](&b, &k)
					for i := range want {
						if !sameNumbers(slab[i], was[i]) || !sameNumbers(b.Into[i], want[i]) {
							t.Fatalf("%s %s elsewhere, dim %d: element %d of row %d is %v, want %v, and %v where it was, want %v", table.name, name,
								dim, i%stride, i/stride, b.Into[i], want[i], slab[i], was[i])
						}
					}
					b.Into = nil
					table.rules[rule.kind](&b, &k)
				}
				for i := range want {
					if !sameNumbers(slab[i], want[i]) {
						t.Fatalf("%s %s, dim %d: element %d of row %d is %v, want %v", table.name, name, dim, i%stride, i/stride, slab[i], want[i])
					}
				}
			}
		}
	}
}

func TestRulesAlike(t *testing.T) {
	t.Run("32", rulesAlike[float32])
	t.Run("64", rulesAlike[float64])
}

// The assembly knows where the fields of a Batch stand.
func TestBatchLayout(t *testing.T) {
	var b Batch[float32]
	got := []uintptr{unsafe.Offsetof(b.Slab), unsafe.Offsetof(b.Stride), unsafe.Offsetof(b.Dim), unsafe.Offsetof(b.Next),
		unsafe.Offsetof(b.Rows), unsafe.Offsetof(b.Grad), unsafe.Offsetof(b.Scale), unsafe.Offsetof(b.Ahead), unsafe.Offsetof(b.Into),
		unsafe.Sizeof(Line{})}
	if want := []uintptr{0, 24, 32, 40, 48, 72, 96, 104, 128, 64}; fmt.Sprint(got) != fmt.Sprint(want) && unsafe.Sizeof(0) == 8 {
		t.Errorf("fields at %v, want %v", got, want)
	}
}
