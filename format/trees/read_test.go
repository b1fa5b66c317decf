package trees_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/daphne"
	"thole.example/format/safetensors"
	"thole.example/format/trees"
	"thole.example/matrix"
	"thole.example/tree"
)

// TestZeros: a model whose start score and leaves are 0, of which some formats store no cell, is read as it was.
func TestZeros(t *testing.T) {
	leaf := tree.Tree{LeafValue: []float64{0}, LeafWeight: []float64{0}, LeafCount: []int64{0}}
	e := &tree.Ensemble{Objective: tree.Objective{Name: "l2", Link: tree.Identity}, Classes: 1, Group: 1, Start: []float64{0},
		Features: tree.FeaturesOf(tree.Feature{Name: "x"}), Trees: []tree.Tree{leaf, leaf}}
	r, err := trees.NewReader(e, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, codec := range []format.Codec{daphne.Codec, safetensors.Codec} {
		name, b := codec.Info().Name, &blob.Mem{}
		if err := format.Convert(t.Context(), r, codec, b, "m", format.Options{}, nil, nil); err != nil {
			t.Fatal(err)
		}
		stored, err := codec.Open(t.Context(), b, "m", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := trees.Read(t.Context(), stored)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if text := tree.Differ(e, got, 0); text != "" {
			t.Errorf("%s: %s", name, text)
		}
		stored.Close()
	}
}

// emptyReader says of one matrix that it is large, and has no cell of it.
type emptyReader struct{ format.Reader }

func (r emptyReader) Matrices() []matrix.Meta {
	return []matrix.Meta{{Name: "gbdt.start", Rows: 1, Cols: 1 << 40, DType: matrix.F64}}
}

func (r emptyReader) Blocks(_ context.Context, _ string, at matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		yield(matrix.Block{At: at, Data: matrix.Empty{D: matrix.F64}}, nil)
	}
}

// TestAbsent: a small file that speaks of a large matrix gets no memory for it.
func TestAbsent(t *testing.T) {
	r, err := trees.NewReader(&tree.Ensemble{Classes: 1, Group: 1, Start: []float64{0}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trees.Read(t.Context(), emptyReader{r}); !errors.Is(err, format.ErrLimit) {
		t.Errorf("%v, want that it is too large", err)
	}
}
