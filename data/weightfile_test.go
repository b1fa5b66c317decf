package data

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLoadWeights(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, "7\n8\n")
	z.Close()
	one, two := fileOf(t, "one", "1\n\n 2.5 # half\r\n# none\n0"), fileOf(t, "two.gz", packed.String())
	got, err := LoadWeights(t.Context(), nil, []string{one, two, Stdin}, strings.NewReader("1e-3\n"))
	if want := []float32{1, 2.5, 0, 7, 8, 1e-3}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	for text, want := range map[string]string{
		"1\n-1\n":      `:2: weight "-1", want a finite number from 0 on`,
		"1\n\nNaN":     `:3: weight "NaN", want a finite number from 0 on`,
		"Inf":          `:1: weight "Inf", want a finite number from 0 on`,
		"1 2":          `:1: weight "1 2", want a finite number from 0 on`,
		"1e99":         `:1: weight "1e99", want a finite number from 0 on`,
		"x\n":          `:1: weight "x", want a finite number from 0 on`,
		"# none\n":     ": no weights, want one for each example",
		"0\n0\n":       ": all 2 weights are 0, want some above",
		"\x1f\x8b\x08": ": packed text that is cut short: unexpected EOF, want the whole file",
	} {
		path := fileOf(t, "wrong", text)
		_, err := LoadWeights(t.Context(), nil, []string{path}, nil)
		wantError(t, err, path+want)
	}
	if _, err := LoadWeights(t.Context(), nil, []string{filepath.Join(t.TempDir(), "none")}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want %v", err, os.ErrNotExist)
	}
}

// Weights go with their examples over chunks, inputs and batches.
func TestReadWeights(t *testing.T) {
	var text strings.Builder
	weight := make([]float32, 1000)
	for i := range weight {
		fmt.Fprintf(&text, "%d 1:%d\n", i%2, i+1)
		weight[i] = float32(i) / 3
	}
	file := fileOf(t, "some", text.String())
	opt := Options{Weight: slices.Concat(weight, weight), BatchRows: 77}
	all, err := LoadFiles(t.Context(), []string{file, file}, nil, opt)
	if err != nil || !slices.Equal(all.Weight, opt.Weight) {
		t.Fatalf("%v: %v", err, all)
	}
	n := 0
	for b, err := range ReadFiles(t.Context(), []string{file, file}, nil, opt) {
		if err != nil || !slices.Equal(b.Weight, opt.Weight[n:n+b.Len()]) {
			t.Fatalf("%v: weights %v from example %d on", err, b.Weight, n)
		}
		n += b.Len()
	}
	small := Options{Weight: weight[:100]}
	l := loader{reader: reader{step: 50, limit: 1000}, opt: small, set: newSet()}
	_, err = l.load(context.Background(), []Input{input([]byte(text.String()))})
	wantError(t, err, "t: more examples than the 100 weights, want a weight for each")
	_, err = LoadFiles(t.Context(), []string{file, file}, nil, Options{Weight: make([]float32, 2001)})
	if err == nil || !strings.Contains(err.Error(), "2001 weights of 2000 examples, want one for each") {
		t.Error(err)
	}
}

// What is dropped as examples come is what would be dropped of all of them, whatever the chunks and wherever the second class begins.
func TestDrop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.SampledFrom([][2]string{{"0", "1"}, {"-1", "+1"}, {"1", "2"}, {"-7", "-3"}}).Draw(t, "labels")
		n := rapid.IntRange(1, 60).Draw(t, "examples")
		first := rapid.IntRange(0, n).Draw(t, "second class from")
		var text strings.Builder
		weight := make([]float32, n)
		for i := range n {
			weight[i] = float32(i + 1)
			which := 0
			if i >= first {
				which = rapid.IntRange(0, 1).Draw(t, "class")
			}
			if rapid.Bool().Draw(t, "other way round") && first == 0 {
				which = 1 - which
			}
			fmt.Fprintf(&text, "%s %d:%d\n", classes[which], i+1, i+1)
		}
		opt := Options{Weight: weight, Labels: AutoTrans}
		step := rapid.IntRange(8, 400).Draw(t, "chunk")
		all, wrong := (&loader{reader: reader{step: step, limit: 100}, opt: opt, set: newSet()}).load(context.Background(), []Input{input([]byte(text.String()))})
		seed, next := rapid.Uint64().Draw(t, "seed"), int64(0)
		drop := func(number int64, label float32) bool { return label < 0 && Uniform(seed, number) < 0.5 }
		opt.Drop = func(number int64, label float32) bool {
			if number != next || label != 1 && label != -1 {
				t.Fatalf("example %d with label %v, want number %d and -1 or 1", number, label, next)
			}
			next++
			return drop(number, label)
		}
		got, err := (&loader{reader: reader{step: step, limit: 100}, opt: opt, set: newSet()}).load(context.Background(), []Input{input([]byte(text.String()))})
		if (err == nil) != (wrong == nil) {
			t.Fatalf("%v, and %v where nothing is dropped", err, wrong)
		}
		if err != nil {
			return
		}
		if _, err := all.Part(func(i int) bool { return drop(int64(i), all.Label[i]) }); err != nil {
			t.Fatal(err)
		}
		want := all.Batch()
		if got.dim = all.dim; !exactly(got.Batch(), want) || next != int64(n) {
			t.Fatalf("%d left of %d, want %d", got.Len(), n, all.Len())
		}
	})
	if err := (Options{Labels: ClassTrans, Drop: func(int64, float32) bool { return true }}).Check(); !errors.Is(err, ErrOption) {
		t.Errorf("%v, want %v", err, ErrOption)
	}
}

// Numbers by which examples are drawn are spread evenly, and those of one seed say nothing of those of another.
func TestUniform(t *testing.T) {
	const n = 100_000
	sum, square, both := 0.0, 0.0, 0.0
	for i := range int64(n) {
		u, v := Uniform(1, i)-0.5, Uniform(2, i)-0.5
		sum, square, both = sum+u, square+u*u, both+u*v
	}
	for what, v := range map[string]float64{"mean": sum / n, "variance": square/n - 1./12, "covariance": both / n} {
		if math.Abs(v) > 0.003 {
			t.Errorf("%s off by %v", what, v)
		}
	}
}

// Whatever a file of weights is, what comes out of it are numbers to train by, a line each at most.
func FuzzLoadWeights(f *testing.F) {
	for _, text := range []string{"1\n2.5\n0\n", "1 # one\n\r\n", "-1", "NaN", "1e39", "0\n0", "\x1f\x8b\x08\x00", "\x28\xb5\x2f\xfd"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := LoadWeights(t.Context(), nil, []string{Stdin}, bytes.NewReader(text))
		if err != nil {
			if all != nil {
				t.Fatalf("%v beside %v", all, err)
			}
			return
		}
		sum := 0.0
		for _, w := range all {
			if !(w >= 0) || math.IsInf(float64(w), 1) {
				t.Fatalf("weight %v", w)
			}
			sum += float64(w)
		}
		if plain := !bytes.HasPrefix(text, []byte("\x1f\x8b")); sum == 0 || plain && len(all) > bytes.Count(text, []byte("\n"))+1 {
			t.Fatalf("weights %v of %q", all, text)
		}
	})
}
