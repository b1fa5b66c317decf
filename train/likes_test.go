package train

import (
	"math"
	"math/rand/v2"

	"thole.example/algo/algotest"
	"thole.example/data"
)

func sign(yes bool) float32 {
	if yes {
		return 1
	}
	return -1
}

// small is 270 dense examples of 13 columns between -1 and 1, some of few values: like heart.
func small() *data.Batch {
	truth := []float64{0.5, -1.2, 1.5, 1, 0.8, 0.2, 0.6, -1.5, 0.9, 1.6, 0.8, 2.5, 1.1}
	return algotest.Draw(270, 13, 1, func(rng *rand.Rand, set func(int64, float32)) float32 {
		m := -0.3
		for c := range truth {
			v := max(-1, min(1, rng.NormFloat64()/2-0.2))
			if c%3 == 1 {
				v = float64(sign(rng.IntN(3) > 0))
			}
			set(int64(c), float32(v))
			m += 0.8 * truth[c] * v
		}
		return sign(rng.Float64() < algotest.Sigmoid(m))
	})
}

// rare is 17000 examples of some of 300 binary columns of very different frequency, an eighth of them positive: like w6a.
func rare() *data.Batch {
	truth := make([]float64, 300)
	rng := rand.New(rand.NewPCG(3, 3))
	for c := range truth {
		truth[c] = rng.NormFloat64() * 1.5
	}
	return algotest.Draw(17000, 300, 2, func(rng *rand.Rand, set func(int64, float32)) float32 {
		m := -7.0
		for c := range truth {
			if rng.Float64() < 0.35/math.Pow(float64(c)+1, 0.55) {
				set(int64(c), 1)
				m += truth[c]
			}
		}
		return sign(rng.Float64() < algotest.Sigmoid(m))
	})
}

// clearCut is 2000 examples of 60 places with one of four letters each, as 180 binary columns, of which a dozen places tell
// the two classes apart nearly always: like two classes of dna.
func clearCut() *data.Batch {
	return algotest.Draw(2000, 180, 3, func(rng *rand.Rand, set func(int64, float32)) float32 {
		y := sign(rng.IntN(2) == 0)
		for place := range int64(60) {
			letter := rng.Int64N(4)
			if place >= 24 && place < 36 && rng.IntN(10) < 5 {
				letter = (place + int64(y)) & 3
			}
			if letter < 3 {
				set(place*3+letter, 1)
			}
		}
		return y
	})
}

// apart are examples of two classes that a line divides with room to spare: the least regularised loss is mostly penalty.
func apart() *data.Batch {
	return algotest.Draw(1500, 15, 5, func(rng *rand.Rand, set func(int64, float32)) float32 {
		y := sign(rng.IntN(2) == 0)
		for col := range int64(15) {
			set(col, float32(float64(y)*2*math.Cos(float64(col))+rng.NormFloat64()))
		}
		return y
	})
}

// seldom are examples of which one in 200 is positive, and a line divides them nearly: one score for all has a small loss, too.
func seldom() *data.Batch {
	return algotest.Draw(6000, 30, 9, func(rng *rand.Rand, set func(int64, float32)) float32 {
		sum := -60.0
		for col := range int64(30) {
			x := rng.NormFloat64()
			set(col, float32(x))
			sum += 6 * x * math.Cos(float64(col))
		}
		return sign(rng.Float64() < algotest.Sigmoid(sum))
	})
}

// valued is the examples with a sum of their features, and noise, as labels.
func valued(b *data.Batch) *data.Batch {
	out := &data.Batch{X: b.X}
	rng, x := rand.New(rand.NewPCG(1, 1)), b.Rows()
	for i := range b.Label {
		v := 10.0
		for k := x.Ptr[i]; k < x.Ptr[i+1]; k++ {
			v += math.Sin(float64(x.Idx[k]*7)) * float64(x.Val[k])
		}
		out.Label = append(out.Label, float32(v+rng.NormFloat64()))
	}
	return out
}
