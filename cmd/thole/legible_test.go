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

// TestBytesInColumns holds that tables of columns are in line where cells are no UTF-8, and have line ends and tabs.
func TestBytesInColumns(t *testing.T) {
	t.Chdir(t.TempDir())
	rows := strings.Repeat("0,\"a\tb\"\n1,\xffz\n0,\"new\nline\"\n1,ok\n", 6)
	if err := os.WriteFile("b.csv", []byte("y,c\n"+rows), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"data describe b.csv", `4 levels: a\tb 6 (25.0 %), new\nline 6 (25.0 %), ok 6 (25.0 %), \xffz 6 (25.0 %)`},
		{"train --data b.csv --label-column y --epochs 5 --model m --runs none", ""},
		{"weights m --top 4", `c=new\nline`},
		{"train --algo gbdt --trees 3 --data b.csv --label-column y --model trees --runs none", ""},
		{"explain trees --data b.csv --row 1", `c         \xffz`},
	} {
		rc, text := said(t, strings.Fields(c.args)...)
		if rc != 0 || !strings.Contains(text, c.want) || strings.Contains(text, `\x09`) {
			t.Errorf("%s: exit code %d: %s", c.args, rc, text)
		}
	}
}

// TestUnreadableColumns holds that columns that cannot be read are named, with what leaves them out, and that split does not drop them
// silently.
func TestUnreadableColumns(t *testing.T) {
	const table = "../../format/arrow/testdata/table.arrow"
	rc, text := said(t, "train", "--data", table, "--label-column", "yes", "--runs", "none")
	if want := "; --ignore pair leaves it out"; rc != 1 || !strings.Contains(text, want) {
		t.Errorf("exit code %d: %s, want %q", rc, text, want)
	}
	rc, text = said(t, "data", "split", table, "--out", t.TempDir(), "--in-order")
	if rc != 0 || strings.Count(text, `column "pair" of struct cannot be read: `) != 1 || !strings.Contains(text, "; it is left out") {
		t.Errorf("exit code %d: %s, want the column once", rc, text)
	}
}
