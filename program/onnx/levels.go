package onnx

import (
	"thole.example/program"
	"thole.example/tree"
	"thole.example/wire"
)

// levelSets are the sets of levels that nodes ask for of a categorical feature, each once. A set is a column, 0 of the levels in it and 1
// of all others: TreeEnsemble has sets of its own (BRANCH_MEMBER), but ONNX Runtime 1.22 and
// 1.23 do not come to an end with trees of several.
type levelSets struct {
	sets   [][]uint32
	number map[string]int64 // of a set, by its key
	levels int64            // one more than the largest
	first  int64            // column
}

// setKey is the bytes of a set, without words of no levels at its end.
func setKey(set []uint32) string {
	for len(set) > 0 && set[len(set)-1] == 0 {
		set = set[:len(set)-1]
	}
	raw := make([]byte, 0, 4*len(set))
	for _, w := range set {
		raw = wire.AppendU32(raw, wire.Little, w)
	}
	return string(raw)
}

func (l *levelSets) add(set []uint32) {
	key := setKey(set)
	if _, ok := l.number[key]; ok {
		return
	}
	l.number[key] = int64(len(l.sets))
	l.sets = append(l.sets, set)
	l.levels = max(l.levels, int64(len(key))*8)
}

// bytes is the size of the table, which has a row for each level and one for what is none of them.
func (l *levelSets) bytes() int64 { return (l.levels + 1) * int64(len(l.sets)) }

// columns makes the columns: it looks up the row of the level, which is the whole part of the value.
func (l *levelSets) columns(b *builder, feature int64) string {
	sets := int64(len(l.sets))
	raw := make([]byte, l.bytes())
	for i := range raw {
		row, set := int64(i)/sets, l.sets[int64(i)%sets]
		if row == l.levels || !tree.Has(set, int(row)) {
			raw[i] = 1
		}
	}
	table := b.constant("sets", tensor{elem: program.VarType_UINT8, dims: []int64{l.levels + 1, sets}, raw: raw})
	add := func(kind, what string, in ...string) string { return b.add(kind, what, in) }
	x := b.add("Gather", "level", []string{featuresInput, b.integer(feature)}, attr{name: "axis", i: 1})
	beyond := b.number(float64(l.levels)) // exact: below 2^24 and a word
	known := add("And", "known", add("GreaterOrEqual", "above", x, b.number(0)), add("Less", "below", x, beyond))
	row := b.add("Cast", "row", []string{add("Where", "level", known, x, beyond)}, to(program.VarType_INT64))
	found := b.add("Gather", "outside", []string{table, row}, attr{name: "axis", i: 0})
	return b.add("Cast", "outside", []string{found}, to(program.VarType_FP32))
}
