package csv

import (
	"bytes"
	"fmt"

	"thole.example/format"
	"thole.example/internal/number"
)

// dialect is how the lines of a file are to be read.
type dialect struct {
	sep    byte
	width  int      // cells of a line
	labels []string // nil: no header
	start  int64    // the byte at which the lines behind the header begin
	line   int64    // how many lines that are
}

// String says it in a few words.
func (d *dialect) String() string {
	text := fmt.Sprintf("%d columns", d.width)
	if d.width > 1 {
		text += ", separator " + sepName(d.sep)
	}
	if d.labels != nil {
		text += ", header"
	}
	return text
}

var bom = []byte("\xef\xbb\xbf")

// detect looks at the first lines. side is nil if there is no sidecar. Where the file has no line with text, the width
// is 0.
func detect(l format.Lines, w *wish, side *format.Sidecar) (d dialect, err error) {
	text := l.Text
	d.start = l.Off
	if l.Off == 0 && bytes.HasPrefix(text, bom) {
		text = text[len(bom):]
		d.start = int64(len(bom))
	}
	first, second := []byte(nil), []byte(nil)
	d.sep = w.sep
	for second == nil && len(text) > 0 {
		n := bytes.IndexByte(text, '\n') + 1
		line := text[:n]
		text = text[n:]
		switch {
		case first != nil:
			if !blank(line) {
				second = line
			}
		case blank(line):
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
	return d, d.readFirst(first, w, side)
}

// agreed is the separator that gives both lines the same number of cells, more than one, or the one that the first has.
func agreed(first, second []byte, side *format.Sidecar) byte {
	for _, s := range separators {
		n := count(first, s.sep)
		if n > 1 && (second == nil || count(second, s.sep) == n) && (side == nil || side.NumCols == nil || int64(n) == *side.NumCols) {
			return s.sep
		}
	}
	for _, s := range separators {
		if count(first, s.sep) > 1 {
			return s.sep
		}
	}
	return ','
}

// count is the number of cells of a line, 0 where text follows a closing quote: then sep does not separate this line.
func count(line []byte, sep byte) int {
	n := 1
	quoted, begins, closed := false, true, false // within quotes; nothing but blanks since the separator; a quote has ended the cell
	for i := 0; i < len(line); i++ {
		switch b := line[i]; {
		case b == '"' && quoted && i+1 < len(line) && line[i+1] == '"':
			i++
		case b == '"' && quoted:
			quoted, closed = false, true
		case b == '"' && begins:
			quoted, begins = true, false
		case quoted:
		case b == sep:
			n++
			begins, closed = true, false
		case closed && !bytes.ContainsRune([]byte(" \t\r\n"), rune(b)):
			return 0
		default:
			begins = begins && b == ' '
		}
	}
	return n
}

func blank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

// readFirst reads the first line with text as a header if it is one. Where numbers stand beside text, and no option or
// sidecar tells, nobody knows whether that is a header or a row with a damaged cell.
func (d *dialect) readFirst(line []byte, w *wish, side *format.Sidecar) error {
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
		token, end, err := cut(line, i, d.sep)
		if err != nil {
			return &cellError{d.start + int64(i), d.line + 1, len(labels) + 1, err}
		}
		labels = append(labels, string(token))
		switch {
		case len(token) == 0:
		case isNumber(token):
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
		d.line++
	}
	return nil
}

// isNumber tells whether a cell can be a value.
func isNumber(token []byte) bool {
	if bytes.EqualFold(token, []byte("true")) || bytes.EqualFold(token, []byte("false")) {
		return true
	}
	if _, n := number.ParseFloat64(token); n == len(token) {
		return true
	}
	return beyond(token)
}

// beyond tells whether a cell is a number that no float64 holds.
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
