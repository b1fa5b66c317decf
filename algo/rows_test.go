package algo

import (
	"math"
	"math/rand/v2"
	"testing"

	"thole.example/data"
	"thole.example/matrix"
)

// TestForRows: small data have a penalty of times/rows, and at least 1/rows, large data that of the recipe, and only recipes that have one.
func TestForRows(t *testing.T) {
	for _, a := range Algos() {
		least, linear := a.Defaults.Hyper["l2"], !a.Network() && a.Defaults.Hyper["l2"] > 0
		for _, rows := range []int{0, 1, 3000, 10_000, 1_000_000} {
			for _, times := range []float64{0, 1, 19.5} {
				want := least
				if linear && rows > 0 {
					want = max(least, max(1, times)/float64(rows))
				}
				if got := a.ForRows(rows, times).Defaults.Hyper["l2"]; got != want {
					t.Errorf("%s, %d rows, %g times: l2 %g, want %g", a.Name, rows, times, got, want)
				}
			}
		}
		if a.Defaults.Hyper["l2"] != least {
			t.Errorf("%s: the table changed", a.Name)
		}
	}
}

// TestNoiseOfLosses: linreg and robust find the same noise where all labels are within delta. Where nearly none is, robust sees signs, which
// have 2/pi of the information, and its loss is curved for few examples.
func TestNoiseOfLosses(t *testing.T) {
	const n, columns, wanted = 40_000, 2000, 37 // (9 + 1/4) / (1/4)
	random := rand.New(rand.NewPCG(7, 7))
	var effects [columns]float64
	for col := range effects {
		effects[col] = random.NormFloat64() / 2
	}
	rows, numbers := &matrix.CSR[float32]{Ptr: []int{0}}, make([]float64, n)
	for i := range numbers {
		col := random.IntN(columns)
		rows.Idx, rows.Val, rows.Ptr = append(rows.Idx, int64(col)), append(rows.Val, 1), append(rows.Ptr, i+1)
		numbers[i] = effects[col] + 3*random.NormFloat64()
	}
	for _, c := range []struct {
		algo        Algo
		scale, want float64
	}{
		{linreg, 1, wanted}, {linreg, 1000, wanted}, {robust, 0.01, wanted},
		{robust, 1000, wanted * math.Pi / 2 * math.Sqrt(2/math.Pi) / (1000 * math.Sqrt(9.25))},
	} {
		b := &data.Batch{X: matrix.Block{At: matrix.At(0, n, 0, columns), Data: rows}, Label: make([]float32, n)}
		for i, v := range numbers {
			b.Label[i] = float32(100 + c.scale*v)
		}
		s, err := data.Pack(b)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.algo.ForLabels(nil, b.Label, nil, 0).Noise(s); math.Abs(got/c.want-1) > 0.2 {
			t.Errorf("%s of labels around 100 ± %g: %v, want %v", c.algo.Name, 3*c.scale, got, c.want)
		}
	}
}

// TestNoiseOfNothing: labels that are all alike, which no feature explains, have the penalty of other data.
func TestNoiseOfNothing(t *testing.T) {
	for _, y := range []float32{0, 7, -3e38} {
		b := &data.Batch{X: matrix.Block{At: matrix.At(0, 2, 0, 1), Data: &matrix.CSR[float32]{Ptr: []int{0, 1, 2}, Idx: []int64{0, 0},
			Val: []float32{1, 1}}}, Label: []float32{y, y}}
		s, err := data.Pack(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []Algo{linreg, robust} {
			if got := a.ForLabels(nil, b.Label, nil, 0).Noise(s); !(got >= 0 && got <= 2) {
				t.Errorf("%s of labels %g: noise %v", a.Name, y, got)
			}
		}
	}
}
