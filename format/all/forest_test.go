package all

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/trees"
	"thole.example/matrix"
	"thole.example/tree"
)

// forests are small models of trees that every format of trees holds without loss, their matrices cut in two.
func forests() (all []sample) {
	split := tree.Tree{Feature: []int32{0, 1}, Threshold: []float64{0.5, -1.25}, Kind: []tree.Kind{tree.NaNMissing, tree.NaNMissing | tree.DefaultLeft},
		Left: []int32{1, -1}, Right: []int32{-3, -2}, Gain: []float64{3.5, 1.25}, Value: []float64{0, 0.25}, Weight: []float64{10, 6},
		Count: []int64{40, 24}, LeafValue: []float64{0.5, -0.125, 0.375}, LeafWeight: []float64{4, 2, 4}, LeafCount: []int64{16, 8, 16}}
	stump := tree.Tree{Feature: []int32{1}, Threshold: []float64{2}, Kind: []tree.Kind{tree.NaNMissing}, Left: []int32{-1}, Right: []int32{-2},
		Gain: []float64{0.75}, Value: []float64{0}, Weight: []float64{9}, Count: []int64{40}, LeafValue: []float64{-0.25, 0.0625},
		LeafWeight: []float64{5, 4}, LeafCount: []int64{21, 19}}
	for _, c := range []struct {
		what string
		e    tree.Ensemble
	}{
		{"two trees", tree.Ensemble{Objective: tree.Objective{Name: "l2", Link: tree.Identity}, Classes: 1, Group: 1, Start: []float64{0},
			Features: tree.FeaturesOf(tree.Feature{Name: "age"}, tree.Feature{Name: "height"}), Trees: []tree.Tree{split, stump}}},
	} {
		all = append(all, forest(c.what, &c.e))
	}
	return all
}

// forest is the ensemble as a sample, of which each matrix is cut in two where it has two columns.
func forest(what string, e *tree.Ensemble) sample {
	text, err := e.JSON()
	if err == nil {
		err = e.Check()
	}
	if err != nil {
		panic(err)
	}
	var all []sample
	metas, blocks := e.Matrices()
	for i, m := range metas {
		s := sample{what: m.Name, meta: m, blocks: blocks[i : i+1]}
		if m.Cols > 1 {
			s = tiled(m.Name, s, []int64{0, m.Rows}, []int64{0, m.Cols / 2, m.Cols})
		}
		all = append(all, s)
	}
	s := all[0]
	s.what, s.beside, s.files = what, all[1:], map[string][]byte{tree.FileName: text}
	return s
}

// TestForests writes models of trees in every format that holds nothing else, and reads the same ones.
func TestForests(t *testing.T) {
	for _, c := range plainKinds() {
		if c.Info().Needs != tree.FileName {
			continue
		}
		for _, s := range forests() {
			t.Run(c.name+", "+s.what, func(t *testing.T) {
				b, ctx := &blob.Mem{}, context.Background()
				if err := write(t, b, c, s, format.Options{}); err != nil {
					t.Fatal(err)
				}
				r := open(t, b, c)
				got, err := cells(ctx, r)
				if err != nil {
					t.Fatal(err)
				}
				want, _ := cells(ctx, memory{s})
				if !maps.Equal(got, want) {
					t.Error(firstDifference(got, want))
				}
				first, err := trees.Read(ctx, memory{s})
				if err != nil {
					t.Fatal(err)
				}
				if again, err := trees.Read(ctx, r); err != nil || len(again.Trees) != len(first.Trees) {
					t.Errorf("%v, %v", again, err)
				}
			})
		}
	}
}

// TestNoForest has formats of trees refuse other matrices with words that say what they hold, and trees that contradict themselves.
func TestNoForest(t *testing.T) {
	for _, c := range plainKinds() {
		if c.Info().Needs != tree.FileName {
			continue
		}
		plain, good := dense("plain", matrix.F32, 2, 3), forests()[0]
		err := write(t, &blob.Mem{}, c, plain, format.Options{Lossy: true})
		if !errors.Is(err, format.ErrMatrix) || !strings.Contains(err.Error(), tree.FileName) {
			t.Errorf("%s: %v, want ErrMatrix that names %s", c.name, err, tree.FileName)
		}
		plain.files = good.files
		if err := write(t, &blob.Mem{}, c, plain, format.Options{}); !errors.Is(err, format.ErrMatrix) {
			t.Errorf("%s: %v, want ErrMatrix", c.name, err)
		}
		for i := range good.beside {
			bad, b := good, &blob.Mem{}
			bad.beside = append(append([]sample{}, good.beside[:i]...), good.beside[i+1:]...)
			if err := write(t, b, c, bad, format.Options{}); !errors.Is(err, tree.ErrTrees) {
				t.Errorf("%s without %s: %v, want ErrTrees", c.name, good.beside[i].meta.Name, err)
			}
			if left := snapshot(t, b); len(left) > 0 {
				t.Errorf("%s without %s: left %v", c.name, good.beside[i].meta.Name, left)
			}
		}
	}
}
