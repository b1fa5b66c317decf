package lightgbm

import (
	"bufio"
	"cmp"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"thole.example/internal/number"
	"thole.example/tree"
)

// write writes the file of an ensemble that fit gave.
func write(w io.Writer, e *tree.Ensemble) error {
	out := bufio.NewWriterSize(w, 1<<16)
	var text []byte
	head := header(e)
	head = append(head, "tree_sizes="...)
	for i := range e.Trees {
		if i > 0 {
			head = append(head, ' ')
		}
		text = appendTree(text[:0], &e.Trees[i], i)
		head = strconv.AppendInt(head, int64(len(text)), 10)
	}
	out.Write(append(head, "\n\n"...)) // whose error Flush gives
	for i := range e.Trees {
		out.Write(appendTree(text[:0], &e.Trees[i], i))
	}
	if err := tail(out, e); err != nil {
		return err
	}
	return out.Flush()
}

// header is all of it but the sizes of the trees.
func header(e *tree.Ensemble) []byte {
	whole := func(b []byte, key string, v int) []byte {
		return append(strconv.AppendInt(append(b, key...), int64(v), 10), '\n')
	}
	b := append([]byte(firstLine+"\nversion="), fileVersion(e)...)
	b = whole(append(b, '\n'), "num_class=", e.Classes)
	b = whole(b, "num_tree_per_iteration=", e.Classes)
	b = whole(b, "label_index=", 0)
	b = whole(b, "max_feature_idx=", e.Features.Width-1)
	if line, _ := objectiveLine(&e.Objective, e.Classes); line != "" {
		b = append(append(append(b, "objective="...), line...), '\n')
	}
	if e.Mean {
		b = append(b, averageKey+"\n"...)
	}
	each := func(key string, value func(b []byte, i int, f *tree.Feature) []byte) {
		b = append(b, key...)
		for i := range e.Features.Width {
			if i > 0 {
				b = append(b, ' ')
			}
			f := e.Features.At(i)
			b = value(b, i, &f)
		}
		b = append(b, '\n')
	}
	each("feature_names=", func(b []byte, i int, f *tree.Feature) []byte { return append(b, word(f.Name, i)...) })
	monotone := false
	for _, f := range e.Features.Listed() {
		monotone = monotone || f.Monotone != 0
	}
	if monotone {
		each("monotone_constraints=", func(b []byte, _ int, f *tree.Feature) []byte { return strconv.AppendInt(b, int64(f.Monotone), 10) })
	}
	sets := asked(e)
	each("feature_infos=", func(b []byte, i int, f *tree.Feature) []byte { return appendInfo(b, f, sets[int32(i)]) })
	return b
}

// appendTree writes a tree. The rate that leaves were multiplied with is not known any more, so it is called 1.
func appendTree(b []byte, t *tree.Tree, i int) []byte {
	b = append(strconv.AppendInt(append(b, "Tree="...), int64(i), 10), '\n')
	b = append(strconv.AppendInt(append(b, "num_leaves="...), int64(t.Leaves()), 10), '\n')
	b = append(strconv.AppendInt(append(b, "num_cat="...), int64(max(0, len(t.Bounds)-1)), 10), '\n')
	b = wholes(b, "split_feature=", t.Feature)
	b = floats(b, "split_gain=", t.Gain)
	b = floats(b, "threshold=", t.Threshold)
	b = wholes(b, "decision_type=", t.Kind)
	b = wholes(b, "left_child=", t.Left)
	b = wholes(b, "right_child=", t.Right)
	b = floats(b, "leaf_value=", t.LeafValue)
	b = floats(b, "leaf_weight=", t.LeafWeight)
	b = wholes(b, "leaf_count=", t.LeafCount)
	b = floats(b, "internal_value=", t.Value)
	b = floats(b, "internal_weight=", t.Weight)
	b = wholes(b, "internal_count=", t.Count)
	if len(t.Bounds) > 1 {
		b = wholes(b, "cat_boundaries=", t.Bounds)
		b = wholes(b, "cat_threshold=", t.Words)
	}
	return append(b, "is_linear=0\nshrinkage=1\n\n\n"...)
}

func wholes[T int32 | int64 | uint32 | tree.Kind](b []byte, key string, values []T) []byte {
	b = append(b, key...)
	for i, v := range values {
		if i > 0 {
			b = append(b, ' ')
		}
		b = number.AppendInt64(b, int64(v))
	}
	return append(b, '\n')
}

func floats(b []byte, key string, values []float64) []byte {
	b = append(b, key...)
	for i, v := range values {
		if i > 0 {
			b = append(b, ' ')
		}
		switch { // spelled as LightGBM spells it
		case math.IsInf(v, 1):
			b = append(b, "inf"...)
		case math.IsInf(v, -1):
			b = append(b, "-inf"...)
		default:
			b = number.AppendFloat64(b, v)
		}
	}
	return append(b, '\n')
}

// tail writes what stands behind the trees.
func tail(out *bufio.Writer, e *tree.Ensemble) error {
	out.WriteString(endOfTrees + "\n\nfeature_importances:\n")
	for _, f := range used(e) {
		out.WriteString(word(e.Features.At(int(f.feature)).Name, int(f.feature)) + "=" + strconv.Itoa(f.splits) + "\n")
	}
	out.WriteString("\nparameters:\n")
	for key, v := range parameters(&e.Objective) { // at most one
		out.WriteString("[" + key + ": " + strconv.FormatFloat(v, 'g', -1, 64) + "]\n")
	}
	out.WriteString("\nend of parameters\n\n")
	o := ownOf(e)
	line, err := o.line()
	if err != nil {
		return err
	}
	out.Write(line)
	levels, err := pandas(e)
	out.Write(levels)
	return err
}

type splits struct {
	feature int32
	splits  int
}

// used are the features that splits ask for, those with the most splits first.
func used(e *tree.Ensemble) (all []splits) {
	counts := map[int32]int{}
	for i := range e.Trees {
		for _, f := range e.Trees[i].Feature {
			counts[f]++
		}
	}
	for _, f := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, splits{f, counts[f]})
	}
	slices.SortStableFunc(all, func(a, b splits) int { return cmp.Compare(b.splits, a.splits) })
	return all
}
