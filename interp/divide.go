package interp

import (
	"fmt"
	"math"

	"thole.example/matrix"
)

// divided is a binary operator that divides: integers by anything but zero.
func divided(floats func(a, b float32) float32, ints func(a, b int64) int64) func(c *call) error {
	both := binary(floats, ints)
	return func(c *call) error {
		y := c.t("Y")
		if y.Type != matrix.F32 {
			for i, v := range y.I {
				if v == 0 {
					return fmt.Errorf("Y is 0 at place %d: %w", i, ErrShape)
				}
			}
		}
		return both(c)
	}
}

func divI(a, b int64) int64 { return a / b }

func powI(a, b int64) int64 { return int64(math.RoundToEven(math.Pow(float64(a), float64(b)))) }

// modF has the sign of b.
func modF(a, b float32) float32 {
	m := float32(math.Mod(float64(a), float64(b)))
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m
}

func modI(a, b int64) int64 {
	m := a % b
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m
}

// floorF is the quotient that goes with modF; the rounded a / b can be the next whole number above it.
func floorF(a, b float32) float32 {
	if b == 0 {
		return a / b
	}
	m := float32(math.Mod(float64(a), float64(b)))
	q := (a - m) / b
	if m != 0 && (m < 0) != (b < 0) {
		q--
	}
	if q == 0 {
		return float32(math.Copysign(0, float64(a/b)))
	}
	f := float32(math.Floor(float64(q)))
	if q-f > 0.5 {
		f++
	}
	return f
}

func floorI(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
