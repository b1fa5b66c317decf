package arrow

import (
	"encoding/binary"
	"slices"
)

// A flatbuffer is built from front to back: a table, then what it refers to. That is allowed, as offsets lead forward, and
// needs no more than places to be filled in later.

// val is a field of a table to be built. The kind of v says what it is: uint8, int16, int32, int64 stand in the table
// itself; string, []val (a table), [][]val (a vector of tables), []int64 (a vector of structs of each 64-bit numbers)
// behind it.
type val struct {
	slot int
	each int // 64-bit numbers of a struct in a vector
	v    any
}

// buildFlat is the flatbuffer of a table.
func buildFlat(root []val) []byte {
	f := builder{b: make([]byte, 4)}
	f.refer(0, root)
	return f.b
}

type builder struct{ b []byte }

func (f *builder) align(n int) {
	for len(f.b)%n != 0 {
		f.b = append(f.b, 0)
	}
}

// refer makes the offset at the place lead to v, which is put at the end.
func (f *builder) refer(at int, v any) {
	place := 0
	switch v := v.(type) {
	case string:
		f.align(4)
		place = len(f.b)
		f.b = binary.LittleEndian.AppendUint32(f.b, uint32(len(v)))
		f.b = append(append(f.b, v...), 0)
	case [][]val:
		f.align(4)
		place = len(f.b)
		f.b = binary.LittleEndian.AppendUint32(f.b, uint32(len(v)))
		f.b = append(f.b, make([]byte, 4*len(v))...)
		for i, t := range v {
			f.refer(place+4+4*i, t)
		}
	case []val:
		place = f.table(v)
	}
	binary.LittleEndian.PutUint32(f.b[at:], uint32(place-at))
}

// structs is a vector of structs, aligned to 8 bytes.
func (f *builder) structs(at int, v []int64, each int) {
	for len(f.b)%8 != 4 {
		f.b = append(f.b, 0)
	}
	binary.LittleEndian.PutUint32(f.b[at:], uint32(len(f.b)-at))
	f.b = binary.LittleEndian.AppendUint32(f.b, uint32(len(v)/each))
	for _, n := range v {
		f.b = binary.LittleEndian.AppendUint64(f.b, uint64(n))
	}
}

func inline(v any) int {
	switch v.(type) {
	case uint8:
		return 1
	case int16:
		return 2
	case int64:
		return 8
	}
	return 4
}

// table puts a vtable, the table, and what it refers to; it gives the place of the table. Fields stand by size, the
// largest first, so that no gaps are between them.
func (f *builder) table(vals []val) int {
	slots, size := 0, 4
	order := slices.Clone(vals)
	slices.SortStableFunc(order, func(a, b val) int { return inline(b.v) - inline(a.v) })
	for _, v := range vals {
		slots = max(slots, v.slot+1)
		size += inline(v.v)
	}
	f.align(2)
	vtable := 4 + 2*slots
	for (len(f.b)+vtable)%8 != 4 { // what follows the table's first 4 bytes is aligned to 8
		f.b = append(f.b, 0)
	}
	v := len(f.b)
	f.b = append(f.b, make([]byte, vtable+size)...)
	at := v + vtable
	binary.LittleEndian.PutUint16(f.b[v:], uint16(vtable))
	binary.LittleEndian.PutUint16(f.b[v+2:], uint16(size))
	binary.LittleEndian.PutUint32(f.b[at:], uint32(vtable))
	next := 4
	for i, o := range order {
		binary.LittleEndian.PutUint16(f.b[v+4+2*o.slot:], uint16(next))
		order[i].slot = at + next
		next += inline(o.v)
	}
	for _, o := range order {
		switch x := o.v.(type) {
		case uint8:
			f.b[o.slot] = x
		case int16:
			binary.LittleEndian.PutUint16(f.b[o.slot:], uint16(x))
		case int32:
			binary.LittleEndian.PutUint32(f.b[o.slot:], uint32(x))
		case int64:
			binary.LittleEndian.PutUint64(f.b[o.slot:], uint64(x))
		case []int64:
			f.structs(o.slot, x, o.each)
		default:
			f.refer(o.slot, x)
		}
	}
	return at
}
