package csv

import (
	"bytes"
	"fmt"

	"thole.example/format"
	"thole.example/matrix"
)

// piece is what was read from some lines.
type piece struct {
	rows, lines int64
	end         int64 // the byte of the file behind them
	open        bool  // the file ends there, without a line end
	lanes       []matrix.Data
	err         *cellError // with the line counted from 1 in the piece
}

// shape is what a piece needs to know of the file.
type shape struct {
	sep     byte
	decimal byte
	lanes   []format.Lane
	empty   empty
}

// parse reads the cells of the lines, up to the first error.
func (s *shape) parse(l format.Lines) piece {
	p := piece{end: l.End(), open: l.Open}
	columns := make([]column, len(s.lanes))
	for i, lane := range s.lanes {
		columns[i] = s.newColumn(lane.DType)
	}
	text := l.Text[:len(l.Text)+format.LinesPad]
	for i := 0; i < len(l.Text) && p.err == nil; {
		p.lines++
		if text[i] <= ' ' || text[i] == comment {
			if end := s.blankLine(text, i); end > 0 {
				i = end
				continue
			}
		}
		i = s.line(&p, columns, text, i, l.Off)
	}
	for _, c := range columns {
		p.lanes = append(p.lanes, c.data())
	}
	return p
}

// blankLine is where the line that begins at text[i] ends, if it is blank or a comment; else 0.
func (s *shape) blankLine(text []byte, i int) int {
	for text[i] == ' ' || text[i] == '\r' || text[i] == '\t' && s.sep != '\t' {
		i++
	}
	if text[i] == '\n' || text[i] == comment {
		return i + bytes.IndexByte(text[i:], '\n') + 1
	}
	return 0
}

// line reads the line that begins at text[i] and answers where the next begins.
func (s *shape) line(p *piece, columns []column, text []byte, i int, off int64) int {
	done := 0
	width := func() int { return int(s.lanes[len(s.lanes)-1].Cols.Hi) }
	fail := func(end, col int, err error) int {
		if err == errShort {
			col, err = 0, fmt.Errorf("%d cells, want %d", col-1, width())
		}
		p.err = &cellError{off + int64(end), p.lines, col, err}
		return end
	}
	for k, c := range columns {
		if k > 0 {
			if text[i] != s.sep {
				return fail(i, done+1, errShort)
			}
			i++
		}
		n := int(s.lanes[k].Cols.Len())
		end, at, err := c.row(text, i, n, s.sep)
		if err != nil {
			return fail(end, done+at+1, err)
		}
		done += n
		i = end
	}
	for s.sep == blankSep && text[i] == blankSep {
		i++
	}
	if text[i] == '\r' && text[i+1] == '\n' {
		i++
	}
	if text[i] != '\n' {
		return fail(i, 0, fmt.Errorf("more than %d cells", width()))
	}
	p.rows++
	return i + 1
}
