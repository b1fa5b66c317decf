package data

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// loadChecked loads a file and checks the batch.
func loadChecked(t *testing.T, path, format string) *Batch {
	t.Helper()
	b, err := LoadFile(context.Background(), path, Options{Format: format})
	if err != nil {
		t.Fatal(err)
	}
	if err := check(b); err != nil {
		t.Fatal(err)
	}
	return b
}

// fileOf is the path of a file with the text.
func fileOf(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// reference is the path of reference data, "" if they are not there.
func reference(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("../../shared/data", name)
	if _, err := os.Stat(path); err != nil {
		t.Logf("no reference data: %v", err)
		return ""
	}
	return path
}

// A small set in each format, with what people and programs leave in such files.
const (
	smallLibsvm = "\ufeff# age:1 .. income:9\n+1 1:0.5 3:2 9:-1e-1\n\n-1 2:1 # only this\r\n0.5 qid:7 1:3 2:4 3:5 4:6\n  1\t4:.25\n-1"
	smallDummy  = "1 0 3 12\n-1 12\n0\n1 0 1 2 3 4\n"
	smallLibffm = "1 3:7:0.5 0:1:1\n0 1:7:1 # only this\n"
	smallDense  = "10 1 0 2.5 0\n7,0,0,0,0\n-3.5\t1e2 -2 0 +4\n"
)

// Counts as they were made by hand, and as other programs measured them.
func TestSets(t *testing.T) {
	for _, tt := range []struct {
		path, format string
		rows         int
		dim          int64
		least, most  int // stored values of a row
		labels       map[float32]int
		mean         float64 // of the labels; 0: not known
	}{
		{fileOf(t, "small.libsvm", smallLibsvm), "libsvm", 5, 9, 0, 4, map[float32]int{1: 2, -1: 2, 0.5: 1}, 0.1},
		{fileOf(t, "small.dummy", smallDummy), "dummy", 4, 13, 0, 5, map[float32]int{1: 2, -1: 1, 0: 1}, 0.25},
		{fileOf(t, "small.ffm", smallLibffm), "", 2, 8, 1, 2, map[float32]int{1: 1, 0: 1}, 0.5},
		{fileOf(t, "small.dense", smallDense), "dense", 3, 4, 0, 3, map[float32]int{10: 1, 7: 1, -3.5: 1}, 4.5},
		{reference(t, "a9a/a9a_123d_train.libsvm"), "libsvm", 32561, 123, 11, 14, map[float32]int{-1: 24720, 1: 7841}, 0},
		{reference(t, "a9a/a9a_123d_train.dummy"), "dummy", 32561, 123, 11, 14, map[float32]int{-1: 24720, 1: 7841}, 0},
		{reference(t, "a9a/a9a_123d_test.dummy"), "dummy", 16281, 122, 11, 14, map[float32]int{-1: 12435, 1: 3846}, 0},
		{reference(t, "census/census_148d_train.libsvm"), "libsvm", 22792, 148, 13, 13, map[float32]int{-1: 17355, 1: 5437}, 0},
		{reference(t, "census/census_148d_train.dummy"), "dummy", 22792, 148, 13, 13, map[float32]int{-1: 17355, 1: 5437}, 0},
		{reference(t, "census/census_148d_test.dummy"), "dummy", 9769, 147, 13, 13, map[float32]int{-1: 7365, 1: 2404}, 0},
		{reference(t, "agaricus/agaricus_127d_train.libsvm"), "libsvm", 6513, 126, 22, 22, map[float32]int{0: 3373, 1: 3140}, 0},
		{reference(t, "agaricus/agaricus_127d_test.libsvm"), "libsvm", 1611, 126, 22, 22, map[float32]int{0: 835, 1: 776}, 0},
		{reference(t, "abalone/abalone_8d_train.libsvm"), "libsvm", 4177, 8, 6, 8, nil, 9.9337},
		{reference(t, "abalone/abalone_8d_train.dense"), "dense", 4177, 8, 6, 8, nil, 9.9337},
	} {
		if tt.path == "" {
			continue
		}
		b := loadChecked(t, tt.path, tt.format)
		least, most := 1<<30, 0
		ptr := b.Rows().Ptr
		for i := 1; i < len(ptr); i++ {
			least, most = min(least, ptr[i]-ptr[i-1]), max(most, ptr[i]-ptr[i-1])
		}
		labels, sum := map[float32]int{}, 0.0
		for _, v := range b.Label {
			labels[v]++
			sum += float64(v)
		}
		if b.Len() != tt.rows || b.Dim() != tt.dim || least != tt.least || most != tt.most {
			t.Errorf("%s: %d rows of %d columns with %d to %d values, want %d of %d with %d to %d", tt.path,
				b.Len(), b.Dim(), least, most, tt.rows, tt.dim, tt.least, tt.most)
		}
		if tt.labels != nil && !maps.Equal(labels, tt.labels) {
			t.Errorf("%s: labels %v, want %v", tt.path, labels, tt.labels)
		}
		if mean := sum / float64(b.Len()); tt.mean != 0 && math.Abs(mean-tt.mean) > 5e-5 {
			t.Errorf("%s: mean label %v, want %v", tt.path, mean, tt.mean)
		}
	}
}

// The same examples are the same batch, whatever the format.
func TestTwins(t *testing.T) {
	var libsvm, dummy, ones, dense strings.Builder
	rng := rand.New(rand.NewPCG(1, 1))
	for range 5000 {
		y := rng.IntN(21) - 10
		for _, b := range []*strings.Builder{&libsvm, &dummy, &ones, &dense} {
			fmt.Fprint(b, y)
		}
		for c := range 9 {
			v := float64(max(0, rng.IntN(40)-20)) / 8
			fmt.Fprint(&dense, " ", v)
			if v == 0 {
				continue
			}
			fmt.Fprintf(&libsvm, " %d:%v", c+1, v)
			fmt.Fprintf(&ones, " %d:1", c+1)
			fmt.Fprintf(&dummy, " %d", c)
		}
		for _, b := range []*strings.Builder{&libsvm, &dummy, &ones, &dense} {
			b.WriteByte('\n')
		}
	}
	for _, tt := range []struct{ a, formatA, b, formatB string }{
		{fileOf(t, "some.libsvm", libsvm.String()), "libsvm", fileOf(t, "some.dense", dense.String()), "dense"},
		{fileOf(t, "ones.libsvm", ones.String()), "libsvm", fileOf(t, "ones.dummy", dummy.String()), "dummy"},
		{reference(t, "a9a/a9a_123d_train.libsvm"), "libsvm", reference(t, "a9a/a9a_123d_train.dummy"), "dummy"},
		{reference(t, "census/census_148d_train.libsvm"), "libsvm", reference(t, "census/census_148d_train.dummy"), "dummy"},
		{reference(t, "abalone/abalone_8d_train.libsvm"), "libsvm", reference(t, "abalone/abalone_8d_train.dense"), "dense"},
	} {
		if tt.a == "" || tt.b == "" {
			continue
		}
		if a, b := loadChecked(t, tt.a, tt.formatA), loadChecked(t, tt.b, tt.formatB); !same(a, b) {
			t.Errorf("%s and %s differ", tt.a, tt.b)
		}
	}
}
