package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// TestLagAlike: assembly has the bits of the Go that it stands for, with any numbers, in rows of any length, in place and beside.
func TestLagAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	inf := float32(math.Inf(1))
	odd := []float32{0, float32(math.Copysign(0, -1)), 1e-45, inf, -inf, float32(math.NaN()), math.MaxFloat32}
	number := func() float32 {
		if r.IntN(8) == 0 {
			return odd[r.IntN(len(odd))]
		}
		return float32(r.NormFloat64())
	}
	for _, form := range []Form{Scales, Shrinks, Divides, Fades, Couples} {
		for dim := 1; dim < 35; dim++ {
			idle := Idle{Form: form, Eps: 1e-3}
			slots := map[Form]int{Divides: 1, Fades: 1 + dim%2, Couples: 1}[form]
			stride := dim*(1+slots) + dim%3
			l := Lag[float32]{Idle: &idle, Slab: make([]float32, 9*stride), Stride: stride, Dim: dim, Slots: slots, Rows: []uint32{7, 2, 3, 8}}
			for i := range l.Slab {
				l.Slab[i] = number()
			}
			for range l.Rows {
				l.Drifts = append(l.Drifts, Drift{r.Float64(), r.NormFloat64(), r.NormFloat64(), r.Float64(), r.Float64() / 2})
			}
			from := dim / 3
			n := dim - from
			at := []uint32{4, 0, 1, 3}
			got, want := make([]float32, 5*n), make([]float32, 5*n)
			l.Read(got, at, from, n)
			l.read(want, at, from, n)
			settled, plain := l, l
			settled.Slab, plain.Slab = slices.Clone(l.Slab), slices.Clone(l.Slab)
			settled.Settle()
			plain.settle()
			for _, c := range [][2][]float32{{got, want}, {settled.Slab, plain.Slab}} {
				for i := range c[0] {
					if !sameNumbers(c[0][i], c[1][i]) {
						t.Fatalf("form %d, dim %d: element %d is %v, want %v", form, dim, i, c[0][i], c[1][i])
					}
				}
			}
		}
	}
}

// TestDriftThen: two drifts in one are one after the other, but for rounding.
func TestDriftThen(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, form := range []Form{Scales, Shrinks, Divides, Fades, Couples} {
		for range 200 {
			var d [2]Drift
			for i := range d {
				d[i] = Drift{WW: r.Float64(), VV: r.Float64(), Less: r.Float64() / 4}
				switch form {
				case Couples:
					d[i].WV, d[i].VW = r.NormFloat64(), r.NormFloat64()
				case Divides:
					d[i].WW, d[i].VV = 1, 1
				}
			}
			both := d[0]
			both.Then(&d[1])
			val := []float64{r.NormFloat64(), r.Float64() + 0.1, r.NormFloat64()}
			settle := func(val []float64, all ...Drift) []float64 {
				val = slices.Clone(val)
				for i := range all {
					l := Lag[float64]{Idle: &Idle{Form: form, Eps: 0.1}, Slab: val, Dim: 1, Slots: 2, Rows: []uint32{0}, Drifts: all[i:][:1]}
					l.Settle()
				}
				return val
			}
			got, want := settle(val, both), settle(val, d[0], d[1])
			for i := range got {
				if math.Abs(got[i]-want[i]) > 1e-14 {
					t.Fatalf("form %d: %v after both at once, want %v", form, got, want)
				}
			}
		}
	}
}

// The assembly knows where the numbers of a Drift stand.
func TestDriftLayout(t *testing.T) {
	var d Drift
	got := []uintptr{unsafe.Offsetof(d.WW), unsafe.Offsetof(d.WV), unsafe.Offsetof(d.VW), unsafe.Offsetof(d.VV), unsafe.Offsetof(d.Less)}
	got = append(got, unsafe.Sizeof(d))
	if want := []uintptr{0, 8, 16, 24, 32, 40}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("numbers at %v, want %v", got, want)
	}
}

// TestExtend: a step after many drifts is that step after each.
func TestExtend(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, e := range []struct {
		form Form
		step Drift
	}{
		{Scales, Drift{WW: 0.9, VV: 1}}, {Shrinks, Drift{WW: 0.9, VV: 1, Less: 0.2}}, {Divides, Drift{WW: 1, VV: 1, Less: 0.2}},
		{Fades, Drift{WW: 1, VV: 0.7}}, {Couples, Drift{WW: 1, WV: -0.3, VV: 0.9}}, {Couples, Drift{WW: 0.8, WV: -0.3, VW: 0.1, VV: 0.9}},
	} {
		all := []Drift{NoDrift()}
		for range 9 {
			by := r.Float64()
			next := Drift{WW: 1 - (1-e.step.WW)*by, WV: e.step.WV * by, VW: e.step.VW, VV: e.step.VV, Less: e.step.Less * by}
			next.Then(&all[len(all)-1])
			all = append(all, next)
		}
		want := slices.Clone(all)
		for i := range want {
			want[i].Then(&e.step)
		}
		(&Idle{Form: e.form}).Extend(all, e.step)
		if !slices.Equal(all, want) {
			t.Errorf("form %d: %v, want %v", e.form, all, want)
		}
	}
}
