package angel

import (
	"fmt"
	"strings"

	"thole.example/format"
)

// maxSeparator is how many bytes a separator has at most.
const maxSeparator = 16

// findSeparator is what stands behind the first integer of the text, up to where a number begins: Angel takes the
// separator from the configuration of the job and does not store it.
func findSeparator(b []byte) (sep string, ok bool) {
	_, n := parseInt(b)
	if n == 0 {
		return "", false
	}
	for end := n; end < len(b) && end-n <= maxSeparator; end++ {
		if end > n && beginsNumber(b[end]) {
			sep = string(b[n:end])
			return sep, checkSeparator(sep) == nil
		}
	}
	return "", false
}

// complete finds the separators that nobody named in a line of the format.
func (s *style) complete(l *layout, line []byte) bool {
	if s.sep == "" {
		var ok bool
		if s.sep, ok = findSeparator(line); !ok {
			return false
		}
	}
	if !l.keyed || s.inner != "" {
		return true
	}
	_, n := parseInt(line)
	at := s.behind(line, n)
	_, w := parseFloat64(line[at:])
	if n == 0 || at == 0 || w == 0 {
		return false
	}
	at += w
	s.inner = s.sep
	for end := at; end < len(line) && end-at <= maxSeparator && line[end] != '\n' && line[end] != '\r'; end++ {
		if end > at && beginsNumber(line[end]) {
			s.inner = string(line[at:end])
			return checkSeparator(s.inner) == nil
		}
	}
	return true
}

// beginsNumber reports whether a number can begin with the byte.
func beginsNumber(c byte) bool {
	return c >= '0' && c <= '9' || strings.IndexByte("-+NnIi\x1e\xfd", c) >= 0
}

// separators are the names that the option separator takes besides the bytes themselves.
var separators = map[string]string{
	"comma": ",", "tab": "\t", `\t`: "\t", "space": " ", "bar": "|", "dot": ".", "colon": ":", "semicolon": ";",
}

// parseSeparator reads the option separator; "" and "auto" stand for "", to be found in the text.
func parseSeparator(s string) (string, error) {
	if s == "" || s == "auto" {
		return "", nil
	}
	if sep, ok := separators[s]; ok {
		return sep, nil
	}
	return s, checkSeparator(s)
}

// checkSeparator wants that fields can be told apart with it between them.
func checkSeparator(sep string) error {
	bad := len(sep) == 0 || len(sep) > maxSeparator
	for _, c := range []byte(sep) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		bad = bad || beginsNumber(c) || letter || c == '\n' || c == '\r' || c == 0
	}
	if bad {
		return fmt.Errorf("separator %q, want 1 to %d bytes that no number contains, or comma, tab, space, bar, dot, colon, semicolon: %w",
			sep, maxSeparator, format.ErrOption)
	}
	return nil
}

// put writes the separator to b[i:] and answers where it ends.
func (s *style) put(b []byte, i int) int {
	if len(s.sep) == 1 {
		b[i] = s.sep[0]
		return i + 1
	}
	return i + copy(b[i:], s.sep)
}
