package chart

import (
	"fmt"
	"math"
	"strconv"
)

// Axis says what is along a side of the picture.
type Axis struct {
	Label string
	// Lo and Hi are the ends. Both 0: those of everything that is drawn, moved outwards to ticks.
	Lo, Hi float64
	Whole  bool // ticks only at whole numbers, as for epochs; the ends are then not moved
}

// scale maps numbers of an axis to pixels.
type scale struct {
	lo, hi   float64
	from, to float64 // pixels of lo and hi
	ticks    []float64
}

// place is the pixel of a number. Numbers far outside stay near the picture, so that viewers can draw them.
func (s *scale) place(v float64) float64 {
	part := (v/2 - s.lo/2) / (s.hi/2 - s.lo/2) // half of each, as a difference may be more than the largest number
	return s.from + min(max(part, -1), 2)*(s.to-s.from)
}

// span widens lo and hi by the finite numbers among v.
func span(lo, hi float64, v []float64) (float64, float64) {
	for _, x := range v {
		if finite(x) {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	return lo, hi
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// scaled is the scale of the axis for numbers from lo to hi (lo > hi: there are none) with about n ticks.
func (a *Axis) scaled(lo, hi float64, n int) scale {
	fixed := finite(a.Lo) && finite(a.Hi) && a.Lo < a.Hi
	switch {
	case fixed:
		lo, hi = a.Lo, a.Hi
	case lo > hi:
		lo, hi = 0, 1
	}
	if apart := max(math.Abs(lo), math.Abs(hi)) * 1e-9; !(hi-lo > max(apart, 1e-290)) { // ticks must differ by more than rounding
		by := max(max(math.Abs(lo), math.Abs(hi))/10, 1e-280)
		if lo == 0 && hi == 0 || a.Whole {
			by = max(by, 1)
		}
		lo, hi = max(lo-by, -math.MaxFloat64), min(hi+by, math.MaxFloat64)
	}
	step := stepOf(lo, hi, n)
	if a.Whole {
		step = max(step, 1)
	}
	first, last := math.Floor(lo/step), math.Ceil(hi/step)
	s := scale{lo: lo, hi: hi}
	if from, to := multiple(first, step), multiple(last, step); !fixed && !a.Whole && finite(from) && finite(to) {
		s.lo, s.hi = min(from, lo), max(to, hi)
	}
	for k := first; k <= last && len(s.ticks) < 4*n; k++ {
		if v := multiple(k, step); v >= s.lo && v <= s.hi {
			s.ticks = append(s.ticks, v+0) // no -0
		}
	}
	return s
}

// multiple is k times the step. A division by a whole number is exact where a product is not: 3/10 is 0.3, 3*0.1 is not.
func multiple(k, step float64) float64 {
	if per := math.Round(1 / step); step < 1 && 1/step == per {
		return k / per
	}
	return k * step
}

// stepOf is a distance of about n ticks between lo and hi: 1, 2 or 5 times a power of ten.
func stepOf(lo, hi float64, n int) float64 {
	raw := hi/float64(n) - lo/float64(n)
	if !(raw >= 1e-300) {
		return 1e-300
	}
	power := math.Floor(math.Log10(raw))
	for _, m := range []float64{1, 2, 5} {
		if s, err := strconv.ParseFloat(fmt.Sprintf("%ge%.0f", m, power), 64); err == nil && s >= raw*(1-1e-9) {
			return s
		}
	}
	s, err := strconv.ParseFloat(fmt.Sprintf("1e%.0f", power+1), 64)
	if err != nil { // beyond the largest number
		return raw
	}
	return s
}

// label is a tick as people read it.
func label(v float64) string {
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e7) {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// labels are the ticks as people read them: in few digits, or all in as many as tell them apart.
func labels(ticks []float64) []string {
	all := make([]string, len(ticks))
	for digits := 6; digits <= 17; digits++ {
		seen := map[string]bool{}
		for i, v := range ticks {
			short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64) // what was formatted can be parsed
			all[i] = label(short)
			if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e7) {
				all[i] = strconv.FormatFloat(v, 'g', digits-2, 64)
			}
			seen[all[i]] = true
		}
		if len(seen) == len(ticks) {
			break
		}
	}
	return all
}
