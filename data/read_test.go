package data

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
)

// lines draws libsvm text, mostly right, with blank lines and comments, and sometimes something wrong.
func lines(t *rapid.T) []byte {
	line := rapid.SampledFrom([]string{
		"1 1:1 2:0.5\n", "0 7:1e-3 12:-4 13:2 # note\n", "\n", "# comment\r\n", "-1\n", "2 3:1 9:1\r\n", "  5 100:7  \n",
	})
	text := strings.Join(rapid.SliceOfN(line, 0, 40).Draw(t, "lines"), "")
	if rapid.IntRange(0, 3).Draw(t, "wrong") == 0 {
		at := rapid.IntRange(0, len(text)).Draw(t, "at")
		text = text[:at] + rapid.SampledFrom([]string{"x", ":", "0:1 ", " 5", "\r", " 1:1 "}).Draw(t, "junk") + text[at:]
	}
	return []byte(text)
}

// Where the input is cut must not be seen: neither in the rows nor in the error.
func TestStepsDoNotShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := lines(t)
		step := rapid.IntRange(3, 200).Draw(t, "step")
		want, wantErr := Load(context.Background(), input(text), Options{})
		got, err := loadSteps(dummyTB{}, text, Options{}, step, 1<<20)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("error %v, want %v", err, wantErr)
		}
		if err == nil && !same(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// dummyTB lets loadSteps serve property tests; valid options never reach it.
type dummyTB struct{ testing.TB }

func (dummyTB) Helper() {}

func TestReadIsLoadInBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := lines(t)
		n := rapid.IntRange(1, 9).Draw(t, "batch")
		want, wantErr := Load(context.Background(), input(text), Options{})
		all := newRows(0, 0, false)
		for b, err := range Read(context.Background(), input(text), Options{BatchRows: n}) {
			if err != nil {
				if fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Fatalf("error %v, want %v", err, wantErr)
				}
				return
			}
			first := int64(len(all.label))
			if b.X.At.Rows != (matrix.Range{Lo: first, Hi: first + int64(b.Len())}) || b.X.Check() != nil {
				t.Fatalf("batch at %v behind row %d: %v", b.X.At, first, b.X.Check())
			}
			if b.Len() != n && first+int64(b.Len()) != int64(want.Len()) {
				t.Fatalf("batch of %d rows before the last, want %d", b.Len(), n)
			}
			r := rows{label: b.Label, ptr: b.Rows().Ptr, idx: b.Rows().Idx, val: b.Rows().Val}
			all.add(&r, 0, b.Len())
		}
		if wantErr != nil || !same(all.batch(0, all.dim(), 0), want) {
			t.Fatalf("%v, want %v, %v", all, want, wantErr)
		}
	})
}

func TestDenseWidthAcrossPieces(t *testing.T) {
	text := []byte("1 2 3\n1 2 3\n1 2 3\n1 2\n1 x\n")
	for _, step := range []int{3, 6, 7, 100} {
		_, err := loadSteps(t, text, Options{Format: "dense"}, step, 100)
		wantError(t, err, "t:4: 1 values, want 2 as in the rows before")
	}
}

func TestLineLimit(t *testing.T) {
	long := "1" + strings.Repeat(" 1", 3) + strings.Repeat(" ", 200)
	_, err := loadSteps(t, []byte("1 2\n1 3\n"+long+"\n1 2\n"), Options{Format: "dummy"}, 16, 100)
	wantError(t, err, "t:3: line of more than 100 bytes: beyond the limit")
	if !errors.Is(err, ErrLimit) {
		t.Errorf("%v, want ErrLimit", err)
	}
}

func TestLongLine(t *testing.T) {
	var text bytes.Buffer
	text.WriteString("1")
	const n = 400_000 // more than two chunks
	for i := range n {
		fmt.Fprintf(&text, " %d", i*10)
	}
	b, err := Load(context.Background(), input(text.Bytes()), Options{Format: "dummy"})
	if err != nil || b.Len() != 1 || len(b.Rows().Idx) != n {
		t.Fatalf("%v, want one row of %d", err, n)
	}
}

