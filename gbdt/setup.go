package gbdt

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"thole.example/kernel"
	"thole.example/tree"
)

// Setup is what all workers of a training have to know of it beside their own rows: the settings, and what the rows of all of them
// decide. It is read-only.
type Setup struct {
	Config Config
	Layout *Layout
	Start  []float64 // of each class, the score of the model before its first tree
	// Rare is, of each class, the most that Config.Rare raises MinWeight to, which is 0 where it does not; nil without Config.Rare.
	Rare   []float64
	Before int // iterations of the trees that go before; who has them not (Options.From) counts on from there

	weights, groups, starts bool // what the labels of rows have
}

// NewSetup checks the labels of all rows that the layout was chosen by, those held out last, and the trees that go before, which may be
// nil, and finds what they decide.
func NewSetup(l *Layout, y *Labels, c Config, from *tree.Ensemble) (*Setup, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	s := &Setup{Config: c, Layout: l, weights: y.Weight != nil, groups: y.Group != nil && c.Objective.Rank != nil, starts: y.Start != nil}
	if err := s.admit(l.Features.Width, from); err != nil {
		return nil, err
	}
	if err := s.check(y, l.total, 0); err != nil {
		return nil, err
	}
	if err := s.checkGroups(y); err != nil {
		return nil, err
	}
	if c.Rare {
		s.Rare = c.RareWeights(y.first(l.rows))
	}
	if from != nil {
		s.Start, s.Before = slices.Clone(from.Start), len(from.Scoring())/from.Group
		return s, nil
	}
	s.Start = make([]float64, c.classes())
	if y.Start == nil {
		s.start(y)
	}
	return s, nil
}

// classes is how many scores a row has.
func (c *Config) classes() int {
	if c.Objective.Several != nil {
		return max(2, c.Classes)
	}
	return 1
}

// admit refuses constraints and trees that are not of so many features; from may be nil.
func (s *Setup) admit(features int, from *tree.Ensemble) error {
	c, classes := &s.Config, s.Config.classes()
	if c.Monotone != nil && len(c.Monotone) != features {
		return fmt.Errorf("%d monotone constraints of %d features", len(c.Monotone), features)
	}
	for f, m := range c.Monotone {
		switch {
		case m < -1 || m > 1:
			return fmt.Errorf("monotone constraint %d of feature %d, want -1, 0 or 1", m, f)
		case m != 0 && c.Objective.Quantile != nil: // of which no limit is kept
			return fmt.Errorf("%s takes no monotone constraints, as leaves are quantiles of what is left", c.Objective.Name)
		}
	}
	switch {
	case from == nil:
	case !s.starts:
		return fmt.Errorf("trees that go before without their scores as start scores of the rows")
	case from.Features.Width != features:
		return fmt.Errorf("trees that ask for %d features, want %d to go on from", from.Features.Width, features)
	case from.Classes != classes:
		return fmt.Errorf("trees of %d scores of a row, want %d to go on from", from.Classes, classes)
	case from.Group != classes:
		return fmt.Errorf("%d trees of an iteration, want %d to go on from", from.Group, classes)
	case from.Mean:
		return fmt.Errorf("a random forest, whose score is a mean: nothing can be added to it")
	}
	return nil
}

// check refuses labels that are not of so many rows, of which the first has the number, or that the objective does not take.
func (s *Setup) check(y *Labels, rows, first int) error {
	classes := s.Config.classes()
	switch {
	case len(y.Label) != rows || y.Weight != nil && len(y.Weight) != rows || y.Group != nil && len(y.Group) != rows:
		return fmt.Errorf("%d labels, %d weights and %d groups of %d rows", len(y.Label), len(y.Weight), len(y.Group), rows)
	case y.Start != nil && len(y.Start) != classes*rows:
		return fmt.Errorf("%d start scores, want %d of each of %d rows", len(y.Start), classes, rows)
	case s.Config.Objective.Rank != nil && y.Group == nil:
		return fmt.Errorf("%s: rows without groups", s.Config.Objective.Name)
	}
	for i := range y.Label {
		if err := s.checkRow(y, i, first+i); err != nil {
			return err
		}
	}
	return nil
}

