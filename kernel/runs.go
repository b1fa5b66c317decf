package kernel

import (
	"encoding/binary"
	"math"
)

// A run is finite numbers as multiples of a scale: the scale, a float32 (little-endian), and a signed byte for each.

// ScaleSize is the bytes of a run before its numbers.
const ScaleSize = 4

// Exponents of scales: products of the least with an int8 are exact in a float32, those of the greatest finite.
const (
	leastExponent    = -126
	greatestExponent = 120
)

// RunScale is the scale for finite values: the least power of two from 2^-126 on of which 127 times is not less than any of them, and at
// most 2^120; 1 if there is none but zeros. A power of two makes rounding by it exact; values that are multiples of one, as narrowed
// values are, also are multiples of the scale of any part of them, so that they are cut without being rounded again.
func RunScale[T Float](vals []T) float32 {
	var most T
	for _, v := range vals {
		if v < 0 {
			v = -v
		}
		most = max(most, v)
	}
	if most == 0 {
		return 1
	}
	frac, exp := math.Frexp(float64(most))
	exp -= 7
	if frac > 127.0/128 {
		exp++
	}
	return float32(math.Ldexp(1, max(leastExponent, min(greatestExponent, exp))))
}

// NarrowRuns writes runs of n of vals each with their RunScale, rounded to nearest, ties to even, to dst, which has room for them and
// may begin where vals do if n is above 1. What is too large becomes the largest.
func NarrowRuns[T Float](dst []byte, vals []T, n int) { narrowRuns(machine, dst, vals, n) }

func narrowRuns[T Float](on level, dst []byte, vals []T, n int) {
	checkLen(len(vals)%n, 0, "vals")
	checkLen(len(dst), len(vals)/n*(ScaleSize+n), "dst")
	if narrowRunsOn(on, dst, vals, n) {
		return
	}
	for ; len(vals) > 0; vals = vals[n:] {
		narrowRun(dst, vals[:n])
		dst = dst[ScaleSize+n:]
	}
}

func narrowRun[T Float](dst []byte, vals []T) {
	scale := RunScale(vals)
	by := 1 / T(scale)             // exact: a power of two
	last := multiple(vals[0] * by) // written once the next one was read, which may lie there
	binary.LittleEndian.PutUint32(dst, math.Float32bits(scale))
	dst = dst[ScaleSize:]
	for i, v := range vals[1:] {
		k := multiple(v * by)
		dst[i] = byte(int8(last))
		last = k
	}
	dst[len(vals)-1] = byte(int8(last))
}

// multiple is the nearest number of an int8.
func multiple[T Float](v T) T { return T(max(-127, min(127, math.RoundToEven(float64(v))))) }

// WidenRuns writes the numbers of runs of n each to dst, and tells which is the first run whose scale is none, that is not from 0 to
// 2^121; -1: all have one.
func WidenRuns[T Float](dst []T, runs []byte, n int) (bad int) {
	return widenRuns(machine, dst, runs, n)
}

func widenRuns[T Float](on level, dst []T, runs []byte, n int) (bad int) {
	checkLen(len(dst)%n, 0, "dst")
	checkLen(len(runs), len(dst)/n*(ScaleSize+n), "runs")
	count := len(dst) / n
	for i := widenRunsOn(on, dst, runs, n); i < count; i++ {
		run := runs[i*(ScaleSize+n):][:ScaleSize+n]
		scale := math.Float32frombits(binary.LittleEndian.Uint32(run))
		if !(scale >= 0 && scale <= math.MaxFloat32/128) {
			return i
		}
		to := dst[i*n:][:n]
		for j, k := range run[ScaleSize:] {
			to[j] = T(float32(int8(k)) * scale)
		}
	}
	return -1
}

// RoundRuns rounds vals to what runs of n of them have. Row i has row rows[i] of rest, of which none comes twice.
func RoundRuns[T Float](vals, rest []T, n int, rows []uint32) {
	roundRuns(machine, vals, rest, n, rows)
}

func roundRuns[T Float](on level, vals, rest []T, n int, rows []uint32) {
	checkLen(len(vals), n*len(rows), "vals")
	if roundRunsOn(on, vals, rest, n, rows) {
		return
	}
	for i, row := range rows {
		roundRun(vals[i*n:(i+1)*n], rest[int(row)*n:][:n])
	}
}

// roundRun is the way in pure Go.
func roundRun[T Float](vals, rest []T) {
	takeUp(vals, rest)
	scale := T(RunScale(vals))
	by := 1 / scale
	for i, v := range vals {
		settle(&vals[i], &rest[i], multiple(v*by)*scale)
	}
}
