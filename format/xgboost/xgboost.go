// Package xgboost reads and writes the models of XGBoost, JSON and UBJSON, as one codec with two layouts. A file is one ensemble of
// trees and nothing else: its reader shows the matrices of package tree, with trees.json beside them.
//
// Source: dmlc/xgboost, doc/model.schema and src/tree/tree_model.cc, versions 1.0 to 3.2; what those versions write and how they score is
// tested (testdata/models.py). Objects have these fields; settings are texts even if they are numbers, and XGBoost passes over keys that it
// does not know, as we do.
//
//	version                    [major, minor, patch]
//	learner
//	  attributes               texts: best_iteration (the last one that scores); others are left out, with a note
//	  feature_names            a name for each feature, or none: f0, f1, ... then
//	  feature_types            "c" is categorical; float, int, i and q are numbers
//	  objective                name, and an object of its settings (kept for the way back)
//	  learner_model_param
//	    base_score             where scores begin, on the scale of the label: "5E-1", from 3.1 on "[5E-1]" or one for each class
//	    num_class, num_target  scores of a row, if it has several
//	    num_feature
//	  gradient_booster         name: gbtree, or dart, which has a gbtree within, and weight_drop, a factor for each tree
//	    model
//	      gbtree_model_param   num_trees, num_parallel_tree: trees of one class in an iteration (since 1.3)
//	      tree_info            class of each tree
//	      iteration_indptr     first tree of each iteration, and the number of trees (since 1.7)
//	      cats                 names of levels (since 3.1): enc, for each feature offsets and values, the bytes of all names
//	      trees                lists over all nodes; 0 is the root
//	        left_children      -1: a leaf
//	        right_children
//	        split_indices      feature
//	        split_conditions   f32: goes left if v < condition; of a leaf its value
//	        default_left       1: a missing value (NaN) goes left
//	        split_type         1: categorical (since 1.5)
//	        categories         levels of all sets, one after the other; what is in the set of a node goes right
//	        categories_nodes, categories_segments, categories_sizes    nodes with sets, where those begin, their sizes
//	        base_weights, loss_changes, sum_hessian    value before the rate, gain, weight
//	        tree_param         num_nodes, num_deleted: nodes that no way leads to, left by pruning; size_leaf_vector
//
// Thresholds are the float32 before the condition, so that v <= threshold is v < condition. Of a categorical node the sides are
// turned, because in an ensemble what is in the set goes left. Scores are added up in float32 from the start score on, as XGBoost
// does since 1.3: margins are the same bits.
//
// We write what 1.7 and all after it read: one base_score for all classes, what that cannot say in the leaves of the first trees. What only
// Thole knows stands in the attribute thole and in the lists thole_count (rows of each node) and thole_leaf (numbers of leaves) of a
// tree, which XGBoost passes over. Children lie side by side, because XGBoost takes the right child for the one behind the left.
// Refused are gblinear, leaves of several values (multi_strategy=multi_output_tree), snapshots of a training, and the binary format of
// before 1.0, which 2.x still wrote.
package xgboost

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"

	"thole.example/format"
	"thole.example/format/trees"
	"thole.example/tree"
	"thole.example/wire"
)

const name = "xgboost"

// Codec reads and writes models of XGBoost.
var Codec = trees.Layout{
	Info: format.Info{
		Name:   name,
		Title:  "XGBoost's models of boosted trees",
		Ext:    ".ubj",
		Reads:  "JSON and UBJSON of XGBoost 1.0 to 3.2: gbtree and dart",
		Writes: "JSON or UBJSON for XGBoost 1.7 and newer",
		Options: []format.Option{{Name: layoutOption, Default: binaryLayout, Writing: true,
			Help: "json: text; ubj: UBJSON, smaller and faster to read"}},
		Endings: []format.Ending{{Ext: ".json", Set: map[string]string{layoutOption: textLayout}}},
	},
	Sniff: sniff,
	Parse: parse,
	Fit:   fit,
	Print: func(w io.Writer, e *tree.Ensemble, o *format.Options) error {
		switch layout := o.Set[layoutOption]; layout {
		case "", textLayout, binaryLayout:
			return write(w, e, layout != textLayout)
		default:
			return fmt.Errorf("layout %q, want json or ubj: %w", layout, format.ErrOption)
		}
	},
	Explain: explain,
}.Codec()

