package data

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"thole.example/feature"
)

// skips are texts of each source with lines that are of no use, and their numbers; good is the text without them.
var skips = map[string]struct {
	opt  Options
	text string
	bad  []int
	good string
}{
	"libsvm": {Options{Dim: 9}, "+1 1:1 2:2\n-1 1:1 0:4\n5 1:1\n-1 3:1 x\n-1 3:1 3:2\n-1 2:nan\n# none\n-1 2:1e99\nx 1:1\n-1 10:1\n-1 2:1\nnan 1:1\n",
		[]int{2, 3, 4, 5, 6, 8, 9, 10, 12}, "+1 1:1 2:2\n-1 2:1\n"},
	"libffm": {Options{Fields: Fields{Number: 2}}, "1 0:1:1\n0 0:1:1 2:1:1\n0 1:2:1 1:2:3\n0 1:2\n0 1:5:1\n3 0:1:1\n", []int{2, 3, 4, 6},
		"1 0:1:1\n0 1:5:1\n"},
	"dummy": {Options{}, "1 5\n0 6 x\n0 7 7\n-2 8\n0 9\n", []int{2, 3, 4}, "1 5\n0 9\n"},
	"dense": {Options{}, "1 1 2 3\n0 1 2\n0 1 2 3 4\n0 1 inf 3\n0 0,,1\n0 4 5 6\n0 1\n", []int{2, 3, 4, 5, 7}, "1 1 2 3\n0 4 5 6\n"},
	"csv":   {Options{}, "x,y\n1,0\n2\n\"3\n\"\"\n\",1,\n4,nan\n5,1\n", []int{3, 4, 7}, "x,y\n1,0\n5,1\n"},
	"tsv":   {Options{}, "x\ty\n1\t0\n2\n3\t1\n", []int{3}, "x\ty\n1\t0\n3\t1\n"},
}

// Lines that are left out leave nothing of their values behind, whatever the chunks, and one too many is an error with its line.
func TestSkipBad(t *testing.T) {
	for _, src := range Sources() {
		tt, ok := skips[src.Name]
		if !ok {
			t.Logf("no lines of %s", src.Name)
			continue
		}
		opt := tt.opt
		opt.Format, opt.Labels, opt.Classes = src.Name, AutoTrans, Standard()
		if src.Name == "csv" || src.Name == "tsv" {
			opt.Table = &Table{}
			if err := opt.Table.Spec.Set("x", feature.Column{Kind: feature.Numeric}); err != nil {
				t.Fatal(err)
			}
		}
		want, err := loadTable(opt, chunkLen, tt.good)
		if err != nil {
			t.Fatalf("%s: %v", src.Name, err)
		}
		for _, step := range []int{1, 20, chunkLen} {
			opt.SkipBad = len(tt.bad)
			got, err := loadTable(opt, step, tt.text)
			if err != nil || got.Checksum() != want.Checksum() || got.Skipped.Lines != len(tt.bad) || got.Fields != want.Fields {
				t.Errorf("%s, step %d: %v, want examples as without the %d lines", src.Name, step, err, len(tt.bad))
				continue
			}
			for i, err := range got.Skipped.First {
				if at := fmt.Sprintf("t.csv:%d: ", tt.bad[i]); !strings.HasPrefix(err.Error(), at) {
					t.Errorf("%s, step %d: %v, want %s", src.Name, step, err, at)
				}
			}
			opt.SkipBad--
			_, err = loadTable(opt, step, tt.text)
			if at := fmt.Sprintf("t.csv:%d: ", tt.bad[len(tt.bad)-1]); err == nil || !strings.HasPrefix(err.Error(), at) {
				t.Errorf("%s, step %d: %v, want %s", src.Name, step, err, at)
			}
		}
	}
}

// Rows keep the numbers that they have in their file, and it is told what was left out; labels of lines that were are none.
func TestSkipNumbers(t *testing.T) {
	text := "x 1:1\n1 1:1\n\n-1 2:1\n5 x\n5 y\n1 3:1\nx\n"
	for _, rows := range []int{1, 2, 0} {
		var got []int64
		var left Skipped
		opt := Options{SkipBad: 9, BatchRows: rows, Labels: AutoTrans, LeftOut: func(s Skipped) { left = s }}
		for b, err := range Read(context.Background(), input([]byte(text)), opt) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, b.Row...)
		}
		if !slices.Equal(got, []int64{1, 2, 5}) || left.Lines != 4 {
			t.Errorf("rows %v, %v, want 1, 2 and 5", got, left)
		}
		if text := left.String(); !strings.HasPrefix(text, "4 lines left out (--skip-bad): t:1: label") || !strings.HasSuffix(text, "; and 1 more") {
			t.Error(text)
		}
	}
	if all, err := Load(context.Background(), input([]byte(text)), Options{SkipBad: 4, Labels: ClassTrans}); err != nil || all.Len() != 3 {
		t.Errorf("%v, want 3 examples of two classes", err)
	}
}

// packedBy is text as gzip or zstd packs it.
func packedBy(t *testing.T, ending, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if ending == ".zst" {
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What is packed is read under the name without the ending, also from several frames, and cut short it is an error with its line.
func TestPacked(t *testing.T) {
	one, two := "x,y\n1,0\n", "2,1\n"
	for _, p := range packings() {
		first := packedBy(t, p.ending, one)
		packed := append(slices.Clone(first), packedBy(t, p.ending, two)...)
		read := func(text []byte, stream bool) (*Examples, error) {
			in := Input{Name: "t.csv" + p.ending, R: bytes.NewReader(text), Size: int64(len(text))}
			if stream {
				in.Stream = bytes.NewReader(text)
			}
			return LoadAll(context.Background(), []Input{in}, Options{Labels: AutoTrans})
		}
		for _, stream := range []bool{false, true} {
			if all, err := read(packed, stream); err != nil || all.Len() != 2 {
				t.Errorf("%s: %v, want 2 examples", p.ending, err)
			}
		}
		for n := 4; n < len(packed); n++ {
			if all, err := read(packed[:n], false); n != len(first) && (err == nil || !strings.HasPrefix(err.Error(), "t.csv"+p.ending+":")) {
				t.Fatalf("%s: %d bytes of %d: %v, %v", p.ending, n, len(packed), all, err)
			}
		}
		half := packedBy(t, p.ending, strings.Repeat("1 1:1\n", 1<<20))
		_, err := Load(context.Background(), Input{Name: "t", R: bytes.NewReader(half), Size: int64(len(half) / 2)}, Options{})
		if err == nil || !strings.Contains(err.Error(), "cut short") || strings.HasPrefix(err.Error(), "t: ") {
			t.Errorf("%s: %v, want where it is cut short", p.ending, err)
		}
	}
	wide := []byte("\x28\xb5\x2f\xfd\x00\xb0\x01\x00\x00") // a frame of a window of 4 GiB
	_, err := Load(context.Background(), input(wide), Options{})
	if err == nil || !strings.Contains(err.Error(), "window") {
		t.Errorf("%v, want that the window is too large", err)
	}
}
