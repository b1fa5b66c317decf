package shard

import (
	"fmt"
	"math"

	"thole.example/matrix"
)

// fill gives the initial value of a cell as a function of seed, matrix name, row and column alone: the same on every
// server and in every order.
type fill struct {
	seed  uint64
	scale float64
	draw  func(bits uint64) float64
}

// draws are the kinds of initial values that matrix.Init names; bits are uniform.
var draws = map[string]func(bits uint64) float64{
	"normal":  normal,
	"uniform": func(bits uint64) float64 { return 2*unit(bits) - 1 },
}

// CheckInit reports initial values of a kind that servers do not know.
func CheckInit(i matrix.Init) error {
	if i.Kind != "" && draws[i.Kind] == nil {
		return fmt.Errorf("initial values %q, want normal, uniform or none", i.Kind)
	}
	return nil
}

// newFill is nil if cells begin as zero.
func newFill(m *matrix.Meta) *fill {
	draw := draws[m.Init.Kind]
	if draw == nil || m.Init.Scale == 0 {
		return nil
	}
	h := mix(m.Init.Seed)
	for _, b := range []byte(m.Name) {
		h = mix(h ^ uint64(b))
	}
	return &fill{h, m.Init.Scale, draw}
}

func (f *fill) cell(row, col int64) float64 {
	if f == nil {
		return 0
	}
	return f.scale * f.draw(mix(mix(f.seed^uint64(row))^uint64(col)))
}

// mix is the finalizer of splitmix64: every output bit depends on every input bit.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit is uniform in [0,1).
func unit(bits uint64) float64 { return float64(bits>>11) / (1 << 53) }

// normal is standard normal by the method of Box and Muller.
func normal(bits uint64) float64 {
	radius := math.Sqrt(-2 * math.Log(1-unit(bits)))
	return radius * math.Cos(2*math.Pi*unit(mix(bits)))
}
