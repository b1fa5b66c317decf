package gbdt

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"thole.example/tree"
)

// liar is rows that say what they like: each is pairs of a feature and a value.
type liar struct {
	features int
	rows     [][][2]float64
	count    int // says Len, if not 0
	levels   bool
	ptr      []int // appended in place of the true one
}

func (l *liar) Len() int {
	if l.count != 0 {
		return l.count
	}
	return len(l.rows)
}

func (l *liar) Features() tree.Features {
	f := tree.Features{Width: l.features}
	for i := 0; l.levels && i < l.features; i++ {
		f.Set(i, tree.Feature{Categorical: true})
	}
	return f
}

func (l *liar) Missing(int) bool { return false }

func (l *liar) Read(lo, hi int, into *Block) {
	for _, row := range l.rows[lo:hi] {
		for _, p := range row {
			into.Feature, into.Value = append(into.Feature, int32(p[0])), append(into.Value, p[1])
		}
		if l.ptr == nil {
			into.Ptr = append(into.Ptr, len(into.Feature))
		}
	}
	into.Ptr = append(into.Ptr, l.ptr...)
}

// TestLiars: rows that break their promises are refused, both those that are learned from and those held out.
func TestLiars(t *testing.T) {
	fine := [][][2]float64{{{0, 1}, {1, 2}}, {{0, 3}}, {{1, 5}}, {}, {}, {}, {}, {}}
	with := func(row ...[2]float64) [][][2]float64 { return append(fine[:len(fine):len(fine)], row) }
	for name, c := range map[string]struct {
		rows liar
		want string
	}{
		"feature beyond":     {liar{features: 2, rows: with([2]float64{2, 1})}, "row 8 has a value of feature 2, want one of 2"},
		"feature below 0":    {liar{features: 2, rows: with([2]float64{-1, 1})}, "row 8 has a value of feature -1, want one of 2"},
		"unsorted":           {liar{features: 2, rows: with([2]float64{1, 1}, [2]float64{0, 1})}, "row 8 has feature 0 after feature 1"},
		"twice":              {liar{features: 2, rows: with([2]float64{1, 1}, [2]float64{1, 1})}, "row 8 has feature 1 after feature 1"},
		"half a level":       {liar{features: 2, levels: true, rows: with([2]float64{1, 0.5})}, "row 8 has the level 0.5"},
		"level too large":    {liar{features: 2, levels: true, rows: with([2]float64{1, 1 << 24})}, "row 8 has the level 1.6777216e+07"},
		"level beyond ints":  {liar{features: 2, levels: true, rows: with([2]float64{1, 1e30})}, "row 8 has the level 1e+30"},
		"infinite level":     {liar{features: 2, levels: true, rows: with([2]float64{1, math.Inf(1)})}, "row 8 has the level +Inf"},
		"too few rows":       {liar{features: 2, rows: fine, ptr: []int{2, 3}}, "rows 0 to 8 were read as 2"},
		"rows that fall":     {liar{features: 2, rows: fine, ptr: []int{2, 3, 2, 4, 4, 4, 4, 4}}, "rows 0 to 8 were read as 8 of 4 values"},
		"rows beyond values": {liar{features: 2, rows: fine, ptr: []int{2, 3, 4, 5, 5, 5, 5, 5}}, "rows 0 to 8 were read as 8 of 4 values"},
	} {
		t.Run(name, func(t *testing.T) {
			honest := &liar{features: 2, levels: c.rows.levels, rows: fine}
			binned(t, honest, honest, 255)
			for _, cores := range []int{1, 3} {
				_, err := Bin(context.Background(), &c.rows, nil, 255, cores)
				if !errors.Is(err, ErrRows) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("learned from: %v, want %s", err, c.want)
				}
				if _, err = Bin(context.Background(), honest, &c.rows, 255, cores); !errors.Is(err, ErrRows) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("held out: %v, want %s", err, c.want)
				}
			}
		})
	}
}

