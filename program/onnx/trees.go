package onnx

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"thole.example/program"
	"thole.example/tree"
)

// The input and outputs of trees.
const (
	featuresInput       = "features"
	scoreOutput         = "score"
	predictionOutput    = "prediction"
	probabilitiesOutput = "probabilities"
)

// depthLimit is the largest depth of a tree. ONNX Runtime builds trees by recursion: of about 10000 splits its stack ends, and the process
// with it.
const depthLimit = 4096

// NewTrees makes a model of trees that is fed "features", [batch, e.Features.Width], float64, or float32 where the trees compare values as
// that, NaN where a value is missing, and says
// "score" and "prediction", float64 [batch, e.Classes], as Score and Predict of e do, and, where the prediction is a probability,
// "probabilities", that of each class. meta is kept in the file. It fails where a tree is too deep, and with ErrSize where the file would
// have more than Limit bytes: the trees of a TreeEnsemble are attributes, which cannot be in a file beside the model.
func NewTrees(e *tree.Ensemble, meta map[string]string) (*Model, error) {
	if err := e.Check(); err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	if e.Features.Width == 0 {
		return nil, fmt.Errorf("onnx: trees of no features, want at least one: it is the input of the model")
	}
	trees := e.Scoring()
	elem := program.VarType_FP64
	if e.Single { // then float32 adds up as the model does
		elem = program.VarType_FP32
	}
	v, b := newViews(trees, e.Features.Width), &builder{known: map[string]string{}}
	if err := fit(trees, v, elem); err != nil {
		return nil, err
	}
	if v.fed = program.VarType_FP32; e.Numbers != tree.Float32 {
		v.fed = program.VarType_FP64
	}
	x := v.input(b, elem, e.Numbers)
	sum := b.add("TreeEnsemble", "sum", []string{x}, ensemble(trees, e, elem, v)...)
	b.scores(e, sum, len(trees))
	m := &Model{opts: Options{Meta: meta}, ir: irTrees, ml: opsetMLTrees}
	m.Inputs = []Value{{Name: featuresInput, Elem: v.fed, Dims: []int64{-1, int64(e.Features.Width)}}}
	out := func(name string, cols int) {
		m.Outputs = append(m.Outputs, Value{Name: name, Elem: program.VarType_FP64, Dims: []int64{-1, int64(cols)}})
	}
	out(predictionOutput, e.Classes)
	out(scoreOutput, e.Classes)
	if n := b.predict(e); n > 0 {
		out(probabilitiesOutput, n)
	}
	m.finish(b)
	if m.size > Limit {
		return nil, tooLarge(m.size)
	}
	return m, nil
}

// scores makes the scores of a row of what the trees add up to: the same steps as Score of the ensemble.
func (b *builder) scores(e *tree.Ensemble, x string, trees int) {
	row := func(v []float64, elem program.VarType_Type) string {
		return b.constant("row", tensor{elem: elem, dims: []int64{int64(len(v))}, raw: reals(nil, elem, v...)})
	}
	elem, n := program.VarType_FP64, b.double
	if e.Single {
		elem, n = program.VarType_FP32, b.number
	}
	x = b.add("Add", "started", []string{x, row(e.Start, elem)})
	if e.Mean && trees > 0 {
		x = b.add("Div", "mean", []string{x, n(float64(trees / e.Group))})
	}
	if e.Single {
		b.node("Cast", scoreOutput, []string{x}, to(program.VarType_FP64))
		return
	}
	b.node("Identity", scoreOutput, []string{x})
}

// predict makes the prediction of the score, and probabilities where it is one; it says of how many classes, 0 if it is none.
func (b *builder) predict(e *tree.Ensemble) (classes int) {
	s := scoreOutput
	add := func(kind, what string, in ...string) string { return b.add(kind, what, in) }
	last := func(kind string, in ...string) { b.node(kind, predictionOutput, in) }
	steep := func() {
		if k := e.Objective.Sigmoid; k > 0 {
			s = add("Mul", "steep", s, b.double(k))
		}
	}
	switch e.Objective.Link {
	case tree.Logistic:
		steep()
		last("Sigmoid", s)
		other := add("Sigmoid", "other", add("Neg", "against", s))
		b.node("Concat", probabilitiesOutput, []string{other, predictionOutput}, attr{name: "axis", i: 1})
		return 2
	case tree.Each:
		steep()
		last("Sigmoid", s)
		b.node("Identity", probabilitiesOutput, []string{predictionOutput})
		return e.Classes
	case tree.Softmax:
		b.node("Softmax", predictionOutput, []string{s}, attr{name: "axis", i: -1})
		b.node("Identity", probabilitiesOutput, []string{predictionOutput})
		return e.Classes
	case tree.Exp:
		last("Exp", s)
	case tree.Square:
		last("Mul", s, add("Abs", "size", s))
	case tree.Step:
		b.node("Cast", predictionOutput, []string{add("Greater", "above", s, b.double(0))}, to(program.VarType_FP64))
	case tree.SoftPlus: // log(1 + exp(-|s|)) + max(s, 0)
		small := add("Exp", "small", add("Neg", "below", add("Abs", "size", s)))
		last("Add", add("Log", "log", add("Add", "more", small, b.double(1))), add("Relu", "positive", s))
	default:
		last("Identity", s)
	}
	return 0
}