func TestStopEarly(t *testing.T) {
	text := bytes.Repeat([]byte("1 1:1 2:2 3:3\n"), 500_000)
	for range Read(context.Background(), input(text), Options{BatchRows: 100}) {
		break // goroutines must end: TestMain looks
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	for _, err := range Read(ctx, input(text), Options{BatchRows: 100}) {
		if n++; n == 3 {
			cancel()
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want canceled", err)
		}
	}
	if _, err := Load(ctx, input(text), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want canceled", err)
	}
}

func TestReadErrors(t *testing.T) {
	in := input([]byte("1 1:1\n"))
	in.Size = 50
	_, err := Load(context.Background(), in, Options{})
	wantError(t, err, "t:2: read to byte 6 of 50: unexpected EOF")
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v, want ErrUnexpectedEOF", err)
	}
	in.Size = -1
	_, err = Load(context.Background(), in, Options{})
	wantError(t, err, "t: size -1, want 0 or more")
	if _, err := LoadFile(context.Background(), t.TempDir(), Options{}); err == nil {
		t.Error("a directory was read")
	}
	path := filepath.Join(t.TempDir(), "x")
	if _, err := LoadFile(context.Background(), path, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want ErrNotExist", err)
	}
	for _, err := range Read(context.Background(), in, Options{Format: "x"}) {
		if !errors.Is(err, ErrUnknown) {
			t.Errorf("%v, want ErrUnknown", err)
		}
	}
}

func TestProgressAndNote(t *testing.T) {
	text := bytes.Repeat([]byte("1 1:1 2:2 3:3\n"), 200_000)
	text = append(text, "1 qid:4 1:1\n1 qid:5 1:1\n"...)
	var last int64
	var notes []int64
	_, err := Load(context.Background(), input(text), Options{
		Progress: func(done, total int64) {
			if done <= last || total != int64(len(text)) {
				t.Errorf("%d of %d after %d", done, total, last)
			}
			last = done
		},
		Note: func(_ string, line int64, _ string) { notes = append(notes, line) },
	})
	if err != nil || last != int64(len(text)) || !equal(notes, []int64{200_001}) {
		t.Errorf("done %d of %d, notes for lines %v, %v", last, len(text), notes, err)
	}
}

// A small file must not cost large buffers, and values in memory at most a few times the text.
func TestMemoryIsBounded(t *testing.T) {
	text := bytes.Repeat([]byte("1\n"), 1<<19)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := LoadAll(context.Background(), []Input{input(text)}, Options{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 40*uint64(len(text)) {
		t.Errorf("%d bytes allocated for %d bytes of text", grown, len(text))
	}
}

// TestReadAll wants the batches of several inputs to be those of one, packed or not, with what was left out of all of them.
func TestReadAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "rows")
		cuts := rapid.IntRange(1, 5).Draw(t, "inputs")
		var all []byte
		var ins []Input
		for i := range cuts {
			var text []byte
			for r := n * i / cuts; r < n*(i+1)/cuts; r++ {
				text = fmt.Appendf(text, "%d %d:1 %d:2\n", r%2, 1+r%7, 9+r%5)
			}
			all = append(all, text...)
			if rapid.Bool().Draw(t, "packed") {
				var packed bytes.Buffer
				z := gzip.NewWriter(&packed)
				_, _ = z.Write(text)
				_ = z.Close()
				text = packed.Bytes()
			}
			in := Input{Name: fmt.Sprint(i), R: bytes.NewReader(text), Size: int64(len(text))}
			if rapid.Bool().Draw(t, "stream") {
				in = Input{Name: in.Name, Stream: bytes.NewReader(text)}
			}
			ins = append(ins, in)
		}
		opt := Options{Labels: AutoTrans, Classes: Standard(), Columns: &Columns{Hi: 100, Keys: []int64{0, 2, 9, 10}}, BatchRows: 7}
		want, err := LoadAll(context.Background(), []Input{input(all)}, opt)
		if err != nil {
			t.Fatal(err)
		}
		var left Unseen
		opt.Left = func(u Unseen) { left = u }
		at := 0
		for b, err := range ReadAll(context.Background(), ins, opt) {
			if err != nil {
				t.Fatal(err)
			}
			if b.Len() != min(7, n-at) || b.X.At.Rows.Lo != int64(at) || !same(b, want.Slice(at, at+b.Len())) {
				t.Fatalf("batch of %d from row %d: %v", b.Len(), at, b.Rows())
			}
			at += b.Len()
		}
		if at != n || !reflect.DeepEqual(left, want.Unseen) {
			t.Fatalf("%d rows, left out %+v, want %d, %+v", at, left, n, want.Unseen)
		}
	})
}

// TestUnseenMemory wants columns that come again and again to be counted once, and kept once.
func TestUnseenMemory(t *testing.T) {
	var all, one unseen
	for range 1 << 12 {
		one.reset()
		for c := range int64(256) {
			one.cols = append(one.cols, c%200)
		}
		one.examples = 256
		all.add(&one)
	}
	if n := cap(all.cols); n > 1<<18 {
		t.Errorf("room for %d columns", n)
	}
	if got := all.count(); !reflect.DeepEqual(got, Unseen{Features: 200, Values: 1 << 20, Examples: 1 << 20}) {
		t.Errorf("%+v", got)
	}
}
