// Package lightgbm reads and writes the text files in which LightGBM keeps its models (model.txt): one ensemble of trees.
//
// Source: LightGBM's src/boosting/gbdt_model_text.cpp, src/io/tree.cpp and include/LightGBM/tree.h, and files of versions 2.3 to 4.7.
//
//	file       = header { tree } "end of trees" { line }        lines end with LF or CR LF
//	header     = "tree" { key "=" value } [ "average_output" ] blank
//	tree       = "Tree=" number { key "=" value } blank         numbers ascend from 0
//	value      = { word " " } word
//
//	header                   wanted  meaning
//	version                          v2, v3 or v4
//	num_class                yes     scores of a row that the objective has
//	num_tree_per_iteration           trees of an iteration, one for each score; num_class if missing
//	label_index                      column of the label; not used
//	max_feature_idx          yes     features - 1
//	objective                        name, then words and key:value; without it scores are predictions
//	average_output                   scores are the mean over the iterations, not the sum (random forests); no "="
//	feature_names            yes     a word for each feature
//	monotone_constraints             -1, 0 or 1 for each feature
//	feature_infos            yes     for each feature: [least:most]; levels of a categorical one, -1:3:0; none: not known
//	tree_sizes                       bytes of each tree's text
//
//	tree                     values  of n = num_leaves
//	num_leaves, num_cat      1       leaves; sets of levels
//	split_feature            n-1     of inner nodes, 0 is the root
//	split_gain               n-1     gain
//	threshold                n-1     v <= threshold goes left; of a categorical split the number of its set
//	decision_type            n-1     bits of tree.Kind: 1 categorical, 2 missing goes left, 4 zero is missing, 8 NaN is missing
//	left_child, right_child  n-1     inner node, or leaf i as -(i+1)
//	leaf_value               n       rate and start score are in it
//	leaf_weight, leaf_count  n       sum of second derivatives; rows
//	internal_value, internal_weight, internal_count             n-1     the same of inner nodes
//	cat_boundaries           num_cat+1                          words of set i: from boundary i to the next
//	cat_threshold            words   32 levels each, the lowest in bit 0; in the set goes left
//	is_linear                1       1 is refused
//	shrinkage                1       rate; not used
//
// split_feature, threshold, left_child, right_child and leaf_value are wanted, others are zero where they are missing. What follows
// the trees is read over, but for these lines:
//
//	[alpha: 0.9]                     among parameters: settings of the objective
//	pandas_categorical:[["a", "b"]]  levels of the categorical features that were texts (or numbers) in pandas
//	thole:{"origin": "x"}            ours, which LightGBM reads over: what a file has no other place for (type own)
//
// Limits: files of 2 GiB, those of package tree. We write every line, and of a model whose training stopped early only the iterations up
// to the best one, as LightGBM's Python package does. The start score goes into the first tree of each class, where LightGBM has it.
package lightgbm

import (
	"bytes"
	"io"

	"thole.example/dump"
	"thole.example/format"
	"thole.example/format/trees"
	"thole.example/tree"
)

const name = "lightgbm"

// Codec reads and writes models of LightGBM.
var Codec = trees.Layout{
	Info: format.Info{
		Name: name, Title: "LightGBM's models of boosted trees", Ext: ".lgb", Endings: []format.Ending{{Ext: ".lgbm"}},
		Reads:  "model.txt of versions 2 to 4, without linear trees",
		Writes: "model.txt of version 4, of models of trees only",
	},
	Sniff: sniff,
	Parse: parse,
	Fit:   fit,
	Print: func(w io.Writer, e *tree.Ensemble, _ *format.Options) error { return write(w, e) },
	Explain: func(file []byte, p *dump.Printer) error {
		explain(file, p)
		return nil
	},
}.Codec()

// sniff wants the first line "tree" and one of those that all files have.
func sniff(begin []byte) string {
	s := lines{src: begin}
	if first, _ := s.next(); string(first) != firstLine {
		return ""
	}
	dialect := ""
	for line, ok := s.next(); ok && len(line) > 0; line, ok = s.next() {
		key, value, _ := bytes.Cut(line, []byte("="))
		switch string(key) {
		case "version":
			dialect = "LightGBM model " + string(value[:min(len(value), 8)])
		case "num_class", "label_index", "max_feature_idx":
			if dialect == "" {
				dialect = "LightGBM model"
			}
		}
	}
	return dialect
}
