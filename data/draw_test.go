package data

import (
	"math"
	"testing"
)

// TestDraw: exactly as many as asked for, the same for the same seed, others for another, and no period of the numbers shows.
func TestDraw(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 100, 2500, 100_000} {
		for _, k := range []int{0, 1, n / 10, n / 3, n - 1, n} {
			for seed := range uint64(3) {
				in, again, other, drawn, same := Draw(seed, n, k), Draw(seed, n, k), Draw(seed+10, n, k), 0, 0
				for i := range n {
					if in(i) {
						drawn++
					}
					if in(i) != again(i) {
						t.Fatalf("%d of %d: two draws differ", k, n)
					}
					if in(i) && other(i) {
						same++
					}
				}
				if drawn != k {
					t.Errorf("%d of %d by seed %d: %d drawn", k, n, seed, drawn)
				}
				if n >= 2500 && k == n/10 && same > k/3 {
					t.Errorf("%d of %d: seeds %d and %d have %d in common", k, n, seed, seed+10, same)
				}
			}
		}
	}
	for period := 2; period < 20; period++ {
		const n, k = 60_000, 6000
		in, of := Draw(7, n, k), make([]int, period)
		for i := range n {
			if in(i) {
				of[i%period]++
			}
		}
		for at, drawn := range of {
			if want := float64(k) / float64(period); math.Abs(float64(drawn)-want) > 5*math.Sqrt(want) {
				t.Errorf("%d drawn of the numbers %d mod %d, want about %.0f", drawn, at, period, want)
			}
		}
	}
}

// TestCandidate: every number that is drawn in the end was a candidate, and few more were.
func TestCandidate(t *testing.T) {
	for _, share := range []float64{0.001, 0.1, 0.35, 0.5, 0.9} {
		for _, n := range []int{2, 7, 100, 1000, 300_000} {
			k := int(math.Round(share * float64(n)))
			in, more := Draw(3, n, k), 0
			for i := range n {
				switch candidate := Candidate(3, share, i); {
				case in(i) && !candidate:
					t.Fatalf("share %v of %d: %d is drawn and no candidate", share, n, i)
				case candidate && !in(i):
					more++
				}
			}
			if most := 60 * math.Sqrt(float64(n)); float64(more) > most {
				t.Errorf("share %v of %d: %d candidates are not drawn, want at most %.0f", share, n, more, most)
			}
		}
	}
}
