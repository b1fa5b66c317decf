package feature

import (
	"math"
	"slices"

	"thole.example/wire"
)

// numbers are numbers in as few bytes as they need: of 32 bits as long as each is one of those, else all of 64 bits. What they are does
// not depend on how they came together.
type numbers struct {
	single []float32
	double []float64 // nil: all are in single
}

func (n *numbers) len() int { return len(n.single) + len(n.double) } // one of them is empty

// add appends a number.
func (n *numbers) add(x float64) {
	if n.double == nil {
		if s := float32(x); float64(s) == x || x != x {
			n.single = append(n.single, s)
			return
		}
		n.widen(1)
	}
	n.double = append(n.double, x)
}

// widen makes all numbers those of 64 bits, with room for some more.
func (n *numbers) widen(more int) {
	n.double = make([]float64, len(n.single), len(n.single)+max(more, len(n.single)/4))
	for i, x := range n.single {
		n.double[i] = float64(x)
	}
	n.single = nil
}

// grow makes room for more.
func (n *numbers) grow(more int) {
	n.single, n.double = grown(n.single, more), grown(n.double, more)
}

// copyTo gives the numbers from lo on, as many as there is room for.
func (n *numbers) copyTo(to []float64, lo int) {
	if n.double != nil {
		copy(to, n.double[lo:])
		return
	}
	for i, x := range n.single[lo : lo+len(to)] {
		to[i] = float64(x)
	}
}

// all gives each number with its place.
func (n *numbers) all(yield func(i int, x float64) bool) {
	for i, x := range n.single {
		if !yield(i, float64(x)) {
			return
		}
	}
	for i, x := range n.double {
		if !yield(i, x) {
			return
		}
	}
}

// halve leaves every second number.
func (n *numbers) halve() {
	n.single, n.double = halved(n.single), halved(n.double)
}

func halved[T any](all []T) []T {
	half := len(all) / 2
	for i := range half {
		all[i] = all[2*i]
	}
	return all[:half]
}

// sorted are the numbers in order.
func (n *numbers) sorted() []float64 {
	all := make([]float64, n.len())
	n.copyTo(all, 0)
	slices.Sort(all)
	return all
}

// bytes is how many bytes the numbers take.
func (n *numbers) bytes() int { return len(wire.View(n.single)) + len(wire.View(n.double)) }

// nearest is the float32 nearest to a number, and the largest one for numbers beyond it.
func nearest(x float64) float32 { return float32(min(math.MaxFloat32, max(-math.MaxFloat32, x))) }
