package rpc

import (
	"encoding/binary"
	"fmt"
	"math"

	"thole.example/matrix"
	"thole.example/wire"
)

// Values of f32 and f64 may cross the wire in fewer bytes: as f16 or bf16, or, pushed, as int8 with scales. A part of type i8 is in
// runs: each is a float32 (little-endian) that its numbers are multiples of, and the numbers, a byte each. Keys have a run each,
// of all rows. Dense cells are in runs of a row, which end at columns that are multiples of RunColumns, so that where a run ends
// does not depend on how a matrix is cut.

// RunColumns is how many columns of a dense row have one scale at most; a power of two.
const RunColumns = 256

// scaleSize is the bytes of a run's scale.
const scaleSize = 4

// CanNarrow reports whether values of the type wide may be pushed as narrow.
func CanNarrow(wide, narrow matrix.DType) bool {
	return (wide == matrix.F32 || wide == matrix.F64) && (narrow == matrix.F16 || narrow == matrix.BF16 || narrow == matrix.I8)
}

// Cells is how many values a part of dense cells or of keys has; false if they are too many to be counted.
func (p *Part) Cells() (int64, bool) {
	if p.Kind == KindKeys {
		return matrix.Cells(p.Rows.Len(), int64(len(p.Keys)))
	}
	return matrix.Rect{Rows: p.Rows, Cols: p.Cols}.Cells()
}

// NarrowBytes is how many bytes the part's values have as the type, one that [CanNarrow] knows; false if they are too many.
func (p *Part) NarrowBytes(as matrix.DType) (int64, bool) {
	n, ok := p.Cells()
	if !ok || n > math.MaxInt64/8 {
		return 0, false
	}
	if n == 0 || as != matrix.I8 {
		return n * int64(as.Size()), true
	}
	runs := int64(len(p.Keys))
	if p.Kind != KindKeys {
		runs = p.Rows.Len() * ((p.Cols.Hi-1)>>runBits - p.Cols.Lo>>runBits + 1)
	}
	return n + scaleSize*runs, true
}

const runBits = 8 // of RunColumns

// runs calls each with the values of every run that has some: those from lo to hi.
func (p *Part) runs(each func(lo, hi int)) {
	if p.Kind == KindKeys {
		n := int(p.Rows.Len())
		for lo := 0; n > 0 && lo < n*len(p.Keys); lo += n {
			each(lo, lo+n)
		}
		return
	}
	if p.Cols.Len() == 0 {
		return
	}
	at := 0
	for range p.Rows.Len() {
		for col := p.Cols.Lo; col < p.Cols.Hi; {
			end := min(col|(RunColumns-1), p.Cols.Hi-1) + 1
			each(at, at+int(end-col))
			at, col = at+int(end-col), end
		}
	}
}

// Narrow writes the values of the part, which are row-major or column by column like Values, into dst, which has [Part.NarrowBytes]:
// rounded to nearest, ties to even. The scale of a run is [Scale]. The values must be finite. It tells which value is too large for
// the type, -1 if none is.
func Narrow[T float32 | float64](p *Part, dst []byte, as matrix.DType, values []T) (tooLarge int) {
	tooLarge = -1
	if as != matrix.I8 {
		return NarrowHalf(dst, as, values)
	}
	p.runs(func(lo, hi int) {
		run := values[lo:hi]
		scale := Scale(run)
		binary.LittleEndian.PutUint32(dst, math.Float32bits(scale))
		out := dst[scaleSize:][:len(run)]
		by := 1 / T(scale) // exact: a power of two
		for i, v := range run {
			k := math.RoundToEven(float64(v * by))
			if (k > 127 || k < -127) && tooLarge < 0 {
				tooLarge = lo + i
			}
			out[i] = byte(int8(max(-127, min(127, k))))
		}
		dst = dst[scaleSize+len(run):]
	})
	return tooLarge
}

// NarrowHalf is Narrow for F16 and BF16, of values whatever they are; dst begins at a multiple of 2.
func NarrowHalf[T float32 | float64](dst []byte, as matrix.DType, values []T) (tooLarge int) {
	if as == matrix.F16 {
		out, _ := wire.Numbers[matrix.Float16](dst)
		return matrix.ToFloat16s(out, values)
	}
	out, _ := wire.Numbers[matrix.BFloat16](dst)
	return matrix.ToBFloat16s(out, values)
}

// Exponents of scales: products of the least with an int8 are exact in a float32, those of the greatest finite.
const (
	leastScale    = -126
	greatestScale = 120
)

// Scale is the scale for finite values: the least power of two from 2^-126 on of which 127 times is not less than any of them, and at
// most 2^120. A power of two makes rounding by it exact; values that are multiples of one, as narrowed values are, also are
// multiples of the scale of any part of them, so that they are cut without being rounded again.
func Scale[T float32 | float64](values []T) float32 {
	var most T
	for _, v := range values {
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
	return float32(math.Ldexp(1, max(leastScale, min(greatestScale, exp))))
}

// Widen writes the part's values as numbers of type T into dst, one for each cell. It tells what is wrong with the part's values:
// their number, a scale that is none.
func Widen[T float32 | float64](p *Part, dst []T) error {
	n, ok := p.Cells()
	size, fits := p.NarrowBytes(p.DType)
	if !ok || !fits || n != int64(len(dst)) || size != int64(len(p.Values)) {
		return fmt.Errorf("%d bytes of values for %d cells of %v, want %d: %w", len(p.Values), n, p.DType, size, ErrMalformed)
	}
	aligned := true
	switch p.DType {
	case matrix.F16:
		var src []matrix.Float16
		if src, aligned = wire.Numbers[matrix.Float16](p.Values); aligned {
			matrix.FromFloat16s(dst, src)
		}
	case matrix.BF16:
		var src []matrix.BFloat16
		if src, aligned = wire.Numbers[matrix.BFloat16](p.Values); aligned {
			matrix.FromBFloat16s(dst, src)
		}
	case matrix.I8:
		return widenRuns(p, dst)
	default:
		return fmt.Errorf("values of %v, want f16, bf16 or i8 to be widened: %w", p.DType, ErrMalformed)
	}
	if !aligned {
		return fmt.Errorf("values of %v that do not begin at a multiple of %d bytes: %w", p.DType, p.DType.Size(), ErrMalformed)
	}
	return nil
}

func widenRuns[T float32 | float64](p *Part, dst []T) (err error) {
	src, number := p.Values, 0
	p.runs(func(lo, hi int) {
		scale := math.Float32frombits(binary.LittleEndian.Uint32(src))
		if !(scale >= 0 && scale <= math.MaxFloat32/128) && err == nil {
			err = fmt.Errorf("scale %v of run %d, want a number from 0 to 2^121: %w", scale, number, ErrMalformed)
		}
		run := src[scaleSize:][:hi-lo]
		for i, k := range run {
			dst[lo+i] = T(float32(int8(k)) * scale)
		}
		src = src[scaleSize+len(run):]
		number++
	})
	return err
}
