package lightgbm

import (
	"bytes"
	"fmt"
	"strings"

	"thole.example/dump"
	"thole.example/tree"
)

// shownTrees is how many trees an explanation shows.
const shownTrees = 3

// meanings are what lines say, by their key.
var meanings = map[string]string{
	"version": "of the format", "num_class": "scores that the objective has", "num_tree_per_iteration": "trees of an iteration",
	"label_index": "column of the label", "max_feature_idx": "features - 1", "objective": "what was learned",
	"feature_names": "a word each", "monotone_constraints": "-1 falls, 1 rises", "feature_infos": "[least:most], or levels",
	"tree_sizes": "bytes of the text of each tree", "num_leaves": "n; inner nodes are 0 to n-2, leaf i is -(i+1)",
	"num_cat": "categorical splits", "split_feature": "of each inner node", "split_gain": "of the loss", "threshold": "v <= it goes left",
	"left_child": "inner nodes, or leaves below 0", "right_child": "inner nodes, or leaves below 0", "leaf_value": "the rate is in it",
	"leaf_weight": "sums of second derivatives", "leaf_count": "rows", "internal_value": "if it were a leaf",
	"internal_weight": "sums of second derivatives", "internal_count": "rows", "cat_boundaries": "words of set i: from boundary i to the next",
	"cat_threshold": "levels that go left, 32 a word", "is_linear": "1: leaves are linear models", "shrinkage": "rate, not used",
}

// explain prints the lines of a file: of the trees the first ones.
func explain(file []byte, p *dump.Printer) {
	s := lines{src: file}
	p.Head("header")
	trees, end := 0, 0
	for line, ok := s.next(); ok; line, ok = s.next() {
		if end > 0 && (isTree(line) || string(line) == endOfTrees) && trees > shownTrees {
			p.Gap(int64(end), int64(s.off-end), "trees %d to %d", shownTrees, trees-1)
			end = 0
		}
		switch {
		case isTree(line):
			if trees++; trees <= shownTrees {
				p.Head("tree %d", trees-1)
			} else if end == 0 {
				end = s.off
			}
		case string(line) == endOfTrees:
			p.Head("behind the trees")
		}
		if len(line) > 0 && end == 0 {
			p.Line(int64(s.off), line, "%s", meaning(line))
		}
	}
	if end > 0 {
		p.Gap(int64(end), int64(len(file)-end), "trees %d to %d", shownTrees, trees-1)
	}
}

func meaning(line []byte) string {
	key, value, isPair := bytes.Cut(line, []byte("="))
	switch k := string(key); {
	case k == "decision_type":
		return kinds(value)
	case isPair:
		return meanings[k]
	case k == averageKey:
		return "scores are means over iterations"
	case strings.HasPrefix(k, pandasKey):
		return "levels of categorical features"
	case strings.HasPrefix(k, ownKey):
		return "what LightGBM has no place for"
	}
	return ""
}

// kinds says what the bits of the first nodes mean.
func kinds(value []byte) string {
	v := entry{text: cut(value)}
	var all []string
	seen := map[tree.Kind]bool{}
	_ = v.split(func(word []byte) error { // which gives no error of its own
		k, ok := kind(word)
		if !ok || seen[k] {
			return nil
		}
		seen[k] = true
		text := "numeric"
		if k&tree.Categorical != 0 {
			text = "categorical"
		}
		switch {
		case k&tree.ZeroMissing != 0:
			text += ", zero is missing"
		case k&tree.NaNMissing != 0:
			text += ", NaN is missing"
		}
		if k&tree.DefaultLeft != 0 {
			text += ", missing goes left"
		}
		all = append(all, fmt.Sprintf("%d: %s", k, text))
		return nil
	})
	return strings.Join(all, "; ")
}
