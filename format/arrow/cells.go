package arrow

import (
	"fmt"
	"strings"

	"thole.example/format"
	"thole.example/matrix"
)

// storage is how the cells of a column lie in its buffers.
type storage uint8

const (
	none     storage = iota // they cannot be read
	numbers                 // beside each other, or eight truth values in a byte
	decimals                // as whole numbers of some bytes
	offsets                 // text behind each other, and where each begins in 32 bits
	longs                   // the same in 64 bits
	fixed                   // texts of the same number of bytes
	views16                 // short text, or where in some buffer it is, in 16 bytes
	vacant                  // nowhere: all are missing
)

// cellType is the type of cells.
type cellType struct {
	storage  storage
	kind     format.CellKind
	unsigned bool
	when     format.TimeType // of times, durations and times of day
	raw      matrix.DType    // of numbers
	size     int             // bytes of a decimal number or a text of fixed size
	digits   int             // of a decimal number behind the point
	uuid     bool            // texts of fixed size are UUIDs
	text     string          // what it is called
}

// cellField is what cells a column of a table has.
type cellField struct {
	cellType
	index matrix.DType // of numbers of the dictionary; Invalid: there is none
	id    int64        // of the dictionary
	list  uint8        // the kind of type of lists; 0: there are none
	width int64        // of lists of fixed size
}

// column describes the column.
func (f *field) column() format.TableColumn {
	c := &f.cells
	t := format.TableColumn{Name: f.name, Kind: c.kind, List: c.list != 0, Unsigned: c.unsigned, Type: c.text}
	t.Tells(c.when)
	if c.index != matrix.Invalid {
		t.Type += " by dictionary"
	}
	if c.storage == numbers && c.kind == format.Number && c.raw != matrix.F64 {
		t.Stored = c.raw
	}
	if t.List {
		t.Type = "list of " + t.Type
	}
	if c.storage == none {
		t.Kind, t.Why = format.Unreadable, "want text or numbers, or lists of them"
	}
	return t
}

// cellsOf finds what cells a field has, whose type and children are known.
func (r *schemaReader) cellsOf(t tab, kind uint8, typ tab, children []tab) (c cellField) {
	lists := kind == typeList || kind == typeLargeList || kind == typeFixedList
	if !lists || len(children) != 1 || t.tab(4).f != nil {
		return r.itemsOf(t, kind, typ, children)
	}
	item := children[0]
	if c = r.itemsOf(item, item.u8(2), item.tab(3), item.tabs(5)); kind == typeFixedList {
		if c.width = int64(typ.i32(0, 0)); c.width < 0 {
			c.storage = none
		}
	}
	c.list = kind
	return c
}

// itemsOf is the type of cells, which may be in a dictionary.
func (r *schemaReader) itemsOf(t tab, kind uint8, typ tab, children []tab) (c cellField) {
	c.cellType = typeOf(kind, typ)
	switch name, _ := extension(t); {
	case name == "arrow.uuid" && c.storage == fixed && c.size == format.UUIDSize:
		c.uuid, c.text = true, "uuid"
	case name == extBool8 && c.storage == numbers && c.raw == matrix.I8 && t.tab(4).f == nil:
		c.kind, c.text = format.Truth, "bool8"
	}
	if len(children) > 0 {
		c.storage = none
	}
	d := t.tab(4)
	if d.f == nil || c.storage == none {
		return c
	}
	c.index, c.id = matrix.I32, d.i64(0)
	if index := d.tab(1); index.f != nil {
		c.index, _, _ = number(typeInt, index)
	}
	of := field{name: fmt.Sprintf("dictionary %d", c.id), nodes: 1, buffers: shapes[kind].buffers, cells: cellField{cellType: c.cellType}}
	if c.storage == views16 {
		of.views = 1
	}
	if known, twice := r.entries[c.id]; c.index == matrix.Invalid || twice && known != of {
		c.storage = none
		return c
	}
	if r.entries == nil {
		r.entries = map[int64]field{}
	}
	r.entries[c.id] = of
	return c
}

// typeOf is the type of cells that are no lists.
func typeOf(kind uint8, typ tab) (c cellType) {
	d, _, text := number(kind, typ)
	c.text = text
	if when, ok := timeOf(kind, typ); ok {
		c.storage, c.raw, c.when, c.kind = numbers, d, when, when.Cells()
		return c
	}
	switch {
	case d == matrix.Bool:
		c.storage, c.raw, c.kind = numbers, d, format.Truth
	case d.Float():
		c.storage, c.raw, c.kind = numbers, d, format.Number
	case d != matrix.Invalid:
		c.storage, c.raw, c.kind, c.unsigned = numbers, d, format.Whole, !d.Signed()
	case kind == typeDecimal:
		c.decimal(int(typ.i32(0, 0)), int(typ.i32(1, 0)), typ.i32(2, 128))
	case kind == typeNull:
		c.storage, c.kind = vacant, format.Text
	case kind == typeFixedBinary:
		if c.size = int(typ.i32(0, 0)); c.size > 0 && c.size <= maxFixed {
			c.storage, c.kind = fixed, format.Text
		}
	case kind == typeBinary || kind == typeUTF8:
		c.storage, c.kind = offsets, format.Text
	case kind == typeLargeBinary || kind == typeLargeUTF8:
		c.storage, c.kind = longs, format.Text
	case kind == typeBinaryView || kind == typeUTF8View:
		c.storage, c.kind = views16, format.Text
	}
	return c
}

const maxFixed = 1 << 10 // bytes of a text of fixed size: a block of them is in memory

const maxScale = 400 // digits of a decimal number before or behind the point: more than any double has

// decimal is the type of decimal numbers, which become doubles if they have no more digits than those tell apart, else texts; those of at
// most 64 bits without a point stay what they are.
func (c *cellType) decimal(precision, scale int, bits int32) {
	c.text = strings.Replace(c.text, "decimal", fmt.Sprintf("decimal(%d, %d) of ", precision, scale), 1) + " bits"
	if scale < -maxScale || scale > maxScale || bits != 32 && bits != 64 && bits != 128 && bits != 256 {
		return
	}
	c.storage, c.kind, c.raw, c.size, c.digits = decimals, format.Number, matrix.F64, int(bits/8), scale
	switch {
	case scale == 0 && precision > 0 && precision <= format.WholeDigits:
		c.kind, c.raw = format.Whole, matrix.I64
	case precision <= 0 || precision > format.ExactDigits:
		c.kind, c.raw = format.Text, matrix.Invalid
	}
}
