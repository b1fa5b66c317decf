package gbdt

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/tree"
)

// names are the objectives.
func names() (all []string) {
	for _, o := range Objectives() {
		all = append(all, o.Name)
	}
	return all
}

// some is rows of an objective, with weights that are no two alike.
func some(objective string, seed uint64, n int) (*grid, *Labels) {
	r := rand.New(rand.NewPCG(seed, 8))
	g, raw := random(r, n, 5)
	y := &Labels{}
	for i, v := range raw {
		switch objective {
		case "binary":
			v = float32(math.Copysign(1, float64(v)))
		case "poisson", "multiclass", "lambdarank":
			v = float32(max(0, min(2, int(v))))
		}
		y.Label, y.Weight = append(y.Label, v), append(y.Weight, float32(0.5+r.Float64()))
		if objective == "lambdarank" {
			y.Group = append(y.Group, int64(i/9))
		}
	}
	return g, y
}

// TestEdges: data of which little is to be learned.
func TestEdges(t *testing.T) {
	missing := slices.Repeat([][]float32{{nan(), nan()}}, 20)
	for _, name := range names() {
		for what, c := range map[string]struct {
			rows  *grid
			same  bool // labels are all the same
			start bool // nothing but the start score can be said
		}{
			"labels all the same": {gridOf(slices.Repeat([][]float32{{1, 2}, {3, nan()}, {0, 1}}, 7)...), true, true},
			"one row":             {gridOf([]float32{1, 2}), false, true},
			"all missing":         {gridOf(missing...), false, true},
			"one value":           {gridOf(slices.Repeat([][]float32{{4, 0}}, 20)...), false, true},
			"one feature":         {single(slices.Repeat([]float32{0, 1, 2, nan()}, 12)...), false, false},
			"no features":         {gridOf(slices.Repeat([][]float32{{}}, 20)...), false, true},
		} {
			c, n := c, c.rows.Len()
			y := &Labels{Group: make([]int64, n)}
			for i := range n {
				y.Label = append(y.Label, float32(i*i%4%2))
				if c.same {
					y.Label[i] = 1
				}
			}
			conf := settings(t, name, 3)
			conf.MinWeight = 0
			b := binned(t, c.rows, nil, 255)
			e := trained(t, b, y, conf, Options{})
			scores := scoresOf(e, c.rows)
			for k, s := range scores {
				spread, moved := slices.Max(s)-slices.Min(s), math.Abs(s[0]-e.Start[k])
				if c.start && !(spread < 1e-9 && (name == "lambdarank" || moved < 1e-3+1e-2*math.Abs(e.Start[k]))) {
					t.Errorf("%s, %s: scores %v of class %d, start %v", name, what, s, k, e.Start)
				} else if !c.start && k == 0 && spread == 0 {
					t.Errorf("%s, %s: all scores are %v", name, what, s[0])
				}
			}
		}
	}
}

// TestNothing: rows of weight 0 do not matter, and one of weight 2 is as two.
func TestNothing(t *testing.T) {
	for _, name := range names() {
		if name == "lambdarank" { // whose pairs have no weights
			continue
		}
		g, y := some(name, 11, 150)
		conf := settings(t, name, 4)
		conf.MinWeight, conf.Rate = 0.1, 0.5
		want := trained(t, binned(t, g, nil, 255), y, conf, Options{})
		more := *g
		more.rows = append(slices.Clone(g.rows), g.rows...)
		z := &Labels{Label: slices.Concat(y.Label, slices.Repeat([]float32{1}, len(g.rows))),
			Weight: slices.Concat(y.Weight, make([]float32, len(g.rows)))}
		got := trained(t, binned(t, &more, nil, 255), z, conf, Options{})
		if text := tree.Differ(want, got, 0); text != "" {
			t.Errorf("%s: rows of weight 0 matter: %s", name, text)
		}
		times := func(i int) int { return 1 + i%3 }
		twice := *g
		twice.rows = zipped(g.rows, times)
		z = &Labels{Label: zipped(y.Label, times)}
		for i := range y.Weight {
			y.Weight[i] = float32(times(i))
		}
		want = trained(t, binned(t, g, nil, 255), y, conf, Options{})
		got = trained(t, binned(t, &twice, nil, 255), z, conf, Options{})
		if text := tree.Differ(want, got, 1e-5); text != "" {
			t.Errorf("%s: a row of weight 2 is not as two: %s", name, text)
		}
	}
}

