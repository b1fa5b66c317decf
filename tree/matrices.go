package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"thole.example/matrix"
)

// FileName is the text beside the matrices.
const FileName = "trees.json"

// The names of the matrices.
const (
	startName    = "gbdt.start"
	treeName     = "gbdt.tree"
	featureName  = "gbdt.split.feature"
	valueName    = "gbdt.split.value"
	kindName     = "gbdt.split.kind"
	childrenName = "gbdt.split.children"
	statsName    = "gbdt.split.stats"
	leafName     = "gbdt.leaf.value"
	leavesName   = "gbdt.leaf.stats"
	wordsName    = "gbdt.set.words"
	levelsName   = "gbdt.set.levels"
)

// MatrixNames are the names of all matrices, of which a model has those that are not empty.
func MatrixNames() []string {
	return []string{startName, treeName, featureName, valueName, kindName, childrenName, statsName, leafName, leavesName,
		wordsName, levelsName}
}

// JSON is the text beside the matrices.
func (e *Ensemble) JSON() ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err := enc.Encode(e)
	return out.Bytes(), err
}

// written is an Ensemble as JSON has it. Where there is nothing to say of most features, as of columns of sparse examples, the others are
// listed with their numbers, and Width is how many there are in all.
type written struct {
	Objective  Objective       `json:"objective"`
	Classes    int             `json:"classes"`
	Features   json.RawMessage `json:"features"`
	Width      int             `json:"width,omitempty"`
	Stem       string          `json:"stem,omitempty"`
	Group      int             `json:"group"`
	Best       int             `json:"best,omitempty"`
	Mean       bool            `json:"mean,omitempty"`
	Single     bool            `json:"single,omitempty"`
	NeedsStart bool            `json:"beside,omitempty"`
	Labels     []float32       `json:"labels,omitempty"`
	Origin     string          `json:"origin,omitempty"`
	Values     string          `json:"values,omitempty"` // of rows, how they are read; models that do not say it are older
}

// name is how a text says it.
func (n Numbers) name() string { return [...]string{"float64", "float32", "lightgbm"}[n] }

// MarshalText implements encoding.TextMarshaler.
func (n Numbers) MarshalText() ([]byte, error) { return []byte(n.name()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *Numbers) UnmarshalText(text []byte) error {
	for one := range LightGBM + 1 {
		if one.name() == string(text) {
			*n = one
			return nil
		}
	}
	return fmt.Errorf("values of rows are read as %q, want float64, float32 or lightgbm: the model needs a newer version", text)
}

// numbersOf is what a text says of the values of rows, which older ones do not: they were rounded to float32, but for models of LightGBM.
func numbersOf(w *written) (Numbers, error) {
	if w.Values == "" && strings.HasPrefix(strings.ToLower(w.Origin), LightGBM.name()) {
		return LightGBM, nil
	} else if w.Values == "" {
		return Float32, nil
	}
	var n Numbers
	err := n.UnmarshalText([]byte(w.Values))
	return n, err
}

// MarshalJSON implements json.Marshaler.
func (e *Ensemble) MarshalJSON() ([]byte, error) {
	list, err := e.Features.MarshalJSON()
	if err != nil {
		return nil, err
	}
	w := written{e.Objective, e.Classes, list, 0, "", e.Group, e.Best, e.Mean, e.Single, e.NeedsStart, e.Labels, e.Origin,
		e.Numbers.name()}
	if !e.Features.dense() {
		w.Width = e.Features.Width
	}
	if !e.Features.Named() {
		w.Stem = e.Features.Stem
	}
	return json.Marshal(w)
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *Ensemble) UnmarshalJSON(text []byte) error {
	var w written
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&w); err != nil {
		return err
	}
	if w.Width < 0 || w.Width > FeatureLimit {
		return fmt.Errorf("%d features, want at most %d", w.Width, FeatureLimit)
	}
	e.Objective, e.Classes, e.Group, e.Best, e.Mean, e.Single = w.Objective, w.Classes, w.Group, w.Best, w.Mean, w.Single
	e.NeedsStart, e.Labels, e.Origin = w.NeedsStart, w.Labels, w.Origin
	e.Features.Stem = w.Stem
	var err error
	if e.Numbers, err = numbersOf(&w); err != nil {
		return err
	}
	return e.Features.read(w.Features, w.Width)
}

