package gbdt

import (
	"math"
	"slices"
	"testing"

	"thole.example/data"
)

// abalone is the set of that name with its features rounded to multiples of 0.02, so that each value has a bin of its own, with all
// programs.
func abalone(t *testing.T) (*grid, []float32) {
	e := load(t, "abalone/abalone_8d_train.dense", 8, data.Options{Format: "dense"})
	rows := make([][]float32, e.Len())
	for i := range rows {
		rows[i] = make([]float32, 8)
		row := make([]float64, 8)
		e.View.Fill(e.Set.Slice(i, i+1), 0, 1, row)
		for f, v := range row {
			rows[i][f] = float32(math.RoundToEven(v*50) / 50)
		}
	}
	return gridOf(rows...), e.Set.Label
}

// pits is the rows without every fifth value.
func pits(g *grid) *grid {
	var rows [][]float32
	for i, row := range g.rows {
		row = slices.Clone(row)
		for f := range row {
			if (7*i+3*f)%5 == 0 {
				row[f] = nan()
			}
		}
		rows = append(rows, row)
	}
	return gridOf(rows...)
}

// TestGolden trains 20 trees as LightGBM 4.7.0 and XGBoost 3.2.0 did on the same rows, and compares the loss on them. The programs ran on
// one thread with learning rate 0.1, l2 1 and min_sum_hessian (min_child_weight) 1:
//
//	LightGBM: num_leaves=31 min_data_in_leaf=0 min_data_in_bin=1 max_bin=255 feature_pre_filter=false enable_bundle=false
//	XGBoost:  tree_method=hist max_bin=512 max_depth=6, "by leaf" grow_policy=lossguide max_depth=0 max_leaves=31,
//	          base_score the mean of the labels (without weights, but by leaf with them), of binary and multiclass 0.5
//
// within is the part of the loss by which ours may be another one: next to nothing where the rules are the same. LightGBM's are not where
// no split of a node by a feature is allowed, as then it does not ask its children for the feature either; medians and quantiles are
// interpolated in both (not those of l1 here, which come out at values). LightGBM's poisson has h = exp(s + poisson_max_delta_step), here
// 1e-9; it starts binary without scale_pos_weight, and
// huber with the mean.
func TestGolden(t *testing.T) {
	rows, rings := abalone(t)
	thirds := func(i int, _ float32) float32 { return float32(1 + i%3) }
	positive := func(_ int, label float32) float32 { return 1 + 2*label } // scale_pos_weight=3
	b, whole := binned(t, rows, nil, 255), binned(t, rows, nil, 255)
	bound := []int8{0, 1, 1, 1, 0, -1, 0, 1}
	own := math.NaN() // start scores are those of the objective
	pitted := binned(t, pits(rows), nil, 255)
	deep := func(c *Config) { c.Leaves = 0; c.Depth = 6 } // as XGBoost
	holes := func(*Config) { b = pitted }
	// XGBoost's second derivatives of 4 classes are 3/2 of these: l2, the least weight and the rate compensate for it.
	doubled := func(c *Config) { c.L2, c.MinWeight, c.Rate = c.L2*2/3, c.MinWeight*2/3, c.Rate*2/3 }
	for _, c := range []struct {
		name      string
		objective string
		alpha     float64
		change    func(*Config)
		weight    func(i int, label float32) float32 // nil: all are 1
		start     float64                            // of all rows
		loss      float64
		leaves    int // of all trees; 0: as may be
		within    float64
	}{
		{"LightGBM l2", "l2", 0, nil, nil, own, 1.901277, 620, 1e-6},
		{"LightGBM l1", "l1", 0, nil, nil, own, 1.430908, 620, 1e-6},
		{"LightGBM binary", "binary", 0, nil, nil, own, 0.402722, 620, 2e-6},
		{"LightGBM l2 depth 4 leaves 12", "l2", 0, func(c *Config) { c.Depth, c.Leaves = 4, 12 }, nil, own, 2.330266, 240, 1e-6},
		{"LightGBM missing", "l2", 0, holes, nil, own, 2.112934, 620, 1e-3},
		{"LightGBM l2 weights", "l2", 0, nil, thirds, own, 1.921668, 620, 2e-3},
		{"LightGBM l2 l1 5", "l2", 0, func(c *Config) { c.L1 = 5 }, nil, own, 1.974619, 620, 1e-3},
		{"LightGBM l2 min weight 30", "l2", 0, func(c *Config) { c.MinWeight = 30 }, nil, own, 2.022326, 620, 3e-3},
		{"LightGBM l2 max step", "l2", 0, func(c *Config) { c.MaxStep = 0.5 }, nil, own, 3.714215, 620, 2e-3},
		{"LightGBM l2 monotone", "l2", 0, func(c *Config) { c.Monotone = bound }, nil, own, 2.278913, 0, 5e-3},
		{"LightGBM huber", "huber", 2, nil, nil, 9.933684462532918, 1.699153, 620, 2e-4},
		{"LightGBM binary positive 3", "binary", 0, nil, positive, -0.007182219047298292, 0.447905, 620, 3e-3},
		{"LightGBM poisson", "poisson", 0, func(c *Config) { c.MaxStep = 0 }, nil, own, -13.205495, 620, 3e-4},
		{"LightGBM multiclass", "multiclass", 0, nil, nil, own, 0.718058, 2480, 3e-4},
		{"LightGBM multiclass depth 6", "multiclass", 0, func(c *Config) { c.Depth = 6 }, nil, own, 0.747412, 0, 3e-4},
		{"LightGBM median", "quantile", 0.5, nil, nil, own, 0.708550, 620, 1e-3},
		{"LightGBM quantile", "quantile", 0.9, nil, nil, own, 0.400480, 620, 2e-2},
		{"XGBoost l2 by leaf", "l2", 0, nil, nil, own, 1.901277, 620, 1e-6},
		{"XGBoost missing by leaf", "l2", 0, holes, nil, own, 2.111820, 620, 1e-6},
		{"XGBoost l2 weights by leaf", "l2", 0, nil, thirds, own, 1.919251, 620, 1e-6},
		{"XGBoost l2 gamma 50 by leaf", "l2", 0, func(c *Config) { c.Gamma = 50 }, nil, own, 2.059498, 444, 1e-6},
		{"XGBoost l2 l1 5 by leaf", "l2", 0, func(c *Config) { c.L1 = 5 }, nil, own, 1.973442, 620, 1e-6},
		{"XGBoost l2 min weight 30 by leaf", "l2", 0, func(c *Config) { c.MinWeight = 30 }, nil, own, 2.026828, 620, 1e-6},
		{"XGBoost l2 max step by leaf", "l2", 0, func(c *Config) { c.MaxStep = 0.5 }, nil, own, 3.708443, 620, 1e-4},
		{"XGBoost l2 monotone by leaf", "l2", 0, func(c *Config) { c.Monotone = bound }, nil, own, 2.268714, 620, 1e-6},
		{"XGBoost l2 no l2 by leaf", "l2", 0, func(c *Config) { c.L2, c.MinWeight = 0, 0 }, nil, own, 1.843565, 620, 1e-6},
		{"XGBoost l2", "l2", 0, deep, nil, own, 1.872714, 1119, 1e-6},
		{"XGBoost missing", "l2", 0, func(c *Config) { deep(c); holes(c) }, nil, own, 2.180430, 1085, 1e-6},
		{"XGBoost l2 weights", "l2", 0, deep, thirds, 9.933684, 1.855416, 1154, 1e-6},
		{"XGBoost l2 l1 5", "l2", 0, func(c *Config) { deep(c); c.L1 = 5 }, nil, own, 1.923467, 1019, 1e-6},
		{"XGBoost l2 max step", "l2", 0, func(c *Config) { deep(c); c.MaxStep = 0.5 }, nil, own, 3.710168, 932, 1e-5},
		{"XGBoost l2 min weight 30", "l2", 0, func(c *Config) { deep(c); c.MinWeight = 30 }, nil, own, 2.034954, 845, 1e-6},
		{"XGBoost l2 monotone", "l2", 0, func(c *Config) { deep(c); c.Monotone = bound }, nil, own, 2.262156, 1004, 1e-6},
		{"XGBoost binary", "binary", 0, deep, nil, 0, 0.397760, 922, 2e-6},
		{"XGBoost binary positive 3", "binary", 0, deep, positive, 0, 0.439913, 972, 2e-6},
		{"XGBoost multiclass", "multiclass", 0, func(c *Config) { deep(c); doubled(c) }, nil, 0, 0.809277, 3525, 1e-6},
		{"XGBoost l1", "l1", 0, deep, nil, own, 1.403845, 1008, 1e-6},
		{"XGBoost median", "quantile", 0.5, deep, nil, own, 0.699763, 0, 2e-3},
		{"XGBoost quantile", "quantile", 0.9, deep, nil, own, 0.373399, 0, 5e-3},
	} {
		t.Run(c.name, func(t *testing.T) {
			conf := settings(t, c.objective, 20)
			conf.Depth, conf.Leaves, conf.Classes = 0, 31, 4
			if c.alpha > 0 {
				conf.Objective, _ = conf.Objective.With(map[string]float64{"alpha": c.alpha})
			}
			if b = whole; c.change != nil {
				c.change(&conf)
			}
			y := &Labels{Label: make([]float32, len(rings))}
			for i, v := range rings {
				switch y.Label[i] = v; c.objective {
				case "binary":
					y.Label[i] = 0
					if v > 9 {
						y.Label[i] = 1
					}
				case "multiclass":
					y.Label[i] = float32(min(3, max(0, math.Floor(float64(v-5)/3))))
				}
			}
			for i := 0; c.weight != nil && i < len(rings); i++ {
				y.Weight = append(y.Weight, c.weight(i, y.Label[i]))
			}
			if c.start == c.start {
				y.Start = make([]float64, 4*len(rings))
				if c.objective != "multiclass" {
					y.Start = y.Start[:len(rings)]
				}
				for i := range y.Start {
					y.Start[i] = c.start
				}
			}
			var scores [][]float64
			e := trained(t, b, y, conf, Options{Each: func(p *Progress) (float64, error) { scores = p.Scores; return 0, nil }})
			loss, leaves, one := 0.0, 0, make([]float64, len(scores))
			for i, l := range y.Label {
				for k := range one {
					one[k] = scores[k][i]
				}
				loss += lossOf(c.objective, one, float64(l), c.alpha) / float64(len(rings))
			}
			for i := range e.Trees {
				leaves += e.Trees[i].Leaves()
			}
			if math.Abs(loss-c.loss) > c.within*math.Abs(c.loss) || c.leaves > 0 && leaves != c.leaves {
				t.Errorf("loss %.6f with %d leaves, want %.6f with %d", loss, leaves, c.loss, c.leaves)
			}
		})
	}
}

