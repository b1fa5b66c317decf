package lightgbm

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"thole.example/format"
	"thole.example/tree"
)

// small is a file in which everything is as it should be.
const small = `tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=1
objective=regression
feature_names=a b
feature_infos=[0:9] -1:0:40
tree_sizes=255

Tree=0
num_leaves=4
num_cat=1
split_feature=0 1 0
threshold=2.5 0 7
decision_type=10 9 8
left_child=2 -1 -2
right_child=1 -3 -4
leaf_value=1 2 3 4
leaf_count=5 6 7 8
internal_count=26 12 14
cat_boundaries=0 2
cat_threshold=5 256
is_linear=0
shrinkage=1


end of trees
pandas_categorical:[["x", "y"]]
`

// TestHostile has files with one thing wrong each: what is said of them, and where.
func TestHostile(t *testing.T) {
	if _, notes, err := parse([]byte(small)); err != nil || len(notes) != 0 {
		t.Fatalf("%q, %v", notes, err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"tree\nversion", "forest\nversion", `line 1: "forest", want "tree"`},
		{"num_class=1\n", "", "no line num_class="},
		{"num_class=1", "num_class=0", `line 3: num_class is "0", want a whole number from 1`},
		{"num_class=1", "num_class=99999999999999999999", `line 3: num_class is "9999`},
		{"num_tree_per_iteration=1", "num_tree_per_iteration=2", "1 trees, want a multiple of num_tree_per_iteration, which is 2"},
		{"max_feature_idx=1", "max_feature_idx=16000000", "line 8: feature_names has 2 names, want max_feature_idx + 1, which is 16000001"},
		{"feature_names=a b", "feature_names=a b c", "line 8: feature_names has more than 2 names"},
		{"feature_infos=[0:9]", "feature_infos=[0-9]", `line 9: feature_infos has "[0-9]", want [least:most]`},
		{"-1:0:40", "-1:x:40", `line 9: feature_infos has the level "x"`},
		{"[0:9] -1:0:40", "[0:9]", "line 9: feature_infos has 1 values, want 2"},
		{"objective=regression", "objective=binary sigmoid:-1", `line 7: objective is "binary sigmoid:-1"`},
		{"objective=regression\n", "objective=regression\nmonotone_constraints=1 2\n", "line 8: monotone_constraints has 2, want -1, 0 or 1"},
		{"Tree=0", "Tree=1", `line 12: "Tree=1", want "Tree=0": a tree is missing`},
		{"num_leaves=4", "num_leaves=1000000000", "line 20: leaf_value has 4 values, want 1000000000, in tree 0"},
		{"num_leaves=4\n", "", "line 12: tree 0: no line num_leaves="},
		{"num_leaves=4", "num_leaves=0", `line 13: num_leaves is "0"`},
		{"split_feature=0 1 0", "split_feature=0 1 2", "line 12: tree 0: node 2 asks for feature 2 of 2"},
		{"split_feature=0 1 0", "split_feature=0 1", "line 15: split_feature has 2 values, want 3"},
		{"split_feature=0 1 0", "split_feature=0 1 0 0", "line 15: split_feature has more than 3 values"},
		{"split_feature=0 1 0", "split_feature=0 1 4294967296", `line 15: split_feature has "4294967296" as value 2`},
		{"threshold=2.5 0 7\n", "", "line 12: tree 0: no line threshold="},
		{"threshold=2.5", "threshold=nan", "node 0 has the threshold NaN"},
		{"threshold=2.5 0", "threshold=2.5 1", "node 1 asks for set 1 of 1"},
		{"threshold=2.5", "threshold=2,5", `line 16: threshold has "2,5" as value 0, want a number`},
		{"decision_type=10 9", "decision_type=10 16", `decision_type has "16"`},
		{"decision_type=10 9", "decision_type=12 9", "node 0 is of kind 12"},
		{"decision_type=10 9", "decision_type=10 8", "num_cat is 1, and 0 splits are categorical"},
		{"left_child=2 -1", "left_child=0 -1", "node 0 has the child 0, want one of 1 to 2"},
		{"left_child=2 -1", "left_child=1 -1", "node 0 has the child 1, which another node has too"},
		{"left_child=2 -1", "left_child=2 -9", "node 1 has the leaf 8 of 4"},
		{"left_child=2 -1", "left_child=2 0", "node 1 has the child 0"},
		{"leaf_value=1 2", "leaf_value=1 inf", "leaf 1 has the value +Inf"},
		{"leaf_value=1 2", "leaf_value=1 x", `line 20: leaf_value has "x" as value 1, want a number`},
		{"leaf_count=5 6", "leaf_count=5 6.5", `leaf_count has "6.5"`},
		{"num_cat=1", "num_cat=3", "num_cat is 3, and 1 splits are categorical"},
		{"cat_boundaries=0 2", "cat_boundaries=0 2000000000", "cat_boundaries end at 2000000000, and cat_threshold has 5 bytes"},
		{"cat_boundaries=0 2", "cat_boundaries=1 2", "bounds of sets do not cover 2 words"},
		{"cat_boundaries=0 2", "cat_boundaries=0 -2", "cat_boundaries end at -2"},
		{"cat_threshold=5 256\n", "", "cat_boundaries end at 2, and cat_threshold has 0 bytes"},
		{"cat_threshold=5 256", "cat_threshold=5 -1", `cat_threshold has "-1"`},
		{"shrinkage=1\n\n\n", "shrinkage=1\n", `line 27: "end of trees" in tree 0, want an empty line before it`},
		{"end of trees", "end of tree", `line 29: "end of tree" behind tree 0`},
		{"end of trees\npandas_categorical:[[\"x\", \"y\"]]\n", "", "the file is cut"},
		{"tree_sizes=255", "tree_sizes=255 300", "tree_sizes says 2 trees, and there are 1"},
		{"tree_sizes=255", "tree_sizes=x", `line 10: tree_sizes has "x"`},
		{`[["x", "y"]]`, `[["x", "y"]`, "line 30: pandas_categorical: is no list"},
		{`[["x", "y"]]`, `[["x", null]]`, `has "<nil>" as a level`},
		{"pandas_cat", "thole:{\"best\":\npandas_cat", "line 30: thole: is not what this program writes"},
		{"pandas_cat", "thole:{\"levels\":[7]}\npandas_cat", "line 31: pandas_categorical: has levels of feature 7 of 2"},
	} {
		changed := strings.Replace(small, c.old, c.new, 1)
		if changed == small {
			t.Errorf("%q is not in the file", c.old)
		}
		if _, _, err := parse([]byte(changed)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q instead of %q: %v, want %q", c.new, c.old, err, c.want)
		}
	}
	linear := strings.Replace(small, "is_linear=0", "is_linear=1", 1)
	if _, _, err := parse([]byte(linear)); !errors.Is(err, format.ErrVersion) || !strings.Contains(err.Error(), "linear models") {
		t.Errorf("%v, want ErrVersion", err)
	}
}

