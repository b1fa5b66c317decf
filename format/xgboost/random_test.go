package xgboost

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"thole.example/format"
	"thole.example/tree"
)

// random is an ensemble as training or other programs make it: sums in float64, thresholds between float32, leaves in any order.
func random(seed uint64) *tree.Ensemble {
	r := rand.New(rand.NewPCG(seed, 7))
	kinds := []tree.Objective{{Name: "l2", Link: tree.Identity}, {Name: "binary", Link: tree.Logistic}, {Name: "poisson", Link: tree.Exp},
		{Name: "multiclass", Link: tree.Softmax}, {Name: "cross_entropy", Link: tree.Logistic}, {Name: "multiclassova", Link: tree.Each},
		{Name: "huber", Link: tree.Identity, Set: map[string]float64{"alpha": 0.9}}, {Name: "lambdarank", Link: tree.Identity},
		{Name: "tweedie", Link: tree.Exp}, {Name: "binary:hinge", Link: tree.Step}, {Name: "quantile", Link: tree.Identity, Set: map[string]float64{"alpha": 0.2}}}
	e := &tree.Ensemble{Objective: kinds[seed%uint64(len(kinds))], Classes: 1}
	if e.Objective.Link == tree.Softmax || e.Objective.Link == tree.Each {
		e.Classes = 2 + r.IntN(2)
	}
	e.Group = e.Classes * (1 + r.IntN(2))
	e.Features.Stem = []string{"", stem, "column "}[seed%3]
	for i := range 5 {
		e.Features.Add(tree.Feature{Categorical: i > 2, Least: -1, Most: 5, Monotone: r.IntN(3) - 1})
	}
	if r.IntN(2) == 0 {
		e.Features.Set(0, tree.Feature{Name: "age & more", Least: -1, Most: 5})
		e.Origin = "LightGBM 4"
	}
	if e.Mean = r.IntN(4) == 0; e.Mean {
		e.Best = 0
	}
	for range e.Classes {
		e.Start = append(e.Start, float64(r.IntN(3))*r.NormFloat64())
	}
	rounds := 1 + r.IntN(3)
	for i := range rounds * e.Group {
		t := grow(r, r.IntN(9))
		t.Class = i % e.Classes
		e.Trees = append(e.Trees, t)
	}
	if r.IntN(2) == 0 {
		e.Numbers = tree.Float32
	}
	if !e.Mean && r.IntN(3) == 0 {
		e.Best = 1 + r.IntN(rounds)
	}
	return e
}

// grow makes a tree by splitting leaves in any order.
func grow(r *rand.Rand, splits int) (t tree.Tree) {
	t = tree.Tree{Feature: []int32{}, LeafValue: make([]float64, splits+1), LeafWeight: make([]float64, splits+1), LeafCount: make([]int64, splits+1)}
	where := []*int32{nil}
	t.Left, t.Right = make([]int32, splits), make([]int32, splits)
	for i := range splits {
		at := r.IntN(len(where))
		if p := where[at]; p != nil {
			*p = int32(i)
		}
		where[at] = &t.Left[i]
		where = append(where, &t.Right[i])
		f, kind, threshold := int32(r.IntN(5)), tree.NaNMissing|tree.Kind(r.IntN(2))*tree.DefaultLeft, r.NormFloat64()
		if r.IntN(4) == 0 {
			kind = 0
		}
		if f > 2 {
			kind, threshold = tree.Categorical|kind&tree.NaNMissing, float64(max(0, len(t.Bounds)-1))
			if len(t.Bounds) == 0 {
				t.Bounds = []int32{0}
			}
			t.Words = append(t.Words, r.Uint32()|1, r.Uint32()&0xff|2)
			t.Bounds = append(t.Bounds, int32(len(t.Words)))
		} else if r.IntN(5) == 0 {
			kind, threshold = tree.ZeroMissing|tree.DefaultLeft, 1.0000000180025095e-35
		}
		t.Feature, t.Kind, t.Threshold = append(t.Feature, f), append(t.Kind, kind), append(t.Threshold, threshold)
		t.Gain, t.Value, t.Weight, t.Count = append(t.Gain, r.Float64()), append(t.Value, r.NormFloat64()), append(t.Weight, 0), append(t.Count, 0)
	}
	r.Shuffle(len(where), func(i, j int) { where[i], where[j] = where[j], where[i] })
	for i, p := range where {
		if p != nil {
			*p = ^int32(i)
		}
		t.LeafValue[i], t.LeafWeight[i], t.LeafCount[i] = r.NormFloat64(), 1+r.Float64(), 1+int64(r.IntN(9))
	}
	for i := splits - 1; i >= 0; i-- {
		for _, child := range [2]int32{t.Left[i], t.Right[i]} {
			if child < 0 {
				t.Weight[i], t.Count[i] = t.Weight[i]+t.LeafWeight[^child], t.Count[i]+t.LeafCount[^child]
			} else {
				t.Weight[i], t.Count[i] = t.Weight[i]+t.Weight[child], t.Count[i]+t.Count[child]
			}
		}
	}
	return t
}

// TestAny writes any ensemble and reads what fit said of it: scores to float32, numbers of nodes and all that only we know as they were.
func TestAny(t *testing.T) {
	all := rows(t)
	rapid.Check(t, func(t *rapid.T) {
		e := random(rapid.Uint64().Draw(t, "seed"))
		if err := e.Check(); err != nil {
			t.Fatal(err)
		}
		told := 0
		fitted, err := fit(e, &format.Options{Lossy: true, Lost: func(string) { told++ }})
		if err != nil {
			t.Fatal(err)
		}
		if want := e.Mean || e.Numbers != tree.Float32; want != (told > 0) {
			t.Errorf("%d losses, want some: %v", told, want)
		}
		file, err := printed(e, rapid.Bool().Draw(t, "ubj"))
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := parse(file)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := again.Start[0], fitted.Start[0]; a != b {
			t.Fatalf("start %v, want %v", a, b)
		}
		for i := range e.Trees {
			a, b := &e.Trees[i], &again.Trees[i]
			for j := range a.Feature {
				if a.Left[j] != b.Left[j] || a.Right[j] != b.Right[j] || a.Count[j] != b.Count[j] || a.Feature[j] != b.Feature[j] {
					t.Fatalf("tree %d, node %d: %+v, want %+v", i, j, b, a)
				}
			}
		}
		got, want := make([]float64, e.Classes), make([]float64, e.Classes)
		for i, row := range all {
			again.Score(row, got)
			e.Score(row, want)
			for c := range got {
				if math.Abs(got[c]-want[c]) > 1e-6*max(1, math.Abs(want[c])) {
					t.Fatalf("row %d: score %d is %v, want %v", i, c, got[c], want[c])
				}
			}
		}
	})
}
