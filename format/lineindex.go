package format

import (
	"bytes"
	"context"
	"io"
	"sync"
)

// LineMark is the begin of a line of a text file, with the rows and lines before it.
type LineMark struct {
	Off, Row, Line int64
}

// LineIndex finds the rows of a text file that has one on each line. It looks through the file as far as it was asked
// for, once. Blank lines, and lines of nothing but a comment, are no rows. It may be used by many goroutines.
type LineIndex struct {
	r       io.ReaderAt
	size    int64
	comment byte
	mu      sync.Mutex
	list    []LineMark // ascending; the last is as far as the file was looked through
}

// NewLineIndex begins at the first row. comment is the byte that begins a comment; 0 if there are none.
func NewLineIndex(r io.ReaderAt, size int64, first LineMark, comment byte) *LineIndex {
	return &LineIndex{r: r, size: size, comment: comment, list: []LineMark{first}}
}

// First is where the rows begin.
func (x *LineIndex) First() LineMark { return x.list[0] }

// Add says that rows and lines stand from the last mark to the byte end.
func (x *LineIndex) Add(end, rows, lines int64) LineMark {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.add(end, rows, lines)
}

func (x *LineIndex) add(end, rows, lines int64) LineMark {
	last := x.list[len(x.list)-1]
	next := LineMark{end, last.Row + rows, last.Line + lines}
	x.list = append(x.list, next)
	return next
}

// Seek is a mark at or before the row, not far from it.
func (x *LineIndex) Seek(ctx context.Context, row int64) (LineMark, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if last := x.list[len(x.list)-1]; row > 0 && last.Row <= row && last.Off < x.size {
		for l, err := range ReadLines(ctx, x.r, last.Off, x.size) {
			if err != nil {
				return last, err
			}
			rows, lines := x.Count(l.Text)
			if x.add(l.End(), rows, lines).Row > row {
				break
			}
		}
	}
	for i := len(x.list) - 1; i > 0; i-- {
		if x.list[i].Row <= row {
			return x.list[i], nil
		}
	}
	return x.list[0], nil
}

// Count counts the rows and the lines of whole lines.
func (x *LineIndex) Count(text []byte) (rows, lines int64) {
	for len(text) > 0 {
		n := bytes.IndexByte(text, '\n') + 1
		if text[0] > ' ' && text[0] != x.comment || !x.Blank(text[:n]) {
			rows++
		}
		lines++
		text = text[n:]
	}
	return rows, lines
}

// Blank reports whether a line is no row.
func (x *LineIndex) Blank(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || x.comment != 0 && line[0] == x.comment
}
