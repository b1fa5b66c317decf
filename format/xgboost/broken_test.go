package xgboost

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"thole.example/format"
	"thole.example/tree"
	"thole.example/wire"
)

// TestBroken changes a model in one place: the error says where and what.
func TestBroken(t *testing.T) {
	file, err := os.ReadFile("testdata/1.7.6/sets.json")
	if err != nil {
		t.Fatal(err)
	}
	const tree0 = "learner.gradient_booster.model.trees[0]"
	for _, c := range []struct {
		from, to, want string
		is             error
	}{
		{`"left_children":[1,`, `"left_children":[99,`, tree0 + ".left_children[0]: node 99 of 15", nil},
		{`"left_children":[1,`, `"left_children":[0,`, tree0 + ".left_children[0]: node 0, which is the root", nil},
		{`"left_children":[1,`, `"left_children":[2,`, tree0 + ".right_children[0]: node 2, which is the root or has a parent", nil},
		{`"left_children":[1,`, `"left_children":[1.5,`, tree0 + ".left_children[0]: found 1.5, want a whole number", nil},
		{`"left_children":[1,`, `"left_children":[true,`, tree0 + `.left_children[0]: found "true,`, nil},
		{`"left_children":[1,`, `"left_children":[01,`, tree0 + `.left_children[0]: found "01,`, nil},
		{`"left_children":[1,`, `"left_children":[+1,`, tree0 + `.left_children[0]: found "+1,`, nil},
		{`"left_children":[1,`, `"left_children":[1.,`, tree0 + `.left_children[0]: found "1.,`, nil},
		{`"split_conditions":[`, `"split_conditions":[.5,`, tree0 + `.split_conditions[0]: found ".5,`, nil},
		{`"split_conditions":[`, `"split_conditions":[1E,`, tree0 + `.split_conditions[0]: found "1E,`, nil},
		{`"split_conditions":[`, `"split_conditions":[inf,`, tree0 + `.split_conditions[0]: found "inf,`, nil},
		{`"default_left":[1,`, `"default_left":[5,`, tree0 + ".default_left[0]: found 5, want 0 or 1", nil},
		{`"default_left":[1,`, `"default_left":[-1,`, tree0 + ".default_left[0]: found -1, want 0 or 1", nil},
		{`"default_left":[1,`, `"default_left":[true,`, "", nil},
		{`"split_type":[1,`, `"split_type":[2,`, tree0 + ".split_type[0]: found 2, want 0 or 1", nil},
		{`"categories_nodes":`, `"categories_Nodes":`, tree0 + ".categories_nodes: 0 nodes, 4 beginnings", nil},
		{`"categories":[0,`, `"Categories":[0,`, tree0 + ".categories_segments[0]: levels 0", nil},
		{`"tree_param":{`, `"tree_Param":{`, tree0 + ".tree_param: missing, and XGBoost writes it in every tree", nil},
		{`"num_nodes":"15"`, `"num_Nodes":"15"`, tree0 + ".tree_param: no num_nodes", nil},
		{`"sum_hessian":[`, `"sum_Hessian":[`, tree0 + ".sum_hessian: missing", nil},
		{`"loss_changes":[`, `"loss_Changes":[`, tree0 + ".loss_changes: missing", nil},
		{`"base_weights":[`, `"base_Weights":[`, tree0 + ".base_weights: missing", nil},
		{`"parents":[`, `"Parents":[`, tree0 + ".parents: missing", nil},
		{`"parents":[2147483647,`, `"parents":[`, tree0 + ".parents: 14 values, want 15", nil},
		{`"id":0`, `"Id":0`, tree0 + ".id: missing", nil},
		{`"id":0`, `"id":2`, tree0 + ".id: tree 2, want 0: the trees are out of order", nil},
		{`"num_trees":"3"`, `"num_trees":"2"`, "trees: 3 trees, want 2 as num_trees says", nil},
		{`"trees":[`, `"Trees":[`, "trees: 0 trees, want 3 as num_trees says", nil},
		{`"left_children":[1,`, `"left_children":[`, tree0 + ".left_children: 14 nodes, want 15", nil},
		{`"left_children":[1,`, `"left_children":["1",`, tree0 + `.left_children[0]: found "\"1\",`, nil},
		{`"left_children":[1,`, `"left_children":{"1":`, tree0 + ".left_children: found", nil},
		{`"left_children":[1,`, `"left_children":[],"left_children":[1,`, tree0 + ".left_children: comes a second time", nil},
		{`"num_nodes":"15"`, `"num_nodes":"16"`, tree0 + ".left_children: 15 nodes, want 16 as num_nodes says", nil},
		{`"default_left":[`, `"other":[`, tree0 + ".default_left: 0 values, want 15", nil},
		{`"split_indices":[3,`, `"split_indices":[-1,`, tree0 + ".split_indices[0]: feature -1", nil},
		{`"split_indices":[3,`, `"split_indices":[5,`, tree0 + ".split_indices: feature 5 of 5", nil},
		{`"categories":[0,`, `"categories":[-1,`, tree0 + ".categories[0]: level -1", nil},
		{`"categories_nodes":[0,`, `"categories_nodes":[1,`, tree0 + ".categories_nodes[0]: node 1, want a categorical", nil},
		{`"categories_segments":[0,`, `"categories_segments":[-1,`, tree0 + ".categories_segments[0]: levels -1", nil},
		{`"num_deleted":"0"`, `"num_deleted":"1"`, tree0 + ".left_children: 15 nodes are reached from the root and 1 are deleted", nil},
		{`"num_nodes":"15"`, `"num_nodes":"many"`, tree0 + `.tree_param.num_nodes: "many", want a whole number`, nil},
		{`"size_leaf_vector":"0"}},{`, `"size_leaf_vector":"3"}},{`, "leaves of 3 values each", format.ErrVersion},
		{`"num_class":"0"`, `"num_class":"65536"`, "trees, want as many of each of 65536 classes", nil},
		{`"tree_info":[0,`, `"tree_info":[1,`, "tree_info[0]: class 1, want 0 to 0", nil},
		{`"base_score":"5E-1"`, `"base_score":"half"`, `base_score: "half", want a number`, nil},
		{`"base_score":"5E-1"`, `"base_score":"[1E0,2E0]"`, "base_score: 2 numbers, want one or 1", nil},
		{`"name":"reg:squarederror"`, `"name":"reg:squarederorr"`, "did you mean reg:squarederror?", format.ErrVersion},
		{`"name":"reg:squarederror"`, `"name":"binary:logistic"`, "", nil},
		{`"num_feature":"5","num_target"`, `"num_feature":"99999999","num_target"`, "learner.learner_model_param.num_feature", nil},
		{`"num_feature":"5","num_target"`, `"num_feature":"9999999","num_target"`, "learner.feature_names: 5, want none or 9999999", nil},
		{`"feature_names":["a",`, `"feature_names":["a\`, "learner.feature_names: 4, want none or 5", nil},
		{`{"learner"`, `{"Config":{},"learner"`, "save_model", format.ErrVersion},
		{`"version":[1,7,6]}`, `"version":[1,7,6]} x`, "1 bytes after the end of the model", nil},
		{`"version":[1,7,6]}`, `"version":[1,7,6]`, "the file ends, want a comma or }", nil},
		{`"version":[1,7,6]}`, `"v":` + strings.Repeat("[", 1000), "more than 64 deep", nil},
	} {
		text := strings.Replace(string(file), c.from, c.to, 1)
		if text == string(file) {
			t.Fatalf("no %s", c.from)
		}
		_, _, err := parse([]byte(text))
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %q, %v", c.to, err, c.want, c.is)
		}
	}
}

// TestPlace names the byte of what is wrong.
func TestPlace(t *testing.T) {
	file, err := os.ReadFile("testdata/1.7.6/sets.json")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(file), `"left_children":[1,`, `"left_children":[99,`, 1)
	_, _, err = parse([]byte(text))
	var at *wire.At
	if !errors.As(err, &at) || int(at.Off) != strings.Index(text, `[99,`) {
		t.Errorf("%v, want byte %d", err, strings.Index(text, `[99,`))
	}
}

// TestRefused refuses other models of XGBoost by name.
func TestRefused(t *testing.T) {
	for path, want := range map[string]string{"2.1.4/linear.json": "gblinear", "2.1.4/vector.json": "multi_output_tree",
		"3.2.0/linear.json": "gblinear", "3.2.0/vector.json": "multi_output_tree"} {
		file, err := os.ReadFile("testdata/" + path)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := parse(file); !errors.Is(err, format.ErrVersion) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	named := append(append(make([]byte, oldNameAt), 15, 0, 0, 0, 0, 0, 0, 0), "binary:logistic\x06"...)
	for what, old := range map[string][]byte{"binf": []byte("binf\x00\x00\x00\x3f\x02\x00\x00\x00"), "no mark": named} {
		if _, _, err := parse(old); !errors.Is(err, format.ErrVersion) || !strings.Contains(err.Error(), "save_model") {
			t.Errorf("%s: %v, want words that say how to convert it", what, err)
		}
		if got := sniff(old); got == "" {
			t.Errorf("%s is not seen to be a model", what)
		}
	}
	for _, foreign := range []string{"", "{", "{}", `{"w": 1}`, "tree\nversion=v4\n", "{L\x00\x00\x00\x00\x00\x00\x00\x07learnex"} {
		if got := sniff([]byte(foreign)); got != "" {
			t.Errorf("%q is taken for %s", foreign, got)
		}
		if _, _, err := parse([]byte(foreign)); err == nil {
			t.Errorf("%q is read", foreign)
		}
	}
}

// TestUnsaid refuses to write what no model of XGBoost says.
func TestUnsaid(t *testing.T) {
	for _, c := range []struct {
		what, want string
		change     func(e *tree.Ensemble)
	}{
		{"link", "link square", func(e *tree.Ensemble) { e.Objective.Link = tree.Square }},
		{"softplus", "link softplus", func(e *tree.Ensemble) { e.Objective.Link = tree.SoftPlus }},
		{"steepness", "steepness 2", func(e *tree.Ensemble) { e.Objective = tree.Objective{Name: "binary", Link: tree.Logistic, Sigmoid: 2} }},
		{"zero", "zero_as_missing", func(e *tree.Ensemble) { e.Trees[0].Kind[0], e.Trees[0].Threshold[0] = tree.ZeroMissing, 1 }},
		{"large leaf", "beyond float32", func(e *tree.Ensemble) { e.Trees[0].LeafValue[0] = 1e300 }},
		{"no trees", "no tree into whose leaves", func(e *tree.Ensemble) {
			e.Trees, e.Objective, e.Start[0] = nil, tree.Objective{Name: "poisson", Link: tree.Exp}, 1000
		}},
		{"empty set", "a set of no levels", func(e *tree.Ensemble) {
			e.Trees[0].Kind[0], e.Trees[0].Threshold[0], e.Trees[0].Bounds, e.Trees[0].Words = tree.Categorical, 0, []int32{0, 1}, []uint32{0}
		}},
	} {
		e := &tree.Ensemble{Objective: tree.Objective{Name: "l2", Link: tree.Identity}, Classes: 1, Group: 1, Start: []float64{0},
			Features: tree.Features{Width: 1}, Trees: []tree.Tree{{Feature: []int32{0}, Threshold: []float64{0}, Kind: []tree.Kind{tree.NaNMissing},
				Left: []int32{^0}, Right: []int32{^1}, Gain: []float64{1}, Value: []float64{0}, Weight: []float64{2}, Count: []int64{2},
				LeafValue: []float64{1, 2}, LeafWeight: []float64{1, 1}, LeafCount: []int64{1, 1}}}}
		c.change(e)
		if err := e.Check(); err != nil {
			t.Fatal(c.what, err)
		}
		if _, err := printed(e, false); !errors.Is(err, format.ErrVersion) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
		if _, err := fit(e, &format.Options{Lossy: true}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}

// TestZeroMissing sends numbers and NaN as nodes do at which zero is missing, or refuses the node.
func TestZeroMissing(t *testing.T) {
	const most = tree.ZeroMost
	numbers := []float32{0, 1, -1, tree.ZeroMost32, -tree.ZeroMost32, float32(math.NaN())}
	for _, v := range numbers[3:5] {
		numbers = append(numbers, math.Nextafter32(v, 1), math.Nextafter32(v, -1))
	}
	for _, c := range []struct {
		threshold   float64
		left, right bool // a condition of XGBoost says the same if zero goes there
	}{{-1, false, true}, {-2e-35, false, true}, {-most, true, true}, {-1e-35, true, true}, {0, true, true}, {1e-35, true, true}, {most, true, true},
		{2e-35, true, false}, {1, true, false}} {
		for kind, fits := range map[tree.Kind]bool{tree.ZeroMissing: c.right, tree.ZeroMissing | tree.DefaultLeft: c.left} {
			node := &tree.Tree{Kind: []tree.Kind{kind}, Threshold: []float64{c.threshold}}
			threshold, missingLeft, err := decision(node, 0)
			if (err == nil) != fits {
				t.Errorf("threshold %v, kind %d: %v", c.threshold, kind, err)
			}
			for _, v := range numbers {
				if got := v < condition(threshold) || v != v && missingLeft; err == nil && got != node.GoesLeft(0, float64(v)) {
					t.Errorf("threshold %v, kind %d: %v goes left: %v", c.threshold, kind, v, got)
				}
			}
		}
	}
}

// TestManyClasses: a start score for each of many classes takes no longer than their trees.
func TestManyClasses(t *testing.T) {
	const classes = 1 << 15
	e := &tree.Ensemble{Objective: tree.Objective{Name: "multiclass", Link: tree.Softmax}, Classes: classes, Group: classes}
	for c := range classes {
		e.Start = append(e.Start, float64(c%7))
		e.Trees = append(e.Trees, tree.Tree{Class: c, LeafValue: []float64{1}, LeafWeight: []float64{1}, LeafCount: []int64{1}})
	}
	s, err := newDocument(e)
	if err != nil || s.add[8] != 1 {
		t.Fatalf("%v", err)
	}
}

// TestCondition holds conditions to the definition: v <= threshold is v < condition.
func TestCondition(t *testing.T) {
	inf := math.Inf(1)
	for _, threshold := range []float64{0, math.Copysign(0, -1), 0.1, -0.1, 1, 1e-45, -1e-45, 1e-46, 1e300, -1e300, math.MaxFloat32, -math.MaxFloat32, 3.5} {
		c := condition(threshold)
		around := []float32{float32(threshold), c, 0, float32(-inf)}
		for _, v := range around[:2] {
			around = append(around, math.Nextafter32(v, float32(inf)), math.Nextafter32(v, float32(-inf)))
		}
		for _, v := range around {
			if math.IsInf(float64(v), 1) {
				continue
			}
			if (float64(v) <= threshold) != (v < c) {
				t.Errorf("threshold %v, condition %v: %v goes another way", threshold, c, v)
			}
		}
	}
}

// TestSingle spells numbers as XGBoost does.
func TestSingle(t *testing.T) {
	for want, v := range map[string]float64{"0E0": 0, "5E-1": 0.5, "-1.5E10": -1.5e10, "1E-35": 1e-35, "1E1": 10, "3.4028235E38": math.MaxFloat32} {
		if got := single(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}

// FuzzParse reads anything: no panic, and what is read is written and read again with the same scores.
func FuzzParse(f *testing.F) {
	for _, path := range []string{"3.2.0/named.ubj", "3.2.0/sets.json", "1.0.2/pruned.json", "3.2.0/quantiles.json", "3.2.0/dart.json", "3.2.0/hinge.ubj",
		"2.1.4/many.ubj", "1.7.6/early.json"} {
		file, err := os.ReadFile("testdata/" + path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		e, _, err := parse(file)
		if err != nil {
			return
		}
		again, err := printed(e, len(file)%2 == 0)
		if err != nil {
			return
		}
		g, _, err := parse(again)
		if err != nil {
			t.Fatal(err)
		}
		got, want, row := make([]float64, e.Classes), make([]float64, e.Classes), []float64{1, math.NaN(), -1, 2, 17}
		g.Score(row, got)
		e.Score(row, want)
		for c := range got {
			if got[c] != want[c] && math.Abs(got[c]-want[c]) > 1e-5*math.Abs(want[c]) {
				t.Fatalf("score %d is %v, want %v", c, got[c], want[c])
			}
		}
	})
}
