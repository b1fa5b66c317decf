package xgboost

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/tree"
)

// document is a model to be written: what stands beside the trees, and what becomes of their leaves.
type document struct {
	model
	by  float64   // leaves are divided by it
	add []float64 // added to the leaves of the first tree of each class
}

// oldVersion is what models say that were not XGBoost's, or of an older one: files are fit for this version and for newer ones.
var oldVersion = [3]int{1, 7, 6}

// newDocument makes a document of the ensemble. The error says what XGBoost cannot say.
func newDocument(e *tree.Ensemble) (*document, error) {
	d := &document{by: 1, add: make([]float64, e.Classes)}
	d.version = oldVersion
	var v [3]int
	if n, _ := fmt.Sscanf(e.Origin, "XGBoost %d.%d.%d", &v[0], &v[1], &v[2]); n == 3 && slices.Compare(v[:], oldVersion[:]) > 0 {
		d.version = v
	}
	o, said, err := objectiveFor(&e.Objective, e.Classes)
	if err != nil {
		return nil, err
	}
	d.objective, d.booster, d.features = said, "gbtree", e.Features.Width
	if e.Classes > 1 && e.Objective.Link == tree.Softmax {
		d.classes = e.Classes
	} else {
		d.targets = e.Classes
	}
	if e.Objective.Link == tree.Softmax && e.Classes == 1 {
		return nil, fmt.Errorf("a softmax of one class, want two and more: %w", format.ErrVersion)
	}
	if e.Mean && len(e.Trees) > 0 {
		d.by = float64(len(e.Scoring()) / e.Group)
	}
	if err := d.setBase(e, o); err != nil {
		return nil, err
	}
	d.setColumns(e)
	for i := range e.Trees {
		d.info = append(d.info, int64(e.Trees[i].Class))
		if i%e.Group == 0 {
			d.starts = append(d.starts, int64(i))
		}
	}
	d.starts, d.parallel = append(d.starts, int64(len(e.Trees))), e.Group/e.Classes
	d.attributes = map[string]string{}
	if e.Best > 0 {
		d.attributes[bestKey] = strconv.Itoa(e.Best - 1)
	}
	return d, d.keep(e)
}

// setBase finds base_score: for one score the number whose margin is nearest, for several that differ 0, because before 3.1 there was
// one for all. What it does not say goes into the leaves of the first tree of each class.
func (d *document) setBase(e *tree.Ensemble, o *objective) error {
	start := make([]float64, e.Classes)
	for c := range start {
		start[c] = e.Start[c] / d.by
	}
	base := o.scale.base(start[0])
	if slices.ContainsFunc(start, func(v float64) bool { return v != start[0] }) {
		base = o.scale.base(0)
	}
	m := float64(o.scale.margin(base))
	for c, v := range start {
		if rest := v - m; math.Abs(rest) > 1e-7*max(1, math.Abs(v)) {
			d.add[c] = rest
		}
	}
	has := make([]bool, e.Classes)
	for i := range e.Trees {
		has[e.Trees[i].Class] = true
	}
	for c := range d.add {
		if d.add[c] != 0 && !has[c] {
			return fmt.Errorf("the start score %v of class %d, which has no tree into whose leaves it could go: %w", start[c], c, format.ErrVersion)
		}
	}
	d.base = single(float64(base))
	return nil
}

// setColumns sets names, types and levels of features.
func (d *document) setColumns(e *tree.Ensemble) {
	named, categorical, levels := e.Features.Stem != "" && e.Features.Stem != stem, false, 0
	for i, f := range e.Features.Listed() {
		named = named || label(e.Features, i) != stem+strconv.Itoa(i)
		categorical = categorical || f.Categorical
		if len(f.Levels) > 0 {
			levels = i + 1
		}
	}
	for i := range e.Features.Width {
		if !named && !categorical && i >= levels {
			break // nothing is said of it
		}
		f := e.Features.At(i)
		if named {
			d.names = append(d.names, label(e.Features, i))
		}
		if categorical {
			d.types = append(d.types, map[bool]string{true: "c", false: "float"}[f.Categorical])
		}
		if i < levels {
			d.levels = append(d.levels, f.Levels)
		}
	}
}