// TestWeightsOfTexts: a row of weight 2 is as two also where trees put levels in order, and where all weights are alike.
// The rows have no levels that tie in an order and no splits of the same gain, which rounding may break either way: derivatives of l1 have
// two values only.
func TestWeightsOfTexts(t *testing.T) {
	weightings := map[string]func(i int) int{
		"all 2": func(int) int { return 2 }, "1 to 3": func(i int) int { return 1 + i*i%3 }, "1 and 40": func(i int) int { return 1 + 39*(i%2) },
	}
	for _, name := range []string{"binary", "l2", "l1", "huber", "poisson", "multiclass"} {
		r := rand.New(rand.NewPCG(5, 12))
		for _, what := range slices.Sorted(maps.Keys(weightings)) {
			times := weightings[what]
			const n, levels = 400, 12
			g, y := gridOf(make([]float32, 2)), &Labels{}
			g.rows = nil
			for i := range n {
				level, x := r.IntN(levels), r.IntN(20)
				g.rows = append(g.rows, []float32{float32(level), float32(x)})
				v := math.Sin(float64(level)) + float64(x)/20 + r.NormFloat64()
				switch name {
				case "binary":
					v = math.Copysign(1, v-0.5)
				case "poisson", "multiclass":
					v = math.Round(min(2, max(0, v)))
				}
				y.Label, y.Weight = append(y.Label, float32(v)), append(y.Weight, float32(times(i)))
			}
			g.features[0].Categorical = true
			conf := settings(t, name, 6)
			want := trained(t, binned(t, g, nil, 255), y, conf, Options{})
			twice := *g
			twice.rows = zipped(g.rows, times)
			got := trained(t, binned(t, &twice, nil, 255), &Labels{Label: zipped(y.Label, times)}, conf, Options{})
			if text := tree.Differ(want, got, 1e-5); text != "" {
				t.Errorf("%s, weights %s: %s", name, what, text)
			}
			if len(want.Trees[0].Feature) < 2 {
				t.Errorf("%s: %d splits", name, len(want.Trees[0].Feature))
			}
		}
	}
}

// TestSameBits: any number of goroutines grows the same trees, and another seed others; those of fewer trees are the first of more.
func TestSameBits(t *testing.T) {
	for _, name := range names() {
		g, y := some(name, 12, 3*chunk/2)
		g.rows = append(g.rows, g.rows...)
		y.Label, y.Weight, y.Group = append(y.Label, y.Label...), nil, nil
		if name == "lambdarank" {
			for i := range y.Label {
				y.Group = append(y.Group, int64(i/9))
			}
		}
		conf := settings(t, name, 2)
		conf.Rows, conf.Columns, conf.Leaves = 0.9, 0.7, 9
		var first *tree.Ensemble
		for _, cores := range []int{1, 2, 5} {
			b, err := Bin(context.Background(), g, nil, 255, cores)
			if err != nil {
				t.Fatal(err)
			}
			conf.Cores = cores
			if e := trained(t, b, y, conf, Options{}); first == nil {
				first = e
			} else if text := differ(first, e); text != "" || !reflect.DeepEqual(first, e) {
				t.Errorf("%s: %d goroutines: %s", name, cores, text)
			}
		}
		if name == "l2" {
			conf.Seed++
			if tree.Differ(first, trained(t, binned(t, g, nil, 255), y, conf, Options{}), 0) == "" {
				t.Error("another seed, and the same trees")
			}
		}
	}
}

