package data

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestLoadStarts(t *testing.T) {
	one, two := fileOf(t, "one", "1 -2\n\n 2.5, 0 # half\r\n# none\n0\t1e300"), fileOf(t, "two", "7,8\n")
	got, err := LoadStarts(t.Context(), nil, []string{one, two, Stdin}, strings.NewReader("1e-3,,4\n"))
	if want := []float64{1, -2, 2.5, 0, 0, 1e300, 7, 8, 1e-3, 4}; err != nil || got.Width != 2 || got.Len() != 5 || !slices.Equal(got.Score, want) {
		t.Errorf("%+v, %v, want %v", got, err, want)
	}
	for text, want := range map[string]string{
		"1\n\nNaN":      `:3: start score "NaN", want a finite number`,
		"1 -Inf":        `:1: start score "-Inf", want a finite number`,
		"1e999":         `:1: start score "1e999", want a finite number`,
		"x\n":           `:1: start score "x", want a finite number`,
		"1 2\n# n\n3\n": ":3: 1 start score, want 2 as in the lines before: one for each class",
		"1\n3,4\n":      ":2: 2 start scores, want 1 as in the lines before: one for each class",
		",\n":           ":1: 0 start scores, want 1 as in the lines before: one for each class",
		"# none\n":      ": no start scores, want one for each example",
		"\x1f\x8b\x08":  ": packed text that is cut short: unexpected EOF, want the whole file",
	} {
		path := fileOf(t, "wrong", text)
		_, err := LoadStarts(t.Context(), nil, []string{path}, nil)
		wantError(t, err, path+want)
	}
}

// Start scores go with their examples over chunks, inputs and batches, past lines that are left out, and where examples are dropped.
func TestReadStarts(t *testing.T) {
	var text, scores strings.Builder
	var want []float64
	for i := range 1000 {
		fmt.Fprintf(&text, "%d 1:%d\n", i%2, i+1)
		fmt.Fprintf(&scores, "%d %v\n", i, float64(i)/3)
		want = append(want, float64(i), float64(i)/3)
		if i%100 == 0 {
			fmt.Fprintln(&text, "x 1:1")
		}
	}
	file, beside := fileOf(t, "some", text.String()), fileOf(t, "scores", scores.String())
	load := func(paths ...string) *Starts {
		s, err := LoadStarts(t.Context(), nil, paths, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	opt := Options{Start: load(beside, beside), BatchRows: 77, SkipBad: 20}
	all, err := LoadFiles(t.Context(), []string{file, file}, nil, opt)
	if err != nil || !slices.Equal(all.Start, slices.Concat(want, want)) {
		t.Fatalf("%v: %v", err, all)
	}
	n := 0
	for b, err := range ReadFiles(t.Context(), []string{file, file}, nil, opt) {
		if err != nil || !slices.Equal(b.Start, opt.Start.Score[2*n:2*(n+b.Len())]) {
			t.Fatalf("%v: start scores %v from example %d on", err, b.Start, n)
		}
		n += b.Len()
	}
	opt.Drop = func(number int64, _ float32) bool { return number%3 > 0 }
	if all, err = LoadFiles(t.Context(), []string{file, file}, nil, opt); err != nil {
		t.Fatal(err)
	}
	for i := range all.Len() {
		if k := 3 * i % 1000; !slices.Equal(all.Start[2*i:2*i+2], want[2*k:2*k+2]) {
			t.Fatalf("example %d of those that stay has the start scores %v, want %v", i, all.Start[2*i:2*i+2], want[2*k:2*k+2])
		}
	}
	_, err = LoadFiles(t.Context(), []string{file, file}, nil, Options{Start: load(beside), SkipBad: 20})
	wantError(t, err, beside+":1000: the last start scores are those of example 1000, and "+file+" has more examples: want a line for each")
	_, err = LoadFiles(t.Context(), []string{file}, nil, Options{Start: load(beside, beside), SkipBad: 20})
	wantError(t, err, beside+":1: start scores of example 1001, and there are only 1000: want a line for each (10 lines left out, which have none)")
}

// Whatever a file of start scores is, what comes out of it are as many finite numbers of each line.
func FuzzLoadStarts(f *testing.F) {
	for _, text := range []string{"1\n2.5\n0\n", "1,2 # one\n\r\n3 4", "-1", "NaN", "1e309", ",", "1\t2\n3", "\x1f\x8b\x08\x00", "\x28\xb5\x2f\xfd"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := LoadStarts(t.Context(), nil, []string{Stdin}, bytes.NewReader(text))
		if err != nil {
			if all != nil {
				t.Fatalf("%v beside %v", all, err)
			}
			return
		}
		if all.Len() == 0 || len(all.Score) != all.Len()*all.Width ||
			slices.ContainsFunc(all.Score, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
			t.Fatalf("%v of %q", all, text)
		}
	})
}
