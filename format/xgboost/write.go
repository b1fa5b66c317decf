package xgboost

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"thole.example/format"
	"thole.example/tree"
)

// sheet is a model to be written: what stands beside the trees, and what becomes of their leaves.
type sheet struct {
	model
	by  float64   // leaves are divided by it
	add []float64 // added to the leaves of the first tree of each class
}

// oldVersion is what models say that were not XGBoost's, or of an older one: files are fit for this version and for newer ones.
var oldVersion = [3]int{1, 7, 6}

// newSheet makes a sheet of the ensemble. The error says what XGBoost cannot say.
func newSheet(e *tree.Ensemble) (*sheet, error) {
	s := &sheet{by: 1, add: make([]float64, e.Classes)}
	s.version = oldVersion
	var v [3]int
	if n, _ := fmt.Sscanf(e.Origin, "XGBoost %d.%d.%d", &v[0], &v[1], &v[2]); n == 3 && slices.Compare(v[:], oldVersion[:]) > 0 {
		s.version = v
	}
	o, said, err := spoken(&e.Objective, e.Classes)
	if err != nil {
		return nil, err
	}
	s.objective, s.booster, s.features = said, "gbtree", len(e.Features)
	if e.Classes > 1 && e.Objective.Link == tree.Softmax {
		s.classes = e.Classes
	} else {
		s.targets = e.Classes
	}
	if e.Objective.Link == tree.Softmax && e.Classes == 1 {
		return nil, fmt.Errorf("a softmax of one class, want two and more: %w", format.ErrVersion)
	}
	if e.Mean && len(e.Trees) > 0 {
		s.by = float64(len(e.Scoring()) / e.Group)
	}
	if err := s.setBase(e, o); err != nil {
		return nil, err
	}
	if err := s.setColumns(e); err != nil {
		return nil, err
	}
	for i := range e.Trees {
		s.info = append(s.info, int64(e.Trees[i].Class))
		if i%e.Group == 0 {
			s.starts = append(s.starts, int64(i))
		}
	}
	s.starts, s.parallel = append(s.starts, int64(len(e.Trees))), e.Group/e.Classes
	s.attributes = map[string]string{}
	if e.Best > 0 {
		s.attributes[bestKey] = strconv.Itoa(e.Best - 1)
	}
	return s, s.keep(e)
}

// setBase finds base_score: for one score the number whose margin is nearest, for several that differ 0, because before 3.1 there was
// one for all. What it does not say goes into the leaves of the first tree of each class.
func (s *sheet) setBase(e *tree.Ensemble, o *objective) error {
	start := make([]float64, e.Classes)
	for c := range start {
		start[c] = e.Start[c] / s.by
	}
	base := o.scale.base(start[0])
	if slices.ContainsFunc(start, func(v float64) bool { return v != start[0] }) {
		base = o.scale.base(0)
	}
	m := float64(o.scale.margin(base))
	for c, v := range start {
		if d := v - m; math.Abs(d) > 1e-7*max(1, math.Abs(v)) {
			s.add[c] = d
		}
	}
	has := make([]bool, e.Classes)
	for i := range e.Trees {
		has[e.Trees[i].Class] = true
	}
	for c := range s.add {
		if s.add[c] != 0 && !has[c] {
			return fmt.Errorf("the start score %v of class %d, which has no tree into whose leaves it could go: %w", start[c], c, format.ErrVersion)
		}
	}
	s.base = single(float64(base))
	return nil
}

// setColumns sets names, types and levels of features.
func (s *sheet) setColumns(e *tree.Ensemble) error {
	named, categorical := false, false
	for i, f := range e.Features {
		named = named || label(e.Features, i) != "f"+strconv.Itoa(i)
		categorical = categorical || f.Categorical
	}
	if len(e.Features) > numberLimit && !named {
		return fmt.Errorf("%d features without names, want at most %d: %w", len(e.Features), numberLimit, format.ErrLimit)
	}
	for i, f := range e.Features {
		if named {
			s.names = append(s.names, label(e.Features, i))
		}
		if categorical {
			s.types = append(s.types, map[bool]string{true: "c", false: "float"}[f.Categorical])
		}
		s.levels = append(s.levels, f.Levels)
	}
	return nil
}

// keep puts what XGBoost has no place for into an attribute, unless the file says all without it.
func (s *sheet) keep(e *tree.Ensemble) error {
	want := s.header(e)
	text := compact(want)
	if plain, _, err := s.reread(e.Trees); err == nil && compact(s.header(plain)) == text {
		return nil
	}
	s.attributes[ownKey] = text
	return nil
}

