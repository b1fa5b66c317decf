package blockio

import (
	"math"

	"thole.example/matrix"
)

// Narrow holds b in the smallest value type of the codes that gives every value back bit for bit, b itself if there is no
// smaller one. A value -0, and a NaN whose payload would be cut, keep their type. Of two types of one size the unsigned
// one is taken.
func (c Codes) Narrow(b matrix.Block) matrix.Block {
	from := b.Data.DType()
	if from.Size() < 2 || b.Data.NNZ() == 0 {
		return b
	}
	s := types[from].survey(b.Data)
	for _, to := range []matrix.DType{matrix.U8, matrix.I8, matrix.U16, matrix.I16, matrix.U32, matrix.I32, matrix.F32} {
		if _, ok := c.Code(to); !ok || to.Size() >= from.Size() || !s.fits(to) {
			continue
		}
		if narrow, exact := b.Cast(to); exact {
			return narrow
		}
	}
	return b
}

// survey is what a pass over values finds out about them.
type survey struct {
	lo     int64  // the smallest, 0 if none is below
	hi     uint64 // the largest, 0 if none is above
	whole  bool   // none has a fraction, is -0, infinite or no number, or is beyond 2^53 as a float
	single bool   // each is perhaps the same as an f32
}

// fits reports whether all values have the type.
func (s survey) fits(to matrix.DType) bool {
	if to.Float() {
		return s.single
	}
	bits := uint(8 * to.Size())
	if !to.Signed() {
		return s.whole && s.lo == 0 && s.hi < 1<<bits
	}
	return s.whole && s.lo >= -1<<(bits-1) && s.hi < 1<<(bits-1)
}

func (typedAs[T]) survey(d matrix.Data) survey {
	s := survey{whole: true}
	val, _ := d.Values().([]T)
	switch v := any(val).(type) {
	case []float64:
		s.floats(v)
	case []float32:
		s.whole = surveyed(&s, v)
	case []int64:
		integers(&s, v)
	case []int32:
		integers(&s, v)
	case []int16:
		integers(&s, v)
	case []uint64:
		integers(&s, v)
	case []uint32:
		integers(&s, v)
	case []uint16:
		integers(&s, v)
	default:
		s.whole = false
	}
	return s
}

func (s *survey) floats(val []float64) {
	s.whole, s.single = surveyed(s, val), true
	for _, v := range val {
		if math.Float64bits(float64(float32(v))) != math.Float64bits(v) {
			s.single = false
			return
		}
	}
}

// surveyed reports whether all are whole numbers, and finds their bounds.
func surveyed[F float32 | float64](s *survey, val []F) bool {
	lo, hi := F(0), F(0)
	for _, v := range val {
		if v != F(int64(v)) || v == 0 && !zeroBits(v) {
			return false
		}
		lo, hi = min(lo, v), max(hi, v)
	}
	if lo < -1<<53 || hi > 1<<53 {
		return false
	}
	s.lo, s.hi = int64(lo), uint64(hi)
	return true
}

func integers[I int64 | int32 | int16 | uint64 | uint32 | uint16](s *survey, val []I) {
	lo, hi := I(0), I(0)
	for _, v := range val {
		lo, hi = min(lo, v), max(hi, v)
	}
	s.lo, s.hi, s.single = int64(lo), uint64(hi), true
}
