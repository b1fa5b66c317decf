package main

import (
	"io"
	"os"
	"strings"
	"testing"
)

// TestLegibleTerminal recognizes a terminal behind the escapes.
func TestLegibleTerminal(t *testing.T) {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer tty.Close()
	if !terminal(tty) || !terminal(legible{tty}) || terminal(legible{io.Discard}) {
		t.Errorf("terminals: %v bare, %v with escapes", terminal(tty), terminal(legible{tty}))
	}
}

// TestLegible holds that what stored files call things does nothing to a terminal.
func TestLegible(t *testing.T) {
	for text, want := range map[string]string{
		"w 1 x 3\n":             "w 1 x 3\n",
		"\x1b[31mred\x07":       `\x1b[31mred\x07`,
		"a\rb\tc\x7f":           `a\x0db\x09c\x7f`,
		"▁█ über \u009b1m":      `▁█ über \x9b1m`,
		"a\u202eb\u2066c\u2028": `a\u202eb\u2066c\u2028`,
		"\xff\xfe \ufffd \x1b(": `\xff\xfe ` + "\ufffd " + `\x1b(`,
	} {
		var out strings.Builder
		if n, err := (legible{&out}).Write([]byte(text)); n != len(text) || err != nil || out.String() != want {
			t.Errorf("%q: got %q, %d, %v, want %q", text, out.String(), n, err, want)
		}
	}
}

// TestClipped: what files hold is shown on one line, and not endlessly.
func TestClipped(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"über":                  "über",
		"a\nb\tc":               `a\nb\tc`,
		"1234567":               "1234567",
		"üüüüüüüü":              "üüüüüüü... (8 characters)",
		strings.Repeat("x", 99): "xxxxxxx... (99 characters)",
	} {
		if got := clipped(text, 7); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestLegibleFails wants the error of the writer behind: a full disk or a closed pipe ends a command.
func TestLegibleFails(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	if n, err := (legible{w}).Write([]byte("text")); n != 0 || err != io.ErrClosedPipe {
		t.Errorf("%d, %v, want the error of the pipe", n, err)
	}
}
