package feature

import "math"

// Moments are sums of numbers, from which their mean and deviation follow. The zero value is ready.
type Moments struct {
	n       int
	zero    float64 // the first number: the sums are of differences to it
	sum     float64
	squares float64
	lo, hi  float64
	log     bool // the sums are of logarithms
}

// Add adds the number x, so many times.
func (m *Moments) Add(x float64, times int) {
	if times == 0 {
		return
	}
	if m.n == 0 {
		m.zero, m.lo, m.hi = x, x, x
	}
	m.n += times
	m.lo, m.hi = min(m.lo, x), max(m.hi, x)
	if m.log {
		x = logOf(x)
	} else {
		x -= m.zero
	}
	m.sum += x * float64(times)
	m.squares += x * x * float64(times)
}

// AddAll adds numbers in their order, each once.
func (m *Moments) AddAll(values []float32) {
	if len(values) == 0 {
		return
	}
	first := float64(values[0])
	if m.n == 0 {
		m.zero, m.lo, m.hi = first, first, first
	}
	m.n += len(values)
	zero, lo, hi, sum, squares := m.zero, m.lo, m.hi, m.sum, m.squares
	for _, v := range values {
		x := float64(v)
		lo, hi = min(lo, x), max(hi, x)
		if m.log {
			x = logOf(x)
		} else {
			x -= zero
		}
		sum += x
		squares += x * x
	}
	m.lo, m.hi, m.sum, m.squares = lo, hi, sum, squares
}

// Bounds are the smallest and the largest number.
func (m *Moments) Bounds() (lo, hi float64) { return m.lo, m.hi }

// Logs are empty moments of logarithms.
func Logs() Moments { return Moments{log: true} }

// Of are mean and deviation of the numbers, or of their logarithms.
func (m *Moments) Of() (mean, deviation float64) {
	n := float64(max(1, m.n))
	mean = m.sum / n
	if deviation = math.Sqrt(max(0, m.squares/n-mean*mean)); m.lo == m.hi {
		deviation = 0
	}
	if m.log {
		return mean, deviation
	}
	return m.zero + mean, deviation
}

// Skewed reports whether networks learn from the logarithms of the numbers.
func (m *Moments) Skewed() bool {
	mean, deviation := m.Of()
	return m.n > 0 && m.lo >= 0 && deviation > skewed*mean
}

// skewed is from which deviation, as a share of the mean, numbers from 0 on are learned from by their logarithm.
const skewed = 1.5

// Scaled is the number as networks learn from it: its logarithm if log is true, less the mean, times inv: 1/deviation, or 1 if all
// numbers are equal.
func Scaled(x float64, log bool, mean, inv float64) float64 {
	if log {
		x = logOf(x)
	}
	return (x - mean) * inv
}
