package tree

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"thole.example/matrix"
)

// two is a model of two trees: one with a split of each kind, and one that is a leaf.
func two() *Ensemble {
	return &Ensemble{
		Objective: Objective{Name: "binary", Link: Logistic}, Classes: 1, Group: 1, Start: []float64{0.25},
		Features: FeaturesOf(Feature{Name: "age", Least: 1, Most: 90}, Feature{Name: "town", Categorical: true, Levels: []string{"", "Bath", "Wells"}}),
		Trees: []Tree{{
			Feature: []int32{0, 1}, Threshold: []float64{30.5, 0}, Kind: []Kind{NaNMissing | DefaultLeft, Categorical | NaNMissing},
			Left: []int32{1, ^0}, Right: []int32{^2, ^1}, Gain: []float64{8, 4}, Value: []float64{0.1, 0.2}, Weight: []float64{9, 5},
			Count:     []int64{10, 6},
			LeafValue: []float64{-1, 0.5, 2}, LeafWeight: []float64{2, 3, 4}, LeafCount: []int64{2, 4, 4}, Bounds: []int32{0, 1}, Words: []uint32{4},
		}, {LeafValue: []float64{0.125}, LeafWeight: []float64{9}, LeafCount: []int64{10},
			Feature: []int32{}, Threshold: []float64{}, Kind: []Kind{}, Left: []int32{}, Right: []int32{}, Gain: []float64{}, Value: []float64{},
			Weight: []float64{}, Count: []int64{}}},
	}
}

func TestMatrices(t *testing.T) {
	e := two()
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	text, err := e.JSON()
	if err != nil {
		t.Fatal(err)
	}
	metas, blocks := e.Matrices()
	got, err := Parse(text, func(name string) (matrix.Block, error) {
		for i := range metas {
			if metas[i].Name == name {
				return blocks[i], nil
			}
		}
		return matrix.Block{}, nil
	})
	if err != nil || !reflect.DeepEqual(got, e) {
		t.Errorf("got %+v, %v, want %+v", got, err, e)
	}
}

// TestScore scores rows whose ways are followed by hand.
func TestScore(t *testing.T) {
	for _, c := range []struct {
		row  []float64
		want float64
	}{
		{[]float64{30.5, 2}, 0.25 - 1 + 0.125}, {[]float64{30.5, 1}, 0.25 + 0.5 + 0.125}, {[]float64{31, 2}, 0.25 + 2 + 0.125},
		{[]float64{nan, 2}, 0.25 - 1 + 0.125}, {[]float64{nan, nan}, 0.25 + 0.5 + 0.125}, {[]float64{0, 77}, 0.25 + 0.5 + 0.125},
		{nil, 0.25 + 0.5 + 0.125},
	} {
		got := make([]float64, 1)
		if two().Score(c.row, got); got[0] != c.want {
			t.Errorf("row %v: %v, want %v", c.row, got[0], c.want)
		}
	}
}

// TestMissingLevel sends NaN the way of a categorical split, which is that of no set but where both bits say left.
func TestMissingLevel(t *testing.T) {
	nan := math.NaN()
	for kind, want := range map[Kind]bool{Categorical: false, Categorical | NaNMissing: false, Categorical | DefaultLeft: false,
		Categorical | NaNMissing | DefaultLeft: true} {
		one := Tree{Threshold: []float64{0}, Kind: []Kind{kind}, Bounds: []int32{0, 1}, Words: []uint32{4}}
		for v, left := range map[float64]bool{nan: want, 2: true, 1: false, -1: false, 77: false} {
			if got := one.GoesLeft(0, v); got != left {
				t.Errorf("kind %d, value %v: left is %v, want %v", kind, v, got, left)
			}
		}
	}
}

// TestScoreSingle adds up in float32, the start score first: in any other order or width the sum is another.
func TestScoreSingle(t *testing.T) {
	e := two()
	e.Single, e.Start = true, []float64{16777216}
	e.Trees = []Tree{e.Trees[1], e.Trees[1]}
	for i := range e.Trees {
		e.Trees[i].LeafValue = []float64{1}
	}
	got := make([]float64, 1)
	if e.Score(nil, got); got[0] != 16777216 {
		t.Errorf("%v, want 16777216", got[0])
	}
}

// TestWide: features of which nothing is to be said take no room.
func TestWide(t *testing.T) {
	e := two()
	e.Features.Width = 1_000_002
	e.Features.Set(500_000, Feature{Name: "far"})
	text, err := e.JSON()
	if err != nil || len(text) > 1000 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	var got Ensemble
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got.Features, e.Features) {
		t.Errorf("%d features, %v, want %d", got.Features.Width, err, e.Features.Width)
	}
	for _, bad := range []string{`{"width":5,"features":[{"name":"x"}]}`, `{"width":5,"features":[{"at":5}]}`, `{"width":-1,"features":[]}`,
		`{"width":99999999,"features":[]}`, `{"width":5,"features":[{"at":-1}]}`, `{"width":5,"features":[{"at":2},{"at":2}]}`, `{"features":[{"near":1}]}`, `{"features":{}}`, `{"wide":5}`} {
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}
