package data

import "fmt"

// dense has lines "label value value …", the same number of values in every line; a value's column is its position,
// from 0. Values that are zero are not stored.
var dense = Source{
	Name:       "dense",
	Help:       "label value value ..., separated by blanks or commas; zeros are not stored",
	base:       0,
	sep:        ',',
	positional: true,
	features:   denseFeatures,
}

func denseFeatures(c *chunk, s *settings, i int) (int, error) {
	text, exact, idx, val := c.text, c.exact, c.idx, c.val
	col, from := int64(0), len(idx)
	for {
		next, end, err := s.gap(text, i)
		if err != nil {
			return next, err
		}
		i = next
		if end {
			break
		}
		v, unrounded, next := s.decimal(text, i)
		if next < 0 || s.class[text[next]] == 0 {
			return i, fmt.Errorf("value %s of column %d, want a finite number", quote(s.token(text, i)), col)
		}
		if col >= s.limit {
			return i, fmt.Errorf("more than %d values, want one for each of %d columns", s.limit, s.limit)
		}
		if unrounded != 0 {
			idx, val = append(idx, col), append(val, v)
			if s.Exact {
				exact = appendExact(exact, val, unrounded)
			}
		}
		col++
		i = next
	}
	if c.idx, c.val, c.exact = idx, val, exact; s.Fields.Number > 0 { // values that are not stored are of fields too
		if int(col) != s.Fields.Number {
			return i, errCount(int(col), s.Fields.Number)
		}
		for _, col := range idx[from:] {
			c.field = append(c.field, int32(col))
		}
	} else if err := c.finish(s, from, true); err != nil {
		return i, err
	}
	if s.NoLabel && s.Columns != nil && s.Columns.Keys == nil && col == s.Columns.Hi+1 {
		return i, fmt.Errorf("%d values, want %d (without --no-label, if the first is a label)", col, s.Columns.Hi)
	}
	switch {
	case c.width < 0:
		c.width, c.widthLine = int(col), c.lines
	case c.width != int(col):
		return i, errWidth(int(col), c.width)
	}
	return i, nil
}

func errWidth(found, want int) error {
	return fmt.Errorf("%d values, want %d as in the rows before", found, want)
}
