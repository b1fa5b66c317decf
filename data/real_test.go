package data

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func loadReal(t *testing.T, name, format string) *Batch {
	t.Helper()
	path := filepath.Join("../../shared/data", name)
	if _, err := os.Stat(path); err != nil {
		t.Skip("no reference data at ../shared/data")
	}
	b, err := LoadFile(context.Background(), path, Options{Format: format})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.X.Check(); err != nil {
		t.Fatal(err)
	}
	return b
}

// Counts as they were measured by other programs.
func TestRealSets(t *testing.T) {
	for _, tt := range []struct {
		name, format string
		rows         int
		dim          int64
		least, most  int // stored values of a row
		labels       map[float32]int
	}{
		{"a9a/a9a_123d_train.libsvm", "libsvm", 32561, 123, 11, 14, map[float32]int{-1: 24720, 1: 7841}},
		{"a9a/a9a_123d_train.dummy", "dummy", 32561, 123, 11, 14, map[float32]int{-1: 24720, 1: 7841}},
		{"a9a/a9a_123d_test.dummy", "dummy", 16281, 122, 11, 14, map[float32]int{-1: 12435, 1: 3846}},
		{"census/census_148d_train.libsvm", "libsvm", 22792, 148, 13, 13, map[float32]int{-1: 17355, 1: 5437}},
		{"census/census_148d_train.dummy", "dummy", 22792, 148, 13, 13, map[float32]int{-1: 17355, 1: 5437}},
		{"census/census_148d_test.dummy", "dummy", 9769, 147, 13, 13, map[float32]int{-1: 7365, 1: 2404}},
		{"agaricus/agaricus_127d_train.libsvm", "libsvm", 6513, 126, 22, 22, map[float32]int{0: 3373, 1: 3140}},
		{"agaricus/agaricus_127d_test.libsvm", "libsvm", 1611, 126, 22, 22, map[float32]int{0: 835, 1: 776}},
		{"abalone/abalone_8d_train.libsvm", "libsvm", 4177, 8, 6, 8, nil},
		{"abalone/abalone_8d_train.dense", "dense", 4177, 8, 6, 8, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := loadReal(t, tt.name, tt.format)
			least, most := 1<<30, 0
			ptr := b.Rows().Ptr
			for i := 1; i < len(ptr); i++ {
				least, most = min(least, ptr[i]-ptr[i-1]), max(most, ptr[i]-ptr[i-1])
			}
			labels := map[float32]int{}
			for _, v := range b.Label {
				labels[v]++
			}
			if b.Len() != tt.rows || b.Dim() != tt.dim || least != tt.least || most != tt.most {
				t.Errorf("%d rows of %d columns with %d to %d values, want %d of %d with %d to %d",
					b.Len(), b.Dim(), least, most, tt.rows, tt.dim, tt.least, tt.most)
			}
			for v, n := range tt.labels {
				if labels[v] != n || len(labels) != len(tt.labels) {
					t.Errorf("labels %v, want %v", labels, tt.labels)
				}
			}
		})
	}
}

func TestTwins(t *testing.T) {
	for _, tt := range []struct{ a, formatA, b, formatB string }{
		{"a9a/a9a_123d_train.libsvm", "libsvm", "a9a/a9a_123d_train.dummy", "dummy"},
		{"census/census_148d_train.libsvm", "libsvm", "census/census_148d_train.dummy", "dummy"},
		{"abalone/abalone_8d_train.libsvm", "libsvm", "abalone/abalone_8d_train.dense", "dense"},
	} {
		if a, b := loadReal(t, tt.a, tt.formatA), loadReal(t, tt.b, tt.formatB); !same(a, b) {
			t.Errorf("%s and %s differ", tt.a, tt.b)
		}
	}
}

func TestAbaloneLabels(t *testing.T) {
	b := loadReal(t, "abalone/abalone_8d_train.libsvm", "libsvm")
	sum := 0.0
	for _, v := range b.Label {
		sum += float64(v)
	}
	if mean := sum / float64(b.Len()); mean < 9.93365 || mean > 9.93375 {
		t.Errorf("mean label %v, want 9.9337", mean)
	}
}