// TestOdd has files that are read, with a note or without.
func TestOdd(t *testing.T) {
	for _, c := range []struct {
		old, new, note string
		is             func(e *tree.Ensemble) bool
	}{
		{"tree_sizes=255", "tree_sizes=256", "tree_sizes has another size for tree 0 than its 255 bytes", nil},
		{"tree_sizes=255\n", "", "", nil},
		{"objective=regression", "objective=mine x:2", `the objective "mine" is not known`, func(e *tree.Ensemble) bool {
			return e.Objective.Name == "mine" && e.Objective.Foreign == "mine x:2"
		}},
		{"objective=regression", "objective=l2_old", `is not known`, nil},
		{"objective=regression", "objective=mse", "", func(e *tree.Ensemble) bool {
			return e.Objective.Name == "l2" && e.Objective.Foreign == "mse" && strings.Contains(string(printed(t, e)), "objective=mse\n")
		}},
		{"objective=regression\n", "", "", func(e *tree.Ensemble) bool { return e.Objective.Name == "" && e.Objective.Link == tree.Identity }},
		{"version=v4\n", "", "", func(e *tree.Ensemble) bool { return e.Origin == "LightGBM" }},
		{"version=v4", "version=v9", `version "v9" is not known: read as v4`, nil},
		{"version=v4", "version=v2", "", func(e *tree.Ensemble) bool {
			return e.Origin == "LightGBM v2" && strings.Contains(string(printed(t, e)), "version=v2\n")
		}},
		{"feature_names=a b", "feature_names=a=1  b", "", func(e *tree.Ensemble) bool { return e.Features.At(0).Name == "a=1" }},
		{`[["x", "y"]]`, "null", "", func(e *tree.Ensemble) bool { return e.Features.At(1).Levels == nil }},
		{`[["x", "y"]]`, `[["x"], ["y"]]`, "which are whose is not known", func(e *tree.Ensemble) bool { return e.Features.At(1).Levels == nil }},
		{`[["x", "y"]]`, `[[1, 2.50]]`, "", func(e *tree.Ensemble) bool { return e.Features.At(1).Levels[1] == "2.50" }},
		{"end of trees\n", "end of trees\nthole:{\"names\":{\"0\":\"c d\"}}\n", "the name of feature 0 was changed", nil},
		{"end of trees\n", "end of trees\nthole:{\"objective\":{\"name\":\"x\",\"link\":\"exp\"}}\n", "the objective was changed", nil},
		{"end of trees\n", "feature importances:\nend of trees\n", "", nil},
		{"leaf_count=5 6 7 8\ninternal_count=26 12 14\n", "leaf_count=1e3 6 7 8\n", "", func(e *tree.Ensemble) bool {
			return e.Trees[0].LeafCount[0] == 1000 && e.Trees[0].Count[0] == 0
		}},
	} {
		changed := strings.Replace(small, c.old, c.new, 1)
		if !strings.Contains(c.old, "tree_sizes") {
			changed = strings.Replace(changed, "tree_sizes=255\n", "", 1)
		}
		e, notes, err := parse([]byte(changed))
		if all := strings.Join(notes, "\n"); err != nil || !strings.Contains(all, c.note) || c.note == "" && all != "" || c.is != nil && !c.is(e) {
			t.Errorf("%q instead of %q: %q, %v; %+v", c.new, c.old, notes, err, e)
		}
	}
	for sizes, want := range map[string]int{"255": 0, "256": 1, "0": 1} {
		_, notes, err := parse([]byte(strings.Replace(small, "tree_sizes=255", "tree_sizes="+sizes, 1)))
		if got := format.Problems(notes); err != nil || len(got) != want {
			t.Errorf("tree_sizes=%s: problems %q, %v", sizes, got, err)
		}
		dos := strings.ReplaceAll(strings.Replace(small, "tree_sizes=255", "tree_sizes="+sizes, 1), "\n", "\r\n")
		_, notes, err = parse([]byte(dos))
		if got := format.Problems(notes); err != nil || len(got) != want { // sizes count LF alone
			t.Errorf("tree_sizes=%s, CR LF: problems %q, %v", sizes, got, err)
		}
	}
	bare := small[:strings.Index(small, "end of trees")]
	if _, notes, err := parse([]byte(strings.Replace(bare, "tree_sizes=255\n", "", 1))); err != nil || len(notes) != 1 {
		t.Errorf("without an end and sizes: %q, %v", notes, err)
	}
}

// TestMemory: what is said to be large takes no memory.
func TestMemory(t *testing.T) {
	for _, large := range []string{"num_leaves=1000000000", "max_feature_idx=16000000", "cat_boundaries=0 2000000000"} {
		key, _, _ := strings.Cut(large, "=")
		i := strings.Index(small, key+"=")
		end := i + strings.IndexByte(small[i:], '\n')
		text := []byte(small[:i] + large + small[end:])
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, _, err := parse(text); err == nil {
			t.Errorf("%s: no error", large)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
			t.Errorf("%s: %d bytes were taken for a text of %d", large, n, len(text))
		}
	}
}
