package arrow

import (
	"encoding/json"
	"fmt"

	"thole.example/matrix"
)

// schema is the schema of the table as a flatbuffer has it.
func (t *table) schema() []val {
	own := ownMeta{Dims: t.m.Dims, DType: t.m.DType.String(), Made: t.m.Labels == nil}
	var fields [][]val
	if t.list {
		own.Labels = t.m.Labels
		list := []val{{slot: 0, v: int32(t.m.Cols)}}
		fields = append(fields, newField("values", typeFixedList, list, t.column("item", t.m.DType, 0)))
	} else {
		for i := range t.m.Cols {
			label, d := fmt.Sprintf("col_%d", i), t.m.ColType(t.m.ColLo+i)
			if t.m.Labels != nil {
				label = t.m.Labels[i]
			}
			if t.m.ColTypes != nil {
				own.Types = append(own.Types, d.String())
			}
			fields = append(fields, t.column(label, d, i))
		}
	}
	text, _ := json.Marshal(own) // of strings and numbers only
	return []val{{slot: 0, v: int16(0)}, {slot: 1, v: fields}, {slot: 2, v: [][]val{{{slot: 0, v: ownKey}, {slot: 1, v: string(text)}}}}}
}

// newField is a column without nulls.
func newField(label string, kind uint8, typ []val, children ...[]val) []val {
	if children == nil {
		children = [][]val{} // readers want the vector
	}
	return []val{{slot: 0, v: label}, {slot: 1, v: uint8(0)}, {slot: 2, v: kind}, {slot: 3, v: typ}, {slot: 5, v: children}}
}

// column is the column i of the matrix.
func (t *table) column(label string, d matrix.DType, i int64) []val {
	if i < int64(len(t.times)) && t.times[i].Kind != "" {
		kind, typ := timeType(t.times[i])
		return newField(label, kind, typ)
	}
	return newNumber(label, d)
}

// newNumber is a column of numbers.
func newNumber(label string, d matrix.DType) []val {
	d = storedAs(d)
	if i, ok := integers[d]; ok {
		signed := uint8(0)
		if i.signed {
			signed = 1
		}
		return newField(label, typeInt, []val{{slot: 0, v: i.bits}, {slot: 1, v: signed}})
	}
	for precision, f := range floats {
		if f == d {
			return newField(label, typeFloat, []val{{slot: 0, v: int16(precision)}})
		}
	}
	return newField(label, typeBool, []val{})
}

// batchHead describes a record batch of the rows.
func (t *table) batchHead(rows int64, buffers []int64) []val {
	var nodes []int64
	for range t.columns {
		nodes = append(nodes, rows, 0)
		if t.list {
			nodes = append(nodes, rows*t.m.Cols, 0)
		}
	}
	head := []val{{slot: 0, v: rows}, {slot: 1, each: 2, v: nodes}, {slot: 2, each: 2, v: buffers}}
	if p := t.packer.packing; p != plain {
		head = append(head, val{slot: 3, v: []val{{slot: 0, v: uint8(p)}, {slot: 1, v: uint8(0)}}})
	}
	return head
}