// keep puts what XGBoost has no place for into an attribute, unless the file says all without it.
func (d *document) keep(e *tree.Ensemble) error {
	want := d.header(e)
	text := compact(want)
	plain, _, err := d.reread(e.Trees)
	if err == nil && compact(d.header(plain)) == text && !(d.writesDamaged() && slices.ContainsFunc(d.levels, notASCII)) {
		return nil
	}
	d.attributes[ownKey] = text
	return nil
}

// header is the ensemble without trees, as the file will have it.
func (d *document) header(e *tree.Ensemble) *tree.Ensemble {
	h := *e
	h.Trees, h.Start, h.Mean, h.Numbers = nil, nil, false, tree.Float32
	return &h
}

// reread is what reading the document with these trees gives.
func (d *document) reread(trees []tree.Tree) (*tree.Ensemble, []string, error) {
	m := d.model
	m.trees, m.treesAt, m.count, m.hasTrees = slices.Clone(trees), make([]int64, len(trees)), len(trees), true
	return m.ensemble(func(_ int64, text string, args ...any) error { return fmt.Errorf(text, args...) })
}

// encode makes nodes of tree i.
func (d *document) encode(e *tree.Ensemble, i int, had []bool) error {
	t, add := &e.Trees[i], 0.0
	if !had[t.Class] {
		had[t.Class], add = true, d.add[t.Class]
	}
	d.nodes.byRows = !e.Single
	if err := d.nodes.encode(t, d.by, add); err != nil {
		return fmt.Errorf("tree %d, %w", i, err)
	}
	return nil
}

// fit is the ensemble as it is read when it was written.
func fit(e *tree.Ensemble, o *format.Options) (*tree.Ensemble, error) {
	d, err := newDocument(e)
	if err != nil {
		return nil, err
	}
	had, trees := make([]bool, e.Classes), make([]tree.Tree, len(e.Trees))
	words, kept, rounded := 0, 0, false
	if e.Numbers != tree.Float32 {
		o.Drop(format.Files, "", "that values are compared as float64: XGBoost rounds them to float32")
	}
	if n := e.Rounded(); n > 0 {
		if err := o.Lose(format.Files, "", "%s: XGBoost compares values as float32, which puts numbers of few digits on the other side",
			number.Of(n, "threshold")); err != nil {
			return nil, err
		}
	}
	for i := range e.Trees {
		if err := d.encode(e, i, had); err != nil {
			return nil, err
		}
		n := &d.nodes
		n.deleted, n.size, n.vector, n.room = -1, -1, 0, math.MaxInt
		v := newTextReader(nil)
		if trees[i] = n.tree(v); v.err != nil {
			return nil, fmt.Errorf("tree %d: %w", i, v.err)
		}
		words, kept = words+len(e.Trees[i].Words), kept+len(trees[i].Words)
		rounded = rounded || differ(&e.Trees[i], &trees[i])
	}
	fitted, _, err := d.reread(trees)
	if err != nil {
		return nil, err
	}
	if rounded {
		o.Tell("numbers are rounded to float32, in which XGBoost keeps and adds them: scores may differ in the 7th digit")
	}
	if words != kept {
		o.Drop(format.Shapes|format.Matrices, "", "%d words of sets that hold no level", words-kept)
	}
	if compact(d.header(e)) != compact(d.header(fitted)) {
		o.Drop(format.Files, "", "how %s is spelled, which the file says in XGBoost's words", tree.FileName)
	}
	if e.Mean {
		o.Drop(format.Files, "", "that scores are means: leaves are divided by the %v iterations that score instead", d.by)
	}
	if slices.ContainsFunc(d.add, func(v float64) bool { return v != 0 }) {
		o.Tell("start scores that base_score cannot say are in the leaves of the first trees")
	}
	return fitted, nil
}

// differ reports whether numbers of the trees differ by more than where thresholds stand between two float32.
func differ(a, b *tree.Tree) bool {
	return !slices.Equal(a.LeafValue, b.LeafValue) || !slices.Equal(a.Gain, b.Gain) || !slices.Equal(a.Value, b.Value) ||
		!slices.Equal(a.Weight, b.Weight) || !slices.Equal(a.LeafWeight, b.LeafWeight)
}
