package rpc

import (
	"encoding/binary"
	"fmt"
	"math"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/wire"
)

// Values of f32 and f64 may cross the wire in fewer bytes: as f16 or bf16, or, pushed, as int8 with scales. A part of type i8 is in
// runs: each is a float32 (little-endian) that its numbers are multiples of, and the numbers, a byte each. Keys have a run each,
// of all rows. Dense cells are in runs of a row, which end at columns that are multiples of RunColumns, so that where a run ends
// does not depend on how a matrix is cut.

// RunColumns is how many columns of a dense row have one scale at most; a power of two.
const RunColumns = 256

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
	return n + kernel.ScaleSize*runs, true
}

const runBits = 8 // of RunColumns

// runs calls each with some of the part's values that are in runs of n each: those from lo on.
func (p *Part) runs(each func(lo, n, count int)) {
	if p.Kind == KindKeys {
		if n := int(p.Rows.Len()); n > 0 && len(p.Keys) > 0 {
			each(0, n, len(p.Keys))
		}
		return
	}
	if p.Cols.Len() == 0 {
		return
	}
	at := 0
	for range p.Rows.Len() {
		for col := p.Cols.Lo; col < p.Cols.Hi; {
			n, count := int(min(col|(RunColumns-1), p.Cols.Hi-1)-col)+1, 1
			if n == RunColumns {
				count = int((p.Cols.Hi - col) / RunColumns)
			}
			each(at, n, count)
			at, col = at+n*count, col+int64(n*count)
		}
	}
}

// Narrow writes the values of the part, which are row-major or column by column like Values, into dst, which has [Part.NarrowBytes]
// and may begin where the values do, unless runs have one value: rounded to nearest, ties to even, the scale of a run that of
// [kernel.RunScale]. The values must be finite; those that are too large become infinities, as i8 the largest.
func Narrow[T float32 | float64](p *Part, dst []byte, as matrix.DType, values []T) {
	if as != matrix.I8 {
		NarrowHalf(dst, as, values)
		return
	}
	p.runs(func(lo, n, count int) {
		size := count * (kernel.ScaleSize + n)
		kernel.NarrowRuns(dst[:size], values[lo:lo+n*count], n)
		dst = dst[size:]
	})
}

// NarrowHalf is Narrow for F16 and BF16, of values whatever they are; dst begins at a multiple of 2. It tells which value is too
// large for the type, -1 if none is.
func NarrowHalf[T float32 | float64](dst []byte, as matrix.DType, values []T) (tooLarge int) {
	if as == matrix.F16 {
		out, _ := wire.Numbers[matrix.Float16](dst)
		return kernel.Narrow(out, values)
	}
	out, _ := wire.Numbers[matrix.BFloat16](dst)
	return kernel.Narrow(out, values)
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
			kernel.Widen(dst, src)
		}
	case matrix.BF16:
		var src []matrix.BFloat16
		if src, aligned = wire.Numbers[matrix.BFloat16](p.Values); aligned {
			kernel.Widen(dst, src)
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
	p.runs(func(lo, n, count int) {
		size := count * (kernel.ScaleSize + n)
		if bad := kernel.WidenRuns(dst[lo:lo+n*count], src[:size], n); bad >= 0 && err == nil {
			scale := math.Float32frombits(binary.LittleEndian.Uint32(src[bad*(kernel.ScaleSize+n):]))
			err = fmt.Errorf("scale %v of run %d, want a number from 0 to 2^121: %w", scale, number+bad, ErrMalformed)
		}
		src, number = src[size:], number+count
	})
	return err
}
