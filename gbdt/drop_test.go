package gbdt

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/tree"
)

// TestDropByHand drops all trees each time. The labels of rows at 0 and at 1 are -6 and 6, so that with l2 a leaf is the mean of what is
// left: with a rate of a half and k dropped the new tree counts 0.5/(k+0.5) and those dropped k/(k+0.5) of what they did.
//
//	tree 0   nothing to drop        leaves 6 * 1/2 = 3
//	tree 1   drops 0, 6 is left     leaves 6 * 1/3 = 2           tree 0: 3 * 2/3 = 2
//	tree 2   drops 0, 1, 6 is left  leaves 6 * 1/5 = 1.2         trees 0 and 1: 2 * 4/5 = 1.6
func TestDropByHand(t *testing.T) {
	g, y := single(0, 0, 1, 1), &Labels{Label: []float32{-6, -6, 6, 6}}
	for trees, want := range map[int][]float64{1: {3}, 2: {2, 2}, 3: {1.6, 1.6, 1.2}} {
		c := settings(t, "l2", trees)
		c.Rate, c.L2, c.MinWeight, c.Drop = 0.5, 0, 0, Drop{Rate: 1}
		var scores []float64
		e := trained(t, binned(t, g, nil, 255), y, c, Options{Each: func(p *Progress) (float64, error) {
			scores = slices.Clone(p.Scores[0])
			return math.NaN(), nil
		}})
		sum := 0.0
		for i, w := range want {
			sum += w
			got := e.Trees[i].LeafValue
			if !(math.Abs(got[0]+w) < 1e-12 && math.Abs(got[1]-w) < 1e-12) || e.Trees[i].Value[0] != 0 {
				t.Errorf("tree %d of %d has the leaves %v, want %v and %v", i, trees, got, -w, w)
			}
		}
		for i, s := range scores {
			if math.Abs(s-math.Copysign(sum, float64(y.Label[i]))) > 1e-12 {
				t.Errorf("%d trees: row %d scores %v, want a size of %v", trees, i, s, sum)
			}
		}
	}
}

// TestDropChosen: about as many are dropped as is said, at most so many, and which depends on numbers alone.
func TestDropChosen(t *testing.T) {
	skipped, dropped, most := 0, 0, 0
	for n := range 1000 {
		d := Drop{Rate: 0.1, Skip: 0.25}
		all := d.chosen(7, 0, n)
		if n >= 100 && len(all) == 0 {
			skipped++
		}
		if dropped += len(all); !slices.IsSorted(all) {
			t.Errorf("iteration %d drops %v", n, all)
		}
		if !slices.Equal(all, d.chosen(7, 0, n)) {
			t.Errorf("iteration %d drops others the second time", n)
		}
		d.Most = 5
		few := d.chosen(7, 0, n)
		most = max(most, len(few))
		if len(few) != min(5, len(all)) || slices.ContainsFunc(few, func(i int) bool { return !slices.Contains(all, i) }) {
			t.Errorf("iteration %d drops %v of %v", n, few, all)
		}
	}
	if want := 0.25 * 900; math.Abs(float64(skipped)-want) > 60 {
		t.Errorf("%d of 900 iterations drop nothing, want about %v", skipped, want)
	}
	if want := 0.75 * 0.1 * 999 * 1000 / 2; math.Abs(float64(dropped)-want) > want/10 || most != 5 {
		t.Errorf("%d iterations are dropped, want about %v; at most %d, want 5", dropped, want, most)
	}
	if got := (&Drop{Rate: 1}).chosen(1, 3, 4); !slices.Equal(got, []int{0, 1, 2, 3}) {
		t.Errorf("with a rate of 1 %v are dropped", got)
	}
	if got := (&Drop{Rate: 1, Skip: 1}).chosen(1, 3, 4); got != nil {
		t.Errorf("with all skipped %v are dropped", got)
	}
}

// TestDropScores: scores of rows of any objective are those of the trees as they are, also of rows that are held out; the number of
// goroutines does not matter; and after trees of another training, which are not dropped, too.
func TestDropScores(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		objective := rapid.SampledFrom(names()).Draw(rt, "objective")
		g, y := some(objective, rapid.Uint64Range(0, 50).Draw(rt, "seed"), 90)
		learn, held := g.part(0, 63), g.part(63, 90)
		b := binned(rt, learn, held, rapid.SampledFrom([]int{3, 255}).Draw(rt, "bins"))
		c := settings(rt, objective, 6)
		c.Seed, c.Rows = rapid.Uint64().Draw(rt, "draws"), rapid.SampledFrom([]float64{0, 0.6}).Draw(rt, "share")
		c.Drop = Drop{Rate: 0.5, Skip: 0.2, Most: rapid.IntRange(0, 2).Draw(rt, "most")}
		var last *Progress
		opt := Options{Each: func(p *Progress) (float64, error) {
			last = p
			return math.NaN(), nil
		}}
		e := trained(rt, b, y, c, opt)
		check := func(e *tree.Ensemble) {
			row := make([]float64, e.Classes)
			for i, values := range g.rows {
				e.Score(doubles(values...), row)
				for k, want := range row {
					all := slices.Concat(last.Scores[k], last.Held[k])
					if !(math.Abs(all[i]-want) <= 1e-9*max(1, math.Abs(want))) {
						rt.Fatalf("row %d, class %d: %v, want %v", i, k, all[i], want)
					}
				}
			}
		}
		check(e)
		c.Cores = 3
		if again := trained(rt, b, y, c, Options{}); !reflect.DeepEqual(e.Trees, again.Trees) {
			rt.Fatal("other trees with three goroutines")
		}
		start := *y
		for k := range e.Classes {
			start.Start = append(append(start.Start, last.Scores[k]...), last.Held[k]...)
		}
		opt.From = e
		more := trained(rt, b, &start, c, opt)
		check(more)
		if !reflect.DeepEqual(e.Trees, more.Trees[:len(e.Trees)]) {
			rt.Fatal("trees of another training were changed")
		}
	})
}

// TestDropBest: early stopping keeps the trees as they were after the best iteration.
func TestDropBest(t *testing.T) {
	g, y := some("l2", 3, 80)
	b := binned(t, g, nil, 255)
	c := settings(t, "l2", 20)
	c.Drop = Drop{Rate: 0.5}
	const best = 6
	var then []tree.Tree
	c.Patience = 5
	e := trained(t, b, y, c, Options{Each: func(p *Progress) (float64, error) {
		if p.Iteration == best {
			for _, one := range p.Trees.Trees {
				one.LeafValue, one.Value = slices.Clone(one.LeafValue), slices.Clone(one.Value)
				then = append(then, one)
			}
		}
		return math.Abs(float64(p.Iteration - best)), nil
	}})
	if e.Best != 0 || len(e.Trees) != best || !reflect.DeepEqual(e.Trees, then) {
		t.Errorf("%d trees, best %d, want the %d of the best iteration", len(e.Trees), e.Best, best)
	}
}