// Matrices are the trees as dense matrices, each whole.
func (e *Ensemble) Matrices() (metas []matrix.Meta, blocks []matrix.Block) {
	var all flat
	for i := range e.Trees {
		all.add(&e.Trees[i])
	}
	add := func(name string, rows int, d matrix.Data) {
		cols := int64(d.NNZ() / rows)
		if cols == 0 {
			return
		}
		m := matrix.Meta{Name: name, Rows: int64(rows), Cols: cols, DType: d.DType()}
		metas, blocks = append(metas, m), append(blocks, matrix.Block{At: m.Rect(), Data: d})
	}
	add(startName, 1, &matrix.Dense[float64]{Val: slices.Clone(e.Start)})
	add(treeName, 2, &matrix.Dense[int32]{Val: slices.Concat(all.leaves, all.class)})
	add(featureName, 1, &matrix.Dense[int32]{Val: all.feature})
	add(valueName, 1, &matrix.Dense[float64]{Val: all.threshold})
	add(kindName, 1, &matrix.Dense[int32]{Val: all.kind})
	add(childrenName, 2, &matrix.Dense[int32]{Val: slices.Concat(all.left, all.right)})
	add(statsName, 4, &matrix.Dense[float64]{Val: slices.Concat(all.gain, all.value, all.weight, all.count)})
	add(leafName, 1, &matrix.Dense[float64]{Val: all.leaf})
	add(leavesName, 2, &matrix.Dense[float64]{Val: slices.Concat(all.leafWeight, all.leafCount)})
	add(wordsName, 1, &matrix.Dense[int32]{Val: all.words})
	add(levelsName, 1, &matrix.Dense[int64]{Val: all.levels})
	return metas, blocks
}

// flat is the trees of an ensemble one after the other.
type flat struct {
	leaves, class, feature, kind, left, right, words []int32
	threshold, gain, value, weight, count            []float64
	leaf, leafWeight, leafCount                      []float64
	levels                                           []int64
}

func (a *flat) add(t *Tree) {
	a.leaves, a.class = append(a.leaves, int32(len(t.LeafValue))), append(a.class, int32(t.Class))
	a.feature, a.left, a.right = append(a.feature, t.Feature...), append(a.left, t.Left...), append(a.right, t.Right...)
	a.threshold, a.gain = append(a.threshold, t.Threshold...), append(a.gain, t.Gain...)
	a.value, a.weight = append(a.value, t.Value...), append(a.weight, t.Weight...)
	for i := range t.Kind {
		a.kind, a.count = append(a.kind, int32(t.Kind[i])), append(a.count, float64(t.Count[i]))
	}
	a.leaf, a.leafWeight = append(a.leaf, t.LeafValue...), append(a.leafWeight, t.LeafWeight...)
	for _, n := range t.LeafCount {
		a.leafCount = append(a.leafCount, float64(n))
	}
	for i := 1; i < len(t.Bounds); i++ {
		a.words = append(a.words, t.Bounds[i]-t.Bounds[i-1])
	}
	for _, w := range t.Words {
		a.levels = append(a.levels, int64(w))
	}
}

// Parse makes an ensemble of the text and the matrices, of which get returns one as a whole, with Data nil if there is none of the name.
func Parse(text []byte, get func(name string) (matrix.Block, error)) (*Ensemble, error) {
	e := &Ensemble{}
	if err := json.Unmarshal(text, e); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", FileName, ErrTrees, err)
	}
	if e.Classes < 1 || e.Group < 1 {
		return nil, fmt.Errorf("%s: %w: %d classes and %d trees in an iteration, want 1 and more", FileName, ErrTrees, e.Classes, e.Group)
	}
	r := reader{get: get}
	e.Start = r.floats(startName, 1)
	leaves := r.ints(treeName, 2)
	trees := len(leaves) / 2
	var a flat
	a.leaves, a.class = leaves[:trees], leaves[trees:]
	a.feature, a.threshold, a.kind = r.ints(featureName, 1), r.floats(valueName, 1), r.ints(kindName, 1)
	children, stats := r.ints(childrenName, 2), r.floats(statsName, 4)
	a.leaf, a.words = r.floats(leafName, 1), r.ints(wordsName, 1)
	leafStats := r.floats(leavesName, 2)
	levels := r.wholes(levelsName, 1)
	if r.err != nil {
		return nil, r.err
	}
	n, l := len(a.feature), len(a.leaf)
	for _, of := range [...]struct {
		name      string
		has, want int
		as        string
	}{
		{valueName, len(a.threshold), n, featureName}, {kindName, len(a.kind), n, featureName},
		{childrenName, len(children) / 2, n, featureName}, {statsName, len(stats) / 4, n, featureName},
		{leavesName, len(leafStats) / 2, l, leafName},
	} {
		if of.has != of.want {
			return nil, fmt.Errorf("%s: %w: %d columns, and %s has %d", of.name, ErrTrees, of.has, of.as, of.want)
		}
	}
	a.left, a.right = children[:n], children[n:]
	a.gain, a.value, a.weight, a.count = stats[:n], stats[n:2*n], stats[2*n:3*n], stats[3*n:]
	a.leafWeight, a.leafCount, a.levels = leafStats[:l], leafStats[l:], levels
	if err := a.cut(e); err != nil {
		return nil, err
	}
	return e, e.Check()
}

