package data

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestGzipMembers unpacks members, and passes over zero bytes behind them as gzip does; anything else is damage.
func TestGzipMembers(t *testing.T) {
	member := func(text string) string {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	one, two := member("1 1:2\n"), member(strings.Repeat("0 2:1\n", 9999))
	for _, c := range []struct {
		packed string
		size   int
		want   error
	}{
		{one, 6, nil}, {one + two, 6 + 6*9999, nil}, {one + "\x00", 6, nil}, {two + one + strings.Repeat("\x00", 100000), 6 + 6*9999, nil},
		{one + member("") + two, 6 + 6*9999, nil}, {one + "\x00\x00x", 6, gzip.ErrHeader}, {one + "\x00" + two, 6, gzip.ErrHeader},
		{one + "garbage which is long", 6, gzip.ErrHeader}, {one + two[:50], 6, io.ErrUnexpectedEOF}, {one + two[:5], 6, io.ErrUnexpectedEOF},
		{two[:len(two)-4] + "\x00\x00\x00\x00", 6 * 9999, gzip.ErrChecksum},
	} {
		for _, slow := range []bool{false, true} {
			var in io.Reader = strings.NewReader(c.packed)
			if slow {
				in = iotest.OneByteReader(in)
			}
			r, err := newGzipReader(in)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(r)
			if !errors.Is(err, c.want) || c.want == nil && err != nil || c.want != io.ErrUnexpectedEOF && len(text) != c.size {
				t.Errorf("%d bytes packed: %d bytes, %v, want %d, %v", len(c.packed), len(text), err, c.size, c.want)
			}
		}
	}
	if _, err := newGzipReader(strings.NewReader("\x00\x00")); err == nil {
		t.Error("zero bytes alone are read")
	}
}