const (
	layoutOption = "layout"
	textLayout   = "json"
	binaryLayout = "ubj"
)

var (
	textBegin   = regexp.MustCompile(`^\s*\{\s*("version"\s*:\s*\[[\d,\s]*\]\s*,\s*)?"learner"\s*:\s*\{`)
	oldBegin    = []byte("binf")
	oldName     = regexp.MustCompile(`^(binary|reg|multi|rank|count|survival):[a-z0-9]+`)
	learnerMark = []byte("learner{")
)

// oldNameAt is where files of the old format without the mark have the length of the objective's name, and the name behind it.
const oldNameAt = 136

// sniff says which layout a file has that begins so.
func sniff(begin []byte) string {
	switch {
	case textBegin.Match(begin):
		return "JSON model"
	case binaryBegin(begin) && bytes.Contains(begin, learnerMark):
		return "UBJSON model"
	case oldFormat(begin) != errForeign:
		return "the binary format of before XGBoost 1.0"
	}
	return ""
}

// binaryBegin reports whether an object of UBJSON begins here: a brace and the length of a key.
func binaryBegin(b []byte) bool { return len(b) > 1 && b[0] == '{' && numberSizes[b[1]] > 0 }

// errForeign is what files fail with that are no models of XGBoost.
var errForeign = errors.New("no model of XGBoost, which begins with {")

// errNoLearner is what other objects in JSON fail with.
var errNoLearner = errors.New("no model of XGBoost, which has the key learner")

// oldFormat says that the file is of the old binary format and what to do, or that it is foreign.
func oldFormat(b []byte) error {
	old := bytes.HasPrefix(b, oldBegin)
	if at := oldNameAt + 8; !old && len(b) > at {
		n := wire.Little.Uint64(b[oldNameAt:])
		old = n > 0 && n < 64 && uint64(len(b)-at) >= n && uint64(len(oldName.Find(b[at:]))) == n
	}
	if !old {
		return errForeign
	}
	return fmt.Errorf("the binary format of before XGBoost 1.0, want JSON or UBJSON; convert it with an XGBoost of 1.0 to 3.0: "+
		"xgboost.Booster(model_file=OLD).save_model(\"NEW.json\"): %w", format.ErrVersion)
}

// reader reads the file in its layout.
func reader(file []byte) (v values, binary bool) {
	if binaryBegin(file) {
		return newBinaryReader(file), true
	}
	return newTextReader(file), false
}

// parse reads a model, JSON or UBJSON as its first bytes say. Notes say what a user should know of how it was read. Errors wrap a
// *wire.At with the byte where that is known, and format.ErrVersion for what no ensemble holds.
func parse(file []byte) (e *tree.Ensemble, notes []string, err error) {
	v, binary := reader(file)
	if !binary && v.next() != '{' {
		return nil, nil, oldFormat(file)
	}
	m := &model{nodes: nodes{room: wordLimit + len(file)}}
	m.read(v)
	if err := v.failed(); err != nil {
		return nil, nil, err
	}
	if !m.hasLearner {
		return nil, nil, errNoLearner
	}
	e, notes, err = m.ensemble(func(off int64, text string, args ...any) error {
		err := fmt.Errorf(text, args...)
		if off >= 0 {
			err = &wire.At{Off: off, Err: err}
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	layout := textLayout
	if binary {
		layout = binaryLayout
	}
	return e, append([]string{m.origin() + ", " + layout}, notes...), nil
}

// wordLimit is how many words of sets a model has at least room for; a larger file has room for more.
const wordLimit = 1 << 24
