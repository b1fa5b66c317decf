package gbdt

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"thole.example/tree"
)

// TestShared: trainings of the same bins know nothing of each other, and trees say what their features were bound to.
func TestShared(t *testing.T) {
	g, y := some("l2", 21, 80)
	for f := range g.features {
		g.features[f].Categorical = false
	}
	b := binned(t, g, nil, 255)
	conf := settings(t, "l2", 2)
	signs := func(e *tree.Ensemble) (all []int8) {
		for i := range e.Features.Width {
			all = append(all, int8(e.Features.At(i).Monotone))
		}
		return all
	}
	conf.Monotone = []int8{1, -1, 0, 0, 1}
	bound := trained(t, b, y, conf, Options{})
	y.Start = make([]float64, len(y.Label))
	started := trained(t, b, y, conf, Options{})
	again := trained(t, b, y, conf, Options{From: started})
	for _, e := range []*tree.Ensemble{bound, started, again} {
		if got := signs(e); !slices.Equal(got, conf.Monotone) {
			t.Errorf("features are bound to %v, want %v", got, conf.Monotone)
		}
	}
	y.Start, conf.Monotone = nil, nil
	if got := signs(trained(t, b, y, conf, Options{})); slices.ContainsFunc(got, func(m int8) bool { return m != 0 }) {
		t.Errorf("features are bound to %v, by another training", got)
	}
}

// TestLeaves: trees are no larger than is asked, by either order and any depth.
func TestLeaves(t *testing.T) {
	g, y := some("l2", 22, 3000)
	b := binned(t, g, nil, 255)
	for _, growth := range []Growth{ByDepth, ByLeaf} {
		for _, c := range []struct{ depth, leaves, most, deep int }{
			{3, 0, 8, 3}, {3, 100, 8, 3}, {3, 5, 5, 3}, {0, 7, 7, 64}, {1, 0, 2, 1}, {64, 13, 13, 64}, {0, 2, 2, 1}, {17, 0, LeafLimit, 17},
			{20, 3000, 3000, 20},
		} {
			conf := settings(t, "l2", 1)
			conf.Growth, conf.Depth, conf.Leaves, conf.MinWeight, conf.L2, conf.LevelWeight, conf.Level2 = growth, c.depth, c.leaves, 0, 0, 0, 0
			m := &trained(t, b, y, conf, Options{}).Trees[0]
			if n := m.Leaves(); n > c.most || m.Depth() > c.deep || c.most < 14 && n < c.most-1 || sumOf(m.LeafCount) != 3000 {
				t.Errorf("%s, depth %d, %d leaves: %d leaves, depth %d", growth, c.depth, c.leaves, n, m.Depth())
			}
		}
	}
}

// alone is a worker without others.
type alone struct{}

func (alone) Most(context.Context, []float32) error { return nil }
func (alone) Sum(context.Context, []int64) error    { return nil }
func (alone) Splits(context.Context, *Query) error  { return errors.New("histograms are asked for") }
func (alone) agree(_ context.Context, _, _ int, v []int64) ([][]int64, error) {
	return [][]int64{v}, nil
}
func (alone) add(context.Context, int, []int64) error { return nil }
func (w alone) vote() Options {
	return Options{Workers: w, Vote: &Vote{Features: 100, Tasks: 1, Agree: w.agree, Add: w.add}}
}

// TestHistogramLimit: trees are the same to the bit where few leaves may hold histograms, and no more are made, by votes neither.
func TestHistogramLimit(t *testing.T) {
	g, y := some("l2", 23, 2000)
	for _, c := range []struct {
		growth Growth
		leaves int
		opt    Options
	}{
		{ByDepth, 0, Options{}}, {ByDepth, 40, Options{}}, {ByLeaf, 0, Options{}}, {ByLeaf, 40, Options{}},
		{ByDepth, 0, alone{}.vote()}, {ByLeaf, 40, alone{}.vote()},
	} {
		conf := settings(t, "l2", 2)
		conf.Growth, conf.Depth, conf.Leaves, conf.Cores = c.growth, 8, c.leaves, 1
		b := binned(t, g, nil, 255)
		want := trained(t, b, y, conf, Options{})
		for _, limit := range []int{1, 2, 5} {
			b.histogramLimit = limit
			tr := newTrainer(b, y, &conf, c.opt)
			if err := tr.begin(); err != nil {
				t.Fatal(err)
			}
			for range want.Trees {
				if err := tr.iterate(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if text := differ(want, tr.out); text != "" {
				t.Errorf("%s, %d leaves, %d histograms, votes %t: %s", c.growth, c.leaves, limit, c.opt.Vote != nil, text)
			}
			if n := len(tr.free); n > 3*limit {
				t.Errorf("%s, %d leaves, votes %t: %d histograms, want about %d", c.growth, c.leaves, c.opt.Vote != nil, n, limit)
			}
		}
	}
}

// TestLeafLimit has more rows that differ than a tree has leaves at most, and no bound but a depth that is beyond it.
func TestLeafLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("a tree of 131072 leaves")
	}
	r := rand.New(rand.NewPCG(1, 1))
	rows, label := make([][]float32, 3*LeafLimit/2), make([]float32, 3*LeafLimit/2)
	for i := range rows {
		rows[i] = []float32{float32(i % 60), float32(i / 60 % 60), float32(i / 3600)}
		label[i] = float32(r.NormFloat64())
	}
	conf := settings(t, "l2", 1)
	conf.Depth, conf.MinWeight, conf.L2, conf.Growth, conf.Cores = 40, 0, 0, ByDepth, 2
	b := binned(t, gridOf(rows...), nil, 255)
	if n := trained(t, b, &Labels{Label: label}, conf, Options{}).Trees[0].Leaves(); n != LeafLimit {
		t.Errorf("%d leaves, want %d", n, LeafLimit)
	}
}