// TestGoldenLevels has a feature of levels: which of its 25 values feature 3 has. LightGBM ran as in TestGolden, with min_data_per_group=1
// cat_smooth=10 cat_l2=10 max_cat_threshold=32 (the smoothing is its least count of a level, too).
func TestGoldenLevels(t *testing.T) {
	rows, rings := abalone(t)
	rows = pits(rows)
	var values []float32
	for _, row := range rows.rows {
		if v := row[3]; v == v {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	values = slices.Compact(values)
	for _, row := range rows.rows {
		if v := row[3]; v == v {
			row[3] = float32(slices.Index(values, v))
		}
	}
	rows.features[3].Categorical = true
	conf := settings(t, "l2", 20)
	conf.Depth, conf.Leaves, conf.Order, conf.LevelWeight, conf.Level2 = 0, 31, ByNode, 10, 10
	e := trained(t, binned(t, rows, nil, 255), &Labels{Label: rings}, conf, Options{})
	loss, asked := 0.0, 0
	for i, s := range scoresOf(e, rows)[0] {
		loss += lossOf("l2", []float64{s}, float64(rings[i]), 0) / float64(len(rings))
	}
	for i := range e.Trees {
		for _, f := range e.Trees[i].Feature {
			if f == 3 {
				asked++
			}
		}
	}
	if want := 2.109183; math.Abs(loss-want) > 2e-3*want || asked < 28 || asked > 34 {
		t.Errorf("loss %.6f, %d splits by levels, want %.6f and 31", loss, asked, want)
	}
}
