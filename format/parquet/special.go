package parquet

import (
	"fmt"

	pf "github.com/parquet-go/parquet-go/format"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// special reads the type of an element whose values are numbers in another way than their physical type says: decimal numbers, times of
// 96 bits, and nothing but nulls. is is false of all others.
func (c *column) special(e *pf.SchemaElement) (is bool, err error) {
	d, decimal := decimalOf(e)
	switch {
	case decimal:
		of := decimals(e, d)
		if of.Kind == format.Unreadable {
			return true, fmt.Errorf("%s: %s (%s): %w", of.Type, of.Why, skipHint, format.ErrVersion)
		}
		c.raw, c.dtype, c.number, c.decimal, c.fixed = of.raw, of.raw, of.number, of.decimal, int(e.TypeLength.V)
		if c.decimal > 0 {
			c.dtype = matrix.F64
		}
		if c.said = of.Type + " as " + c.dtype.String(); c.dtype == matrix.F64 && d.Precision > 15 {
			c.said += ", rounded to 15 to 17 digits"
		}
		if c.number != nil && c.physical != pf.ByteArray && c.fixed <= 0 {
			return true, fmt.Errorf("%s: values of %d bytes", of.Type, c.fixed)
		}
	case c.physical == pf.Int96:
		c.raw, c.dtype, c.number, c.fixed = matrix.I64, matrix.I64, moment, momentLen
		c.when = format.TimeType{Kind: "timestamp", Unit: "us"}
		c.said = "INT96 as microseconds"
	case isNull(e):
		c.raw, c.dtype = matrix.I32, matrix.F64
		if c.physical == pf.Int64 {
			c.raw = matrix.I64
		}
		c.said = "nothing but nulls"
	default:
		return false, nil
	}
	return true, nil
}

// numbers makes numbers of 64 bits of n values that are bytes.
func (c *cursor) numbers(raw []byte, e pf.Encoding, n int) ([]byte, error) {
	all, err := newTexts(raw, e, n, c.col.fixed, nil, nil)
	if err != nil {
		return nil, err
	}
	c.decoded = grown(c.decoded, 8*n)
	to, _ := wire.Numbers[uint64](c.decoded)
	for i := range to {
		text, err := all.next()
		if err != nil {
			return nil, err
		}
		if to[i], err = c.col.number(text); err != nil {
			return nil, err
		}
	}
	return c.decoded, nil
}

// scale makes doubles of decimal numbers that are stored as whole ones.
func (c *cursor) scale(raw []byte, n int) []byte {
	out := make([]float64, n)
	if c.col.raw == matrix.I32 {
		for i, v := range numbersIn[int32](raw) {
			out[i] = format.Decimal(int64(v), c.col.decimal)
		}
		return wire.View(out)
	}
	for i, v := range numbersIn[int64](raw) {
		out[i] = format.Decimal(v, c.col.decimal)
	}
	return wire.View(out)
}
