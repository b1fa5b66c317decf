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

// values opens a page of n rows, nulls among them.
func (c *cursor) values(raw []byte, e pf.Encoding, n int) (err error) {
	held := n
	if len(c.levels) > 0 {
		held = 0
		for _, l := range c.levels {
			held += int(l)
		}
	}
	switch e {
	case pf.Plain, pf.DeltaByteArray, pf.DeltaLengthByteArray:
		if c.col.number == nil && e != pf.Plain {
			return fmt.Errorf("values of %v in %v: %w", c.col.raw, e, format.ErrVersion)
		}
		if c.col.number != nil {
			raw, err = c.numbers(raw, e, held)
			break
		}
		raw, err = c.plain(raw, held)
	case pf.PlainDictionary, pf.RLEDictionary:
		raw, err = c.indexed(raw, held)
	case pf.ByteStreamSplit, pf.RLE, pf.DeltaBinaryPacked:
		if c.col.number != nil {
			return fmt.Errorf("values of %d bytes in %v: %w", c.col.fixed, e, format.ErrVersion)
		}
		raw, err = c.other(raw, e, held)
	default:
		err = fmt.Errorf("values in %v, want plain, dictionary, RLE, differences or byte stream split: %w", e, format.ErrVersion)
	}
	if err == nil && c.to != c.col.raw {
		raw, err = c.cast(raw, held)
	}
	if err == nil && len(c.levels) > 0 {
		raw, err = c.spread(raw)
	}
	c.left = raw
	return err
}

// other reads values of the encodings that only numbers have.
func (c *cursor) other(raw []byte, e pf.Encoding, n int) ([]byte, error) {
	switch e {
	case pf.ByteStreamSplit:
		return c.split(raw, n)
	case pf.RLE:
		return c.runs(raw, n)
	}
	return c.packed(raw, n)
}

// cast gives the values the type that is asked for.
func (c *cursor) cast(raw []byte, n int) ([]byte, error) {
	if c.col.decimal > 0 && c.col.number == nil {
		return c.scale(raw, n), nil
	}
	d := matrix.KindOf(c.col.raw).Dense(n)
	from, _ := wire.ViewAny(d.Values())
	copy(from, raw)
	b, exact := matrix.Block{At: matrix.At(0, int64(n), 0, 1), Data: d}.Cast(c.to)
	if !exact {
		return nil, c.named(fmt.Errorf("a value that %v does not hold", c.to))
	}
	to, _ := wire.ViewAny(b.Data.Values())
	return to, nil
}

// plain reads values that stand side by side.
func (c *cursor) plain(raw []byte, n int) ([]byte, error) {
	size := int64(c.col.raw.Size())
	need := int64(n) * size
	if c.col.raw == matrix.Bool {
		need = (int64(n) + 7) / 8
	}
	if n < 0 || int64(len(raw)) != need {
		return nil, fmt.Errorf("%d values of %v in %d bytes, want %d", n, c.col.raw, len(raw), need)
	}
	if c.col.raw != matrix.Bool {
		wire.Swap(raw, int(size), wire.Little)
		return raw, nil
	}
	c.decoded = grown(c.decoded, n)
	for i := range c.decoded {
		c.decoded[i] = raw[i/8] >> (i % 8) & 1
	}
	return c.decoded, nil
}

// indexed reads numbers of values in the dictionary.
func (c *cursor) indexed(raw []byte, n int) ([]byte, error) {
	if !c.hasDict {
		return nil, fmt.Errorf("a page that needs a dictionary, and none before it")
	}
	if n == 0 {
		return nil, nil
	}
	if len(raw) == 0 {
		return nil, fmt.Errorf("numbers of a dictionary without their width")
	}
	c.index = grownIndex(c.index, n)
	if err := hybrid(c.index, raw[1:], int(raw[0])); err != nil {
		return nil, err
	}
	size := c.col.raw.Size()
	c.decoded = grown(c.decoded, n*size)
	bad := -1
	switch size {
	case 8:
		bad = look[uint64](c.decoded, c.dict, c.index)
	case 4:
		bad = look[uint32](c.decoded, c.dict, c.index)
	case 2:
		bad = look[uint16](c.decoded, c.dict, c.index)
	default:
		bad = look[uint8](c.decoded, c.dict, c.index)
	}
	if bad >= 0 {
		return nil, fmt.Errorf("number %d of a dictionary of %d", c.index[bad], len(c.dict)/size)
	}
	return c.decoded, nil
}

