package data

import "strconv"

// dummy has lines "label index index …", indices from 0: one-hot features, whose values are all 1.
var dummy = Source{
	Name:     "dummy",
	Help:     "label index index ..., indices count from 0, every value is 1",
	base:     0,
	ones:     true,
	features: dummyFeatures,
	value: func(line []byte, _ int32, index int64, _ float32) []byte {
		return strconv.AppendInt(append(line, ' '), index, 10)
	},
}

func dummyFeatures(c *chunk, s *settings, i int) (int, error) {
	text, idx, val := c.text, c.idx, c.val
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
		index, end := whole(text, i)
		if end < 0 || s.class[text[end]] == 0 {
			return i, errIndex(s.token(text, i))
		}
		col := index - s.base
		if uint64(col) >= uint64(s.limit) {
			return i, s.errColumn(index)
		}
		sorted = sorted && col > last
		last = col
		idx, val = append(idx, col), append(val, 1)
		i = end
	}
	c.idx, c.val = idx, val
	return i, c.finish(s, from, sorted)
}
