package xgboost

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"thole.example/format"
	"thole.example/tree"
)

// model is what a file says beside its trees, in the words of the file.
type model struct {
	version    [3]int
	attributes map[string]string
	names      []string
	types      []string
	objective  map[string]any
	base       string
	features   int
	classes    int
	targets    int
	booster    string
	parallel   int
	count      int  // of trees
	hasTrees   bool // the list is there
	hasLearner bool
	info       []int64 // class of each tree
	starts     []int64 // the first tree of each iteration, and the number of all
	levels     [][]string
	damaged    []int // features whose names of categories are not whole, and are left out
	doubted    []int // features whose names of categories may not be whole
	drop       []float32
	trees      []tree.Tree
	treesAt    []int64 // where they begin

	baseAt, objectiveAt, infoAt, dropAt int64
	nodes                               nodes
}

// The keys of a learner.
const (
	baseKey      = "learner.learner_model_param.base_score"
	objectiveKey = "learner.objective"
	boosterKey   = "learner.gradient_booster"
	ownKey       = "thole" // an attribute
	bestKey      = "best_iteration"
)

// stem is what XGBoost calls features that have no names, with their numbers.
const stem = "f"

// read reads a whole file.
func (m *model) read(v values) {
	fields(v, map[string]func(){
		"version": func() {
			for i, n := range v.wholes(nil) {
				if i < len(m.version) {
					m.version[i] = int(n)
				}
			}
		},
		"learner": func() { m.hasLearner = true; m.learner(v) },
		"Config": func() {
			v.fail(v.off(), "", "a snapshot of a training in memory, want a model: save_model writes one: %w", format.ErrVersion)
		},
	})
	v.end()
}

func (m *model) learner(v values) {
	fields(v, map[string]func(){
		"attributes": func() {
			m.attributes = map[string]string{}
			v.object(func(key string) { m.attributes[key] = spelled(v) })
		},
		"feature_names": texts(v, &m.names),
		"feature_types": texts(v, &m.types),
		"objective": func() {
			m.objectiveAt = v.off()
			m.objective, _ = anything(v).(map[string]any)
		},
		"learner_model_param": func() {
			fields(v, map[string]func(){
				"base_score":  func() { m.baseAt = v.off(); m.base = spelled(v) },
				"num_class":   setting(v, &m.classes, tree.ClassLimit),
				"num_target":  setting(v, &m.targets, tree.ClassLimit),
				"num_feature": setting(v, &m.features, tree.FeatureLimit),
			})
		},
		"gradient_booster": func() { m.gradientBooster(v) },
	})
}

func (m *model) gradientBooster(v values) {
	fields(v, map[string]func(){
		"name":        func() { m.booster = v.text() },
		"model":       func() { m.gbtree(v) },
		"gbtree":      func() { fields(v, map[string]func(){"model": func() { m.gbtree(v) }}) },
		"weight_drop": func() { m.dropAt = v.off(); m.drop = v.floats(nil) },
	})
}

func (m *model) gbtree(v values) {
	fields(v, map[string]func(){
		"gbtree_model_param": func() {
			fields(v, map[string]func(){"num_parallel_tree": setting(v, &m.parallel, tree.ClassLimit),
				"num_trees": setting(v, &m.count, math.MaxInt32)})
		},
		"tree_info":        func() { m.infoAt = v.off(); m.info = v.wholes(nil) },
		"iteration_indptr": func() { m.starts = v.wholes(nil) },
		"cats":             func() { m.cats(v) },
		"trees": func() {
			m.hasTrees = true
			v.array(func(i int) {
				at := v.off()
				m.nodes.read(v)
				if v.failed() == nil {
					m.trees, m.treesAt = append(m.trees, m.nodes.tree(v)), append(m.treesAt, at)
				}
				if v.failed() == nil {
					m.nodes.complete(i, m.nodes.reporting(v))
				}
			})
		},
	})
}

// failure is the error about what contradicts itself, which begins at a byte of the file; below 0: it has no place.
type failure func(off int64, text string, args ...any) error

