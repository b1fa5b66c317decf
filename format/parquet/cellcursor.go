package parquet

import (
	"fmt"

	pf "github.com/parquet-go/parquet-go/format"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// cellCursor reads the cells of a column in one row group, from the first row to the last.
type cellCursor struct {
	cursor
	of   *cellColumn
	open *int64 // bytes of the open pages of all columns
	mine int64  // of them, of this one

	// Of the open page: slots, and how many were taken; levels of repetition and of definition, where slots can be without a value
	// or lists; the texts; the type of the numbers, which are in left.
	slots, pos int
	repeats    []uint32
	texts      texts
	numbers    matrix.DType
	words      *format.Texts // the dictionary
	wide       []byte        // memory for numbers that are made of others
	cells      []uint32      // levels of the cells of lists
	null, none []bool        // memory
}

// maxOpen is the most bytes that the open pages of all columns may take.
const maxOpen = 1 << 30

// start sets the cursor before the first row.
func (c *cellCursor) start(of *cellColumn, meta *pf.ColumnMetaData) {
	c.of = of
	c.begin(&of.column, meta, of.raw, meta.NumValues, 0)
	c.slots, c.pos, c.texts, c.words = 0, 0, texts{}, nil
}

// turn opens the next page with cells. One that has at most over of them is passed over.
func (c *cellCursor) turn(over int64) error {
	h, body, err := c.advance(over)
	if err != nil || h == nil {
		return err
	}
	*c.open -= c.mine
	c.mine = int64(h.UncompressedPageSize) + values(h)*16
	if *c.open += c.mine; *c.open > maxOpen {
		return &wire.At{Off: body, Err: fmt.Errorf("pages of all columns of more than %d bytes: %w", maxOpen, format.ErrLimit)}
	}
	raw, err := c.load(h, body)
	if err == nil && h.Type == pf.DictionaryPage {
		err = c.dictionary(h, raw)
	} else if err == nil {
		err = c.data(h, raw)
	}
	if err != nil {
		return &wire.At{Off: body, Err: err}
	}
	return nil
}

// dictionary opens a dictionary.
func (c *cellCursor) dictionary(h *pf.PageHeader, raw []byte) error {
	if !c.of.bytes() {
		return c.cursor.dictionary(h, raw)
	}
	d := &h.DictionaryPageHeader.V
	raw, err := c.unpack(c.meta.Codec, raw, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	if d.Encoding != pf.Plain && d.Encoding != pf.PlainDictionary {
		return fmt.Errorf("dictionary in %v, want plain: %w", d.Encoding, format.ErrVersion)
	}
	if c.words, err = newDictionary(raw, int(d.NumValues), c.of.fixed, c.of.spell); err != nil || c.of.number == nil {
		return err
	}
	c.dict = grown(c.dict, 8*c.words.Len())
	to, _ := wire.Numbers[uint64](c.dict)
	for i := range to {
		if to[i], err = c.of.number(c.words.At(i)); err != nil {
			return err
		}
	}
	return nil
}

// data opens a page of cells.
func (c *cellCursor) data(h *pf.PageHeader, raw []byte) error {
	p, err := c.parts(h, raw)
	if err != nil {
		return err
	}
	if err := c.levelsOf(&p); err != nil {
		return err
	}
	held := p.slots
	if len(c.levels) > 0 {
		held = 0
		for _, l := range c.levels {
			if l == c.of.full {
				held++
			}
		}
	}
	c.slots, c.pos = p.slots, 0
	if c.of.bytes() {
		if c.texts, err = newTexts(p.values, p.encoding, held, c.of.fixed, c.words, c.index); err != nil {
			return err
		}
		if c.texts.codes != nil {
			c.index = c.texts.codes
		}
		switch {
		case c.of.number != nil:
			return c.numbered(held)
		case c.of.spell != nil && c.texts.codes == nil:
			c.texts, err = c.texts.spelled(c.of.spell)
		}
		return err
	}
	given := c.levels
	c.levels = nil // so that values come without nulls between them
	err = c.values(p.values, p.encoding, held)
	c.levels = given
	if err == nil && c.of.spell != nil {
		c.texts, err = wholeTexts(c.left, c.of.raw).spelled(c.of.spell)
	} else if err == nil {
		c.settle(held)
	}
	return err
}

// levelsOf reads the levels of a page. Those of definition stay empty if all slots have values and none is a list.
func (c *cellCursor) levelsOf(p *parts) error {
	c.levels, c.repeats = c.levels[:0], c.repeats[:0]
	switch {
	case !c.of.optional:
		return nil
	case !c.of.List:
		return c.define(p.define, p.slots)
	}
	c.levels, c.repeats = grownIndex(c.levels, p.slots), grownIndex(c.repeats, p.slots)
	if err := hybrid(c.repeats, p.repeat, 1); err != nil {
		return fmt.Errorf("repetition levels: %w", err)
	}
	if err := hybrid(c.levels, p.define, c.of.levelBits()); err != nil {
		return fmt.Errorf("definition levels: %w", err)
	}
	for i, l := range c.levels {
		if l > c.of.full || l <= c.of.empty && c.repeats[i] != 0 {
			return fmt.Errorf("levels of repetition %d and of definition %d, want at most %d", c.repeats[i], l, c.of.full)
		}
	}
	return nil
}

// numbered makes numbers of the texts of a page.
func (c *cellCursor) numbered(n int) (err error) {
	c.wide = grown(c.wide, 8*n)
	to, _ := wire.Numbers[uint64](c.wide)
	c.left, c.numbers = c.wide, c.of.raw
	if c.texts.codes != nil {
		look[uint64](c.wide, c.dict, c.texts.codes)
		return nil
	}
	for i := range to {
		text, err := c.texts.next()
		if err != nil {
			return err
		}
		if to[i], err = c.of.number(text); err != nil {
			return err
		}
	}
	return nil
}

// settle makes doubles of the decimal numbers and half floats of a page.
func (c *cellCursor) settle(n int) {
	c.numbers = c.of.raw
	if c.of.decimal == 0 && c.numbers != matrix.F16 {
		return
	}
	c.wide = grown(c.wide, 8*n)
	to, _ := wire.Numbers[float64](c.wide)
	switch c.of.raw {
	case matrix.I32:
		for i, v := range numbersIn[int32](c.left) {
			to[i] = format.Decimal(int64(v), c.of.decimal)
		}
	case matrix.I64:
		for i, v := range numbersIn[int64](c.left) {
			to[i] = format.Decimal(v, c.of.decimal)
		}
	default:
		for i, v := range numbersIn[uint16](c.left) {
			to[i] = float64(matrix.Float16(v).Float32())
		}
	}
	c.left, c.numbers = c.wide, matrix.F64
}

// numbersIn are the bytes, in the order of the machine, as numbers.
func numbersIn[T wire.Number](b []byte) []T {
	v, ok := wire.NumbersAnywhere[T](b)
	if !ok { // the machine wants them elsewhere
		_, size := wire.ViewAny(make([]T, 1))
		v = make([]T, len(b)/size)
		copy(wire.View(v), b)
	}
	return v
}

// skip goes on by n rows.
func (c *cellCursor) skip(n int, to *format.Cells) error {
	for n > 0 && !c.of.List {
		if c.pos < c.slots {
			break
		}
		before := c.row
		if err := c.turn(int64(n)); err != nil {
			return err
		}
		if c.pos == c.slots {
			n -= int(c.row - before)
		}
	}
	for n > 0 {
		some := min(n, batchRows)
		if err := c.read(some, to); err != nil {
			return err
		}
		n -= some
	}
	return nil
}

// read gives the cells of the next n rows, in the memory of to.
func (c *cellCursor) read(n int, to *format.Cells) error {
	*to = format.Cells{Number: to.Number[:0], Int: to.Int[:0], Text: format.Texts{Bytes: to.Text.Bytes[:0], End: to.Text.End[:0]},
		Code: to.Code[:0], End: to.End[:0]}
	if c.of.List {
		return c.lists(n, to)
	}
	for n > 0 {
		if c.pos == c.slots {
			if err := c.turn(0); err != nil {
				return err
			}
			continue
		}
		some := min(n, c.slots-c.pos)
		var levels []uint32
		if len(c.levels) > 0 {
			levels = c.levels[c.pos:][:some]
		}
		if err := c.take(some, levels, to); err != nil {
			return err
		}
		c.pos, n = c.pos+some, n-some
	}
	return nil
}

// lists gives the lists of the next n rows. A list can go on in the next page.
func (c *cellCursor) lists(n int, to *format.Cells) error {
	count := int64(0)
	for {
		if c.pos == c.slots {
			if c.row == c.rows && len(to.End) == n { // of slots
				return nil
			}
			if err := c.turn(0); err != nil {
				return err
			}
			continue
		}
		c.cells = c.cells[:0]
		done := false
		for ; c.pos < c.slots; c.pos++ {
			if c.repeats[c.pos] == 0 {
				if done = len(to.End) == n; done {
					break
				}
				if l := c.levels[c.pos]; l < c.of.empty || to.NoList != nil {
					if to.NoList == nil {
						c.none = grownBools(c.none, len(to.End))
					}
					c.none = append(c.none, l < c.of.empty)
					to.NoList = c.none
				}
				to.End = append(to.End, count)
			} else if len(to.End) == 0 {
				return fmt.Errorf("a list that goes on before its row")
			}
			if l := c.levels[c.pos]; l > c.of.empty {
				c.cells = append(c.cells, l)
				count++
				to.End[len(to.End)-1] = count
			}
		}
		if count > maxValues {
			return fmt.Errorf("lists of more than %d values in %d rows: %w", maxValues, len(to.End), format.ErrLimit)
		}
		if err := c.take(len(c.cells), c.cells, to); err != nil || done {
			return err
		}
	}
}
