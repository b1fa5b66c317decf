package csv

import (
	"bytes"
	"fmt"

	"thole.example/format"
	"thole.example/internal/number"
)

// dialect is how the lines of a file are to be read.
type dialect struct {
	sep     byte
	decimal byte
	width   int      // cells of a line
	labels  []string // nil: no header
	start   int64    // the byte at which the lines behind the header begin
	line    int64    // how many lines that are
}

// String says it in a few words.
func (d *dialect) String() string {
	text := fmt.Sprintf("%d columns", d.width)
	if d.width > 1 {
		text += ", separator " + sepName(d.sep)
	}
	if d.decimal == ',' {
		text += ", decimal comma"
	}
	if d.labels != nil {
		text += ", header"
	}
	return text
}

var bom = []byte("\xef\xbb\xbf")

// detect looks at the first lines. side is nil if there is no sidecar. Where the file has no line with text, the width
// is 0.
func detect(l format.Lines, w *settings, side *format.Sidecar) (d dialect, err error) {
	text := l.Text
	d.start = l.Off
	if l.Off == 0 && bytes.HasPrefix(text, bom) {
		text = text[len(bom):]
		d.start = int64(len(bom))
	}
	first, second := []byte(nil), []byte(nil)
	d.sep, d.decimal = w.sep, w.decimal
	for second == nil && len(text) > 0 {
		n := bytes.IndexByte(text, '\n') + 1
		if first == nil && !void(text[:n]) {
			n = recordLen(text)
		}
		line := text[:n]
		text = text[n:]
		switch {
		case first != nil:
			if !void(line) {
				second = line
			}
		case void(line):
			d.start += int64(n)
			d.line++
		default:
			first = line
		}
	}
	if first == nil {
		if d.sep == 0 {
			d.sep = ','
		}
		return d, nil
	}
	if d.sep == 0 {
		d.sep = agreed(first, second, side)
	}
	if d.decimal == 0 {
		if err := d.findDecimal(first, second); err != nil {
			return d, err
		}
	}
	return d, d.readFirst(first, w, side)
}

// recordLen is the length of the first record, which may go on behind a line end within quotes; that of the first line if
// the quotes do not end.
func recordLen(text []byte) int {
	quoted := false
	for i, b := range text {
		switch {
		case b == '"':
			quoted = !quoted
		case b == '\n' && !quoted:
			return i + 1
		}
	}
	return bytes.IndexByte(text, '\n') + 1
}

// comment begins a line that counts as nothing.
const comment = '#'

// void reports whether a line counts as nothing.
func void(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == comment
}

// isNumber reports whether a cell can be a value.
func (d *dialect) isNumber(token []byte) bool {
	if d.decimal == ',' && bytes.IndexByte(token, ',') >= 0 {
		token = pointed(token)
		token = token[:len(token)-1]
	}
	return isNumber(token)
}

// readFirst reads the first line with text as a header if it is one. Where numbers stand beside text, and no option or
// sidecar tells, nobody knows whether that is a header or a row with a damaged cell.
func (d *dialect) readFirst(line []byte, w *settings, side *format.Sidecar) error {
	header := w.header != nil && *w.header
	if w.header == nil && side != nil && side.Thole != nil {
		header = side.Thole.Header
	}
	var labels []string
	var num, text string // cells of either kind
	for i := 0; ; i++ {
		for line[i] == ' ' {
			i++
		}
		token, end, err := cutRecord(line, i, d.sep)
		if err != nil {
			return &cellError{d.start + int64(i), d.line + 1, len(labels) + 1, err}
		}
		if d.sep == blankSep && len(token) == 0 && line[i] != '"' {
			break // blanks at the end
		}
		labels = append(labels, string(token))
		switch {
		case len(token) == 0 || isMissing(token):
		case d.isNumber(token):
			num = string(token)
		default:
			text = string(token)
			header = header || w.header == nil
		}
		if i = end; line[i] == '\n' {
			break
		}
	}
	if w.header == nil && side == nil && num != "" && text != "" {
		err := fmt.Errorf("%.20q and %.20q, want numbers, or labels that are none (the option header says which)", num, text)
		return &cellError{d.start, d.line + 1, 0, err}
	}
	d.width = len(labels)
	if header {
		d.labels = labels
		d.start += int64(len(line))
		d.line += int64(bytes.Count(line, []byte{'\n'}))
	}
	return nil
}

// isNumber reports whether a cell can be a value.
func isNumber(token []byte) bool {
	if bytes.EqualFold(token, []byte("true")) || bytes.EqualFold(token, []byte("false")) {
		return true
	}
	if _, n := number.ParseFloat64(token); n == len(token) {
		return true
	}
	return beyond(token)
}

// beyond reports whether a cell is a number that no float64 holds.
func beyond(token []byte) bool {
	for _, b := range token {
		if b-'0' > 9 && b != '.' && b != '-' && b != '+' && b|0x20 != 'e' {
			return false
		}
	}
	return token[0]|0x20 != 'e' && bytes.ContainsAny(token, "0123456789")
}

// cellError says where in the text something is wrong.
type cellError struct {
	off  int64
	line int64
	col  int // 0: no certain one
	err  error
}

func (e *cellError) Error() string {
	if e.col == 0 {
		return fmt.Sprintf("line %d: %v", e.line, e.err)
	}
	return fmt.Sprintf("line %d, column %d: %v", e.line, e.col, e.err)
}

func (e *cellError) Unwrap() error { return e.err }
