package data

// joiner sees the chunks in order: it counts lines across them, and finds what contradicts between them.
type joiner struct {
	name  string
	s     *settings
	lines int64 // of the chunks before
	width int   // of dense rows, 0 before the first
	rows  bool  // there was a row
	zero  bool  // there was a label 0, and -1, under AutoTrans
	minus bool
	query bool // there was a qid
}

// join takes the next chunk and answers with the earliest error in it, if any.
func (j *joiner) join(c *chunk) error {
	line, err := c.lines, c.err
	if c.widthLine > 0 {
		if j.rows && c.width != j.width {
			line, err = c.widthLine, errWidth(c.width, j.width)
		}
		j.rows, j.width = true, c.width
	}
	if at, label := j.mixed(c); at > 0 && (err == nil || at < line) {
		line, err = at, errMixed(label)
	}
	if err != nil {
		if line > 0 {
			line += j.lines
		}
		return &Error{j.name, line, err}
	}
	if c.queryLine > 0 && !j.query {
		j.query = true
		if j.s.Note != nil {
			j.s.Note(j.lines+c.queryLine, "qid is ignored: rows are not grouped by query")
		}
	}
	j.lines += c.lines
	return nil
}

// mixed is the first line of c by which both 0 and -1 have been negative labels, and the one that came second; 0 if
// there is none.
func (j *joiner) mixed(c *chunk) (line int64, label int) {
	zero, minus := c.zeroLine, c.minusLine
	switch {
	case j.zero && minus > 0:
		line, label = minus, -1
	case j.minus && zero > 0:
		line, label = zero, 0
	case zero > 0 && minus > 0 && zero < minus:
		line, label = minus, -1
	case zero > 0 && minus > 0:
		line, label = zero, 0
	}
	j.zero, j.minus = j.zero || zero > 0, j.minus || minus > 0
	return line, label
}
