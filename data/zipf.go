package data

import "math"

// golden is the step of a counter whose mixed values are random numbers (SplitMix64).
const golden = 0x9e3779b97f4a7c15

// mix turns a number into one that looks random, each into another.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// zipf draws ranks 0 to n-1 with frequencies near (rank+1)^-skew. It keeps the inverse of the distribution at equal
// steps of probability and draws a straight line between them: one look-up, no power.
type zipf struct {
	n     int64
	knots [zipfSteps + 1]float64
}

const zipfSteps = 1024

// newZipf integrates x^-skew from 1 to n+1, in which rank r has the stretch from r+1 to r+2.
func newZipf(n int64, skew float64) *zipf {
	z := &zipf{n: n}
	logTop := math.Log(float64(n) + 1)
	for i := range z.knots {
		u := float64(i) / zipfSteps
		if e := 1 - skew; math.Abs(e) < 1e-9 {
			z.knots[i] = math.Exp(u * logTop)
		} else {
			z.knots[i] = math.Exp(math.Log1p(u*math.Expm1(e*logTop)) / e)
		}
	}
	return z
}

// draw turns 64 random bits into a rank.
func (z *zipf) draw(x uint64) int64 {
	i := x >> 54
	part := float64(x<<10>>11) / (1 << 53)
	lo := z.knots[i]
	rank := int64(lo+float64(part*(z.knots[i+1]-lo))) - 1
	return min(max(rank, 0), z.n-1)
}
