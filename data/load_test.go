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
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// A stream of unknown length is read as a file is, however few bytes it gives at once.
func TestStreams(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := lines(t)
		if rapid.Bool().Draw(t, "bom") {
			text = append([]byte("\xef\xbb\xbf"), text...)
		}
		want, wantErr := Load(context.Background(), input(text), Options{})
		l := loader{reader: reader{step: rapid.IntRange(3, 200).Draw(t, "step"), limit: 1 << 20}, set: newSet()}
		got, err := l.load(context.Background(), []Input{{Name: "t", Stream: iotest.OneByteReader(bytes.NewReader(text))}})
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("error %v, want %v", err, wantErr)
		}
		if err == nil && !same(got.Batch(), want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
	broken := errors.New("broken")
	_, err := LoadAll(context.Background(), []Input{{Name: "t", Stream: iotest.ErrReader(broken)}}, Options{})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the stream", err)
	}
}

// Some files are one set of examples: rows follow each other, what contradicts between them is an error of the later one.
func TestLoadFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one, two := write("1.libsvm", "1 1:1\n-1 2:1\n"), write("2.dummy", "1 5")
	zero, wide, narrow := write("zero.libsvm", "1 1:1\n\n0 1:1\n"), write("wide.dense", "1 1 2\n"), write("narrow.dense", "1 1\n")
	total := int64(-1)
	all, err := LoadFiles(context.Background(), []string{two, Stdin, one}, strings.NewReader("1 3:1\n"),
		Options{Labels: AutoTrans, Progress: func(_, of int64) { total = of }})
	if err != nil {
		t.Fatal(err)
	}
	want := batchOf([]row{{1, []int64{5}, []float32{1}}, {1, []int64{2}, []float32{1}}, {1, []int64{0}, []float32{1}},
		{-1, []int64{1}, []float32{1}}})
	if !same(all.Batch(), want) || all.Dim() != 6 || total != 0 {
		t.Errorf("%v of %d columns, total %d; want %v, 6, 0", all.Batch(), all.Dim(), total, want)
	}
	for _, c := range []struct {
		files []string
		want  string
	}{
		{[]string{one, zero}, zero + ":3: label 0 in examples that have both 0 and -1, want 0 and 1 or -1 and +1 (" + otherLabels + "): " + ErrLabel.Error()},
		{[]string{wide, narrow}, narrow + ":1: 1 values, want 2 as in the rows before"},
	} {
		_, err := LoadFiles(context.Background(), c.files, nil, Options{Labels: AutoTrans})
		wantError(t, err, c.want)
	}
}

// Paths, globs and folders give files in one order; hidden ones and those of other programs are passed over.
func TestFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"d/b", "d/a", "d/_SUCCESS", "d/.part.crc", "d/sub/x", "p1", "p2", "p[1]", "_p3", "none/_x"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ patterns, want, fails string }{
		{"p2 d", "p2 d/a d/b d/sub/x", ""},
		{"p[12] -", "p1 p2 -", ""},
		{"p[1]", "p[1]", ""},
		{"*p[0-9]", "p1 p2", ""},
		{"d/*", "d/a d/b d/sub/x", ""},
		{"_p3", "_p3", ""},
		{"p2,d,-", "p2 d/a d/b d/sub/x -", ""},
		{"p1 p*", "", "p1: named twice"},
		{"- -", "", "-: named twice"},
		{"q*", "", "q*: no file has such a name"},
		{"q", "", "q: no such file"},
		{"none", "", "none: a folder without files of examples"},
		{"[", "", "[: syntax error in pattern"},
	} {
		got, err := Files(t.Context(), nil, strings.Fields(c.patterns))
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v, %v, want %s", c.patterns, got, err, c.fails)
			}
		} else if err != nil || !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s: %v, %v, want %s", c.patterns, got, err, c.want)
		}
	}
}

