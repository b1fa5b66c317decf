package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// Exact is a sum without rounding: whatever the order and the grouping of what is added, its Value has the same bits. It is
// a fixed-point number over the whole range of products of two float64, in limbs of 32 bits, each in an int64 so that
// carries can wait (Kulisch's long accumulator). The zero Exact is the empty sum. One goroutine at a time may use it.
//
// Infinities of one sign make the value that infinity; a NaN, or infinities of both signs, make it NaN. A value of
// zero is +0, also if a sum below zero is rounded to it. Sums of more than 2^63 values are not foreseen.
type Exact struct {
	limbs   [limbs]int64
	pending int // additions since the last carry
	special special
	scale   int // if not 0, the exponent at which the last chunk was cut into slices: it makes the next one fast, and changes no sum
	failed  int // a score of chunks for which slices did not suffice; no sum depends on it either
}

const (
	limbBits = 32
	least    = 68 * limbBits // the lowest bit stands for 2^-least; products go down to 2^-2148
	limbs    = (least+2112)/limbBits + 1
	carryAt  = 1 << 30
)

// special says what was added that is not finite.
type special uint8

const (
	plusInf special = 1 << iota
	minusInf
	notANumber
	negative // only in bytes: the sum is below zero
)

// Add adds a value.
func (e *Exact) Add(v float64) {
	b := math.Float64bits(v)
	exp := int(b >> 52 & 0x7ff)
	if exp == 0x7ff {
		e.addSpecial(v)
		return
	}
	m, exp := mantissa(b, exp)
	e.add(m, int64(b)>>63, exp)
}

// mantissa is the whole number that the bits of a finite float64 are a multiple of, and the exponent of its unit.
func mantissa(b uint64, exp int) (uint64, int) {
	m := b & (1<<52 - 1)
	if exp == 0 {
		return m, -1074 // a number below the normal ones
	}
	return m | 1<<52, exp - 1075
}

func (e *Exact) addSpecial(v float64) {
	switch {
	case v != v:
		e.special |= notANumber
	case v > 0:
		e.special |= plusInf
	default:
		e.special |= minusInf
	}
}

// add adds m times 2^exp, its negative if sign is -1 and not 0.
func (e *Exact) add(m uint64, sign int64, exp int) {
	at, off := uint(exp+least)/limbBits, uint(exp+least)%limbBits
	low, high := m<<off, m>>(64-off) // off 0: high is 0
	p := (*[3]int64)(e.limbs[at:])
	p[0] += (int64(low&math.MaxUint32) ^ sign) - sign
	p[1] += (int64(low>>limbBits) ^ sign) - sign
	p[2] += (int64(high) ^ sign) - sign
	if e.pending++; e.pending >= carryAt {
		e.carry()
	}
}

// add128 adds hi*2^64+lo times 2^exp, its negative if sign is -1 and not 0.
func (e *Exact) add128(hi, lo uint64, sign int64, exp int) {
	e.add(lo, sign, exp)
	if hi != 0 {
		e.add(hi, sign, exp+64)
	}
}

// AddTimes adds v as often as n says; if n is negative, it takes v away. n 0 adds nothing, whatever v is.
func (e *Exact) AddTimes(v float64, n int64) {
	b := math.Float64bits(v)
	exp := int(b >> 52 & 0x7ff)
	switch {
	case n == 0:
	case exp == 0x7ff:
		e.addSpecial(v * float64(n))
	default:
		m, exp := mantissa(b, exp)
		hi, lo := bits.Mul64(m, magnitude(n))
		e.add128(hi, lo, int64(b)>>63^n>>63, exp)
	}
}

// magnitude is |v|, also of the integer that has no positive counterpart.
func magnitude(v int64) uint64 {
	s := v >> 63
	return uint64((v ^ s) - s)
}

// AddProduct adds a times b, exactly.
func (e *Exact) AddProduct(a, b float64) {
	ba, bb := math.Float64bits(a), math.Float64bits(b)
	xa, xb := int(ba>>52&0x7ff), int(bb>>52&0x7ff)
	if xa == 0x7ff || xb == 0x7ff {
		e.addSpecial(a * b)
		return
	}
	ma, xa := mantissa(ba, xa)
	mb, xb := mantissa(bb, xb)
	hi, lo := bits.Mul64(ma, mb)
	e.add128(hi, lo, int64(ba^bb)>>63, xa+xb)
}

// carry makes every limb but the last one of 32 bits.
func (e *Exact) carry() {
	var up int64
	for i := range limbs - 1 {
		v := e.limbs[i] + up
		up = v >> limbBits
		e.limbs[i] = v & math.MaxUint32
	}
	e.limbs[limbs-1] += up
	e.pending = 0
}

// Merge adds another sum, which stays as it is.
func (e *Exact) Merge(o *Exact) {
	other := *o
	other.carry()
	e.carry()
	for i, v := range other.limbs {
		e.limbs[i] += v
	}
	e.special |= other.special
	e.carry()
}