// ensemble makes the ensemble of what was read.
func (m *model) ensemble(fail failure) (*tree.Ensemble, []string, error) {
	if m.booster == "gblinear" {
		return nil, nil, fail(-1, "%s.name: gblinear, a linear model without trees, want gbtree or dart: %w", boosterKey, format.ErrVersion)
	}
	e := &tree.Ensemble{Classes: max(1, m.classes, m.targets), Single: true, Numbers: tree.Float32, Trees: m.trees, Origin: m.origin()}
	if m.classes > 1 && m.targets > 1 {
		return nil, nil, fail(-1, "%d classes of %d targets, want only one of both: %w", m.classes, m.targets, format.ErrVersion)
	}
	name, _ := m.objective["name"].(string)
	o, err := lookup(name)
	if err == nil {
		e.Objective, err = o.meaning(m.objective, e.Classes)
	}
	if err != nil {
		return nil, nil, fail(m.objectiveAt, "%s.name: %w", objectiveKey, err)
	}
	if e.Start, err = m.start(o, e.Classes); err != nil {
		return nil, nil, fail(m.baseAt, "%s: %w", baseKey, err)
	}
	if err := m.setFeatures(e, fail); err != nil {
		return nil, nil, err
	}
	if err := m.setClasses(e, fail); err != nil {
		return nil, nil, err
	}
	notes := m.setGroup(e)
	for _, key := range slices.Sorted(maps.Keys(m.attributes)) {
		if key != ownKey && key != bestKey {
			notes = append(notes, "attribute "+key+" is not kept")
		}
	}
	notes = append(notes, m.setBest(e)...)
	notes = append(notes, m.own(e, o)...)
	for _, f := range m.damaged {
		notes = append(notes, format.Problem("the categories of feature "+label(e.Features, f)+" are not whole and their names are left out: "+
			"XGBoost 3.1 and 3.2 cut off categories that are not ASCII, if the training data was a pandas data frame"))
	}
	for _, f := range m.doubted {
		if m.writesDamaged() {
			notes = append(notes, format.Warning("the categories of feature "+label(e.Features, f)+" may not be whole: XGBoost 3.1 and 3.2 cut off "+
				"categories that are not ASCII, if the training data was a pandas data frame; compare them with the data (thole cat)"))
		}
	}
	if m.booster == "dart" {
		notes = append(notes, "trees of dart: the weights of dropped trees are in the leaves")
	}
	if err := e.Check(); err != nil {
		return nil, nil, fail(-1, "%w", err)
	}
	return e, notes, nil
}

// origin is the program that wrote the file.
func (m *model) origin() string {
	if m.version == [3]int{} {
		return "XGBoost"
	}
	return fmt.Sprintf("XGBoost %d.%d.%d", m.version[0], m.version[1], m.version[2])
}

// start is the score of each class before the first tree: "5E-1", and from 3.1 on "[5E-1]" or a number for each class.
func (m *model) start(o *objective, classes int) ([]float64, error) {
	if m.base == "" {
		return nil, fmt.Errorf("there is none")
	}
	said := strings.Split(strings.TrimSuffix(strings.TrimPrefix(m.base, "["), "]"), ",")
	if len(said) != 1 && len(said) != classes {
		return nil, fmt.Errorf("%d numbers, want one or %d", len(said), classes)
	}
	all := make([]float64, classes)
	for c := range all {
		text := strings.TrimSpace(said[min(c, len(said)-1)])
		b, err := strconv.ParseFloat(text, 32)
		if err != nil {
			return nil, fmt.Errorf("%.40q, want a number", text)
		}
		s, err := o.margin(float32(b), m.version)
		if err != nil {
			return nil, err
		}
		all[c] = float64(s)
	}
	return all, nil
}

// setFeatures makes the features of their names, types and levels, and of the trees, which know what is categorical.
func (m *model) setFeatures(e *tree.Ensemble, fail failure) error {
	n := max(m.features, len(m.names))
	for _, list := range []struct {
		key string
		n   int
	}{{"feature_names", len(m.names)}, {"feature_types", len(m.types)}} {
		if list.n > 0 && list.n != n {
			return fail(-1, "learner.%s: %d, want none or %d as num_feature says", list.key, list.n, n)
		}
	}
	sets := map[int32]bool{} // features that some tree takes for categorical
	for i := range e.Trees {
		for j, k := range e.Trees[i].Kind {
			f := int(e.Trees[i].Feature[j])
			if f >= n {
				return fail(m.treesAt[i], "%s.model.trees[%d].%s: feature %d of %d", boosterKey, i, featureKey, f, n)
			}
			if k&tree.Categorical != 0 {
				sets[int32(f)] = true
			}
		}
	}
	e.Features = tree.Features{Width: n, Stem: stem}
	said := min(n, max(len(m.names), len(m.types), len(m.levels)))
	for i := range int32(said) {
		e.Features.Set(int(i), tree.Feature{Name: item(m.names, i), Levels: item(m.levels, i), Categorical: item(m.types, i) == "c" || sets[i]})
	}
	for _, i := range slices.Sorted(maps.Keys(sets)) {
		if int(i) >= said {
			e.Features.Set(int(i), tree.Feature{Categorical: true})
		}
	}
	return nil
}

// setClasses says which score each tree adds to, and folds weights of trees into leaves, in float32 as XGBoost multiplies.
func (m *model) setClasses(e *tree.Ensemble, fail failure) error {
	if !m.hasTrees || m.count != len(e.Trees) {
		return fail(-1, "%s.model.trees: %d trees, want %d as num_trees says", boosterKey, len(e.Trees), m.count)
	}
	if len(m.info) != len(e.Trees) {
		return fail(m.infoAt, "tree_info: classes of %d trees, want %d", len(m.info), len(e.Trees))
	}
	if len(m.drop) != len(e.Trees) && m.booster == "dart" {
		return fail(m.dropAt, "weight_drop: weights of %d trees, want %d", len(m.drop), len(e.Trees))
	}
	if n := len(e.Trees); n%e.Classes != 0 {
		return fail(m.infoAt, "tree_info: %d trees, want as many of each of %d classes", n, e.Classes)
	}
	for i, c := range m.info {
		if c < 0 || c >= int64(e.Classes) {
			return fail(m.infoAt, "tree_info[%d]: class %d, want 0 to %d", i, c, e.Classes-1)
		}
		e.Trees[i].Class = int(c)
		if m.booster == "dart" && m.drop[i] != 1 {
			for j, v := range e.Trees[i].LeafValue {
				e.Trees[i].LeafValue[j] = float64(float32(v) * m.drop[i])
			}
		}
	}
	return nil
}

