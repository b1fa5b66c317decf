package lightgbm

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/format"
	"thole.example/tree"
)

var lossyOptions = format.Options{Lossy: true}

// anyTree is a tree of up to eight splits over so many features.
func anyTree(t *rapid.T, features, classes int) tree.Tree {
	n := rapid.IntRange(0, 8).Draw(t, "splits")
	number := rapid.Float64Range(-100, 100)
	c := tree.Tree{Class: rapid.IntRange(0, classes-1).Draw(t, "class")}
	places := []func(int32){func(int32) {}} // where the next node may hang
	for i := range n {
		k := rapid.IntRange(0, len(places)-1).Draw(t, "place")
		places[k](int32(i))
		places = slices.Delete(places, k, k+1)
		c.Left, c.Right = append(c.Left, 0), append(c.Right, 0)
		places = append(places, func(child int32) { c.Left[i] = child }, func(child int32) { c.Right[i] = child })
		c.Feature = append(c.Feature, int32(rapid.IntRange(0, features-1).Draw(t, "feature")))
		kind := rapid.SampledFrom([]tree.Kind{0, 1, 2, 3, 4, 6, 8, 9, 10}).Draw(t, "kind")
		threshold := number.Draw(t, "threshold")
		if kind&tree.Categorical != 0 {
			if c.Bounds == nil {
				c.Bounds = []int32{0}
			}
			threshold = float64(len(c.Bounds) - 1)
			c.Words = append(c.Words, rapid.SliceOfN(rapid.Uint32(), 0, 2).Draw(t, "words")...)
			c.Bounds = append(c.Bounds, int32(len(c.Words)))
		}
		c.Kind, c.Threshold = append(c.Kind, kind), append(c.Threshold, threshold)
		c.Gain, c.Value = append(c.Gain, number.Draw(t, "gain")), append(c.Value, number.Draw(t, "value"))
		c.Weight, c.Count = append(c.Weight, number.Draw(t, "weight")), append(c.Count, rapid.Int64Range(0, 1<<40).Draw(t, "count"))
	}
	for i := range places {
		places[i](^int32(i))
		c.LeafValue, c.LeafWeight = append(c.LeafValue, number.Draw(t, "leaf")), append(c.LeafWeight, number.Draw(t, "weight"))
		c.LeafCount = append(c.LeafCount, rapid.Int64Range(0, 100).Draw(t, "count"))
	}
	return c
}

// anyEnsemble says everything that one can say.
func anyEnsemble(t *rapid.T) *tree.Ensemble {
	e := &tree.Ensemble{Classes: rapid.IntRange(1, 3).Draw(t, "classes"), Mean: rapid.Bool().Draw(t, "mean"), Single: rapid.Bool().Draw(t, "single"), NeedsStart: rapid.Bool().Draw(t, "beside"),
		Origin: rapid.SampledFrom([]string{"", "LightGBM v3", "LightGBM v4", "XGBoost 3.2.0"}).Draw(t, "origin")}
	e.Group = e.Classes * rapid.IntRange(1, 2).Draw(t, "parallel")
	links := []tree.Link{tree.Identity, tree.Softmax, tree.Each}
	if e.Classes == 1 {
		links = tree.Links()
	}
	e.Objective = tree.Objective{Link: rapid.SampledFrom(links).Draw(t, "link"), Sigmoid: rapid.SampledFrom([]float64{0, 1, 0.5}).Draw(t, "sigmoid"),
		Name:    rapid.SampledFrom([]string{"", "l2", "binary", "quantile", "rank:ndcg", "mine"}).Draw(t, "objective"),
		Foreign: rapid.SampledFrom([]string{"", "regression", "binary sigmoid:1", "rank:ndcg", "mine x:1"}).Draw(t, "foreign")}
	if rapid.Bool().Draw(t, "set") {
		e.Objective.Set = map[string]float64{rapid.SampledFrom([]string{"alpha", "beta"}).Draw(t, "setting"): 0.25}
	}
	for range e.Classes {
		e.Start = append(e.Start, rapid.SampledFrom([]float64{0, -0.75, 3.1}).Draw(t, "start"))
	}
	features := rapid.IntRange(1, 4).Draw(t, "features")
	e.Features.Stem = rapid.SampledFrom([]string{"", "Column_", "f", "a b"}).Draw(t, "stem")
	for i := range features {
		f := tree.Feature{Name: rapid.SampledFrom([]string{"age", "a b", "", "x\ty", "é=ü", "Column_0"}).Draw(t, "name"),
			Categorical: rapid.Bool().Draw(t, "categorical"), Monotone: rapid.IntRange(-1, 1).Draw(t, "monotone")}
		f.Least = rapid.SampledFrom([]float64{0, 1, -2.5}).Draw(t, "least")
		f.Most = f.Least + rapid.SampledFrom([]float64{0, 7, 0.5, -1}).Draw(t, "most")
		if rapid.Bool().Draw(t, "levels") {
			f.Levels = rapid.SampledFrom([][]string{{"a", "b\"<"}, {"1", "2.50"}, {"01", "x"}, {"true", "false"}, {"-"}}).Draw(t, fmt.Sprint("levels of ", i))
		}
		e.Features.Add(f)
	}
	for range e.Group * rapid.IntRange(0, 3).Draw(t, "iterations") {
		e.Trees = append(e.Trees, anyTree(t, features, e.Classes))
	}
	e.Best = rapid.IntRange(0, e.Iterations()).Draw(t, "best")
	return e
}

