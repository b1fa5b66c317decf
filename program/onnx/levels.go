package onnx

import (
	"math"

	"thole.example/program"
	"thole.example/tree"
	"thole.example/wire"
)

// levelSets are the sets of levels that nodes ask for of a categorical feature, each once. A set is a column, 0 of the levels in it and 1
// of all others; NaN has a row of its own, as it may be in a set. TreeEnsemble has sets of its own (BRANCH_MEMBER), but ONNX Runtime
// 1.22 and 1.23 do not come to an end with trees of several.
type levelSets struct {
	sets   [][]uint32
	nan    []bool           // of a set: NaN is in it
	number map[string]int64 // of a set, by its key
	levels int64            // one more than the largest
	first  int64            // column
}

// nanGoesLeft reports whether NaN goes with the levels of the set of a node.
func nanGoesLeft(t *tree.Tree, node int) bool { return t.GoesLeft(node, math.NaN()) }

// setKey is the bytes of the set of a node, without words of no levels at its end, and whether NaN is in it.
func setKey(t *tree.Tree, node int) string {
	set := t.Set(node)
	for len(set) > 0 && set[len(set)-1] == 0 {
		set = set[:len(set)-1]
	}
	raw := make([]byte, 0, 4*len(set))
	for _, w := range set {
		raw = wire.AppendU32(raw, wire.Little, w)
	}
	if nanGoesLeft(t, node) {
		return string(raw) + "n"
	}
	return string(raw)
}

func (l *levelSets) add(t *tree.Tree, node int) {
	key := setKey(t, node)
	if _, ok := l.number[key]; ok {
		return
	}
	l.number[key] = int64(len(l.sets))
	l.sets, l.nan = append(l.sets, t.Set(node)), append(l.nan, nanGoesLeft(t, node))
	l.levels = max(l.levels, int64(len(key)/4)*32)
}

// bytes is the size of the table, which has a row for each level, one for what is none of them, and one for NaN.
func (l *levelSets) bytes() int64 { return (l.levels + 2) * int64(len(l.sets)) }

// columns makes the columns: it looks up the row of the level, which is the whole part of the value.
func (l *levelSets) columns(b *builder, v *views, numbers tree.Numbers, feature int64) string {
	sets := int64(len(l.sets))
	raw := make([]byte, l.bytes())
	for i := range raw {
		row, set := int64(i)/sets, int64(i)%sets
		in := row < l.levels && tree.Has(l.sets[set], int(row)) || row == l.levels+1 && l.nan[set]
		if !in {
			raw[i] = 1
		}
	}
	table := b.constant("sets", tensor{elem: program.VarType_UINT8, dims: []int64{l.levels + 2, sets}, raw: raw})
	add := func(kind, what string, in ...string) string { return b.add(kind, what, in) }
	x := b.add("Gather", "level", []string{featuresInput, b.integer(feature)}, attr{name: "axis", i: 1})
	x = v.whole(b, numbers, x)
	beyond := v.number(b, float64(l.levels)) // exact: below 2^24 and a word
	known := add("And", "known", add("GreaterOrEqual", "above", x, v.number(b, 0)), add("Less", "below", x, beyond))
	at := add("Where", "level", known, x, add("Where", "unknown", add("IsNaN", "missing", x), v.number(b, float64(l.levels+1)), beyond))
	row := b.add("Cast", "row", []string{at}, to(program.VarType_INT64))
	found := b.add("Gather", "outside", []string{table, row}, attr{name: "axis", i: 0})
	return b.add("Cast", "outside", []string{found}, to(v.fed))
}