// checkRow refuses what is said of row i, which has the number among all.
func (s *Setup) checkRow(y *Labels, i, number int) error {
	o, classes, l := &s.Config.Objective, s.Config.classes(), float64(y.Label[i])
	wrong := o.Check(l)
	if l != l || math.IsInf(l, 0) {
		wrong = "want a number"
	}
	if classes > 1 && int(l) >= classes {
		wrong = fmt.Sprintf("want one of %d classes, from 0 on", classes)
	}
	if wrong != "" {
		return fmt.Errorf("%w: row %d has the label %v: %s takes no such labels: %s", ErrRows, number, l, o.Name, wrong)
	}
	if y.Weight != nil && !(y.Weight[i] >= 0 && !math.IsInf(float64(y.Weight[i]), 0)) {
		return fmt.Errorf("%w: row %d has the weight %v, want a number from 0 on", ErrRows, number, y.Weight[i])
	}
	for k := i; k < len(y.Start); k += len(y.Label) {
		if s := y.Start[k]; math.IsNaN(s) || math.IsInf(s, 0) {
			return fmt.Errorf("%w: row %d has the start score %v, want a number", ErrRows, number, s)
		}
	}
	return nil
}

// checkGroups refuses groups of which rows lie apart.
func (s *Setup) checkGroups(y *Labels) error {
	if !s.groups {
		return nil
	}
	seen := map[int64]bool{}
	for lo := range runsOfGroups(y.Group[:s.Layout.rows]) {
		g := y.Group[lo]
		if seen[g] {
			return fmt.Errorf("%w: the rows of group %d lie apart, at row %d again; want those of a group together", ErrRows, g, lo)
		}
		seen[g] = true
	}
	return nil
}

// start finds the start scores of the objective.
func (s *Setup) start(y *Labels) {
	c, rows := &s.Config, s.Layout.rows
	learned := y.first(rows)
	switch {
	case len(s.Start) > 1:
		for k := range s.Start {
			s.Start[k] = math.Log(max(mean(learned, isClass(k)), 1e-12))
		}
	case c.Objective.Start != nil:
		s.Start[0] = c.Objective.Start(&c.Objective, learned)
	}
}

// setupText is a Setup as JSON.
type setupText struct {
	Config                  configText
	Rows, Features          int
	Columns                 []columnText
	Start                   []float64
	Rare                    []float64 `json:",omitempty"`
	Before                  int
	Weights, Groups, Starts bool
}

// configText is a Config, with the name and the settings of its objective in the place of that.
type configText struct {
	*Config
	Objective string
	Set       map[string]float64
}

// columnText is a column of a layout. One with levels is categorical.
type columnText struct {
	Feature int
	Uppers  []float32 `json:",omitempty"`
	Doubles []float64 `json:",omitempty"` // in place of Uppers, if not all are float32
	Levels  []int32   `json:",omitempty"`
	Missing bool      `json:",omitempty"`
	Usual   int
	Group   int
}

// JSON is the setup for workers that have it not. Names of features and of their levels are not in it.
func (s *Setup) JSON() ([]byte, error) {
	c := s.Config
	c.Cores = 0
	t := setupText{Config: configText{&c, c.Objective.Name, c.Objective.Settings}, Rows: s.Layout.rows,
		Features: s.Layout.Features.Width, Start: s.Start, Rare: s.Rare, Before: s.Before, Weights: s.weights, Groups: s.groups, Starts: s.starts}
	t.Columns = s.Layout.text()
	return json.Marshal(t)
}

func (l *Layout) text() (all []columnText) {
	for i := range l.columns {
		c := &l.columns[i]
		t := columnText{c.feature, nil, nil, c.levels, c.missing && !c.categorical, c.usual, c.group}
		if c.double {
			t.Doubles = c.uppers
		} else {
			for _, upper := range c.uppers {
				t.Uppers = append(t.Uppers, float32(upper))
			}
		}
		all = append(all, t)
	}
	return all
}

// Checksum tells layouts apart that have other bins: trees go on from those that were grown with the same.
func (l *Layout) Checksum() uint32 {
	text, _ := json.Marshal(l.text()) // whole and finite numbers always can be
	return kernel.CRC32C(0, text)
}

// ParseSetup reads what JSON wrote. What it says is checked, and takes no more memory than a multiple of the text.
func ParseSetup(text []byte) (*Setup, error) {
	t := setupText{Config: configText{Config: &Config{}}}
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, fmt.Errorf("setup of a training: %w", err)
	}
	s, err := t.setup()
	if err != nil {
		return nil, fmt.Errorf("setup of a training: %w", err)
	}
	return s, nil
}