// edit changes a feature.
func edit(e *tree.Ensemble, i int, change func(f *tree.Feature)) {
	f := e.Features.At(i)
	change(&f)
	e.Features.Set(i, f)
}

// TestAnyEnsemble writes any ensemble by the codec, which checks that nothing differs unsaid: where nothing is lost scores are the same,
// bit for bit, and where something is, or they were added up in float32, they are nearly, but for links.
func TestAnyEnsemble(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := anyEnsemble(rt)
		if err := e.Check(); err != nil {
			rt.Fatal(err)
		}
		before, _ := e.JSON()
		again, lost, err := save(t, e, format.Options{})
		lossy := errors.Is(err, format.ErrLossy)
		if lossy && !strings.Contains(err.Error(), "unsaid") {
			again, lost, err = save(t, e, format.Options{Lossy: true})
		}
		if err != nil {
			rt.Fatalf("%v, lost %q", err, lost)
		}
		if after, _ := e.JSON(); !bytes.Equal(before, after) {
			rt.Fatal("the ensemble was changed")
		}
		for i := range e.Features.Width {
			if got, want := again.Features.At(i).Name, e.Features.At(i).Name; got != want {
				rt.Fatalf("feature %d is called %q, want %q", i, got, want)
			}
		}
		row, scores, want := make([]float64, e.Features.Width), make([]float64, e.Classes), make([]float64, e.Classes)
		for range 5 {
			for i := range row {
				row[i] = rapid.SampledFrom([]float64{0, 1, -1, 33, 50, math.NaN(), 12.5, 0.1, 1600000001, 1e300}).Draw(rt, "value")
			}
			e.Score(row, want)
			again.Score(row, scores)
			for c := range scores {
				if scores[c] != want[c] && !((lossy || e.Single) && math.Abs(scores[c]-want[c]) < 1e-3) {
					rt.Fatalf("class %d scores %v, want %v; lost %q", c, scores[c], want[c], lost)
				}
			}
		}
	})
}