// Features that a model does not have are left out and counted, or refused with their line, in every source.
func TestUnseen(t *testing.T) {
	dense, keyed := &Columns{Lo: 0, Hi: 3}, &Columns{Lo: 0, Hi: 1 << 62, Keys: []int64{0, 2}}
	for _, c := range []struct {
		format, text string
		columns      *Columns
		want         Unseen
		idx          []int64
		strict       string
	}{
		{"libsvm", "1 1:1 500:2\n0 3:1\n1 500:1 501:1\n", dense, Unseen{Features: 2, Values: 3, Examples: 2}, []int64{0, 2},
			"t:1: feature 500 was not in training (without --strict it counts as zero)"},
		{"dummy", "1 0 1 2\n\n1 9 2\n", keyed, Unseen{Features: 2, Values: 2, Examples: 2}, []int64{0, 2, 2},
			"t:1: feature 1 was not in training (without --strict it counts as zero)"},
		{"dense", "1 5 6 7 0\n0 1 0 0 8\n", dense, Unseen{Features: 1, Values: 1, Examples: 1}, []int64{0, 1, 2, 0},
			"t:2: feature 3 was not in training (without --strict it counts as zero)"},
		{"libffm", "1 1:0:1 0:500:2\n0 0:2:1\n1 4:500:1 4:501:1\n", dense, Unseen{Features: 2, Values: 3, Examples: 2}, []int64{0, 2},
			"t:1: feature 500 was not in training (without --strict it counts as zero)"},
		{"libsvm", "1 1:1 3:1\n", keyed, Unseen{}, []int64{0, 2}, ""},
	} {
		o := Options{Format: c.format, Columns: c.columns}
		all, err := LoadAll(context.Background(), []Input{input([]byte(c.text))}, o)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(all.Unseen, c.want) || !slices.Equal(all.Batch().Rows().Idx, c.idx) || all.Dim() != c.columns.Hi || check(all.Batch()) != nil {
			t.Errorf("%q: left out %v, columns %v of %d, want %v, %v", c.text, all.Unseen, all.Batch().Rows().Idx, all.Dim(), c.want, c.idx)
		}
		raw, err := LoadAll(context.Background(), []Input{input([]byte(c.text))}, Options{Format: c.format})
		if err != nil {
			t.Fatal(err)
		}
		if b, left, err := raw.Keep(c.columns); err != nil || !reflect.DeepEqual(left, c.want) || !slices.Equal(b.Batch().Rows().Idx, c.idx) ||
			!slices.Equal(b.Batch().Rows().Ptr, all.Batch().Rows().Ptr) {
			t.Errorf("%q: kept %v and left out %v, %v, want %v, %v", c.text, b.Batch().Rows(), left, err, c.idx, c.want)
		}
		o.Strict = true
		if _, err = LoadAll(context.Background(), []Input{input([]byte(c.text))}, o); c.strict != "" {
			wantError(t, err, c.strict)
		} else if err != nil {
			t.Errorf("%q: %v", c.text, err)
		}
	}
}

// Text that gzip packed, in a file or a stream, is read as the text; what is cut short is an error.
func TestGzip(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte("1 5\n0 6 7\n"))
	z.Close()
	path := filepath.Join(t.TempDir(), "x.dummy.gz")
	if err := os.WriteFile(path, packed.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	want := batchOf([]row{{1, []int64{5}, []float32{1}}, {0, []int64{6, 7}, []float32{1, 1}}})
	if b, err := LoadFile(context.Background(), path, Options{}); err != nil || !same(b, want) {
		t.Errorf("%v, %v, want %v", b, err, want)
	}
	b, err := Load(context.Background(), Input{Name: "-", Stream: bytes.NewReader(packed.Bytes())}, Options{Format: "dummy"})
	if err != nil || !same(b, want) {
		t.Errorf("%v, %v, want %v", b, err, want)
	}
	for n := 3; n < packed.Len(); n++ {
		if b, err := Load(context.Background(), input(packed.Bytes()[:n]), Options{Format: "dummy"}); err == nil {
			t.Fatalf("%d bytes of %d are read as %v", n, packed.Len(), b)
		}
	}
}

// What is wrong with a stream is said although it goes on, and so is an interruption.
func TestStreamGoesOn(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	go w.Write(append([]byte("x 1:1\n"), bytes.Repeat([]byte("1 1:1\n"), 1000)...))
	l := loader{reader: reader{step: 100, limit: 1 << 20}, set: newSet()}
	_, err := l.load(context.Background(), []Input{{Name: "t", Stream: r}})
	wantError(t, err, `t:1: label "x", want a number`)
	still, end := io.Pipe()
	defer end.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		end.Write([]byte("1 1:1\n"))
		cancel()
	}()
	if _, err := LoadAll(ctx, []Input{{Name: "t", Stream: still}}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want canceled", err)
	}
}
