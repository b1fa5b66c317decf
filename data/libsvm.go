package data

import (
	"bytes"
	"fmt"
	"strconv"
)

// libsvm has lines "label index:value index:value …", indices from 1 and ascending, as liblinear wants them. A "qid:n" of ranking sets
// is the group of the row.
var libsvm = Source{
	Name:     "libsvm",
	Help:     "label index:value index:value ..., indices count from 1",
	base:     1,
	features: libsvmFeatures,
	value: func(line []byte, _ int32, index int64, v float32) []byte {
		line = strconv.AppendInt(append(line, ' '), index, 10)
		return appendNumber(append(line, ':'), v)
	},
}

func libsvmFeatures(c *chunk, s *settings, i int) (int, error) {
	text, exact, idx, val := c.text, c.exact, c.idx, c.val
	from, last, sorted := len(idx), int64(-1), true
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
		index, colon := whole(text, i)
		if colon < 0 || text[colon] != ':' {
			end, err := c.query(s, i)
			if err != nil {
				return i, err
			}
			i = end
			continue
		}
		v, unrounded, end := s.decimal(text, colon+1)
		if end < 0 || s.class[text[end]] == 0 {
			return i, errValue(index, s.token(text, colon+1))
		}
		col := index - s.base
		if uint64(col) >= uint64(s.limit) {
			return i, s.errColumn(index)
		}
		sorted = sorted && col > last
		last = col
		idx, val = append(idx, col), append(val, v)
		if s.Exact {
			exact = appendExact(exact, val, unrounded)
		}
		i = end
	}
	c.idx, c.val, c.exact = idx, val, exact
	if sorted {
		return i, c.finish(s, from, true)
	}
	err := s.errDescent(idx[from:])
	if twice := c.finish(s, from, false); twice != nil { // which says more
		err = twice
	}
	return i, err
}

// errDescent tells of the first index that is below the one before it: most often something else stands where it is taken for an index.
// It is nil where order says nothing: of ids that are hashed, and where the place of a value says its field.
func (s *settings) errDescent(columns []int64) error {
	if s.Hash > 0 || s.Fields.Number > 0 && !s.Fields.Sorted {
		return nil
	}
	for i := 1; i < len(columns); i++ {
		if before, index := columns[i-1]+s.base, columns[i]+s.base; index < before {
			return fmt.Errorf("index %d behind %d, want ascending ones: sort them, or --skip-bad N leaves out up to N such lines", index, before)
		}
	}
	return nil
}

// query takes the qid at text[i]; any other token there is an error.
func (c *chunk) query(s *settings, i int) (end int, err error) {
	token := s.token(c.text, i)
	if id, ok := bytes.CutPrefix(token, []byte("qid:")); ok {
		if n, end := whole(c.text, i+len(token)-len(id)); end == i+len(token) {
			if len(c.group) > len(c.label) {
				return i, fmt.Errorf("%s beside qid:%d, want one for a row", quote(token), c.group[len(c.label)])
			}
			if c.queryLine == 0 {
				c.queryLine = c.lines
			}
			c.group = Extend(c.group, len(c.label), []int64{n}, 1, noGroup)
			return end, nil
		}
	}
	if index, _, ok := bytes.Cut(token, []byte(":")); ok {
		return i, errIndex(index)
	}
	return i, fmt.Errorf("feature %s, want index:value", quote(token))
}

func errValue(index int64, token []byte) error {
	return fmt.Errorf("value %s of index %d, want a finite number", quote(token), index)
}
