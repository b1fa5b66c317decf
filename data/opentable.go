package data

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"thole.example/feature"
)

// open finds out what the columns of a table are. A table without rows says nothing of what they hold: s.sheet is nil then, unless it is
// known, and the next one is asked.
func (r *reader) open(in *Input, s *settings) (err error) {
	if err := r.checkFitted(s); err != nil {
		return err
	}
	var head []byte
	if in.Stream != nil {
		b := bufio.NewReaderSize(in.Stream, headLen)
		if head, err = b.Peek(headLen); err != nil && err != io.EOF {
			return &Error{in.Name, 1 + int64(bytes.Count(head, []byte("\n"))), in.why(err)}
		}
		in.Stream = b
	} else {
		head = make([]byte, min(headLen, in.Size))
		if n, err := in.R.ReadAt(head, 0); n < len(head) {
			return errShort(err, int64(n), in.Size)
		}
	}
	whole := len(head) < headLen
	if s.sheet, err = s.sheetOf(head, whole, r.plan); err != nil {
		return err
	}
	if rest := bytes.TrimPrefix(head, []byte(byteOrderMark))[s.sheet.begin:]; whole && r.plan == nil && s.columns().Transform == nil &&
		isBlankText(rest, s.sheet.sep) {
		r.idle, s.sheet = s.sheet.plan, nil
		return nil
	}
	r.begin(in.Name, s)
	return nil
}

// isBlankText reports whether a text of lines has only blank ones: a line of tabs is a row of empty cells where those separate cells.
func isBlankText(text []byte, sep byte) bool {
	return len(bytes.TrimFunc(text, func(c rune) bool { return c == '\n' || c == '\r' || c < 0x80 && isBlank(byte(c), sep) })) == 0
}

// byteOrderMark may stand before a text.
const byteOrderMark = "\xef\xbb\xbf"

// checkFitted refuses a table where nothing is known of its columns and nothing is found out.
func (r *reader) checkFitted(s *settings) error {
	if r.fitted && s.columns().Transform == nil {
		return fmt.Errorf("a table, want lines of indices: the model has no %s that says what columns are", feature.FileName)
	}
	return nil
}

// checkLines refuses lines of indices where a model learned from a table, or their numbers are said to have commas.
func (s *settings) checkLines() error {
	if s.columns().Spec.Decimal == ',' {
		return fmt.Errorf("lines of %s have decimal points, want no other decimal separator: %w", s.Name, ErrOption)
	}
	if s.columns().Transform == nil {
		return nil
	}
	return fmt.Errorf("lines of %s, and the model learned from a table, whose columns are its features; want a table with these columns "+
		"(--format names the format where the ending of the name does not): %w", s.Name, ErrOption)
}

// begin takes the plan of a table, and tells what should be known of it.
func (r *reader) begin(name string, s *settings) {
	if r.plan == nil && s.Note != nil {
		for _, text := range s.sheet.doubts {
			s.Note(name, 1, text)
		}
	}
	r.folders.tell(s, name, s.folders)
	r.plan = s.sheet.plan
}

// errKinds is that of an input that is a table where others are not, or the other way.
func errKinds(table bool) error {
	if table {
		return errors.New("a table beside lines of indices, want one of the two")
	}
	return errors.New("lines of indices beside tables, want one of the two")
}
