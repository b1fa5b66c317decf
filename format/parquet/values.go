package parquet

import (
	"encoding/binary"
	"fmt"
	"math"

	pf "github.com/parquet-go/parquet-go/format"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// values reads n rows, nulls among them.
func (c *chunk) values(raw []byte, e pf.Encoding, n int) (d matrix.Data, err error) {
	held := n
	if c.levels != nil {
		if c.nulls == nullError {
			return nil, fmt.Errorf("a null, want a number (the option nulls says what it shall be)")
		}
		if c.nulls == nullNaN && !c.col.raw.Float() {
			return nil, fmt.Errorf("a null, which %v cannot hold as nan", c.col.dtype)
		}
		held = 0
		for _, l := range c.levels {
			held += int(l)
		}
	}
	switch e {
	case pf.Plain:
		d, err = c.plain(raw, held)
	case pf.PlainDictionary, pf.RLEDictionary:
		d, err = c.indexed(raw, held)
	case pf.ByteStreamSplit:
		d, err = c.split(raw, held)
	case pf.RLE:
		d, err = c.runs(raw, held)
	case pf.DeltaBinaryPacked:
		d, err = c.packed(raw, held)
	default:
		err = fmt.Errorf("values in %v, want plain, dictionary, RLE, differences or byte stream split: %w", e, format.ErrVersion)
	}
	if err != nil || c.levels == nil {
		return d, err
	}
	return c.spread(d), nil
}

// plain reads values that stand side by side.
func (c *chunk) plain(raw []byte, n int) (matrix.Data, error) {
	size := int64(c.col.raw.Size())
	need := int64(n) * size
	if c.col.raw == matrix.Bool {
		need = (int64(n) + 7) / 8
	}
	if n < 0 || int64(len(raw)) != need {
		return nil, fmt.Errorf("%d values of %v in %d bytes, want %d", n, c.col.raw, len(raw), need)
	}
	d := matrix.KindOf(c.col.raw).Dense(n)
	to, _ := wire.ViewAny(d.Values())
	if c.col.raw == matrix.Bool {
		for i := range n {
			to[i] = raw[i/8] >> (i % 8) & 1
		}
		return d, nil
	}
	copy(to, raw)
	wire.Swap(to, int(size), wire.Little)
	return d, nil
}

// indexed reads numbers of values in the dictionary.
func (c *chunk) indexed(raw []byte, n int) (matrix.Data, error) {
	if c.dict == nil {
		return nil, fmt.Errorf("a page that needs a dictionary, and none before it")
	}
	var index []uint32
	if n > 0 {
		if len(raw) == 0 {
			return nil, fmt.Errorf("numbers of a dictionary without their width")
		}
		var err error
		if index, err = hybrid(raw[1:], int(raw[0]), n); err != nil {
			return nil, err
		}
	}
	d := matrix.KindOf(c.col.raw).Dense(n)
	to, size := wire.ViewAny(d.Values())
	from, _ := wire.ViewAny(c.dict.Values())
	for i, k := range index {
		if int64(k) >= int64(c.dict.NNZ()) {
			return nil, fmt.Errorf("number %d of a dictionary of %d", k, c.dict.NNZ())
		}
		copy(to[i*size:(i+1)*size], from[int(k)*size:])
	}
	return d, nil
}

// split reads values whose first bytes stand before all second bytes, and so on.
func (c *chunk) split(raw []byte, n int) (matrix.Data, error) {
	if c.col.raw == matrix.Bool || len(raw) != n*c.col.raw.Size() {
		return nil, fmt.Errorf("%d split values of %v in %d bytes", n, c.col.raw, len(raw))
	}
	d := matrix.KindOf(c.col.raw).Dense(n)
	to, size := wire.ViewAny(d.Values())
	for k := range size {
		for i, b := range raw[k*n : (k+1)*n] {
			to[i*size+k] = b
		}
	}
	wire.Swap(to, size, wire.Little)
	return d, nil
}

// runs reads truth values in runs, behind their length.
func (c *chunk) runs(raw []byte, n int) (matrix.Data, error) {
	if c.col.raw != matrix.Bool {
		return nil, fmt.Errorf("values of %v in RLE: %w", c.col.raw, format.ErrVersion)
	}
	if len(raw) < 4 || int64(binary.LittleEndian.Uint32(raw)) > int64(len(raw)-4) {
		return nil, fmt.Errorf("runs without their end")
	}
	bits, err := hybrid(raw[4:][:binary.LittleEndian.Uint32(raw)], 1, n)
	if err != nil {
		return nil, err
	}
	d := &matrix.Dense[matrix.Boolean]{Val: make([]matrix.Boolean, n)}
	for i, b := range bits {
		d.Val[i] = matrix.Boolean(b)
	}
	return d, nil
}

// spread puts the values to their rows, and NaN or zero to the others.
func (c *chunk) spread(d matrix.Data) matrix.Data {
	out := matrix.KindOf(d.DType()).Dense(len(c.levels))
	to, size := wire.ViewAny(out.Values())
	from, _ := wire.ViewAny(d.Values())
	var null []byte
	if c.nulls == nullNaN {
		nan, _ := matrix.Block{At: matrix.At(0, 1, 0, 1), Data: &matrix.Dense[float64]{Val: []float64{math.NaN()}}}.Cast(d.DType())
		null, _ = wire.ViewAny(nan.Data.Values())
	}
	for i, l := range c.levels {
		if l == 0 {
			copy(to[i*size:], null)
			continue
		}
		copy(to[i*size:(i+1)*size], from)
		from = from[size:]
	}
	return out
}
