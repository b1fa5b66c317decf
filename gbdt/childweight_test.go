package gbdt

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestRareWeights: the least weight of children is raised by the share of the rarer class or of events, which weights of rows change, and by
// that of each of several classes.
func TestRareWeights(t *testing.T) {
	labels := func(counts ...int) (y []float32) {
		for label, n := range counts {
			y = append(y, slices.Repeat([]float32{float32(label)}, n)...)
		}
		return y
	}
	weights := func(negative, positive float32) []float32 {
		return append(slices.Repeat([]float32{negative}, 90), slices.Repeat([]float32{positive}, 10)...)
	}
	for _, c := range []struct {
		of   Objective
		y    Labels
		want []float64
	}{
		{logistic, Labels{Label: labels(999, 1)}, []float64{rareMost}},
		{logistic, Labels{Label: labels(1, 999)}, []float64{rareMost}},
		{logistic, Labels{Label: labels(8, 2)}, []float64{rareMost}},
		{logistic, Labels{Label: labels(6, 4)}, []float64{1}},
		{logistic, Labels{Label: labels(5, 5)}, []float64{1}},
		{logistic, Labels{Label: labels(5, 0)}, []float64{0}},
		{logistic, Labels{Label: labels(90, 10), Weight: weights(1, 9)}, []float64{1}},
		{logistic, Labels{Label: labels(90, 10), Weight: weights(2, 2)}, []float64{rareMost}},
		{logistic, Labels{Label: labels(90, 10), Weight: weights(0, 0)}, []float64{0}},
		{poisson, Labels{Label: labels(1, 99)}, []float64{rareMost}},
		{squared, Labels{Label: labels(999, 1)}, []float64{0}},
		{multiclass, Labels{Label: labels(30, 30, 30)}, []float64{1, 1, 1}},
		{multiclass, Labels{Label: labels(50, 49, 1)}, []float64{1, 1, rareMost}},
	} {
		conf := Config{Objective: c.of, Classes: 3}
		if got := conf.RareWeights(&c.y); !slices.Equal(got, c.want) {
			t.Errorf("%s, labels %v, weights %v: %v, want %v", c.of.Name, c.y.Label, c.y.Weight, got, c.want)
		}
	}
	between := (&Config{Objective: logistic}).RareWeights(&Labels{Label: labels(7, 3)})[0]
	if between <= 1 || between >= rareMost {
		t.Errorf("of 30 %% positives %v, want it between 1 and %d", between, rareMost)
	}
}

// TestChildWeight: MinWeight is raised by a share of the second derivatives of the tree, and to no more than is wanted of the class.
func TestChildWeight(t *testing.T) {
	c := Config{MinWeight: 1}
	for _, one := range []struct{ rare, second, want float64 }{
		{30, 1000, 30}, {30, 30, 8.5}, {30, 0, 1}, {0, 1000, 1}, {1, 1000, 1},
	} {
		if got := c.childWeight(one.rare, one.second); got != one.want {
			t.Errorf("childWeight(%v, %v) = %v, want %v", one.rare, one.second, got, one.want)
		}
	}
}

// TestRareSetup: workers without the labels of all rows get the weights of children with the setup.
func TestRareSetup(t *testing.T) {
	c := Defaults()
	c.Objective, c.Classes, c.Rare = multiclass, 3, true
	l := &Layout{rows: 5, total: 5}
	s, err := NewSetup(l, &Labels{Label: []float32{0, 0, 1, 1, 2}}, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseSetup(text)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Config.Rare || !slices.Equal(got.Rare, s.Rare) || len(s.Rare) != 3 {
		t.Errorf("%v, want %v", got.Rare, s.Rare)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []any{nil, []float64{1}, []float64{1, 2, -1}} {
		all["Rare"] = wrong
		text, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseSetup(text); err == nil {
			t.Errorf("Rare %v: no error", wrong)
		}
	}
}