// TestLosses has each thing that a file cannot say, and what the user hears.
func TestLosses(t *testing.T) {
	base := func() *tree.Ensemble {
		e, _, err := parse(load(t, "testdata/models/4.7.0_zero.txt"))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for _, c := range []struct {
		what   string
		change func(e *tree.Ensemble)
		want   string // "": nothing
		lossy  bool   // needs permission
	}{
		{"nothing", func(*tree.Ensemble) {}, "", false},
		{"other names", func(e *tree.Ensemble) {
			edit(e, 0, func(f *tree.Feature) { f.Name = "first number" })
			e.Origin = "XGBoost 3.2.0"
		}, "", false},
		{"start", func(e *tree.Ensemble) { e.Start[0] = 2 }, "", false},
		{"best", func(e *tree.Ensemble) { e.Best = 2 }, "2 trees of iterations behind the best one", false},
		{"single", func(e *tree.Ensemble) { e.Single = true }, "LightGBM adds in float64", false},
		{"link", func(e *tree.Ensemble) { e.Objective = tree.Objective{Name: "binary:hinge", Link: tree.Step} }, "no link step", true},
		{"group", func(e *tree.Ensemble) { e.Group = 2 }, "an iteration made 2 trees", false},
		{"mean", func(e *tree.Ensemble) { e.Group, e.Mean = 2, true }, "the mean over 2 iterations", true},
		{"infinity", func(e *tree.Ensemble) { e.Trees[1].Threshold[0] = math.Inf(1) }, "", false},
		{"least infinity", func(e *tree.Ensemble) { e.Trees[1].Threshold[0] = math.Inf(-1) }, "", false},
		{"missing", func(e *tree.Ensemble) {
			e.Trees[0].Kind[0], e.Trees[0].Threshold[0] = tree.Categorical|tree.NaNMissing|tree.DefaultLeft, 0
			e.Trees[0].Bounds, e.Trees[0].Words = []int32{0, 1}, []uint32{6}
		}, "missing values go left", true},
		{"no trees", func(e *tree.Ensemble) { e.Trees, e.Start[0] = nil, 2 }, "there are no trees", false},
		{"range", func(e *tree.Ensemble) { edit(e, 0, func(f *tree.Feature) { f.Most = f.Least - 1 }) }, "the least and the largest value", false},
	} {
		e := base()
		c.change(e)
		again, lost, err := save(t, e, format.Options{})
		if c.lossy {
			if !errors.Is(err, format.ErrLossy) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want ErrLossy, %q", c.what, err, c.want)
			}
			again, lost, err = save(t, e, format.Options{Lossy: true})
		}
		if err != nil || c.want == "" != (len(lost) == 0) || !strings.Contains(strings.Join(lost, "\n"), c.want) {
			t.Errorf("%s: lost %q, %v, want %q", c.what, lost, err, c.want)
			continue
		}
		if again.Start[0] != 0 {
			t.Errorf("%s: start %v", c.what, again.Start)
		}
		if len(e.Trees) < 2 {
			continue
		}
		if was := e.Trees[1].Threshold[0]; math.IsInf(was, 0) && again.Trees[1].Threshold[0] != was {
			t.Errorf("%s: threshold %v, want %v", c.what, again.Trees[1].Threshold[0], was)
		}
	}
}

// TestPrintRefuses is about the function without options: nothing is lost by it.
func TestPrintRefuses(t *testing.T) {
	e, _, err := parse(load(t, "testdata/models/4.7.0_zero.txt"))
	if err != nil {
		t.Fatal(err)
	}
	e.Objective.Link = tree.Step
	if err := encode(&bytes.Buffer{}, e); !errors.Is(err, format.ErrLossy) {
		t.Errorf("%v, want ErrLossy", err)
	}
	e.Start = nil
	if err := encode(&bytes.Buffer{}, e); !errors.Is(err, tree.ErrTrees) {
		t.Errorf("%v, want ErrTrees", err)
	}
}

// TestCounts are those of a tree that has only weights: shares of them, each at least 1, and sums above.
func TestCounts(t *testing.T) {
	e := &tree.Ensemble{Objective: tree.Objective{Link: tree.Identity}, Classes: 1, Group: 1, Start: []float64{0}, Features: tree.FeaturesOf(tree.Feature{Name: "a"}),
		Trees: []tree.Tree{{Feature: []int32{0, 0}, Threshold: []float64{1, 0}, Kind: []tree.Kind{8, 8}, Left: []int32{1, -1}, Right: []int32{-3, -2},
			Gain: []float64{1, 1}, Value: []float64{0, 0}, Weight: []float64{4, 3}, Count: []int64{0, 0}, LeafValue: []float64{1, 2, 3},
			LeafWeight: []float64{3, 0, 1}, LeafCount: []int64{0, 0, 0}}}}
	again, lost, err := save(t, e, format.Options{})
	if err != nil || len(lost) > 0 {
		t.Fatalf("%q, %v", lost, err)
	}
	c := again.Trees[0]
	if want := []int64{786432, 1, 262144}; !slices.Equal(c.LeafCount, want) || !slices.Equal(c.Count, []int64{1048577, 786433}) {
		t.Errorf("leaves %v, want %v; nodes %v", c.LeafCount, want, c.Count)
	}
	if e.Trees[0].LeafCount[0] != 0 {
		t.Error("the source was changed")
	}
}

