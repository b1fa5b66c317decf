package data

import (
	"fmt"
	"strconv"
)

// libffm has lines "label field:index:value field:index:value …": features that say of which field they are. Fields and
// indices count from 0, labels are mostly 0 and 1.
var libffm = Source{
	Name:     "libffm",
	Help:     "label field:index:value field:index:value ..., fields and indices count from 0",
	base:     0,
	named:    true,
	features: libffmFeatures,
	value: func(line []byte, field int32, index int64, v float32) []byte {
		line = strconv.AppendInt(append(line, ' '), int64(field), 10)
		line = strconv.AppendInt(append(line, ':'), index, 10)
		return appendNumber(append(line, ':'), v)
	},
}

func libffmFeatures(c *chunk, s *settings, i int) (int, error) {
	text, exact, idx, val, field := c.text, c.exact, c.idx, c.val, c.field
	from, last, lastField, sorted := len(idx), int64(-1), int64(0), true
	for {
		if text[i] == ' ' && text[i+1]-'0' <= 9 { // the common gap: one blank
			i++
		} else {
			var end bool
			var err error
			if i, end, err = s.gap(text, i); err != nil {
				return i, err
			} else if end {
				break
			}
		}
		f, colon := whole(text, i)
		if colon < 0 || text[colon] != ':' {
			return i, fmt.Errorf("feature %s, want field:index:value", quote(s.token(text, i)))
		}
		if uint64(f) >= uint64(s.fieldLimit) {
			return i, s.errField(f)
		}
		index, end := whole(text, colon+1)
		if end < 0 || text[end] != ':' {
			return i, fmt.Errorf("feature %s, want field:index:value", quote(s.token(text, i)))
		}
		v, unrounded, next := s.decimal(text, end+1)
		if next < 0 || s.class[text[next]] == 0 {
			return i, errValue(index, s.token(text, end+1))
		}
		col := index - s.base
		if uint64(col) >= uint64(s.limit) {
			return i, s.errColumn(index)
		}
		sorted = sorted && (f > lastField || f == lastField && col > last)
		last, lastField = col, f
		idx, val, field = append(idx, col), append(val, v), append(field, int32(f))
		if s.Exact {
			exact = appendExact(exact, val, unrounded)
		}
		i = next
	}
	c.idx, c.val, c.field, c.exact = idx, val, field, exact
	if !sorted {
		return i, c.order(s, from)
	}
	return i, nil
}
