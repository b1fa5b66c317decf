package gbdt

import (
	"math"
	"testing"

	"thole.example/feature"
)

func TestText(t *testing.T) {
	tr, err := feature.New(nil, []feature.Column{
		{Name: "age", Kind: feature.Numeric, Scale: feature.None}, {Name: "price", Kind: feature.Buckets, Bounds: []float64{1, 2.5}},
		{Name: "tags", Kind: feature.Multi, Separator: "|", Levels: feature.Texts{"b"}},
		{Name: "town", Kind: feature.Categorical, Levels: feature.Texts{"Wells", ""}},
		{Name: "day", Kind: feature.Date, Format: "2006-01-02", Parts: []string{"weekday"}}, {Name: "code", Kind: feature.Hash, Size: 9},
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := NewView(tr)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		feature int
		value   float64
		want    string
	}{
		{0, 30.5, "30.5"}, {0, 1600000001, "1600000001"}, {0, 0.1, "0.1"}, {0, math.NaN(), "missing"}, {1, 1, "in [,1)"}, {1, 2, "in [1,2.5)"}, {1, 9, "9"}, {2, 1, "1"}, {3, 0, "0"},
		{4, 0, "(other)"}, {4, 1, "Wells"}, {4, 2, "missing"}, {4, 3, "missing"}, {5, 1, "Sunday"}, {6, 8, "hash 8"},
	} {
		if got := v.Text(c.feature, c.value); got != c.want {
			t.Errorf("feature %d, %v: %q, want %q", c.feature, c.value, got, c.want)
		}
	}
	if got := NewColumns(3, 0).Text(2, 1.5); got != "1.5" {
		t.Errorf("of a column: %q", got)
	}
}
