package xgboost

import (
	"bufio"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"thole.example/tree"
)

// write writes the ensemble, JSON or UBJSON. Numbers that XGBoost keeps in float32 are rounded. It fails with format.ErrVersion for what no
// model of XGBoost says.
func write(to io.Writer, e *tree.Ensemble, binary bool) error {
	d, err := newDocument(e)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(to, 1<<16)
	var w writer = &textWriter{out: out, bare: true}
	if binary {
		w = &binaryWriter{out: out}
	}
	w.object()
	w.key("learner")
	w.object()
	w.key("attributes")
	w.object()
	for _, key := range slices.Sorted(maps.Keys(d.attributes)) {
		w.key(key)
		w.text(d.attributes[key])
	}
	w.endObject()
	for _, list := range []struct {
		key  string
		text []string
	}{{"feature_names", d.names}, {"feature_types", d.types}} {
		w.key(list.key)
		w.list(len(list.text))
		for _, text := range list.text {
			w.text(text)
		}
		w.endList()
	}
	w.key("gradient_booster")
	if err := d.writeBooster(w, e); err != nil {
		return err
	}
	w.key("learner_model_param")
	writeValue(w, map[string]any{"base_score": d.base, "boost_from_average": "0", "num_class": strconv.Itoa(d.classes),
		"num_feature": strconv.Itoa(d.features), "num_target": strconv.Itoa(max(1, d.targets))})
	w.key("objective")
	writeValue(w, d.objective)
	w.endObject()
	w.key("version")
	w.wholes([]int64{int64(d.version[0]), int64(d.version[1]), int64(d.version[2])}, 0)
	w.endObject()
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
	{key: hessianKey, kind: 'd', floats: func(n *nodes) []float32 { return n.hessian }},
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
func (d *document) writeBooster(w writer, e *tree.Ensemble) error {
	w.object()
	w.key("model")
	w.object()
	d.writeLevels(w, e)
	w.key("gbtree_model_param")
	writeValue(w, map[string]any{"num_parallel_tree": strconv.Itoa(d.parallel), "num_trees": strconv.Itoa(len(e.Trees)),
		"size_leaf_vector": "0"})
	w.key("iteration_indptr")
	w.wholes(d.starts, 0)
	w.key("tree_info")
	w.wholes(d.info, 0)
	w.key("trees")
	w.list(len(e.Trees))
	had := make([]bool, e.Classes)
	for i := range e.Trees {
		if err := d.encode(e, i, had); err != nil {
			return err
		}
		d.nodes.write(w, i, d.features)
	}
	w.endList()
	w.endObject()
	w.key("name")
	w.text("gbtree")
	w.endObject()
	return nil
}

func (n *nodes) write(w writer, id, features int) {
	w.object()
	for _, l := range treeLists {
		if l.key == leftKey {
			w.key("id")
			w.whole(int64(id))
		}
		if l.floats != nil {
			if list := l.floats(n); len(list) > 0 || l.key != hessianKey {
				w.key(l.key)
				w.floats(list)
			}
		} else if list := l.wholes(n); len(list) > 0 || l.key != countKey && l.key != leavesKey {
			w.key(l.key)
			w.wholes(list, l.kind)
		}
	}
	w.key("tree_param")
	writeValue(w, map[string]any{"num_deleted": "0", "num_feature": strconv.Itoa(features), "num_nodes": strconv.Itoa(len(n.left)),
		"size_leaf_vector": "1"})
	w.endObject()
}

// writeLevels writes the names of levels.
func (d *document) writeLevels(w writer, e *tree.Ensemble) {
	w.key("cats")
	w.object()
	all := encodeLevels(e.Features)
	w.key("enc")
	w.list(len(all.offsets))
	for i := range all.offsets {
		w.object()
		w.key("offsets")
		w.wholes(all.offsets[i], 'l')
		w.key("values")
		w.wholes(all.bytes[i], 'i')
		w.endObject()
	}
	w.endList()
	w.key("feature_segments")
	w.wholes(all.segments, 'l')
	w.key("sorted_idx")
	w.wholes(all.sorted, 'l')
	w.endObject()
}
