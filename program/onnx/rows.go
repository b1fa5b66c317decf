package onnx

import "slices"

// The inputs of examples that are fed as ids and values, as package export calls them.
const (
	idsInput    = "ids"
	valuesInput = "vals"
)

// rows adds the nodes that make rows of tables of what is fed, once both inputs are there.
func (b *builder) rows(fed string, o Options) {
	b.fed = append(b.fed, fed)
	if o.Rows < 1 || !slices.Contains(b.fed, idsInput) || !slices.Contains(b.fed, valuesInput) {
		return
	}
	if len(o.Keys) > 0 { // where there are none, row 0 is that of all others
		b.lookup(o.Keys)
	} else {
		b.guard(o.Rows)
	}
}

// lookup finds the rows of keys.
func (b *builder) lookup(keys []int64) {
	rows := make([]int64, len(keys))
	for i := range rows {
		rows[i] = int64(i)
	}
	b.as[idsInput] = b.fresh("rows")
	b.node("LabelEncoder", b.as[idsInput], []string{idsInput}, attr{name: "default_int64", i: int64(len(keys))},
		attr{name: "keys_int64s", list: keys}, attr{name: "values_int64s", list: rows})
}

// guard makes ids that are no rows to row 0 and their values to 0.
func (b *builder) guard(n int64) {
	add := func(kind, what string, in ...string) string { return b.add(kind, what, in) }
	known := add("And", "known", add("GreaterOrEqual", "above", idsInput, b.integer(0)), add("Less", "below", idsInput, b.integer(n)))
	b.as[idsInput] = add("Where", "rows", known, idsInput, b.integer(0))
	b.as[valuesInput] = add("Where", "values", known, valuesInput, b.number(0))
}