// header is the ensemble without trees, as the file will have it.
func (s *sheet) header(e *tree.Ensemble) *tree.Ensemble {
	h := *e
	h.Trees, h.Start, h.Mean = nil, nil, false
	return &h
}

// reread is what reading the sheet with these trees gives.
func (s *sheet) reread(trees []tree.Tree) (*tree.Ensemble, []string, error) {
	m := s.model
	m.trees, m.treesAt = slices.Clone(trees), make([]int64, len(trees))
	return m.ensemble(func(_ int64, text string, args ...any) error { return fmt.Errorf(text, args...) })
}

// encode makes nodes of tree i.
func (s *sheet) encode(e *tree.Ensemble, i int, had []bool) error {
	t, add := &e.Trees[i], 0.0
	if !had[t.Class] {
		had[t.Class], add = true, s.add[t.Class]
	}
	if err := s.nodes.encode(t, s.by, add); err != nil {
		return fmt.Errorf("tree %d, %w", i, err)
	}
	return nil
}

// fit is the ensemble as it is read when it was written.
func fit(e *tree.Ensemble, o *format.Options) (*tree.Ensemble, error) {
	s, err := newSheet(e)
	if err != nil {
		return nil, err
	}
	had, trees := make([]bool, e.Classes), make([]tree.Tree, len(e.Trees))
	words, kept, rounded := 0, 0, false
	for i := range e.Trees {
		if err := s.encode(e, i, had); err != nil {
			return nil, err
		}
		n := &s.nodes
		n.deleted, n.size, n.vector, n.room = -1, -1, 0, math.MaxInt
		v := newTextReader(nil)
		if trees[i] = n.tree(v); v.err != nil {
			return nil, fmt.Errorf("tree %d: %w", i, v.err)
		}
		words, kept = words+len(e.Trees[i].Words), kept+len(trees[i].Words)
		rounded = rounded || differ(&e.Trees[i], &trees[i])
	}
	fitted, _, err := s.reread(trees)
	if err != nil {
		return nil, err
	}
	if rounded {
		o.Tell("numbers are rounded to float32, in which XGBoost keeps and adds them: scores may differ in the 7th digit")
	}
	if words != kept {
		o.Drop(format.Shapes|format.Matrices, "", "%d words of sets that hold no level", words-kept)
	}
	if compact(s.header(e)) != compact(s.header(fitted)) {
		o.Drop(format.Files, "", "how %s is spelled, which the file says in XGBoost's words", tree.FileName)
	}
	if e.Mean {
		o.Drop(format.Files, "", "that scores are means: leaves are divided by the %v iterations that score instead", s.by)
	}
	if slices.ContainsFunc(s.add, func(v float64) bool { return v != 0 }) {
		o.Tell("start scores that base_score cannot say are in the leaves of the first trees")
	}
	return fitted, nil
}

// differ reports whether numbers of the trees differ by more than where thresholds stand between two float32.
func differ(a, b *tree.Tree) bool {
	return !slices.Equal(a.LeafValue, b.LeafValue) || !slices.Equal(a.Gain, b.Gain) || !slices.Equal(a.Value, b.Value) ||
		!slices.Equal(a.Weight, b.Weight) || !slices.Equal(a.LeafWeight, b.LeafWeight)
}

// write writes the ensemble, JSON or UBJSON.
func write(w io.Writer, e *tree.Ensemble, binary bool) error {
	s, err := newSheet(e)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	var p pen = &textPen{w: out, bare: true}
	if binary {
		p = &binaryPen{w: out}
	}
	p.object()
	p.key("learner")
	p.object()
	p.key("attributes")
	p.object()
	for _, key := range slices.Sorted(maps.Keys(s.attributes)) {
		p.key(key)
		p.text(s.attributes[key])
	}
	p.endObject()
	for _, list := range []struct {
		key  string
		text []string
	}{{"feature_names", s.names}, {"feature_types", s.types}} {
		p.key(list.key)
		p.list(len(list.text))
		for _, text := range list.text {
			p.text(text)
		}
		p.endList()
	}
	p.key("gradient_booster")
	if err := s.writeBooster(p, e); err != nil {
		return err
	}
	p.key("learner_model_param")
	value(p, map[string]any{"base_score": s.base, "boost_from_average": "0", "num_class": strconv.Itoa(s.classes),
		"num_feature": strconv.Itoa(s.features), "num_target": strconv.Itoa(max(1, s.targets))})
	p.key("objective")
	value(p, s.objective)
	p.endObject()
	p.key("version")
	p.wholes([]int64{int64(s.version[0]), int64(s.version[1]), int64(s.version[2])}, 0)
	p.endObject()
	return out.Flush()
}