// abs is the sum's absolute value, with limbs of 32 bits, and whether the sum is below zero.
func (e *Exact) abs() (Exact, bool) {
	c := *e
	c.carry()
	if c.limbs[limbs-1] >= 0 {
		return c, false
	}
	for i, v := range c.limbs {
		c.limbs[i] = -v
	}
	c.carry()
	return c, true
}

// Value is the sum, rounded once, to the nearest float64, ties to even.
func (e *Exact) Value() float64 {
	switch e.special {
	case 0:
	case plusInf:
		return math.Inf(1)
	case minusInf:
		return math.Inf(-1)
	default:
		return math.NaN()
	}
	abs, below := e.abs()
	top := limbs - 1
	for top > 3 && abs.limbs[top] == 0 {
		top--
	}
	// Four limbs have the bits that count and more; what is below them only says that the number is not a tie.
	sum, limb := new(big.Int), new(big.Int)
	for i := range 4 {
		sum.Add(sum.Lsh(sum, limbBits), limb.SetInt64(abs.limbs[top-i]))
	}
	sum.Lsh(sum, 1)
	for _, v := range abs.limbs[:top-3] {
		if v != 0 {
			sum.SetBit(sum, 0, 1)
			break
		}
	}
	f := new(big.Float).SetInt(sum)
	out, _ := f.SetMantExp(f, (top-3)*limbBits-least-1).Float64()
	if below && out != 0 {
		out = -out
	}
	return out
}

// Int is the sum if it is a whole number within int64, as sums of integers are unless they are too large.
func (e *Exact) Int() (v int64, ok bool) {
	c := *e
	c.carry()
	const one = least / limbBits
	for _, v := range c.limbs[:one] {
		if v != 0 {
			return 0, false
		}
	}
	v = c.limbs[one] | c.limbs[one+1]<<limbBits
	fill := v >> 63 // what all bits above must be
	for _, u := range c.limbs[one+2 : limbs-1] {
		if u != fill&math.MaxUint32 {
			return 0, false
		}
	}
	return v, c.limbs[limbs-1] == fill && e.special == 0
}

// Append appends the sum as bytes: what was special in it and whether it is below zero (1 byte), the number of the first
// limb of its absolute value that is not 0, and how many there are from it to the last (2 bytes each), then these (4 bytes
// each), all little-endian. Equal sums have equal bytes.
func (e *Exact) Append(b []byte) []byte {
	abs, below := e.abs()
	first, end := 0, limbs
	for end > 0 && abs.limbs[end-1] == 0 {
		end--
	}
	for first < end && abs.limbs[first] == 0 {
		first++
	}
	if first == end {
		first, end = 0, 0
	}
	s := abs.special
	if below {
		s |= negative
	}
	b = append(b, byte(s))
	b = binary.LittleEndian.AppendUint16(b, uint16(first))
	b = binary.LittleEndian.AppendUint16(b, uint16(end-first))
	for _, v := range abs.limbs[first:end] {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

// exactHead is the length of what stands before the limbs.
const exactHead = 5

// ParseExact reads what Append wrote, and returns what follows it.
func ParseExact(b []byte) (e *Exact, rest []byte, err error) {
	if len(b) < exactHead {
		return nil, nil, fmt.Errorf("a sum of %d bytes, want at least %d", len(b), exactHead)
	}
	s, first, n := special(b[0]), int(binary.LittleEndian.Uint16(b[1:])), int(binary.LittleEndian.Uint16(b[3:]))
	b = b[exactHead:]
	switch {
	case s >= negative<<1:
		return nil, nil, fmt.Errorf("marks %#x of a sum, want less than %#x", byte(s), byte(negative<<1))
	case first+n > limbs:
		return nil, nil, fmt.Errorf("a sum with %d limbs from limb %d on, want them below %d", n, first, limbs)
	case len(b) < 4*n:
		return nil, nil, fmt.Errorf("%d bytes for the %d limbs of a sum, want %d", len(b), n, 4*n)
	case n == 0 && (first != 0 || s&negative != 0):
		return nil, nil, fmt.Errorf("a sum of 0 with first limb %d and marks %#x, want limb 0 and no sign", first, byte(s))
	}
	e = &Exact{special: s &^ negative}
	for i := range n {
		e.limbs[first+i] = int64(binary.LittleEndian.Uint32(b[4*i:]))
	}
	if n > 0 && (e.limbs[first] == 0 || e.limbs[first+n-1] == 0) {
		return nil, nil, fmt.Errorf("the limbs of a sum begin with %d and end with %d, want neither 0", e.limbs[first],
			e.limbs[first+n-1])
	}
	if s&negative != 0 {
		for i, v := range e.limbs {
			e.limbs[i] = -v
		}
	}
	return e, b[4*n:], nil
}
