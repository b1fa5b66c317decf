package tree

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"pgregory.net/rapid"
)

// drawing says what ensembles are drawn.
type drawing struct {
	features, trees, leaves int // at most
	sets                    bool
	levels                  int // of categorical features
}

var (
	nan  = math.NaN()
	odds = []float64{0, math.Copysign(0, -1), nan, ZeroMost, -ZeroMost, 1e-35, 1e-34, 1e-44, 1e-46, -1e-46, math.MaxFloat32, -math.MaxFloat32, 1e39,
		-1e300, math.Inf(1), math.Inf(-1), 0.1, 1600000000, 1600000001, 1 << 53, 0.5, 1, 2, 3, -1, -0.5, 7.5, 31, 32, 33, 1e9, 3e9}
)

// number is a value of a row, or nearly one.
func number(rng *rand.Rand) float64 {
	switch rng.IntN(4) {
	case 0, 1:
		return odds[rng.IntN(len(odds))]
	case 2: // several between two float32
		return 3 + float64(rng.IntN(9))*0x1p-25
	}
	return float64(rng.IntN(9)-4) / 2
}

// threshold is a number that is often one of a row, or just beside.
func threshold(rng *rand.Rand) float64 {
	v := number(rng)
	switch {
	case v != v:
		return 0.1
	case rng.IntN(4) == 0:
		return math.Nextafter(v, math.Inf(rng.IntN(2)*2-1))
	case rng.IntN(20) == 0:
		return -1e300
	}
	return v
}

// ensemble draws one that Check accepts, with counts and weights that add up, and features of which some are sets of levels.
func (d drawing) ensemble(t *rapid.T) *Ensemble {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	e := &Ensemble{Objective: Objective{Name: "drawn", Link: Identity}, Classes: rapid.IntRange(1, 3).Draw(t, "classes"),
		Single: rapid.Bool().Draw(t, "single"), Numbers: Numbers(rapid.IntRange(0, 2).Draw(t, "numbers")),
		NeedsStart: rapid.Bool().Draw(t, "beside"), Mean: rapid.IntRange(0, 3).Draw(t, "mean") == 0}
	for f := range rapid.IntRange(1, d.features).Draw(t, "features") {
		e.Features.Add(Feature{Name: fmt.Sprint("f", f), Categorical: d.sets && rng.IntN(3) == 0})
	}
	for range e.Classes {
		e.Start = append(e.Start, rng.NormFloat64())
	}
	e.Group = e.Classes * (1 + rng.IntN(2))
	iterations := rapid.IntRange(0, d.trees).Draw(t, "iterations")
	for i := range iterations * e.Group {
		e.Trees = append(e.Trees, d.tree(rng, e.Features, 1+rng.IntN(d.leaves)))
		e.Trees[i].Class = i % e.Classes
	}
	if iterations > 0 {
		e.Best = rng.IntN(iterations + 1)
	}
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	return e
}

// tree splits leaves at random.
func (d drawing) tree(rng *rand.Rand, features Features, leaves int) Tree {
	t := Tree{LeafValue: []float64{rng.NormFloat64()}, LeafWeight: []float64{0}, LeafCount: []int64{0}}
	bushy := rng.IntN(2) == 0
	deep := []int{0}
	parent := []*int32{nil} // of each leaf, where its parent has it
	t.Left, t.Right = make([]int32, leaves-1), make([]int32, leaves-1)
	for n := range leaves - 1 {
		leaf := rng.IntN(n + 1)
		if bushy { // the highest
			leaf = slices.Index(deep, slices.Min(deep))
		}
		deep[leaf]++
		deep = append(deep, deep[leaf])
		f := rng.IntN(features.Width)
		if parent[leaf] != nil {
			*parent[leaf] = int32(n)
		}
		t.Left[n], t.Right[n] = int32(^leaf), int32(^(n + 1))
		parent[leaf] = &t.Left[n]
		parent = append(parent, &t.Right[n])
		t.LeafValue = append(t.LeafValue, rng.NormFloat64())
		t.LeafWeight, t.LeafCount = append(t.LeafWeight, 0), append(t.LeafCount, 0)
		kind, value := [...]Kind{0, DefaultLeft, ZeroMissing, NaNMissing, ZeroMissing | DefaultLeft, NaNMissing | DefaultLeft}[rng.IntN(6)],
			threshold(rng)
		if features.At(f).Categorical {
			kind, value = Categorical|kind, float64(d.set(rng, &t))
		}
		t.Feature, t.Kind, t.Threshold = append(t.Feature, int32(f)), append(t.Kind, kind), append(t.Threshold, value)
		t.Gain, t.Value = append(t.Gain, rng.Float64()*10), append(t.Value, rng.NormFloat64())
	}
	t.Count, t.Weight = make([]int64, leaves-1), make([]float64, leaves-1)
	for i := range leaves {
		t.LeafCount[i], t.LeafWeight[i] = 1+rng.Int64N(50), rng.Float64()+0.1
	}
	for n := leaves - 2; n >= 0; n-- {
		for _, child := range [2]int32{t.Left[n], t.Right[n]} {
			t.Count[n] += t.count(child)
			t.Weight[n] += t.weight(child)
		}
	}
	return t
}

// set adds a set of levels to the tree.
func (d drawing) set(rng *rand.Rand, t *Tree) int {
	if len(t.Bounds) == 0 {
		t.Bounds = []int32{0}
	}
	for range rng.IntN(d.levels/32 + 2) {
		t.Words = append(t.Words, rng.Uint32())
	}
	t.Bounds = append(t.Bounds, int32(len(t.Words)))
	return len(t.Bounds) - 2
}

func (t *Tree) count(child int32) int64 {
	if child < 0 {
		return t.LeafCount[^child]
	}
	return t.Count[child]
}

func (t *Tree) weight(child int32) float64 {
	if child < 0 {
		return t.LeafWeight[^child]
	}
	return t.Weight[child]
}

// rows draws n rows of so many features.
func drawRows(t *rapid.T, n, features int) []float64 {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "rows"), 2))
	rows := make([]float64, n*features)
	for i := range rows {
		rows[i] = number(rng)
	}
	return rows
}