// treeLists are the lists of numbers of a tree, in the order of their keys as XGBoost writes them; the ones of float32 have the kind d.
var treeLists = []struct {
	key    string
	kind   byte
	floats func(*nodes) []float32
	wholes func(*nodes) []int64
}{
	{key: valueKey, kind: 'd', floats: func(n *nodes) []float32 { return n.value }},
	{key: levelsKey, kind: 'l', wholes: func(n *nodes) []int64 { return n.levels }},
	{key: setNodeKey, kind: 'l', wholes: func(n *nodes) []int64 { return n.setNode }},
	{key: setBeginKey, kind: 'L', wholes: func(n *nodes) []int64 { return n.setBegin }},
	{key: setLenKey, kind: 'L', wholes: func(n *nodes) []int64 { return n.setLen }},
	{key: missingKey, kind: 'U', wholes: func(n *nodes) []int64 { return n.missingLeft }},
	{key: leftKey, kind: 'l', wholes: func(n *nodes) []int64 { return n.left }},
	{key: gainKey, kind: 'd', floats: func(n *nodes) []float32 { return n.gain }},
	{key: "parents", kind: 'l', wholes: (*nodes).parents},
	{key: rightKey, kind: 'l', wholes: func(n *nodes) []int64 { return n.right }},
	{key: conditionKey, kind: 'd', floats: func(n *nodes) []float32 { return n.condition }},
	{key: featureKey, kind: 'l', wholes: func(n *nodes) []int64 { return n.feature }},
	{key: kindKey, kind: 'U', wholes: func(n *nodes) []int64 { return n.kind }},
	{key: weightKey, kind: 'd', floats: func(n *nodes) []float32 { return n.weight }},
	{key: countKey, kind: 'L', wholes: func(n *nodes) []int64 { return n.counted() }},
	{key: leavesKey, kind: 'l', wholes: func(n *nodes) []int64 { return n.leaves }},
}

// parents are those of all nodes; the root has the largest number.
func (n *nodes) parents() []int64 {
	all := make([]int64, len(n.left))
	all[0] = math.MaxInt32
	for p, left := range n.left {
		if left >= 0 {
			all[left], all[n.right[p]] = int64(p), int64(p)
		}
	}
	return all
}

// writeBooster writes the trees.
func (s *sheet) writeBooster(p pen, e *tree.Ensemble) error {
	p.object()
	p.key("model")
	p.object()
	s.writeLevels(p, e)
	p.key("gbtree_model_param")
	value(p, map[string]any{"num_parallel_tree": strconv.Itoa(s.parallel), "num_trees": strconv.Itoa(len(e.Trees)), "size_leaf_vector": "0"})
	p.key("iteration_indptr")
	p.wholes(s.starts, 0)
	p.key("tree_info")
	p.wholes(s.info, 0)
	p.key("trees")
	p.list(len(e.Trees))
	had := make([]bool, e.Classes)
	for i := range e.Trees {
		if err := s.encode(e, i, had); err != nil {
			return err
		}
		s.nodes.write(p, i, s.features)
	}
	p.endList()
	p.endObject()
	p.key("name")
	p.text("gbtree")
	p.endObject()
	return nil
}

func (n *nodes) write(p pen, id, features int) {
	p.object()
	for _, l := range treeLists {
		if l.key == leftKey {
			p.key("id")
			p.whole(int64(id))
		}
		if l.floats != nil {
			p.key(l.key)
			p.floats(l.floats(n))
		} else if list := l.wholes(n); len(list) > 0 || l.key != countKey && l.key != leavesKey {
			p.key(l.key)
			p.wholes(list, l.kind)
		}
	}
	p.key("tree_param")
	value(p, map[string]any{"num_deleted": "0", "num_feature": strconv.Itoa(features), "num_nodes": strconv.Itoa(len(n.left)),
		"size_leaf_vector": "1"})
	p.endObject()
}

// writeLevels writes the names of levels.
func (s *sheet) writeLevels(p pen, e *tree.Ensemble) {
	p.key("cats")
	p.object()
	all := encodeLevels(e.Features)
	p.key("enc")
	p.list(len(all.offsets))
	for i := range all.offsets {
		p.object()
		p.key("offsets")
		p.wholes(all.offsets[i], 'l')
		p.key("values")
		p.wholes(all.bytes[i], 'i')
		p.endObject()
	}
	p.endList()
	p.key("feature_segments")
	p.wholes(all.segments, 'l')
	p.key("sorted_idx")
	p.wholes(all.sorted, 'l')
	p.endObject()
}
