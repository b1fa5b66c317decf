package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// aware is a random example of so many values, with repeated rows and fields, and its vectors.
func aware(r *rand.Rand, values, fields, n int) (v []float32, a *Aware) {
	const rows = 7
	v, a = numbers(r, rows*fields*n), &Aware{X: numbers(r, values)}
	for range values {
		a.Row, a.Field = append(a.Row, r.IntN(rows)*fields*n), append(a.Field, r.IntN(fields)*n)
	}
	return v, a
}

// Every implementation has the bits of plain loops, which are near the sum in float64.
func TestAware(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, values := range []int{0, 1, 2, 3, 8, 39} {
		for n := 1; n <= 17; n++ {
			v, a := aware(r, values, 5, n)
			dv := numbers(r, len(v))
			want, wantDv := awareDots(v, n, a), clone(dv)
			awareDotsGrad(wantDv, v, n, a, 0.5)
			exact := 0.0
			for i := range values {
				for j := i + 1; j < values; j++ {
					for c := range n {
						exact += float64(v[a.Row[i]+a.Field[j]+c]) * float64(v[a.Row[j]+a.Field[i]+c]) * float64(a.X[i]) * float64(a.X[j])
					}
				}
			}
			if math.Abs(exact-float64(want)) > 1e-4*(1+math.Abs(exact))*float64(values+1) && exact-exact == 0 {
				t.Errorf("%d values of %d numbers: %v, want %v", values, n, want, exact)
			}
			for on := plain; on <= machine; on++ {
				got, gotDv := awareDotsOn(on, v, n, a), clone(dv)
				sameBits(t, "dots", []float32{got}, []float32{want})
				awareDotsGradOn(on, gotDv, v, n, a, 0.5)
				sameBits(t, "gradient", gotDv, wantDv)
			}
		}
	}
}

func TestAwarePanics(t *testing.T) {
	x := make([]float32, 8)
	for name, wrong := range map[string]func(){
		"fields":  func() { AwareDots(x, 2, &Aware{Row: []int{0, 2}, Field: []int{0}, X: x[:2]}) },
		"values":  func() { AwareDots(x, 2, &Aware{Row: []int{0, 2}, Field: []int{0, 2}, X: x[:1]}) },
		"beyond":  func() { AwareDots(x, 4, &Aware{Row: []int{0, 4}, Field: []int{0, 1}, X: x[:2]}) },
		"below":   func() { AwareDots(x, 2, &Aware{Row: []int{0, -2}, Field: []int{0, 0}, X: x[:2]}) },
		"dv":      func() { AwareDotsGrad(x[:7], x, 2, &Aware{Row: []int{0, 2}, Field: []int{0, 2}, X: x[:2]}, 1) },
		"nothing": func() { AwareDots(x, 0, &Aware{Row: []int{0, 2}, Field: []int{0, 2}, X: x[:2]}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			wrong()
		}()
	}
}
