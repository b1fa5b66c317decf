package csv

import (
	"bytes"
	"fmt"

	"thole.example/format"
	"thole.example/internal/number"
)

// agreed is the separator that gives both lines the same number of cells, more than one: one that leaves nothing but numbers
// in the last, if there is such. Else it is one that the first has.
func agreed(first, second []byte, side *format.Sidecar) byte {
	last := second
	if last == nil {
		last = first
	}
	var agree []byte
	for _, s := range separators {
		n := count(first, s.sep)
		if n > 1 && (second == nil || count(second, s.sep) == n) && (side == nil || side.NumCols == nil || int64(n) == *side.NumCols) {
			agree = append(agree, s.sep)
		}
	}
	for _, sep := range agree {
		if ofNumbers(last, sep) {
			return sep
		}
	}
	if len(agree) > 0 {
		return agree[0]
	}
	for _, s := range separators {
		if s.sep != blankSep && count(first, s.sep) > 1 {
			return s.sep
		}
	}
	return ','
}

// ofNumbers reports whether the cells of a line are numbers, perhaps with a decimal comma, or have no value.
func ofNumbers(line []byte, sep byte) bool {
	d := dialect{decimal: '.'}
	if sep != ',' {
		d.decimal = ','
	}
	for i := 0; ; i++ {
		for line[i] == ' ' {
			i++
		}
		token, end, err := cut(line, i, sep)
		if err != nil || len(token) > 0 && !isMissing(token) && !d.isNumber(token) {
			return false
		}
		if i = end; line[i] == '\n' {
			return true
		}
	}
}

// count is the number of cells of a line, 0 where text follows a closing quote: then sep does not separate this line.
func count(line []byte, sep byte) int {
	if sep == blankSep {
		line = append(squeezed(line), '\n')
	}
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
		case closed && sep != blankSep && !bytes.ContainsRune([]byte(" \t\r\n"), rune(b)):
			return 0
		default:
			begins = begins && b == ' '
		}
	}
	return n
}

// squeezed is the line with one blank where there are several outside quotes, and none at its ends.
func squeezed(line []byte) (out []byte) {
	quoted := false
	for _, b := range bytes.TrimSpace(line) {
		quoted = quoted != (b == '"')
		if b != ' ' || quoted || out[len(out)-1] != ' ' {
			out = append(out, b)
		}
	}
	return out
}

// findDecimal tells by two lines whether fractions stand behind a comma. 1,234 alone can be either of two numbers.
func (d *dialect) findDecimal(lines ...[]byte) error {
	var thousand []byte
	if d.decimal = '.'; d.sep == ',' {
		return nil
	}
	for _, line := range lines {
		for i := 0; i < len(line); i++ {
			for line[i] == ' ' {
				i++
			}
			token, end, err := cut(line, i, d.sep)
			if err != nil {
				return nil // reading says so
			}
			i = end
			before, behind, comma := bytes.Cut(token, []byte(","))
			if _, n := number.ParseFloat64(pointed(token)); !comma || n != len(token) {
				continue
			}
			if len(behind) != 3 || len(bytes.Trim(before, "+-0")) == 0 || len(bytes.Trim(before, "+-")) > 3 {
				d.decimal = ','
				return nil
			}
			thousand = token
		}
	}
	if thousand != nil {
		return &cellError{d.start, d.line + 1, 0,
			fmt.Errorf("%.20q, want to know whether the comma is a decimal one (the option decimal says it: point or comma)", thousand)}
	}
	return nil
}

// pointed is a cell with a point for its comma.
func pointed(token []byte) []byte {
	return append(bytes.Replace(token, []byte(","), []byte("."), 1), '\n')
}