// setGroup finds how many trees an iteration has: iteration_indptr says it, before 1.7 the order of the classes.
func (m *model) setGroup(e *tree.Ensemble) (notes []string) {
	e.Group = e.Classes
	switch {
	case len(m.starts) > 1:
		e.Group = int(min(max(m.starts[1]-m.starts[0], 0), int64(len(e.Trees))))
		for i := 1; i < len(m.starts); i++ {
			if m.starts[i]-m.starts[i-1] != int64(e.Group) {
				e.Group = 0
				break
			}
		}
	case m.parallel > 0:
		e.Group = e.Classes * m.parallel
	case e.Classes > 1:
		if run := slices.IndexFunc(m.info, func(c int64) bool { return c != 0 }); run > 0 {
			e.Group = e.Classes * run
		}
	}
	if e.Group < e.Classes || e.Group%e.Classes != 0 || len(e.Trees)%e.Group != 0 {
		e.Group = e.Classes
		notes = append(notes, format.Warning(fmt.Sprintf("iterations of unequal numbers of trees: read as iterations of %d", e.Group)))
	}
	return notes
}

// setBest says how many iterations score, if training was stopped early.
func (m *model) setBest(e *tree.Ensemble) (notes []string) {
	text, ok := m.attributes[bestKey]
	if !ok {
		return nil
	}
	best, err := strconv.Atoi(text)
	if err != nil || best < 0 || best >= e.Iterations() {
		return []string{format.Warning(fmt.Sprintf("attribute %s is %.20q, of %d iterations: all score", bestKey, text, e.Iterations()))}
	}
	if e.Best = best + 1; e.Best < e.Iterations() {
		notes = append(notes, fmt.Sprintf("the first %d of %d iterations score, as %s says; XGBoost's Booster.predict takes all unless "+
			"iteration_range is given", e.Best, e.Iterations(), bestKey))
	}
	return notes
}

// own takes what only Thole knows from the attribute that it wrote, if the model is still that of which it tells.
func (m *model) own(e *tree.Ensemble, o *objective) (notes []string) {
	text, ok := m.attributes[ownKey]
	if !ok {
		return nil
	}
	var was tree.Ensemble
	err := json.Unmarshal([]byte(text), &was)
	same := err == nil && was.Classes == e.Classes && was.Group == e.Group && was.Features.Width == e.Features.Width &&
		sameFeatures(was.Features, e.Features)
	if same {
		again, _, err := objectiveFor(&was.Objective, e.Classes)
		same = err == nil && again.name == o.name && was.Objective.Check(e.Classes) == nil
	}
	if !same {
		return []string{format.Warning("attribute " + ownKey + " tells of another model and is passed over")}
	}
	e.Objective, e.Features, e.Labels, e.Single, e.Origin = was.Objective, was.Features, was.Labels, was.Single, was.Origin
	e.NeedsStart = was.NeedsStart // base_margin of the rows is to be added
	if !e.Single {
		countRows(e.Trees)
	}
	return nil
}

// countRows takes the counts of rows from the weights, where XGBoost has written our file again and left out the list of counts: they
// are whole numbers then.
func countRows(trees []tree.Tree) {
	broken := func(w float64) bool { return !(w >= 0 && w == math.Trunc(w) && w <= math.MaxInt32) }
	for i := range trees {
		t := &trees[i]
		if slices.Max(t.LeafCount) > 0 || slices.ContainsFunc(t.Weight, broken) || slices.ContainsFunc(t.LeafWeight, broken) {
			continue
		}
		for k, w := range t.Weight {
			t.Count[k] = int64(w)
		}
		for k, w := range t.LeafWeight {
			t.LeafCount[k] = int64(w)
		}
	}
}

// sameFeatures reports whether as many features have the same names, and the same are categorical.
func sameFeatures(was, is tree.Features) bool {
	same := func(i int) bool {
		return was.At(i).Categorical == is.At(i).Categorical && label(was, i) == label(is, i)
	}
	if was.Stem != "" && was.Stem != is.Stem { // then all of them are to be named in the file
		for i := range is.Width {
			if !same(i) {
				return false
			}
		}
		return true
	}
	for _, list := range []tree.Features{was, is} { // others are called by the same stem
		for i := range list.Listed() {
			if !same(i) {
				return false
			}
		}
	}
	return true
}

// label is the name of a feature; one without has XGBoost's.
func label(of tree.Features, i int) string {
	if name := of.At(i).Name; name != "" {
		return name
	}
	return stem + strconv.Itoa(i)
}