// to is the attribute of Cast.
func to(t program.VarType_Type) attr { return attr{name: "to", i: elems()[t]} }

// The ways in which nodes see the number of a feature.
const (
	asIs       = iota // NaN is missing
	nanAsZero         // NaN is read as 0
	zeroAsNaN         // 0 is missing, too
	viewsCount        // how many there are
)

func viewOf(k tree.Kind) int {
	switch {
	case k&tree.ZeroMissing != 0:
		return zeroAsNaN
	case k&tree.NaNMissing != 0:
		return asIs
	}
	return nanAsZero
}

// views are the columns that trees ask for: those of features that some node sees in the way, one way after the other, and then one for
// each set of levels of a feature.
type views struct {
	place    [viewsCount]map[int32]int64 // column of each feature that some node sees so
	picked   [viewsCount][]int64         // features by column
	levels   map[int32]*levelSets
	features int
	fed      program.VarType_Type // of the numbers that come in
}

func newViews(trees []tree.Tree, features int) *views {
	v := &views{features: features, levels: map[int32]*levelSets{}}
	for i := range trees {
		for node, f := range trees[i].Feature {
			v.use(&trees[i], node, f)
		}
	}
	n := int64(0)
	for way, used := range v.place {
		for _, f := range slices.Sorted(maps.Keys(used)) {
			used[f] = n
			v.picked[way] = append(v.picked[way], int64(f))
			n++
		}
	}
	for _, f := range slices.Sorted(maps.Keys(v.levels)) {
		v.levels[f].first = n
		n += int64(len(v.levels[f].sets))
	}
	return v
}

func (v *views) use(t *tree.Tree, node int, f int32) {
	if t.Kind[node]&tree.Categorical != 0 {
		if v.levels[f] == nil {
			v.levels[f] = &levelSets{number: map[string]int64{}}
		}
		v.levels[f].add(t, node)
		return
	}
	way := viewOf(t.Kind[node])
	if v.place[way] == nil {
		v.place[way] = map[int32]int64{}
	}
	v.place[way][f] = 0 // which one is known when all are there
}

// column is the one that a node asks for.
func (v *views) column(t *tree.Tree, node int) int64 {
	f := t.Feature[node]
	if t.Kind[node]&tree.Categorical != 0 {
		return v.levels[f].first + v.levels[f].number[setKey(t, node)]
	}
	return v.place[viewOf(t.Kind[node])][f]
}

// input makes the columns of what is fed, as numbers of a type.
func (v *views) input(b *builder, elem program.VarType_Type, numbers tree.Numbers) string {
	var parts []string
	for way, picked := range v.picked {
		if len(picked) > 0 {
			parts = append(parts, v.seen(b, way, numbers, v.pick(b, picked)))
		}
	}
	for _, f := range slices.Sorted(maps.Keys(v.levels)) {
		parts = append(parts, v.levels[f].columns(b, v, numbers, int64(f)))
	}
	x := featuresInput // where trees are leaves, none of its columns counts
	switch {
	case len(parts) == 1:
		x = parts[0]
	case len(parts) > 1:
		x = b.add("Concat", "columns", parts, attr{name: "axis", i: 1})
	}
	if elem != v.fed {
		x = b.add("Cast", "columns", []string{x}, to(elem))
	}
	return x
}

// pick makes columns of some features, ascending.
func (v *views) pick(b *builder, features []int64) string {
	if len(features) == v.features {
		return featuresInput
	}
	return b.add("Gather", "picked", []string{featuresInput, b.list(features...)}, attr{name: "axis", i: 1})
}

// number is a number of the type that comes in.
func (v *views) number(b *builder, x float64) string {
	if v.fed == program.VarType_FP64 {
		return b.double(x)
	}
	return b.number(x)
}

// small says which numbers count as zero where zero is missing.
func (v *views) small(b *builder, x string) string {
	return b.add("LessOrEqual", "zero", []string{b.add("Abs", "size", []string{x}), v.number(b, tree.ZeroMost)})
}

// whole makes numbers 0 that LightGBM reads so.
func (v *views) whole(b *builder, numbers tree.Numbers, x string) string {
	if numbers != tree.LightGBM {
		return x
	}
	return b.add("Where", "whole", []string{v.small(b, x), v.number(b, 0), x})
}

// seen makes columns as nodes see them.
func (v *views) seen(b *builder, way int, numbers tree.Numbers, x string) string {
	if way != zeroAsNaN {
		x = v.whole(b, numbers, x)
	}
	switch way {
	case nanAsZero:
		return b.add("Where", "filled", []string{b.add("IsNaN", "missing", []string{x}), v.number(b, 0), x})
	case zeroAsNaN:
		return b.add("Where", "emptied", []string{v.small(b, x), v.number(b, math.NaN()), x})
	}
	return x
}