// TestUnequalClasses refuses few trees of many classes that would become very many.
func TestUnequalClasses(t *testing.T) {
	e := &tree.Ensemble{Objective: tree.Objective{Link: tree.Identity}, Classes: 400, Group: 400, Start: make([]float64, 400)}
	for range 400 {
		e.Trees = append(e.Trees, constant(0, 1))
	}
	if _, err := fit(e, &format.Options{}); !errors.Is(err, format.ErrLimit) {
		t.Errorf("%v, want ErrLimit", err)
	}
}

// TestLiterals writes levels as numbers only where these read back as the same texts.
func TestLiterals(t *testing.T) {
	for _, c := range []struct {
		levels []string
		want   bool
	}{{[]string{"1", "-2.50"}, true}, {[]string{"1 ", "2"}, false}, {[]string{"1", "x"}, false}, {[]string{"01"}, false}, {[]string{"-"}, false},
		{[]string{"true", "false"}, true}, {[]string{"true", "1"}, false}, {[]string{""}, false}} {
		if got := allLiterals(c.levels); got != c.want {
			t.Errorf("%q: %v, want %v", c.levels, got, c.want)
		}
	}
}

// TestAsked is the union of sets of several lengths.
func TestAsked(t *testing.T) {
	e := &tree.Ensemble{Trees: []tree.Tree{{Feature: []int32{1, 1, 0}, Kind: []tree.Kind{tree.Categorical, tree.Categorical, 0}, Threshold: []float64{0, 1, 5},
		Bounds: []int32{0, 1, 3}, Words: []uint32{5, 2, 1}}}}
	if got := asked(e); len(got) != 1 || !slices.Equal(got[1], []uint32{7, 1}) {
		t.Errorf("%v, want the levels 0, 1, 2 and 32 of feature 1", got)
	}
}

// TestTinyThresholds reports thresholds among the values that LightGBM reads as 0, unless the model is LightGBM's.
func TestTinyThresholds(t *testing.T) {
	e, _, err := parse([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		threshold float64
		numbers   tree.Numbers
		want      bool
	}{
		{-math.SmallestNonzeroFloat32, tree.Float32, true}, {1e-36, tree.Float64, true}, {-tree.ZeroMost, tree.Float64, true},
		{1e-36, tree.LightGBM, false}, {0, tree.Float32, false}, {1e-30, tree.Float32, false},
	} {
		one := *e
		one.Trees = slices.Clone(e.Trees)
		one.Trees[0].Threshold = slices.Clone(e.Trees[0].Threshold)
		node := slices.IndexFunc(e.Trees[0].Kind, func(k tree.Kind) bool { return k&tree.Categorical == 0 })
		one.Trees[0].Threshold[node], one.Numbers = c.threshold, c.numbers
		var told []string
		if _, err := fit(&one, &format.Options{Lossy: true, Note: func(what string) { told = append(told, what) }}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(told, "\n"), "1 threshold is not 0 and at most 1e-35 in size"); got != c.want {
			t.Errorf("threshold %v of %v: %q", c.threshold, c.numbers, told)
		}
	}
}

// TestLinkOfSeveral: LightGBM applies links but three to the first score of a row only, so that several outputs have none in its file.
func TestLinkOfSeveral(t *testing.T) {
	e := &tree.Ensemble{Classes: 2, Group: 2, Start: []float64{0, 0}, Objective: tree.Objective{Name: "poisson", Link: tree.Exp},
		Trees: []tree.Tree{constant(0, 1), constant(1, 2)}}
	if _, err := fit(e, &format.Options{}); !errors.Is(err, format.ErrLossy) {
		t.Errorf("%v, want ErrLossy", err)
	}
	several := strings.NewReplacer("objective=regression", "objective=poisson", "num_class=1", "num_class=2",
		"num_tree_per_iteration=1", "num_tree_per_iteration=2").Replace(small)
	if _, _, err := parse([]byte(several)); err == nil ||
		!strings.Contains(err.Error(), "the link exp of 2 scores, want one") {
		t.Errorf("a file that says so: %v", err)
	}
}
