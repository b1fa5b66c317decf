package format_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"thole.example/format"
)

// TestLines puts the pieces together again: from any byte on, with and without a line end at the end, read and parsed.
func TestLines(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	for what, text := range map[string]string{
		"empty": "", "one": "a\n", "open": "a\nb", "line end": "\n", "long": "a\n" + long + "\nb\n", "long and open": long,
		"many": strings.Repeat("0123456\n", 400_000), "long lines": strings.Repeat(strings.Repeat("y", 700_000)+"\n", 9),
	} {
		for _, off := range []int64{0, min(2, int64(len(text)))} {
			src, size := strings.NewReader(text), int64(len(text))
			var read, parsed []byte
			at := off
			for l, err := range format.ReadLines(context.Background(), src, off, size) {
				if err != nil {
					t.Fatal(err)
				}
				if l.Off != at || l.Text[len(l.Text)-1] != '\n' || l.Open && l.End() != size {
					t.Errorf("%s: piece at %d of %d bytes, want it at %d", what, l.Off, len(l.Text), at)
				}
				if pad := l.Text[len(l.Text) : len(l.Text)+format.LinesPad]; !bytes.Equal(pad, make([]byte, format.LinesPad)) {
					t.Errorf("%s: % x behind the text", what, pad)
				}
				at = l.End()
				read = append(read, l.Text[:at-l.Off]...)
			}
			clone := func(l format.Lines) []byte { return bytes.Clone(l.Text[:l.End()-l.Off]) }
			for p, err := range format.ParseLines(context.Background(), src, off, size, clone) {
				if err != nil {
					t.Fatal(err)
				}
				parsed = append(parsed, p...)
			}
			if string(read) != text[off:] || string(parsed) != text[off:] {
				t.Errorf("%s from %d on: %d and %d bytes, want %d", what, off, len(read), len(parsed), len(text)-int(off))
			}
		}
	}
}

// TestLinesEnd ends walks early, by the caller, by the context, by a file shorter than it was said to be and by a line
// that is too long.
func TestLinesEnd(t *testing.T) {
	text := strings.Repeat("0123456\n", 1_000_000)
	parse := func(l format.Lines) int { return len(l.Text) }
	n := 0
	for range format.ParseLines(context.Background(), strings.NewReader(text), 0, int64(len(text)), parse) {
		if n++; n == 2 {
			break
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var last error
	for _, err := range format.ParseLines(ctx, strings.NewReader(text), 0, int64(len(text)), parse) {
		stop()
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("cancelled: %v", last)
	}
	for _, err := range format.ReadLines(ctx, strings.NewReader(text), 0, int64(len(text))) {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("cancelled before: %v", last)
	}
	for _, err := range format.ParseLines(context.Background(), strings.NewReader(text), 0, int64(len(text))+5, parse) {
		last = err
	}
	if last == nil {
		t.Error("a file that is too short: no error")
	}
	huge := strings.Repeat("x", format.MaxLine+2<<20)
	for _, err := range format.ReadLines(context.Background(), strings.NewReader(huge), 0, int64(len(huge))) {
		last = err
	}
	if !errors.Is(last, format.ErrLimit) {
		t.Errorf("a long line: %v, want ErrLimit", last)
	}
}
