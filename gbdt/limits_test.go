package gbdt

import (
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
		for _, f := range e.Features {
			all = append(all, int8(f.Monotone))
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
			{3, 0, 8, 3}, {3, 100, 8, 3}, {3, 5, 5, 3}, {0, 7, 7, 64}, {1, 0, 2, 1}, {64, 13, 13, 64}, {0, 2, 2, 1}, {17, 0, LeafLimit, 17}, {20, 3000, 3000, 20},
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

// TestRoom: trees are the same to the bit where there is room for the histograms of few leaves, and no more are made.
func TestRoom(t *testing.T) {
	g, y := some("l2", 23, 2000)
	for _, growth := range []Growth{ByDepth, ByLeaf} {
		for _, leaves := range []int{0, 40} {
			conf := settings(t, "l2", 2)
			conf.Growth, conf.Depth, conf.Leaves = growth, 8, leaves
			b := binned(t, g, nil, 255)
			want := trained(t, b, y, conf, Options{})
			for _, room := range []int{1, 2, 5} {
				b.room = room
				tr := &trainer{labels: y, learn: b.learn}
				conf.Cores = 1
				tr.Config, tr.binned, tr.part = &conf, b, b.partOf(Options{}.Division)
				if err := tr.begin(); err != nil {
					t.Fatal(err)
				}
				for i := range want.Trees {
					if err := tr.iterate(t.Context(), i); err != nil {
						t.Fatal(err)
					}
				}
				if text := differ(want, tr.out); text != "" {
					t.Errorf("%s, %d leaves, room for %d: %s", growth, leaves, room, text)
				}
				if n := len(tr.free); n > 3*room {
					t.Errorf("%s, %d leaves, room for %d: %d histograms were made", growth, leaves, room, n)
				}
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