func (t *setupText) setup() (*Setup, error) {
	o, err := FindObjective(t.Config.Objective)
	if err == nil {
		o, err = o.With(t.Config.Set)
	}
	if err != nil {
		return nil, err
	}
	c := *t.Config.Config
	c.Objective = o
	if err := c.Check(); err != nil {
		return nil, err
	}
	s := &Setup{Config: c, Start: t.Start, Rare: t.Rare, Before: t.Before, weights: t.Weights, groups: t.Groups, starts: t.Starts}
	switch classes := s.Config.classes(); {
	case t.Rows < 1 || t.Rows > RowLimit:
		return nil, fmt.Errorf("%d rows, want 1 to %d", t.Rows, RowLimit)
	case t.Features < 0 || t.Features > tree.FeatureLimit:
		return nil, fmt.Errorf("%d features, want at most %d", t.Features, tree.FeatureLimit)
	case len(t.Start) != classes:
		return nil, fmt.Errorf("%d start scores, want %d", len(t.Start), classes)
	case c.Rare && len(t.Rare) != classes || !c.Rare && t.Rare != nil || slices.ContainsFunc(t.Rare, func(w float64) bool { return w < 0 }):
		return nil, fmt.Errorf("child weights %v, want one from 0 on for each of %d classes, and none without \"Rare\"", t.Rare, classes)
	case t.Before < 0 || t.Before > math.MaxInt32:
		return nil, fmt.Errorf("%d iterations before, want at most %d", t.Before, math.MaxInt32)
	case t.Groups != (o.Rank != nil):
		return nil, fmt.Errorf("groups are sent: %t, and the objective is %s", t.Groups, o.Name)
	}
	if s.Layout, err = layoutOf(t.Rows, t.Features, t.Columns); err != nil {
		return nil, err
	}
	return s, s.admit(t.Features, nil)
}

// layoutOf is the layout of columns that are described so. It says nothing of features that do not vary.
func layoutOf(rows, features int, columns []columnText) (*Layout, error) {
	l := &Layout{rows: rows, total: rows, Features: tree.Features{Width: features}}
	bundles, codes := make([][]int, len(columns)), make([]int, len(columns))
	for i := range columns {
		t := &columns[i]
		c, err := t.column()
		switch {
		case err != nil:
		case t.Feature < 0 || t.Feature >= features || i > 0 && t.Feature <= columns[i-1].Feature:
			err = fmt.Errorf("feature %d, want ascending ones of %d", t.Feature, features)
		case t.Group < 0 || t.Group >= len(columns):
			err = fmt.Errorf("group %d, want one of at most %d", t.Group, len(columns))
		}
		if err != nil {
			return nil, fmt.Errorf("column %d: %w", i, err)
		}
		l.columns = append(l.columns, c)
		bundles[t.Group], codes[t.Group] = append(bundles[t.Group], i), codes[t.Group]+c.all()
		if codes[t.Group]-len(bundles[t.Group])+1 > wideCodes {
			return nil, fmt.Errorf("column %d: more than %d codes in group %d", i, wideCodes, t.Group)
		}
	}
	l.layout(slices.DeleteFunc(bundles, func(b []int) bool { return len(b) == 0 }))
	l.limitHistograms()
	for i := range l.columns {
		if c := &l.columns[i]; !c.alone && c.usual >= c.all() {
			return nil, fmt.Errorf("column %d: usual bin %d, want one of %d", i, c.usual, c.all())
		}
	}
	return l, nil
}

// column is the column, but for its group.
func (t *columnText) column() (column, error) {
	c := column{feature: t.Feature, categorical: len(t.Levels) > 0, uppers: t.Doubles, levels: t.Levels, usual: t.Usual}
	c.double = len(t.Doubles) > 0
	for _, upper := range t.Uppers {
		c.uppers = append(c.uppers, float64(upper))
	}
	c.missing = t.Missing || c.categorical
	switch c.bins = len(c.uppers) + 1; {
	case c.double && len(t.Uppers) > 0:
		return c, fmt.Errorf("bounds of 32 and of 64 bits, want one of them")
	case !c.categorical && c.bins > wideCodes-1:
		return c, fmt.Errorf("%d bins, want at most %d", c.bins, wideCodes-1)
	case !c.categorical:
		for i, upper := range c.uppers[min(1, len(c.uppers)):] {
			if upper <= c.uppers[i] {
				return c, fmt.Errorf("bin %d ends at %v, want more than %v", i+1, upper, c.uppers[i])
			}
		}
	case len(c.uppers) > 0:
		return c, fmt.Errorf("levels and bounds of numbers, want one of them")
	case len(t.Levels) > LevelLimit:
		return c, fmt.Errorf("%d levels, want at most %d", len(t.Levels), LevelLimit)
	default:
		c.bins = len(t.Levels)
	}
	for _, l := range t.Levels {
		if l < 0 || l >= tree.LevelLimit {
			return c, fmt.Errorf("level %d, want one below %d", l, tree.LevelLimit)
		}
	}
	if c.all() < 2 || c.usual < 0 || c.usual > c.bins {
		return c, fmt.Errorf("%d bins, the usual one %d", c.all(), c.usual)
	}
	return c, nil
}
