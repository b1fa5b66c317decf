package gbdt

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/tree"
)

var errCut = errors.New("cut")

// drawnConf are settings of an objective, with what changes scores or the order of rows.
func drawnConf(rt *rapid.T, objective string) Config {
	c := settings(rt, objective, rapid.SampledFrom([]int{9, 9, restoredAtOnce + 6}).Draw(rt, "trees"))
	c.Seed, c.Rows = rapid.Uint64().Draw(rt, "draws"), rapid.SampledFrom([]float64{0, 0.6}).Draw(rt, "share")
	c.Columns, c.Depth = rapid.SampledFrom([]float64{0, 0.7}).Draw(rt, "columns"), rapid.IntRange(1, 4).Draw(rt, "depth")
	c.Leaves, c.Patience = rapid.SampledFrom([]int{0, 5}).Draw(rt, "leaves"), rapid.IntRange(0, 3).Draw(rt, "patience")
	c.Rate, c.MinWeight = rapid.SampledFrom([]float64{0.1, 0.7}).Draw(rt, "rate"), 0.1
	c.Cores = rapid.IntRange(1, 2).Draw(rt, "cores")
	if rapid.Bool().Draw(rt, "dart") {
		c.Drop = Drop{Rate: 0.5, Skip: 0.2, Most: rapid.IntRange(0, 2).Draw(rt, "most")}
	}
	return c
}

// grown trains up to iteration cut, where it fails after what there is has gone through JSON; 0: to the end. It gives also the values of all
// iterations, and the scores after the last one.
func grown(rt failer, b *Binned, y *Labels, c Config, opt Options, cut int) (e *tree.Ensemble, g *Grown, values []float64, last *Progress) {
	opt.Back = func(p *Progress) { last, values = p, slices.Clone(opt.Grown.Values) }
	opt.Each = func(p *Progress) (float64, error) {
		last = p
		value := math.Abs(3 - math.Mod(p.Held[0][0]*1e3, 7)) // which has no trend
		values = append(values, value)
		if p.Iteration != cut {
			return value, nil
		}
		var err error
		if g, err = p.Grown(context.Background(), value); err != nil {
			return 0, err
		}
		return value, errCut
	}
	e, err := Train(context.Background(), b, y, c, opt)
	if cut > 0 && g != nil && !errors.Is(err, errCut) || g == nil && err != nil {
		rt.Fatal(err)
	}
	if g == nil {
		return e, nil, values, last
	}
	text, err := g.JSON()
	if err != nil {
		rt.Fatal(err)
	}
	there, err := ParseGrown(text)
	if err != nil {
		rt.Fatal(err)
	}
	there.Model = g.Model
	return e, there, values, last
}

// TestRestore: a training that ends anywhere and goes on has the trees, the values and the scores of one that does not, of every objective.
func TestRestore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		objective := rapid.SampledFrom(names()).Draw(rt, "objective")
		g, y := some(objective, rapid.Uint64Range(0, 50).Draw(rt, "seed"), 90)
		b := binned(rt, g.part(0, 63), g.part(63, 90), rapid.SampledFrom([]int{3, 255}).Draw(rt, "bins"))
		if rapid.Bool().Draw(rt, "alike") {
			y.Weight = nil
		}
		c, opt := drawnConf(rt, objective), Options{}
		if rapid.Bool().Draw(rt, "more") { // trees of another training go before
			before := c
			before.Trees, before.Patience, before.Drop = 2, 0, Drop{}
			e, _, _, last := grown(rt, b, y, before, Options{}, 0)
			for k := range last.Scores {
				y.Start = append(append(y.Start, last.Scores[k]...), last.Held[k]...)
			}
			opt.From = e
		}
		want, _, values, end := grown(rt, b, y, c, opt, 0)
		cut := len(values) - rapid.IntRange(0, min(len(values)-1, 8)).Draw(rt, "left")
		_, part, _, _ := grown(rt, b, y, c, opt, cut)
		opt.Grown = part
		got, _, again, back := grown(rt, b, y, c, opt, 0)
		if text := tree.Differ(want, got, 0); text != "" || got.Best != want.Best || !slices.Equal(values, again) {
			rt.Fatalf("%s: after a cut at %d: %s, best %d, want %d\nvalues %v\nwant   %v", objective, cut, text, got.Best, want.Best, again, values)
		}
		for i := range want.Trees { // also what nodes tell of training
			a, b := &want.Trees[i], &got.Trees[i]
			if !slices.Equal(a.Value, b.Value) || !slices.Equal(a.Gain, b.Gain) || !slices.Equal(a.Count, b.Count) ||
				!slices.Equal(a.LeafCount, b.LeafCount) || !slices.Equal(a.LeafWeight, b.LeafWeight) {
				rt.Fatalf("%s: after a cut at %d: tree %d saw other rows", objective, cut, i)
			}
		}
		if !reflect.DeepEqual(end.Scores, back.Scores) || !reflect.DeepEqual(end.Held, back.Held) {
			rt.Fatalf("%s: after a cut at %d: other scores of the rows", objective, cut)
		}
	})
}