// cut makes the trees of e of what is left.
func (a *flat) cut(e *Ensemble) error {
	for i, leaves := range a.leaves {
		n := int(leaves) - 1
		if n < 0 || n > len(a.feature) || n >= len(a.leaf) {
			return fmt.Errorf("%s: %w: tree %d has %d leaves, and %d are left", treeName, ErrTrees, i, leaves, len(a.leaf))
		}
		t := Tree{Class: int(a.class[i]), Feature: take(&a.feature, n), Threshold: take(&a.threshold, n),
			Left: take(&a.left, n), Right: take(&a.right, n), Gain: take(&a.gain, n), Value: take(&a.value, n), Weight: take(&a.weight, n),
			Kind:      make([]Kind, n),
			LeafValue: take(&a.leaf, n+1), LeafWeight: take(&a.leafWeight, n+1)}
		sets := 0
		for j, k := range take(&a.kind, n) {
			if k < 0 || k > math.MaxUint8 {
				return fmt.Errorf("%s: %w: node %d of tree %d is of kind %d, which is none", kindName, ErrTrees, j, i, k)
			}
			t.Kind[j] = Kind(k)
			if t.Kind[j]&Categorical != 0 {
				sets++
			}
		}
		t.Count, t.LeafCount = counts(take(&a.count, n)), counts(take(&a.leafCount, n+1))
		if err := a.cutSets(&t, sets); err != nil {
			return fmt.Errorf("%s: %w: tree %d: %w", wordsName, ErrTrees, i, err)
		}
		e.Trees = append(e.Trees, t)
	}
	if len(a.feature) > 0 || len(a.leaf) > 0 || len(a.words) > 0 || len(a.levels) > 0 {
		return fmt.Errorf("%s: %w: %d splits, %d leaves and %d sets are of no tree", treeName, ErrTrees,
			len(a.feature), len(a.leaf), len(a.words))
	}
	return nil
}

func (a *flat) cutSets(t *Tree, sets int) error {
	if sets == 0 {
		return nil
	}
	if sets > len(a.words) {
		return fmt.Errorf("%d categorical splits, and %d sets are left", sets, len(a.words))
	}
	t.Bounds = []int32{0}
	for _, n := range take(&a.words, sets) {
		if n < 0 || int(n) > len(a.levels) {
			return fmt.Errorf("a set of %d words, and %d are left", n, len(a.levels))
		}
		for _, w := range take(&a.levels, int(n)) {
			if w < 0 || w > math.MaxUint32 {
				return fmt.Errorf("the word %d, want 32 bits", w)
			}
			t.Words = append(t.Words, uint32(w))
		}
		t.Bounds = append(t.Bounds, int32(len(t.Words)))
	}
	return nil
}

func take[T any](from *[]T, n int) []T {
	s := (*from)[:n:n]
	*from = (*from)[n:]
	return s
}

func counts(from []float64) []int64 {
	all := make([]int64, len(from))
	for i, v := range from {
		if v >= 0 && v < 1<<53 {
			all[i] = int64(v)
		}
	}
	return all
}

// reader reads matrices until one is none of those that it wants.
type reader struct {
	get func(name string) (matrix.Block, error)
	err error
}

func values[T matrix.Elem](r *reader, name string, rows int64) []T {
	if r.err != nil {
		return nil
	}
	b, err := r.get(name)
	if err != nil || b.Data == nil {
		r.err = err
		return nil
	}
	if b.Data.DType() != matrix.DTypeOf[T]() { // of a format that has no such type
		if same, exact := b.Cast(matrix.DTypeOf[T]()); exact {
			b = same
		}
	}
	d, ok := b.Data.(*matrix.Dense[T])
	if !ok || b.At.Rows.Len() != rows || int64(len(d.Val)) != rows*b.At.Cols.Len() {
		r.err = fmt.Errorf("%s: %w: %v of %v, want %d full rows of %v", name, ErrTrees, b.At, b.Data.DType(), rows, matrix.DTypeOf[T]())
		return nil
	}
	return d.Val
}

func (r *reader) floats(name string, rows int64) []float64 { return values[float64](r, name, rows) }
func (r *reader) ints(name string, rows int64) []int32     { return values[int32](r, name, rows) }
func (r *reader) wholes(name string, rows int64) []int64   { return values[int64](r, name, rows) }
