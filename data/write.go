package data

import (
	"fmt"
	"io"
	"strconv"
)

// Write writes the examples as text of the source with the name, which reads back as the same: libsvm, libffm (of examples
// with fields; the label -1 is written 0, as its files have it) or dummy (of values that are all 1). Groups are written as qid:n in
// libsvm, and nowhere else; weights are not written. The values of a line are in
// the order that they have in the batch. The error is ErrUnknown or ErrOption where the source cannot have them, else that of w.
func Write(w io.Writer, source string, b *Batch) error {
	s, err := FindSource(source, "")
	if err != nil {
		return err
	}
	x := b.Rows()
	switch {
	case s.value == nil:
		return fmt.Errorf("data: %s is read only, want another source to write: %w", s.Name, ErrOption)
	case s.named && b.Fields == 0:
		return fmt.Errorf("data: %s names the field of every value, want examples with fields: %w", s.Name, ErrOption)
	}
	const flush = 64 << 10
	line := make([]byte, 0, flush+4096)
	for i, y := range b.Label {
		if s.named && y == -1 {
			y = 0
		}
		line = appendNumber(line, y)
		if s.query && b.Group != nil {
			line = strconv.AppendInt(append(line, " qid:"...), b.Group[i], 10)
		}
		for p := x.Ptr[i]; p < x.Ptr[i+1]; p++ {
			field := int32(0)
			if b.Field != nil {
				field = b.Field[p]
			}
			if s.ones && x.Val[p] != 1 {
				return fmt.Errorf("data: value %v of column %d in row %d, want 1 as of all in %s: %w", x.Val[p], x.Idx[p],
					b.X.At.Rows.Lo+int64(i), s.Name, ErrOption)
			}
			line = s.value(line, field, x.Idx[p]+s.base, x.Val[p])
		}
		if line = append(line, '\n'); len(line) >= flush || i == b.Len()-1 {
			if _, err := w.Write(line); err != nil {
				return err
			}
			line = line[:0]
		}
	}
	return nil
}

// appendNumber appends the shortest text that reads back as the number.
func appendNumber(text []byte, v float32) []byte {
	switch v {
	case 1:
		return append(text, '1')
	case -1:
		return append(text, "-1"...)
	}
	return strconv.AppendFloat(text, float64(v), 'g', -1, 32)
}
