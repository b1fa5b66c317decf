package angel

import (
	"bytes"
	"fmt"

	"thole/internal/wire"
)

// lines are the whole lines of the input, which a reader may parse without asking where the bytes end.
func (in *input) lines() []byte {
	if in.last {
		return in.b
	}
	return in.b[:bytes.LastIndexByte(in.b, '\n')+1]
}

// bad is the error for the line that begins at b[at].
func (in *input) bad(at int, want string) error {
	line := in.b[at:]
	if end := bytes.IndexAny(line[:min(len(line), 80)], "\r\n"); end >= 0 {
		line = line[:end]
	}
	return &wire.At{Off: in.base + int64(at), Err: fmt.Errorf("line %q, want %s", line[:min(len(line), 60)], want)}
}

// lineEnd is the place behind the line end at b[i]: LF, CRLF, CR, or the end of the input.
func lineEnd(b []byte, i int) (next int, ok bool) {
	switch {
	case i >= len(b):
		return i, i == len(b)
	case b[i] == '\n':
		return i + 1, true
	case b[i] != '\r':
		return i, false
	case i+1 < len(b) && b[i+1] == '\n':
		return i + 2, true
	}
	return i + 1, true
}

// field reads an integer and the separator behind it; next is 0 if that is not what stands at b[i].
func (in *input) field(b []byte, i int) (v int64, next int) {
	if i >= len(b) {
		return 0, 0
	}
	v, n := parseInt(b[i:])
	if n == 0 || i+n >= len(b) || b[i+n] != in.sep {
		return 0, 0
	}
	return v, i + n + 1
}

// findSeparator is the byte behind the first integer of the text: Angel takes the separator from the configuration of
// the job and does not store it.
func findSeparator(b []byte) (byte, bool) {
	_, n := parseInt(b)
	if n == 0 || n >= len(b) || b[n] == '\n' || b[n] == '\r' {
		return 0, false
	}
	return b[n], validSeparator(b[n])
}

// validSeparator tells whether fields can be told apart with the byte between them.
func validSeparator(c byte) bool {
	switch {
	case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		return false
	case c == '-' || c == '+' || c == '\n' || c == '\r' || c == 0x1e || c == 0xfd || c == 0:
		return false
	}
	return true
}

// separators are the names that the option separator takes besides the byte itself.
var separators = map[string]byte{
	"comma": ',', "tab": '\t', `\t`: '\t', "space": ' ', "bar": '|', "dot": '.', "colon": ':', "semicolon": ';',
}

// parseSeparator reads the option separator; "" and "auto" stand for 0, to be found in the text.
func parseSeparator(s string) (byte, error) {
	if s == "" || s == "auto" {
		return 0, nil
	}
	if c, ok := separators[s]; ok {
		return c, nil
	}
	if len(s) == 1 && validSeparator(s[0]) {
		return s[0], nil
	}
	return 0, fmt.Errorf("separator %q, want one byte that no number contains, or comma, tab, space, bar, dot, colon, semicolon", s)
}
