package matrix

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Draw gives random numbers that are functions of seed, matrix name, row and column alone: the same on every server and in
// every order.
type Draw struct{ seed uint64 }

// NewDraw gives the numbers of a matrix.
func NewDraw(seed uint64, name string) Draw {
	h := mix(seed)
	for _, b := range []byte(name) {
		h = mix(h ^ uint64(b))
	}
	return Draw{h}
}

func (d Draw) bits(row, col int64) uint64 { return mix(mix(d.seed^uint64(row)) ^ uint64(col)) }

// Unit is uniform in [0,1).
func (d Draw) Unit(row, col int64) float64 { return unit(d.bits(row, col)) }

// Normal has mean 0 and deviation 1 (by the method of Box and Muller).
func (d Draw) Normal(row, col int64) float64 {
	bits := d.bits(row, col)
	radius := math.Sqrt(-2 * math.Log(1-unit(bits)))
	return radius * math.Cos(2*math.Pi*unit(mix(bits)))
}

// Noise is a number for what happens at a place again and again: another one each time.
func (d Draw) Noise(place, time int64) uint32 { return uint32(d.bits(place, time) >> 32) }

// mix is the finalizer of splitmix64: every output bit depends on every input bit.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func unit(bits uint64) float64 { return float64(bits>>11) / (1 << 53) }

// Inits are the kinds of initial values beside zeros, which have no name; a new slice on every call.
func Inits() []string { return []string{"normal", "uniform", "positive", "constant"} }

// Check reports a kind that there is not.
func (i Init) Check() error {
	if i.Kind != "" && !slices.Contains(Inits(), i.Kind) {
		return fmt.Errorf("initial values %q, want one of %s", i.Kind, strings.Join(Inits(), " "))
	}
	return nil
}

// Random reports whether cells do not all begin as zero.
func (i Init) Random() bool { return i.Kind != "" && (i.Scale != 0 || len(i.Values) > 0) }

// Equal reports whether cells begin with the same values.
func (i Init) Equal(o Init) bool {
	return i.Kind == o.Kind && i.Scale == o.Scale && i.Seed == o.Seed && slices.Equal(i.Values, o.Values)
}

// Cell is the initial value of a cell, of the numbers of its matrix.
func (i Init) Cell(d Draw, row, col int64) float64 {
	switch i.Kind {
	case "normal":
		return i.Scale * d.Normal(row, col)
	case "uniform":
		return i.Scale * (2*d.Unit(row, col) - 1)
	case "positive":
		return i.Scale * d.Unit(row, col)
	case "constant":
		if len(i.Values) > 0 {
			return i.Values[col]
		}
		return i.Scale
	}
	return 0
}
