package dump

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

func Example() {
	p := New(os.Stdout)
	p.Head("block %d", 1)
	p.Field(0x12, []byte{10}, "value type %d (f64)", 10)
	p.Field(0x13, []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, "id")
	p.Field(0x1d, nil, "no values")
	p.Text(0x20, []byte("3 1:0.5\n"), "row 3")
	p.Gap(0x28, 4096, "values of %s", "w")
	p.Line(0x1028, []byte("4\r\n"), "row 4")
	// Output:
	// # block 1
	// 00000012  0a                       value type 10 (f64)
	// 00000013  01 02 03 04 05 06 07 08  id
	// 0000001b  09 0a
	// 0000001d                           no values
	// 00000020  "3 1:0.5\n"              row 3
	// 00000028  … 4096 bytes: values of w
	// 00001028  "4"                      row 4
}

// full takes n bytes and then fails; it counts the writes that failed.
type full struct{ n, failed int }

var errFull = errors.New("full")

func (w *full) Write(p []byte) (int, error) {
	if w.n -= len(p); w.n < 0 {
		w.failed++
		return 0, errFull
	}
	return len(p), nil
}

func TestErrIsTheFirst(t *testing.T) {
	w := &full{n: 20}
	p := New(w)
	p.Head("fits")
	if p.Err() != nil {
		t.Fatal(p.Err())
	}
	p.Field(0, make([]byte, 64), "does not")
	p.Gap(0, 1, "later")
	if !errors.Is(p.Err(), errFull) {
		t.Errorf("%v, want the writer's error", p.Err())
	}
	if w.failed != 1 {
		t.Errorf("%d writes failed, want 1: nothing is written after the first", w.failed)
	}
}

func TestLinesHaveNoTrailingSpace(t *testing.T) {
	var b strings.Builder
	p := New(&b)
	for n := range 20 {
		p.Field(1<<40, make([]byte, n), "")
	}
	for line := range strings.Lines(b.String()) {
		if strings.TrimRight(line, " \n") != strings.TrimSuffix(line, "\n") || !strings.HasPrefix(line, "100000000") {
			t.Errorf("line %q", line)
		}
	}
}

func TestLongLine(t *testing.T) {
	for n, want := range map[int]string{
		lineBytes:     "line\n",
		lineBytes + 1: "line\n00000079  … 1 bytes: more of the line\n",
	} {
		var b strings.Builder
		New(&b).Line(1, []byte(strings.Repeat("x", n)+"\n"), "line")
		if want = fmt.Sprintf("00000001  %q  ", strings.Repeat("x", lineBytes)) + want; b.String() != want {
			t.Errorf("%d bytes: %q, want %q", n, &b, want)
		}
	}
}
