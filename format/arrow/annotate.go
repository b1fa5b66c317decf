package arrow

import (
	"cmp"
	"fmt"
	"slices"

	"thole.example/dump"
	"thole.example/wire"
)

const shownFields = 64 // tables of a vector

// spec says what the fields of a table are, in the order of their slots.
type spec []slot

type slot struct {
	name string
	// size is the bytes of a number; each those of the structs in a vector.
	size, each int
	str        bool
	tab, tabs  func() spec // a table, a vector of tables
	kinds      func(kind uint8) spec
}

func keySpec() spec { return spec{{name: "key", str: true}, {name: "value", str: true}} }

func messageSpec() spec {
	return spec{{name: "version", size: 2}, {name: "kind", size: 1}, {name: "header", kinds: headSpec}, {name: "length of the body", size: 8},
		{name: "metadata", tabs: keySpec}}
}

func headSpec(kind uint8) spec {
	switch kind {
	case kindSchema:
		return schemaSpec()
	case kindBatch:
		return batchSpec()
	case kindDictionary:
		return spec{{name: "id", size: 8}, {name: "values", tab: batchSpec}, {name: "delta", size: 1}}
	}
	return nil
}

func schemaSpec() spec {
	return spec{{name: "byte order", size: 2}, {name: "columns", tabs: fieldSpec}, {name: "metadata", tabs: keySpec},
		{name: "features", each: 8}}
}

func fieldSpec() spec {
	return spec{{name: "name", str: true}, {name: "nullable", size: 1}, {name: "kind of the type", size: 1}, {name: "type", kinds: typeSpec},
		{name: "dictionary", tab: func() spec {
			return spec{{name: "id", size: 8}, {name: "type of the index", tab: intSpec}, {name: "ordered", size: 1}}
		}},
		{name: "children", tabs: fieldSpec}, {name: "metadata", tabs: keySpec}}
}

func intSpec() spec { return spec{{name: "bits", size: 4}, {name: "signed", size: 1}} }

func typeSpec(kind uint8) spec {
	switch kind {
	case typeInt:
		return intSpec()
	case typeFloat:
		return spec{{name: "precision", size: 2}}
	case typeDecimal:
		return spec{{name: "precision", size: 4}, {name: "scale", size: 4}, {name: "bits", size: 4}}
	case typeTime:
		return spec{{name: "unit", size: 2}, {name: "bits", size: 4}}
	case typeTimestamp:
		return spec{{name: "unit", size: 2}, {name: "time zone", str: true}}
	case typeDate, typeDuration:
		return spec{{name: "unit", size: 2}}
	case typeFixedList:
		return spec{{name: "numbers in a list", size: 4}}
	case typeUnion:
		return spec{{name: "mode", size: 2}, {name: "ids of the types", each: 4}}
	}
	return nil
}

func batchSpec() spec {
	return spec{{name: "rows", size: 8}, {name: "nodes (length, nulls)", each: 16}, {name: "buffers (place, length)", each: 16},
		{name: "compression", tab: func() spec { return spec{{name: "codec", size: 1}, {name: "method", size: 1}} }}, {name: "views", each: 8}}
}

func footerSpec() spec {
	return spec{{name: "version", size: 2}, {name: "schema", tab: schemaSpec}, {name: "dictionary batches (place, before, body)", each: 24},
		{name: "record batches (place, before, body)", each: 24}, {name: "metadata", tabs: keySpec}}
}

// mark is bytes with their meaning.
type mark struct {
	at, n int
	text  string
}

// annotator collects the meaning of the bytes of a flatbuffer.
type annotator struct {
	f     *flat
	quiet bool // goes through all without noting it
	marks []mark
}

// explainFlat prints all bytes of a flatbuffer.
func explainFlat(p *dump.Printer, f *flat, of func() spec) error {
	a := annotator{f: f}
	if f.has(0, 4, "offset") {
		a.add(0, 4, "place of the table: %d", f.u32(0))
		a.table(f.root(), of())
	}
	slices.SortFunc(a.marks, func(x, y mark) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.n, y.n)) })
	next := 0
	for _, m := range a.marks {
		if m.at < next { // bytes that two things share
			continue
		}
		a.rest(p, next, m.at)
		p.Field(f.base+int64(m.at), f.b[m.at:m.at+m.n], "%s", m.text)
		next = m.at + m.n
	}
	a.rest(p, next, len(f.b))
	return f.err
}