// look puts the values of the dictionary that have the numbers side by side. It gives the place of a number that it does not
// have, -1 if it has all.
func look[T wire.Number](dst, dict []byte, index []uint32) int {
	to, _ := wire.Numbers[T](dst)
	from, _ := wire.Numbers[T](dict)
	for i, k := range index {
		if uint64(k) >= uint64(len(from)) {
			return i
		}
		to[i] = from[k]
	}
	return -1
}

// split reads values whose first bytes stand before all second bytes, and so on.
func (c *cursor) split(raw []byte, n int) ([]byte, error) {
	size := c.col.raw.Size()
	if c.col.raw == matrix.Bool || len(raw) != n*size {
		return nil, fmt.Errorf("%d split values of %v in %d bytes", n, c.col.raw, len(raw))
	}
	c.decoded = grown(c.decoded, n*size)
	for k := range size {
		for i, b := range raw[k*n : (k+1)*n] {
			c.decoded[i*size+k] = b
		}
	}
	wire.Swap(c.decoded, size, wire.Little)
	return c.decoded, nil
}

// runs reads truth values in runs, behind their length.
func (c *cursor) runs(raw []byte, n int) ([]byte, error) {
	if c.col.raw != matrix.Bool {
		return nil, fmt.Errorf("values of %v in RLE: %w", c.col.raw, format.ErrVersion)
	}
	if len(raw) < 4 || int64(binary.LittleEndian.Uint32(raw)) > int64(len(raw)-4) {
		return nil, fmt.Errorf("runs without their end")
	}
	c.index = grownIndex(c.index, n)
	if err := hybrid(c.index, raw[4:][:binary.LittleEndian.Uint32(raw)], 1); err != nil {
		return nil, err
	}
	c.decoded = grown(c.decoded, n)
	for i, b := range c.index {
		c.decoded[i] = byte(b)
	}
	return c.decoded, nil
}

// packed reads whole numbers as differences.
func (c *cursor) packed(raw []byte, n int) ([]byte, error) {
	if c.col.raw.Float() || c.col.raw == matrix.Bool {
		return nil, fmt.Errorf("values of %v in DELTA_BINARY_PACKED: %w", c.col.raw, format.ErrVersion)
	}
	size := c.col.raw.Size()
	all, err := differences(raw, n, 8*size)
	if err != nil || size == 8 {
		return wire.View(all), err
	}
	c.decoded = grown(c.decoded, n*size)
	to, _ := wire.Numbers[int32](c.decoded)
	for i, v := range all {
		to[i] = int32(v)
	}
	return c.decoded, nil
}

// spread puts the values to their rows, and NaN or zero to the others.
func (c *cursor) spread(from []byte) ([]byte, error) {
	size := c.to.Size()
	null := make([]byte, size)
	switch {
	case c.nulls == nullError:
		return nil, fmt.Errorf("a null, want a number (the option nulls says what it shall be)")
	case c.nulls == nullNaN && !c.to.Float():
		return nil, fmt.Errorf("a null, which %v cannot hold as nan (the option nulls=0 makes it zero)", c.to)
	case c.nulls == nullNaN:
		nan, _ := matrix.Block{At: matrix.At(0, 1, 0, 1), Data: &matrix.Dense[float64]{Val: []float64{math.NaN()}}}.Cast(c.to)
		null, _ = wire.ViewAny(nan.Data.Values())
	}
	c.filled = grown(c.filled, len(c.levels)*size)
	to := c.filled
	for _, l := range c.levels {
		if l == 0 {
			copy(to[:size], null)
		} else {
			copy(to[:size], from)
			from = from[size:]
		}
		to = to[size:]
	}
	return c.filled, nil
}
