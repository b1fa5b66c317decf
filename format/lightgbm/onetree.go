package lightgbm

import (
	"fmt"

	"thole.example/format"
	"thole.example/tree"
)

// parseTree makes a tree of its lines.
func parseTree(all entries, features int) (*tree.Tree, error) {
	if _, ok := all["num_leaves"]; !ok {
		return nil, fmt.Errorf("no line num_leaves=, want one")
	}
	leaves, err := all.whole("num_leaves", 0, 1, 1<<30)
	if err != nil {
		return nil, err
	}
	if v := all["is_linear"]; string(v.text) == "1" {
		return nil, v.fail("is 1: leaves are linear models, which are not supported, want a model trained with linear_tree=false: %w",
			format.ErrVersion)
	}
	r := treeReader{all: all}
	n, m := int(leaves), int(leaves)-1
	t := &tree.Tree{LeafValue: take(&r, "leaf_value", n, true, float)} // first: a count that is wrong ends here
	t.Feature = take(&r, "split_feature", m, true, narrow)
	t.Threshold = take(&r, "threshold", m, true, float)
	t.Left, t.Right = take(&r, "left_child", m, true, narrow), take(&r, "right_child", m, true, narrow)
	t.Kind = take(&r, "decision_type", m, false, kind)
	t.Gain, t.Value = take(&r, "split_gain", m, false, float), take(&r, "internal_value", m, false, float)
	t.Weight, t.Count = take(&r, "internal_weight", m, false, float), take(&r, "internal_count", m, false, integer)
	t.LeafWeight, t.LeafCount = take(&r, "leaf_weight", n, false, float), take(&r, "leaf_count", n, false, integer)
	if r.err != nil {
		return nil, r.err
	}
	if err := readSets(t, all); err != nil {
		return nil, err
	}
	return t, t.Check(features)
}

// treeReader keeps the first error.
type treeReader struct {
	all entries
	err error
}

func take[T any](r *treeReader, key string, n int, wanted bool, parse func([]byte) (T, bool)) []T {
	if r.err != nil {
		return nil
	}
	var v []T
	v, r.err = list(r.all, key, n, wanted, parse)
	return v
}

// kind reads the bits of a split. What is missing never goes left where LightGBM asks for levels, whatever the bit says.
func kind(word []byte) (tree.Kind, bool) {
	v, ok := narrow(word)
	k := tree.Kind(v)
	if k&tree.Categorical != 0 {
		k &^= tree.DefaultLeft
	}
	return k, ok && v >= 0 && v < 1<<4
}

// readSets reads the levels of categorical splits: a set for each.
func readSets(t *tree.Tree, all entries) error {
	sets, err := all.whole("num_cat", 0, 0, int64(len(t.Feature)))
	if err != nil {
		return err
	}
	splits := int64(0)
	for _, k := range t.Kind {
		if k&tree.Categorical != 0 {
			splits++
		}
	}
	if sets != splits {
		return fmt.Errorf("num_cat is %d, and %d splits are categorical", sets, splits)
	}
	if sets == 0 {
		return nil
	}
	r := treeReader{all: all}
	t.Bounds = take(&r, "cat_boundaries", int(sets)+1, true, narrow)
	if r.err != nil {
		return r.err
	}
	words := t.Bounds[sets]
	if v := all["cat_threshold"]; words < 0 || int(words) > len(v.text)/2+1 {
		return fmt.Errorf("cat_boundaries end at %d, and cat_threshold has %d bytes", words, len(v.text))
	}
	t.Words = take(&r, "cat_threshold", int(words), true, unsigned)
	return r.err
}