// rest prints bytes that nothing refers to.
func (a *annotator) rest(p *dump.Printer, from, to int) {
	if from == to {
		return
	}
	for _, v := range a.f.b[from:to] {
		if v != 0 {
			p.Gap(a.f.base+int64(from), int64(to-from), "not shown")
			return
		}
	}
	p.Gap(a.f.base+int64(from), int64(to-from), "padding")
}

func (a *annotator) add(at, n int, text string, args ...any) {
	if a.f.has(at, n, "field") && n > 0 && !a.quiet {
		a.marks = append(a.marks, mark{at, n, fmt.Sprintf(text, args...)})
	}
}

// table notes a table and what it refers to. The name of the spec of a union is in the field before it.
func (a *annotator) table(t tab, s spec) {
	if t.f == nil || a.f.err != nil {
		return
	}
	a.add(t.v, t.slots, "vtable: places of %d fields in a table of %d bytes", (t.slots-4)/2, t.size)
	if t.v < t.at {
		a.add(t.at, 4, "table, its vtable %d bytes before", t.at-t.v)
	} else {
		a.add(t.at, 4, "table, its vtable %d bytes behind", t.v-t.at)
	}
	for i, x := range s {
		switch {
		case x.size > 0:
			a.number(t, i, x)
		case x.str:
			at, n := t.vector(i, 1)
			a.refer(t, i, x.name)
			if at > 0 {
				a.add(at-4, 4, "%s of %d bytes", x.name, n)
				a.add(at, min(n+1, len(a.f.b)-at), "%.200q", a.f.text[at:at+n])
			}
		case x.each > 0:
			a.structs(t, i, x)
		case x.tabs != nil:
			a.tables(t, i, x)
		default:
			inner := t.tab(i)
			a.refer(t, i, x.name)
			if x.kinds != nil {
				a.table(inner, x.kinds(t.u8(i-1)))
			} else {
				a.table(inner, x.tab())
			}
		}
	}
}

func (a *annotator) refer(t tab, i int, what string) {
	if at := t.slot(i, 4); at > 0 {
		a.add(at, 4, "%s: %d bytes on", what, a.f.u32(at))
	}
}

func (a *annotator) number(t tab, i int, x slot) {
	at := t.slot(i, x.size)
	if at == 0 {
		return
	}
	v := int64(0)
	switch x.size {
	case 1:
		v = int64(t.u8(i))
	case 2:
		v = int64(t.i16(i, 0))
	case 4:
		v = int64(t.i32(i, 0))
	default:
		v = t.i64(i)
	}
	a.add(at, x.size, "%s %d%s", x.name, v, reading(x.name, v))
}

// reading is what a number stands for.
func reading(what string, v int64) string {
	names := map[string][]string{"version": {"V1", "V2", "V3", "V4", "V5"}, "kind": kindNames, "byte order": {"little", "big"}}[what]
	if what == "kind of the type" && v >= 0 && v < int64(len(shapes)) {
		return " (" + shapes[v].name + ")"
	}
	if v >= 0 && v < int64(len(names)) {
		return " (" + names[v] + ")"
	}
	return ""
}

func (a *annotator) structs(t tab, i int, x slot) {
	a.refer(t, i, x.name)
	at, n := t.vector(i, x.each)
	if at == 0 {
		return
	}
	a.add(at-4, 4, "%s: %d", x.name, n)
	if x.each < 8 || a.quiet {
		a.add(at, n*x.each, "%s", x.name)
		return
	}
	for k := range min(n, 2*shownFields) {
		v := make([]int64, x.each/8)
		wire.Get(v, a.f.b[at+k*x.each:][:x.each], wire.Little)
		if x.each == 24 {
			v[1] = int64(int32(v[1])) // four bytes behind it are padding
		}
		a.add(at+k*x.each, x.each, "%d: %d", k, v)
	}
}

func (a *annotator) tables(t tab, i int, x slot) {
	a.refer(t, i, x.name)
	at, n := t.vector(i, 4)
	if at == 0 {
		return
	}
	a.add(at-4, 4, "%s: %d", x.name, n)
	if !a.quiet {
		n = min(n, shownFields)
	}
	for k := range n {
		a.add(at+4*k, 4, "%d: %d bytes on", k, a.f.u32(at+4*k))
		if inner := a.f.follow(at + 4*k); a.f.spend(at, 4) {
			a.table(inner, x.tabs())
		}
	}
}