// TestLimits: too many rows or features are refused before anything is read or allocated.
func TestLimits(t *testing.T) {
	one := &liar{features: 1, rows: make([][][2]float64, 1)}
	for name, c := range map[string]struct {
		rows, held Rows
		bins       int
		want       string
	}{
		"no rows":            {&liar{features: 1}, nil, 255, "there are none"},
		"2^31 rows":          {&liar{features: 1, count: 1 << 31}, nil, 255, "2147483648 of them, want at most 2147483647"},
		"2^31 held out":      {one, &liar{features: 1, count: math.MaxInt32}, 255, "2147483648 of them"},
		"more than there is": {one, &liar{features: 1, count: math.MaxInt}, 255, "want at most 2147483647"},
		"fewer than none":    {&liar{features: 1, count: -1}, nil, 255, "there are none"},
		"features":           {&liar{features: tree.FeatureLimit + 1, count: 9}, nil, 255, "16777217 features, want at most 16777216"},
		"other features":     {one, &liar{features: 2, rows: one.rows}, 255, "2 features in held-out rows, want 1"},
		"one bin":            {one, nil, 1, "1 bins, want 2 to 255"},
		"too many bins":      {one, nil, 256, "256 bins, want 2 to 255"},
	} {
		if _, err := Bin(context.Background(), c.rows, c.held, c.bins, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	for _, cores := range []int{0, -1} { // as in Config: one for each processor
		if _, err := Bin(context.Background(), one, nil, 255, cores); err != nil {
			t.Errorf("%d goroutines: %v", cores, err)
		}
	}
}

// TestBadLabels: what is said of rows must be as many numbers as there are rows, within the range of the objective.
func TestBadLabels(t *testing.T) {
	three, inf := single(1, 2, 3), float32(math.Inf(1))
	for name, c := range map[string]struct {
		objective string
		y         Labels
		change    func(*Config, *Options)
		want      string
	}{
		"label of no class": {"binary", Labels{Label: []float32{0, 1, 2}}, nil, "row 2 has the label 2"},
		"NaN":               {"l2", Labels{Label: []float32{0, nan(), 2}}, nil, "row 1 has the label NaN"},
		"infinite":          {"l2", Labels{Label: []float32{0, inf, 2}}, nil, "row 1 has the label +Inf"},
		"below 0":           {"poisson", Labels{Label: []float32{0, 1, -1}}, nil, "row 2 has the label -1"},
		"half a class":      {"multiclass", Labels{Label: []float32{0, 1, 0.5}}, nil, "row 2 has the label 0.5"},
		"class beyond":      {"multiclass", Labels{Label: []float32{0, 1, 3}}, nil, "row 2 has the label 3"},
		"grade beyond":      {"lambdarank", Labels{Label: []float32{0, 1, 31}, Group: make([]int64, 3)}, nil, "row 2 has the label 31"},
		"no groups":         {"lambdarank", Labels{Label: []float32{0, 1, 2}}, nil, "without groups"},
		"groups apart":      {"lambdarank", Labels{Label: []float32{0, 1, 2}, Group: []int64{1, 2, 1}}, nil, "the rows of group 1 lie apart"},
		"too few labels":    {"l2", Labels{Label: []float32{0, 1}}, nil, "2 labels"},
		"too few weights":   {"l2", Labels{Label: []float32{0, 1, 2}, Weight: []float32{1}}, nil, "1 weights"},
		"too few groups":    {"l2", Labels{Label: []float32{0, 1, 2}, Group: []int64{1}}, nil, "1 groups"},
		"weight below 0":    {"l2", Labels{Label: []float32{0, 1, 2}, Weight: []float32{1, 1, -1}}, nil, "row 2 has the weight -1"},
		"weight NaN":        {"l2", Labels{Label: []float32{0, 1, 2}, Weight: []float32{1, 1, nan()}}, nil, "row 2 has the weight NaN"},
		"infinite weight":   {"l2", Labels{Label: []float32{0, 1, 2}, Weight: []float32{1, inf, 1}}, nil, "row 1 has the weight +Inf"},
		"too few starts":    {"l2", Labels{Label: []float32{0, 1, 2}, Start: []float64{1}}, nil, "1 start scores"},
		"starts of a class": {"multiclass", Labels{Label: []float32{0, 1, 2}, Start: make([]float64, 3)}, nil, "3 start scores"},
		"start NaN": {"l1", Labels{Label: []float32{0, 1, 2}, Start: []float64{0, math.NaN(), 0}}, nil,
			"row 1 has the start score NaN"},
		"derivatives too far": {"l2", Labels{Label: []float32{0, 1, 2}, Start: []float64{0, 1e300, 0}}, nil, "derivatives that are no numbers"},
		"monotone features": {"l2", Labels{Label: []float32{0, 1, 2}}, func(c *Config, _ *Options) { c.Monotone = make([]int8, 2) },
			"2 monotone constraints of 1"},
		"monotone by 2": {"l2", Labels{Label: []float32{0, 1, 2}}, func(c *Config, _ *Options) { c.Monotone = []int8{2} },
			"monotone constraint 2 of feature 0"},
		"monotone medians": {"l1", Labels{Label: []float32{0, 1, 2}}, func(c *Config, _ *Options) { c.Monotone = []int8{1} },
			"l1 takes no monotone constraints"},
		"cores": {"l2", Labels{Label: []float32{0, 1, 2}}, func(c *Config, _ *Options) { c.Cores = -1 }, "cores -1"},
		"classes": {"multiclass", Labels{Label: []float32{0, 1, 2}},
			func(c *Config, _ *Options) { c.Classes = tree.ClassLimit + 1 }, "classes 65537"},
		"no start scores": {"l2", Labels{Label: []float32{0, 1, 2}}, func(_ *Config, o *Options) { o.From = before(1, 1) }, "start scores"},
		"other features": {"l2", Labels{Label: []float32{0, 1, 2}, Start: make([]float64, 3)},
			func(_ *Config, o *Options) { o.From = before(2, 1) },
			"trees that ask for 2 features, want 1"},
		"other classes": {"l2", Labels{Label: []float32{0, 1, 2}, Start: make([]float64, 3)},
			func(_ *Config, o *Options) { o.From = before(1, 2) },
			"trees of 2 scores"},
		"mean": {"l2", Labels{Label: []float32{0, 1, 2}, Start: make([]float64, 3)},
			func(_ *Config, o *Options) { o.From = before(1, 1); o.From.Mean = true },
			"a random forest"},
		"forest": {"l2", Labels{Label: []float32{0, 1, 2}, Start: make([]float64, 3)},
			func(_ *Config, o *Options) { o.From = before(1, 1); o.From.Group = 3 },
			"3 trees of an iteration, want 1"},
	} {
		t.Run(name, func(t *testing.T) {
			conf, opt := settings(t, c.objective, 1), Options{}
			conf.Classes = 3
			if c.change != nil {
				c.change(&conf, &opt)
			}
			for _, rows := range []*grid{three, single(7, 7, 7)} { // one has nothing to split by
				_, err := Train(context.Background(), binned(t, rows, nil, 255), &c.y, conf, opt)
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %s", err, c.want)
				}
			}
		})
	}
}

// before is an ensemble without trees.
func before(features, classes int) *tree.Ensemble {
	return &tree.Ensemble{Features: tree.Features{Width: features}, Classes: classes, Group: classes, Start: make([]float64, classes)}
}

func TestBadSettings(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"trees 0": func(c *Config) { c.Trees = 0 }, "rate 0": func(c *Config) { c.Rate = 0 }, "rate NaN": func(c *Config) { c.Rate = math.NaN() },
		"depth 65": func(c *Config) { c.Depth = 65 }, "leaves 131073": func(c *Config) { c.Leaves = LeafLimit + 1 },
		"neither depth nor leaves": func(c *Config) { c.Depth = 0 }, "1 leaf": func(c *Config) { c.Leaves = 1 },
		"bins 1": func(c *Config) { c.Bins = 1 },
		"l1 -1":  func(c *Config) { c.L1 = -1 }, "l2 +Inf": func(c *Config) { c.L2 = math.Inf(1) },
		"gamma NaN":     func(c *Config) { c.Gamma = math.NaN() },
		"subsample 1.5": func(c *Config) { c.Rows = 1.5 }, "colsample -1": func(c *Config) { c.Columns = -1 },
		"growth \"x\"": func(c *Config) { c.Growth = "x" }, "no objective": func(c *Config) { c.Objective = Objective{} },
		`cat-order "row"`: func(c *Config) { c.Order = "row" },
		"cat-levels 0":    func(c *Config) { c.MaxLevels = 0 }, "early-stop -1": func(c *Config) { c.Patience = -1 },
	} {
		c := settings(t, "l2", 1)
		if change(&c); c.Check() == nil || !strings.Contains(c.Check().Error(), want) {
			t.Errorf("%v, want %s", c.Check(), want)
		}
	}
}