// TestSampling: rows and features are drawn by their numbers, whatever other rows and features there are.
func TestSampling(t *testing.T) {
	const n, features = 4000, 30
	r := rand.New(rand.NewPCG(13, 8))
	rows := make([][]float32, n)
	for i := range rows {
		for range features {
			rows[i] = append(rows[i], float32(r.IntN(9)))
		}
	}
	conf := settings(t, "l2", 1)
	conf.Rows, conf.Columns, conf.Cores = 0.5, 0.3, 1
	with := func(rows [][]float32) *trainer {
		tr := newTrainer(binned(t, gridOf(rows...), nil, 255), &Labels{Label: make([]float32, len(rows))}, &conf, Options{})
		if err := tr.begin(); err != nil {
			t.Fatal(err)
		}
		return tr
	}
	drawn := func(tr *trainer, number int) (rows []uint32, asked []int) {
		tr.draw(t.Context(), number)
		if all := slices.Sorted(slices.Values(slices.Concat(tr.rows, tr.others))); len(all) != tr.learn || int(all[len(all)-1]) != tr.learn-1 {
			t.Fatalf("%d rows drawn and %d not, of %d", len(tr.rows), len(tr.others), tr.learn)
		}
		for _, at := range tr.columns {
			asked = append(asked, tr.binned.columns[at].feature)
		}
		return slices.Clone(tr.rows), asked
	}
	all := with(rows)
	for _, row := range rows {
		row[3] = 1
	}
	less := with(rows[:n/2]) // of which feature 3 has one value
	var before []uint32
	features10 := 0
	for number := range 10 {
		a, asked := drawn(all, number)
		b, some := drawn(less, number)
		if half, _ := slices.BinarySearch(a, n/2); !slices.Equal(a[:half], b) {
			t.Fatalf("tree %d: others of the first rows are drawn when more follow", number)
		}
		if !slices.Equal(slices.DeleteFunc(slices.Clone(asked), func(f int) bool { return f == 3 }), some) {
			t.Fatalf("tree %d: features %v drawn, %v without feature 3", number, asked, some)
		}
		if len(a) < 1850 || len(a) > 2150 || slices.Equal(a, before) {
			t.Errorf("tree %d: %d rows, the same as before: %v; want about half, others each time", number, len(a), slices.Equal(a, before))
		}
		before, features10 = a, features10+len(asked)
	}
	if features10 < 60 || features10 > 120 {
		t.Errorf("%d features of 10 trees, want about 90", features10)
	}
}

// TestGoOn: trees that go on from others are those of one training, to the bit.
func TestGoOn(t *testing.T) {
	for _, name := range names() {
		g, y := some(name, 14, 300)
		conf := settings(t, name, 7)
		conf.Rows, conf.Columns = 0.8, 0.8
		b := binned(t, g, nil, 255)
		want := trained(t, b, y, conf, Options{})
		conf.Trees = 3
		first := trained(t, b, y, conf, Options{})
		before := len(first.Trees)
		conf.Trees = 4
		y.Start = slices.Concat(scoresOf(first, g)...)
		got := trained(t, b, y, conf, Options{From: first})
		if text := differ(want, got); text != "" || !reflect.DeepEqual(want, got) {
			t.Errorf("%s: %s", name, text)
		}
		if len(first.Trees) != before {
			t.Errorf("%s: the trees that go before are changed", name)
		}
		first.Best = 1 // as early stopping has it
		y.Start = slices.Concat(scoresOf(first, g)...)
		got = trained(t, b, y, conf, Options{From: first})
		if conf.Trees = 5; got.Iterations() != 5 || got.Best != 0 {
			t.Errorf("%s: %d iterations after 1 and 4, best %d", name, got.Iterations(), got.Best)
		}
	}
}

