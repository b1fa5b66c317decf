package parquet

import (
	"fmt"
	"slices"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// take appends n cells of the open page. Those whose level is not full are null; without levels none is.
func (c *cellCursor) take(n int, levels []uint32, to *format.Cells) error {
	if n == 0 {
		return nil
	}
	held := n
	if levels != nil {
		held = 0
		for _, l := range levels {
			if l == c.of.full {
				held++
			}
		}
	}
	if held < n || to.Null != nil {
		if to.Null == nil {
			c.null = grownBools(c.null, count(to))
		}
		if levels == nil {
			c.null = append(c.null, make([]bool, n)...)
		}
		for _, l := range levels {
			c.null = append(c.null, l != c.of.full)
		}
		to.Null = c.null
	}
	if held == n {
		levels = nil
	}
	if c.of.Kind == format.Text {
		return c.takeTexts(n, levels, to)
	}
	raw := c.left[:held*c.numbers.Size()]
	c.left = c.left[len(raw):]
	s := spreader{levels, c.of.full, n}
	switch c.numbers {
	case matrix.F64:
		to.Number = spread(to.Number, numbersIn[float64](raw), s)
	case matrix.F32:
		to.Number = spread(to.Number, numbersIn[float32](raw), s)
	case matrix.I64:
		to.Int = spread(to.Int, numbersIn[int64](raw), s)
	case matrix.U64:
		to.Int = spread(to.Int, numbersIn[uint64](raw), s)
	case matrix.I32:
		to.Int = spread(to.Int, numbersIn[int32](raw), s)
	case matrix.U32:
		to.Int = spread(to.Int, numbersIn[uint32](raw), s)
	default:
		to.Int = spread(to.Int, raw, s)
	}
	return nil
}

// grownBools is n times false.
func grownBools(b []bool, n int) []bool {
	b = slices.Grow(b[:0], n)[:n]
	clear(b)
	return b
}

// count is how many cells there are.
func count(c *format.Cells) int {
	return max(len(c.Number), len(c.Int), len(c.Code), c.Text.Len())
}

// spreader says which of n cells have a value: all without levels.
type spreader struct {
	levels []uint32
	full   uint32
	n      int
}

// spread appends values to those before, and zeros between them for the cells that have none.
func spread[T int64 | float64, S wire.Number](to []T, from []S, s spreader) []T {
	start := len(to)
	to = slices.Grow(to, s.n)[:start+s.n]
	dst := to[start:]
	if s.levels == nil {
		for i, v := range from {
			dst[i] = T(v)
		}
		return to
	}
	for i, l := range s.levels {
		if dst[i] = 0; l == s.full {
			dst[i], from = T(from[0]), from[1:]
		}
	}
	return to
}

// takeTexts appends texts, or codes as long as all pages have them.
func (c *cellCursor) takeTexts(n int, levels []uint32, to *format.Cells) error {
	if c.texts.codes != nil && to.Text.Len() == 0 {
		to.Dict = c.words
		start := len(to.Code)
		to.Code = slices.Grow(to.Code, n)[:start+n]
		dst := to.Code[start:]
		if levels == nil {
			for i, k := range c.texts.codes[:n] {
				dst[i] = int32(k)
			}
			c.texts.codes = c.texts.codes[n:]
			return nil
		}
		codes := c.texts.codes
		for i, l := range levels {
			if dst[i] = 0; l == c.of.full {
				dst[i], codes = int32(codes[0]), codes[1:]
			}
		}
		c.texts.codes = codes
		return nil
	}
	if err := expand(to); err != nil {
		return err
	}
	for i := range n {
		if levels == nil || levels[i] == c.of.full {
			text, err := c.text()
			if err != nil {
				return err
			}
			to.Text.Bytes = append(to.Text.Bytes, text...)
		}
		to.Text.End = append(to.Text.End, int64(len(to.Text.Bytes)))
	}
	return tooLong(to)
}

// text takes the next text of the page.
func (c *cellCursor) text() ([]byte, error) {
	if codes := c.texts.codes; codes != nil {
		c.texts.codes = codes[1:]
		return c.words.At(int(codes[0])), nil
	}
	return c.texts.next()
}

// expand makes texts of codes.
func expand(to *format.Cells) error {
	for i, k := range to.Code {
		if to.Null == nil || !to.Null[i] {
			to.Text.Bytes = append(to.Text.Bytes, to.Dict.At(int(k))...)
		}
		to.Text.End = append(to.Text.End, int64(len(to.Text.Bytes)))
		if err := tooLong(to); err != nil {
			return err
		}
	}
	to.Code, to.Dict = to.Code[:0], nil
	return nil
}

func tooLong(to *format.Cells) error {
	if n := len(to.Text.Bytes); n > maxTexts {
		return fmt.Errorf("texts of %d bytes in %d rows, want at most %d: %w", n, to.Text.Len(), maxTexts, format.ErrLimit)
	}
	return nil
}
