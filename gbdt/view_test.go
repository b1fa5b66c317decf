package gbdt

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/data"
	"thole.example/feature"
	"thole.example/matrix"
	"thole.example/tree"
)

// loaded is examples of a text.
func loaded(t *testing.T, text string, o data.Options) *data.Batch {
	t.Helper()
	b, err := data.Load(context.Background(), data.Input{Name: "test", R: strings.NewReader(text), Size: int64(len(text))}, o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func nan() float32 { return float32(math.NaN()) }

// rows are those that the view makes.
func rows(t *testing.T, v *View, b *data.Batch) string {
	t.Helper()
	n, w := b.Len(), v.Width()
	out := make([]float64, n*w)
	v.Fill(b, 0, n, out)
	text := ""
	for i := range n {
		text += fmt.Sprintln(out[i*w : (i+1)*w])
	}
	return text
}

// mixed is a table with a column of each kind.
const mixed = "y,age,tags,town,days,code\n1,30.5,a|b,Bath,2026-01-31,x\n0,,b,Ely,,y\n1,7,,Bath,2026-02-01,x\n"

func mixedTransform(t *testing.T) *feature.Transform {
	tr, err := feature.New(feature.MissingTexts(), []feature.Column{
		{Name: "y", Kind: feature.Label}, {Name: "age", Kind: feature.Numeric, Scale: feature.None},
		{Name: "tags", Kind: feature.Multi, Separator: "|", Levels: feature.Texts{"b", "a"}},
		{Name: "town", Kind: feature.Categorical, Levels: feature.Texts{"Wells", "Bath"}},
		{Name: "days", Kind: feature.Date, Format: "2006-01-02", Parts: []string{"day"}},
		{Name: "code", Kind: feature.Hash, Size: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestTableView(t *testing.T) {
	tr := mixedTransform(t)
	v, err := NewView(tr)
	if err != nil {
		t.Fatal(err)
	}
	b := loaded(t, mixed, data.Options{Format: "csv", Table: &data.Table{Transform: tr}})
	var names []string
	for i := range v.Features().Width {
		f := v.Features().At(i)
		names = append(names, fmt.Sprint(f.Name, f.Levels)+fmt.Sprint(f.Categorical))
	}
	// age; tags other, b, a; town (0: other); day of the month; code
	want := "age[]false;tags other[]false;tags=b[]false;tags=a[]false;town[(other) Wells Bath]true;days.day[]false;code[]true"
	if got := strings.Join(names, ";"); got != want {
		t.Errorf("features %s, want %s", got, want)
	}
	want = "[30.5 0 1 1 2 31 0]\n[NaN 0 1 0 0 NaN 0]\n[7 1 0 0 2 1 0]\n"
	if got := rows(t, v, b); got != want {
		t.Errorf("rows\n%swant\n%s", got, want)
	}
	bare := *b
	bare.Field, bare.Fields = nil, 0
	if got := rows(t, v, &bare); got != want {
		t.Errorf("rows without fields\n%swant\n%s", got, want)
	}
}

// TestAbsent has examples of a table whose fields are not all there.
func TestAbsent(t *testing.T) {
	v, err := NewView(mixedTransform(t))
	if err != nil {
		t.Fatal(err)
	}
	b := &data.Batch{Label: []float32{0}, X: matrix.Block{At: matrix.At(0, 1, 0, 99),
		Data: &matrix.CSR[float32]{Ptr: []int{0, 2}, Idx: []int64{-3, 98}, Val: []float32{1, 1}}}}
	if got, want := rows(t, v, b), "[NaN 0 0 0 NaN NaN NaN]\n"; got != want {
		t.Errorf("row %s, want %s", got, want)
	}
}

func TestColumnsView(t *testing.T) {
	b := loaded(t, "1 1:0 3:4.5\n0 2:-1 9:7\n", data.Options{Format: "libsvm"})
	if got, want := rows(t, NewColumns(3, 0), b), "[0 0 4.5]\n[0 -1 0]\n"; got != want {
		t.Errorf("rows %s, want %s", got, want)
	}
	if got, want := rows(t, NewColumns(3, math.NaN()), b), "[0 NaN 4.5]\n[NaN -1 NaN]\n"; got != want {
		t.Errorf("rows %s, want %s", got, want)
	}
}

func TestBind(t *testing.T) {
	features := tree.FeaturesOf(tree.Feature{Name: "town", Categorical: true, Levels: []string{"Bath", "Wells"}},
		tree.Feature{Name: "zip", Categorical: true}, tree.Feature{Name: "age"})
	tr, v, err := Bind(features, nil, feature.Column{Name: "y", Kind: feature.Label})
	if err != nil {
		t.Fatal(err)
	}
	b := loaded(t, "age,y,zip,town\n3,1,12,Wells\nNA,0,,Ely\n-1e9,1,0,\n", data.Options{Format: "csv", Table: &data.Table{Transform: tr}})
	if got, want := rows(t, v, b), "[1 12 3]\n[NaN NaN NaN]\n[NaN 0 -1e+09]\n"; got != want {
		t.Errorf("rows %s, want %s", got, want)
	}
	for want, bad := range map[string][]tree.Feature{
		"feature 0 of the trees has no name": {{}}, `column "a" twice`: {{Name: "a"}, {Name: "a"}},
		`level "x" twice`: {{Name: "a", Levels: []string{"x", "x"}}},
	} {
		if _, _, err := Bind(tree.FeaturesOf(bad...), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", bad, err, want)
		}
	}
}

func TestTooManyLevels(t *testing.T) {
	tr, err := feature.New(nil, []feature.Column{{Name: "h", Kind: feature.Hash, Size: tree.LevelLimit + 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewView(tr); err == nil || !strings.Contains(err.Error(), `column "h" has 16777217 levels`) {
		t.Error(err)
	}
}

// stump is a tree that asks one feature.
func stump(f int32, threshold float64) tree.Tree {
	return tree.Tree{Feature: []int32{f}, Threshold: []float64{threshold}, Kind: []tree.Kind{tree.NaNMissing}, Left: []int32{^0},
		Right: []int32{^1}, Gain: []float64{1}, Value: []float64{0}, Weight: []float64{1}, Count: []int64{1},
		LeafValue: []float64{threshold, 100}, LeafWeight: []float64{1, 1}, LeafCount: []int64{1, 1}}
}

// TestUse holds that narrow rows score as wide ones do.
func TestUse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const dim = 40
		e := &tree.Ensemble{Objective: tree.Objective{Name: "l2", Link: tree.Identity}, Classes: 1, Group: 1, Start: []float64{0},
			Features: tree.Features{Width: dim}}
		for range rapid.IntRange(0, 5).Draw(rt, "trees") {
			e.Trees = append(e.Trees, stump(rapid.Int32Range(0, dim-1).Draw(rt, "feature"), float64(rapid.IntRange(-2, 2).Draw(rt, "threshold"))))
		}
		v := NewColumns(dim, rapid.SampledFrom([]float64{0, math.NaN()}).Draw(rt, "absent"))
		use, narrow, from, err := v.Use(e)
		if err != nil || narrow.Check() != nil || len(from) != use.Width() || use.Width() > len(e.Trees) {
			rt.Fatalf("%v, %v, %d of %d", err, narrow.Check(), len(from), use.Width())
		}
		b := &data.Batch{Label: []float32{0}}
		x := &matrix.CSR[float32]{Ptr: []int{0}}
		for col := range int64(dim + 2) {
			if rapid.Bool().Draw(rt, "there") {
				x.Idx, x.Val = append(x.Idx, col), append(x.Val, float32(rapid.IntRange(-3, 3).Draw(rt, "value")))
			}
		}
		x.Ptr = append(x.Ptr, len(x.Idx))
		b.X = matrix.Block{At: matrix.At(0, 1, 0, dim+2), Data: x}
		wide, less := make([]float64, dim), make([]float64, use.Width())
		v.Fill(b, 0, 1, wide)
		use.Fill(b, 0, 1, less)
		var want, got [1]float64
		e.Score(wide, want[:])
		narrow.Score(less, got[:])
		if got != want {
			rt.Errorf("narrow %v, wide %v", got, want)
		}
	})
	if _, _, _, err := NewColumns(3, 0).Use(&tree.Ensemble{Features: tree.Features{Width: 4}}); err == nil {
		t.Error("an ensemble of other features, want an error")
	}
}