// TestPatience: the best iteration counts, those after it are kept, and training ends when none has been better for long enough.
func TestPatience(t *testing.T) {
	g, y := some("l2", 15, 60)
	nan := math.NaN()
	for _, c := range []struct {
		values     []float64
		patience   int
		made, best int
	}{
		{[]float64{5, 4, 3, 2, 1, 0}, 2, 6, 0},
		{[]float64{5, 4, 6, 7, 1, 0}, 2, 4, 2},
		{[]float64{5, 4, 6, 3, 6, 6}, 2, 6, 4},
		{[]float64{5, 4, 4, 4, 4, 4}, 3, 5, 2}, // as good as the best is not better
		{[]float64{5, 6, 7, 8, 9, 9}, 0, 6, 0},
		{[]float64{nan, nan, nan, nan, nan, nan}, 1, 6, 0},
		{[]float64{nan, 3, nan, nan, 2, 1}, 2, 4, 2},
		{[]float64{5, 4, 6, 7, 8, 9}, 9, 6, 2},
	} {
		for _, before := range []int{0, 2} {
			conf := settings(t, "l2", 6)
			conf.Patience = c.patience
			b, y, opt := binned(t, g, nil, 255), *y, Options{}
			if before > 0 {
				first := conf
				first.Trees = before
				opt.From = trained(t, b, &y, first, Options{})
				y.Start = scoresOf(opt.From, g)[0]
			}
			at := 0
			opt.Each = func(p *Progress) (float64, error) {
				if at++; p.Iteration != at || p.Trees.Iterations() != at+before {
					t.Errorf("iteration %d of %d trees, want %d", p.Iteration, p.Trees.Iterations(), at)
				}
				return c.values[at-1], nil
			}
			e := trained(t, b, &y, conf, opt)
			best := c.best
			if best > 0 {
				best += before
			}
			if e.Iterations() != c.made+before || e.Best != best {
				t.Errorf("%v, patience %d, after %d: %d iterations, best %d, want %d and %d", c.values, c.patience, before, e.Iterations(), e.Best,
					c.made+before, best)
			}
		}
	}
}

// TestCancelled: an end that is asked for comes within the tree, and is the error.
func TestCancelled(t *testing.T) {
	g, y := some("l2", 16, 9000)
	for _, cores := range []int{1, 3} {
		ctx, stop := context.WithCancel(context.Background())
		b := binned(t, g, nil, 255)
		conf := settings(t, "l2", 1000)
		conf.Cores = cores
		calls := 0
		_, err := Train(ctx, b, y, conf, Options{Each: func(*Progress) (float64, error) {
			if calls++; calls == 2 {
				stop()
			}
			return 0, nil
		}})
		if err != context.Canceled || calls != 2 {
			t.Errorf("%v after %d iterations", err, calls)
		}
		if _, err := Bin(ctx, g, g, 255, cores); err != context.Canceled {
			t.Errorf("Bin: %v", err)
		}
	}
	want := context.DeadlineExceeded
	_, err := Train(context.Background(), binned(t, g, nil, 255), y, settings(t, "l2", 9),
		Options{Each: func(*Progress) (float64, error) { return 0, want }})
	if err != want {
		t.Errorf("%v, want the error of Each", err)
	}
}

// TestMonotone: scores never fall with a feature that they are to rise with, wherever the others are.
func TestMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		r := rand.New(rand.NewPCG(seed, 9))
		objective := []string{"l2", "binary", "huber", "poisson", "multiclass", "lambdarank"}[r.IntN(6)]
		g, y := some(objective, seed, 120)
		conf := settings(t, objective, 5)
		conf.MinWeight, conf.L1, conf.Rate, conf.Rows = r.Float64(), r.Float64(), 0.5, 0.8
		conf.Monotone = make([]int8, len(g.features))
		for f := range g.features {
			if !g.features[f].Categorical {
				conf.Monotone[f] = int8(r.IntN(3) - 1)
			}
		}
		e := trained(t, binned(t, g, nil, 2+r.IntN(9)), y, conf, Options{})
		a, b := make([]float64, e.Classes), make([]float64, e.Classes)
		for range 50 {
			row := slices.Clone(g.rows[r.IntN(g.Len())])
			f := r.IntN(len(row))
			lo, hi := float32(r.NormFloat64()*3), float32(r.NormFloat64()*3)
			if lo, hi = min(lo, hi), max(lo, hi); conf.Monotone[f] < 0 {
				lo, hi = hi, lo
			}
			row[f] = lo
			e.Score(doubles(row...), a)
			row[f] = hi
			e.Score(doubles(row...), b)
			for k := range a {
				if conf.Monotone[f] != 0 && a[k] > b[k]+1e-12 {
					t.Fatalf("%s, feature %d (%d): score %v at %v, %v at %v", objective, f, conf.Monotone[f], a[k], lo, b[k], hi)
				}
			}
		}
	})
}
