package arrow

import (
	"fmt"
	"slices"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// dictionary is what the numbers of a column stand for.
type dictionary struct {
	format.Cells // of the entries, Null among them
	n            int
}

// cellReader gives the cells of a column. It keeps its memory from batch to batch.
type cellReader struct {
	cellBuffers
	dict *dictionary

	raw        []byte
	places     []int64
	null, none []bool
}

// read gives the cells of n rows from one on, in the memory of to.
func (c *cellReader) read(lo, n int64, to *format.Cells) error {
	*to = format.Cells{Number: to.Number[:0], Int: to.Int[:0], Text: format.Texts{Bytes: to.Text.Bytes[:0], End: to.Text.End[:0]},
		Code: to.Code[:0], End: to.End[:0]}
	if c.of.list == 0 {
		return c.append(lo, n, to)
	}
	starts, err := c.lists(lo, n)
	if err != nil {
		return err
	}
	there := bitmap{}
	if c.there.r != nil {
		if there, err = c.there.some(lo, n); err != nil {
			return err
		}
		if there.absent(int(n)) > 0 {
			c.none = slices.Grow(c.none[:0], int(n))[:n]
			to.NoList = c.none
		}
	}
	end := int64(0)
	from := starts[0] // of the cells that were not appended
	for i := range int(n) {
		has := there.b == nil || there.has(i)
		if to.NoList != nil {
			to.NoList[i] = !has
		}
		if has {
			end += starts[i+1] - starts[i]
		} else if starts[i+1] > starts[i] { // cells of a list that is not there
			if err := c.append(from, starts[i]-from, to); err != nil {
				return err
			}
			from = starts[i+1]
		}
		to.End = append(to.End, end)
	}
	return c.append(from, starts[n]-from, to)
}

// lists are where n lists from one on begin, and the end of the last.
func (c *cellReader) lists(lo, n int64) (starts []int64, err error) {
	if c.of.list == typeFixedList {
		for i := range n + 1 {
			starts = append(starts, (lo+i)*c.of.width)
		}
	} else if starts, err = c.offsets(c.starts, nil, lo, n+1, listOffset(c.of.list)); err != nil {
		return nil, err
	}
	return starts, ascending(starts, c.count, "lists")
}

// ascending checks offsets.
func ascending(starts []int64, most int64, what string) error {
	before := int64(0)
	for i, v := range starts {
		if v < before || v > most {
			return fmt.Errorf("offset %d of %s is %d, want %d to %d", i, what, v, before, most)
		}
		before = v
	}
	return nil
}

// maxCells is the most cells of lists in a batch.
const maxCells = 1 << 24

// append appends n cells from one on.
func (c *cellReader) append(lo, n int64, to *format.Cells) error {
	if n == 0 {
		return nil
	}
	before := cellCount(to)
	if n > maxCells-int64(before) {
		return fmt.Errorf("%d values in a batch, want at most %d: %w", n, maxCells, format.ErrLimit)
	}
	if c.of.storage == vacant && c.of.index == matrix.Invalid {
		c.nothing(before, int(n), to)
		return nil
	}
	there := bitmap{}
	if c.valid.r != nil {
		var err error
		if there, err = c.valid.some(lo, n); err != nil {
			return err
		}
	}
	if there.b != nil && there.absent(int(n)) > 0 || to.Null != nil {
		c.nulls(to, before, int(n))
		for i := range int(n) {
			to.Null[before+i] = there.b != nil && !there.has(i)
		}
	}
	switch {
	case c.of.index != matrix.Invalid:
		return c.indexed(lo, n, to)
	case c.of.storage == numbers:
		if err := c.numbers(lo, n, c.of.raw, to); err != nil || c.of.kind != format.Truth {
			return err
		}
		for i, v := range to.Int[before:] { // of arrow.bool8 every number but 0 is true
			to.Int[before+i] = min(1, v*v)
		}
		return nil
	case c.of.storage == decimals:
		return c.decimals(lo, n, to)
	case c.of.storage == fixed:
		return c.fixed(lo, n, to)
	case c.of.storage == views16:
		return c.viewed(lo, n, to)
	}
	return c.texts(lo, n, to)
}

// nothing appends missing cells.
func (c *cellReader) nothing(before, n int, to *format.Cells) {
	c.nulls(to, before, n)
	for i := range n {
		to.Null[before+i] = true
		to.Text.End = append(to.Text.End, int64(len(to.Text.Bytes)))
	}
}

// cellCount is how many cells there are.
func cellCount(c *format.Cells) int { return max(len(c.Number), len(c.Int), len(c.Code), c.Text.Len()) }

// nulls makes room for what tells nulls, of n cells more.
func (c *cellReader) nulls(to *format.Cells, before, n int) {
	if to.Null == nil {
		c.null = slices.Grow(c.null[:0], before+n)[:before]
		clear(c.null)
	}
	c.null = slices.Grow(c.null, n)[:before+n]
	to.Null = c.null
}

// stored reads n values of some bytes from one on, as they are stored, into memory where any number may begin.
func (c *cellReader) stored(lo, n, size int64) ([]byte, error) {
	want := int(n * size)
	if cap(c.raw) < want {
		c.raw = wire.View(make([]uint64, (want+7)/8))
	}
	c.raw = c.raw[:want]
	return c.raw, wire.ReadAt(c.values.r, c.raw, c.values.off+lo*size)
}

// numbers appends numbers of the type.
func (c *cellReader) numbers(lo, n int64, d matrix.DType, to *format.Cells) error {
	if d == matrix.Bool {
		m, err := c.values.some(lo, n)
		if err != nil {
			return err
		}
		for i := range int(n) {
			v := int64(0)
			if m.has(i) {
				v = 1
			}
			to.Int = append(to.Int, v)
		}
		return nil
	}
	raw, err := c.stored(lo, n, int64(d.Size()))
	if err != nil {
		return err
	}
	wire.Swap(raw, d.Size(), c.order)
	switch d {
	case matrix.F64:
		to.Number = widened[float64, float64](to.Number, raw)
	case matrix.F32:
		to.Number = widened[float64, float32](to.Number, raw)
	case matrix.F16:
		halves, _ := wire.Numbers[uint16](raw)
		for _, v := range halves {
			to.Number = append(to.Number, float64(matrix.Float16(v).Float32()))
		}
	case matrix.I64:
		to.Int = widened[int64, int64](to.Int, raw)
	case matrix.I32:
		to.Int = widened[int64, int32](to.Int, raw)
	case matrix.I16:
		to.Int = widened[int64, int16](to.Int, raw)
	case matrix.I8:
		to.Int = widened[int64, int8](to.Int, raw)
	case matrix.U64:
		to.Int = widened[int64, uint64](to.Int, raw)
	case matrix.U32:
		to.Int = widened[int64, uint32](to.Int, raw)
	case matrix.U16:
		to.Int = widened[int64, uint16](to.Int, raw)
	default:
		to.Int = widened[int64, uint8](to.Int, raw)
	}
	return nil
}

// widened appends numbers, which lie where they may.
func widened[T int64 | float64, S wire.Number](to []T, raw []byte) []T {
	from, _ := wire.Numbers[S](raw)
	start := len(to)
	to = slices.Grow(to, len(from))[:start+len(from)]
	for i, v := range from {
		to[start+i] = T(v)
	}
	return to
}

// fixed appends texts of the same size.
func (c *cellReader) fixed(lo, n int64, to *format.Cells) error {
	size := int64(c.of.size)
	raw, err := c.stored(lo, n, size)
	if err != nil {
		return err
	}
	if c.of.uuid {
		return uuids(raw, to)
	}
	end := int64(len(to.Text.Bytes))
	to.Text.Bytes = append(to.Text.Bytes, raw...)
	for range n {
		end += size
		to.Text.End = append(to.Text.End, end)
	}
	return nil
}

// uuids appends the texts of UUIDs.
func uuids(raw []byte, to *format.Cells) (err error) {
	for b := range slices.Chunk(raw, format.UUIDSize) {
		if to.Text.Bytes, err = format.AppendUUID(to.Text.Bytes, b); err != nil {
			return err
		}
		to.Text.End = append(to.Text.End, int64(len(to.Text.Bytes)))
	}
	return nil
}

// decimals appends decimal numbers. What stands in the place of a null may be anything.
func (c *cellReader) decimals(lo, n int64, to *format.Cells) error {
	size := c.of.size
	raw, err := c.stored(lo, n, int64(size))
	if err != nil {
		return err
	}
	first := cellCount(to)
	for i := range int(n) {
		b := raw[i*size:][:size]
		if c.order == wire.Little {
			slices.Reverse(b)
		}
		absent := to.Null != nil && to.Null[first+i]
		switch {
		case c.of.kind == format.Whole:
			v, err := format.WholeBytes(b)
			if err != nil && !absent {
				return err
			}
			to.Int = append(to.Int, v)
		case c.of.kind == format.Text:
			if to.Text.Bytes, err = format.AppendDecimal(to.Text.Bytes, b, c.of.digits); err != nil {
				return err
			}
			to.Text.End = append(to.Text.End, int64(len(to.Text.Bytes)))
			if size := len(to.Text.Bytes); size > maxTexts {
				return fmt.Errorf("%d bytes of text in a batch, want at most %d: %w", size, maxTexts, format.ErrLimit)
			}
		default:
			v, err := format.DecimalBytes(b, c.of.digits)
			if err != nil {
				return err
			}
			to.Number = append(to.Number, v)
		}
	}
	return nil
}

// indexed appends numbers of entries of the dictionary, or the entries if they are numbers.
func (c *cellReader) indexed(lo, n int64, to *format.Cells) error {
	index := format.Cells{}
	if err := c.numbers(lo, n, c.of.index, &index); err != nil {
		return err
	}
	d := c.dict
	if d == nil {
		d = &dictionary{}
	}
	text := c.of.kind == format.Text
	if to.Dict = nil; text {
		to.Dict = &d.Text
	}
	first := cellCount(to)
	for i, k := range index.Int {
		absent := to.Null != nil && to.Null[first+i]
		if !absent && (k < 0 || k >= int64(d.n)) { // those of u64 beyond i64 are below 0
			return fmt.Errorf("number %d of a dictionary of %d", k, d.n)
		}
		if !absent && d.Null != nil && d.Null[k] {
			if absent = true; to.Null == nil {
				c.nulls(to, first, int(n))
				clear(to.Null)
			}
			to.Null[first+i] = true
		}
		switch {
		case absent && text:
			to.Code = append(to.Code, 0)
		case text:
			to.Code = append(to.Code, int32(k))
		case c.of.kind == format.Number:
			to.Number = append(to.Number, entry(d.Number, k, absent))
		default:
			to.Int = append(to.Int, entry(d.Int, k, absent))
		}
	}
	return nil
}

func entry[T any](of []T, k int64, absent bool) (v T) {
	if absent {
		return v
	}
	return of[k]
}