// TestModelSoFar: the model at a cut is the one of a training of so many trees.
func TestModelSoFar(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		objective := rapid.SampledFrom(names()).Draw(rt, "objective")
		g, y := some(objective, rapid.Uint64Range(0, 50).Draw(rt, "seed"), 90)
		b, c := binned(rt, g.part(0, 63), g.part(63, 90), 255), drawnConf(rt, objective)
		if c.Drop.Rate > 0 { // of which the best is not kept before the end
			c.Patience = 0
		}
		c.Trees = 30
		_, _, values, _ := grown(rt, b, y, c, Options{}, 0)
		cut := rapid.IntRange(1, len(values)).Draw(rt, "cut")
		_, part, _, _ := grown(rt, b, y, c, Options{}, cut)
		c.Trees = cut
		want, _, _, _ := grown(rt, b, y, c, Options{}, 0)
		if text := tree.Differ(want, part.Model, 0); text != "" || want.Best != part.Model.Best {
			rt.Fatalf("%s, %d trees: %s, best %d, want %d", objective, cut, text, part.Model.Best, want.Best)
		}
	})
}

// TestSnapshotStays: what was taken does not change while trees grow on, also where they are dropped.
func TestSnapshotStays(t *testing.T) {
	g, y := some("l2", 3, 90)
	b, c := binned(t, g.part(0, 63), g.part(63, 90), 255), settings(t, "l2", 12)
	c.Drop, c.Patience = Drop{Rate: 0.7}, 20
	var taken *Grown
	var then []byte
	text := func(e *tree.Ensemble) string {
		all, err := json.Marshal(e.Trees)
		if err != nil {
			t.Fatal(err)
		}
		return string(all)
	}
	var model string
	trained(t, b, y, c, Options{Each: func(p *Progress) (_ float64, err error) {
		if p.Iteration == 5 {
			if taken, err = p.Grown(t.Context(), 1); err == nil {
				then, err = taken.JSON()
			}
			model = text(taken.Model)
		}
		return 1, err
	}})
	now, err := taken.JSON()
	if err != nil || string(now) != string(then) || text(taken.Model) != model {
		t.Errorf("what was grown after iteration 5 has changed: %v", err)
	}
}

// TestGrownRefused: trees that are not of these rows or settings.
func TestGrownRefused(t *testing.T) {
	g, y := some("multiclass", 3, 90)
	b, c := binned(t, g.part(0, 63), g.part(63, 90), 255), settings(t, "multiclass", 4)
	c.MinWeight = 0.1
	_, fresh, _, _ := grown(t, b, y, c, Options{}, 2)
	node := slices.IndexFunc(fresh.Trees[0].Kind, func(k tree.Kind) bool { return k&tree.Categorical == 0 })
	if node < 0 {
		t.Fatal("the first tree asks for no number")
	}
	for _, one := range []struct {
		want   string
		change func(g *Grown, first *tree.Tree, c *Config)
	}{
		{"6 trees of 1 iterations, want 3 of each", func(g *Grown, _ *tree.Tree, _ *Config) { g.Values = g.Values[:1] }},
		{"2 iterations, and there are to be 1", func(_ *Grown, _ *tree.Tree, c *Config) { c.Trees = 1 }},
		{"tree 0: of class 2, want 0", func(_ *Grown, first *tree.Tree, _ *Config) { first.Class = 2 }},
		{"where no bin of these rows ends", func(_ *Grown, first *tree.Tree, _ *Config) { first.Threshold[node] += 1e-3 }},
		{"where no bin of these rows ends", func(_ *Grown, first *tree.Tree, _ *Config) { first.Threshold[node] = math.MaxFloat32 / 2 }},
		{"by levels: true", func(_ *Grown, first *tree.Tree, _ *Config) {
			first.Kind[node] |= tree.Categorical
			first.Threshold[node], first.Bounds, first.Words = 0, []int32{0, 1}, []uint32{1}
		}},
		{"asks for feature 99 of", func(_ *Grown, first *tree.Tree, _ *Config) { first.Feature[node] = 99 }},
		{"leaf 0 has the value NaN", func(_ *Grown, first *tree.Tree, _ *Config) { first.LeafValue[0] = math.NaN() }},
	} {
		_, part, _, _ := grown(t, b, y, c, Options{}, 2)
		conf := c
		one.change(part, &part.Trees[0], &conf)
		_, err := Train(t.Context(), b, y, conf, Options{Grown: part})
		if err == nil || !strings.Contains(err.Error(), one.want) {
			t.Errorf("%v, want %q", err, one.want)
		}
	}
	if _, err := ParseGrown([]byte(`{"Trees":[{"Class":"a"}]}`)); err == nil {
		t.Error("a class that is a text was read")
	}
}

// FuzzGrown: whatever trees a training is to go on from, it refuses them, or grows.
func FuzzGrown(f *testing.F) {
	g, y := some("l2", 3, 60)
	b, c := binned(f, g.part(0, 40), g.part(40, 60), 255), settings(f, "l2", 4)
	c.MinWeight, c.Cores = 0.1, 1
	_, part, _, _ := grown(f, b, y, c, Options{}, 2)
	text, err := part.JSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, false)
	f.Add([]byte(`{"Trees":[{"LeafValue":[1],"LeafWeight":[1],"LeafCount":[1]}],"Values":[null]}`), true)
	f.Add([]byte(`{"Trees":[{"Feature":[0],"Threshold":[0],"Kind":"AQ==","Left":[-1],"Right":[-2],"LeafValue":[1,2]}],"Values":[3]}`), true)
	f.Fuzz(func(t *testing.T, text []byte, drop bool) {
		of, err := ParseGrown(text)
		if err != nil {
			return
		}
		conf := c
		if drop {
			conf.Drop = Drop{Rate: 0.5}
		}
		e, err := Train(t.Context(), b, y, conf, Options{Grown: of})
		if err == nil && (e.Check() != nil || e.Iterations() != conf.Trees) {
			t.Errorf("%d trees, %v", e.Iterations(), e.Check())
		}
	})
}
