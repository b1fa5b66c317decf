package main

import (
	"bytes"
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

// raw is the writer without the escapes, for what moves the cursor by intent and for other processes.
func raw(w io.Writer) io.Writer {
	if l, ok := w.(legible); ok {
		return l.w
	}
	return w
}

// reorders reports characters that change the order or the lines of the text around them (U+202E, U+2028).
func reorders(r rune) bool { return unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) }

// escaped shows as escapes: control characters other than line ends, those that reorder the text around them, and bytes that are not UTF-8.
func escaped(text string) string {
	odd := func(r rune) bool { return unicode.IsControl(r) && r != '\n' || reorders(r) }
	if utf8.ValidString(text) && !strings.ContainsFunc(text, odd) {
		return text
	}
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&out, `\x%02x`, text[0])
		} else if reorders(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
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
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	if !bytes.ContainsFunc(text.Bytes(), reorders) {
		_, err := text.WriteTo(out)
		return err
	}
	var safe strings.Builder
	for _, r := range text.String() { // in JSON such characters are in strings only
		if reorders(r) {
			fmt.Fprintf(&safe, `\u%04x`, r)
			continue
		}
		safe.WriteRune(r)
	}
	_, err := io.WriteString(out, safe.String())
	return err
}
