package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// legible is a writer of lines for people in which names from stored files appear: control characters other than line
// ends are shown as escapes, so that no model moves the cursor or colours the terminal.
type legible struct{ w io.Writer }

// Write implements io.Writer.
func (l legible) Write(p []byte) (int, error) {
	if _, err := io.WriteString(l.w, escaped(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// escaped shows control characters other than line ends as escapes.
func escaped(text string) string {
	odd := func(r rune) bool { return unicode.IsControl(r) && r != '\n' }
	if utf8.ValidString(text) && !strings.ContainsFunc(text, odd) {
		return text
	}
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&out, `\x%02x`, text[0])
		} else if odd(r) {
			fmt.Fprintf(&out, `\x%02x`, r)
		} else {
			out.WriteString(text[:size])
		}
		text = text[size:]
	}
	return out.String()
}

// writeJSON writes a value as JSON for scripts that people, too, may read.
func writeJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
