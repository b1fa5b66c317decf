package psf

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
)

// exact is a sum of float64 without rounding: whatever the order and the grouping of what is added, the result has the same
// bits. It is a fixed-point number over the whole range of float64 in limbs of 32 bits, each in an int64 so that carries can
// wait (Kulisch's long accumulator).
type exact struct {
	limbs   [limbs]int64
	pending int     // additions since the last carry
	special float64 // sum of what is infinite or no number
}

const (
	limbBits = 32
	least    = 1074 // the lowest bit of a float64 stands for 2^-1074
	limbs    = (least+1024)/limbBits + 3
	carryAt  = 1 << 30
)

// add adds a value.
func (e *exact) add(v float64) {
	b := math.Float64bits(v)
	exp := int(b >> 52 & 0x7ff)
	mantissa := b & (1<<52 - 1)
	switch exp {
	case 0x7ff:
		e.special += v
		return
	case 0:
		exp = 1 // a number below the normal ones
	default:
		mantissa |= 1 << 52
	}
	shift := exp - 1 // of the mantissa's lowest bit above 2^-1074
	at, off := shift/limbBits, uint(shift%limbBits)
	low, high := mantissa<<off, mantissa>>(64-off) // off 0: high is 0
	parts := [3]int64{int64(low & math.MaxUint32), int64(low >> limbBits), int64(high)}
	if b>>63 != 0 {
		parts = [3]int64{-parts[0], -parts[1], -parts[2]}
	}
	e.limbs[at] += parts[0]
	e.limbs[at+1] += parts[1]
	e.limbs[at+2] += parts[2]
	if e.pending++; e.pending == carryAt {
		e.carry()
	}
}

// addSquare adds the square of a value: its rounded product and what the rounding lost.
func (e *exact) addSquare(v float64) {
	p := v * v
	e.add(p)
	if !math.IsInf(p, 0) {
		e.add(math.FMA(v, v, -p))
	}
}

// carry makes every limb but the last one of 32 bits.
func (e *exact) carry() {
	for i := range limbs - 1 {
		up := e.limbs[i] >> limbBits
		e.limbs[i] -= up << limbBits
		e.limbs[i+1] += up
	}
	e.pending = 0
}

// merge adds another sum.
func (e *exact) merge(o *exact) {
	o.carry()
	e.carry()
	for i, v := range o.limbs {
		e.limbs[i] += v
	}
	e.special += o.special
	e.carry()
}

// value is the sum, rounded once, to the nearest float64.
func (e *exact) value() float64 {
	if e.special != 0 || math.IsNaN(e.special) {
		return e.special
	}
	e.carry()
	sum, limb := new(big.Int), new(big.Int)
	for i := limbs - 1; i >= 0; i-- {
		sum.Lsh(sum, limbBits)
		sum.Add(sum, limb.SetInt64(e.limbs[i]))
	}
	f := new(big.Float).SetInt(sum)
	out, _ := f.SetMantExp(f, -least).Float64()
	return out
}

// bytes is the sum as an answer of a partition: the special value, then the limbs, little-endian.
func (e *exact) bytes() []byte {
	e.carry()
	out := binary.LittleEndian.AppendUint64(make([]byte, 0, 8*(limbs+1)), math.Float64bits(e.special))
	for _, v := range e.limbs {
		out = binary.LittleEndian.AppendUint64(out, uint64(v))
	}
	return out
}

// readExact reads what bytes wrote.
func readExact(b []byte) (*exact, error) {
	if len(b) != 8*(limbs+1) {
		return nil, fmt.Errorf("a sum of %d bytes, want %d", len(b), 8*(limbs+1))
	}
	e := &exact{special: math.Float64frombits(binary.LittleEndian.Uint64(b))}
	for i := range e.limbs {
		e.limbs[i] = int64(binary.LittleEndian.Uint64(b[8*(i+1):]))
	}
	return e, nil
}
