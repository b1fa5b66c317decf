package arrow

import (
	"fmt"
	"slices"

	"thole.example/format"
	"thole.example/matrix"
)

// The type of a field is a table, and a number that tells of which kind.
const (
	typeNull        = 1
	typeInt         = 2
	typeFloat       = 3
	typeBinary      = 4
	typeUTF8        = 5
	typeBool        = 6
	typeDecimal     = 7
	typeDate        = 8
	typeTime        = 9
	typeTimestamp   = 10
	typeList        = 12
	typeUnion       = 14
	typeFixedBinary = 15
	typeFixedList   = 16
	typeDuration    = 18
	typeLargeBinary = 19
	typeLargeUTF8   = 20
	typeLargeList   = 21
	typeRunEnd      = 22
	typeBinaryView  = 23
	typeUTF8View    = 24
)

// shapes says, for each kind of type, its name and how many buffers a column of it has beside those of its children.
var shapes = []struct {
	name    string
	buffers int
}{
	{"nothing", 0}, {"null", 0}, {"int", 2}, {"float", 2}, {"binary", 3},
	{"utf8", 3}, {"bool", 2}, {"decimal", 2}, {"date", 2},
	{"time", 2}, {"timestamp", 2}, {"interval", 2}, {"list", 2},
	{"struct", 1}, {"union", 1}, {"fixed size binary", 2},
	{"fixed size list", 1}, {"map", 2}, {"duration", 2},
	{"large binary", 3}, {"large utf8", 3}, {"large list", 2},
	{"run end encoded", 0}, {"binary view", 2}, {"utf8 view", 2},
	{"list view", 3}, {"large list view", 3},
}

// number is the element type of a column of numbers, Invalid for all else, and what they stand for if the type does not
// say it. text names the type.
func number(kind uint8, t tab) (d matrix.DType, origin, text string) {
	if int(kind) >= len(shapes) {
		return matrix.Invalid, "", fmt.Sprintf("type %d", kind)
	}
	if when, ok := timeOf(kind, t); ok {
		return when.DType(), when.String(), when.String()
	}
	text = shapes[kind].name
	switch kind {
	case typeInt:
		bits, signed := t.i32(0, 0), t.u8(1) != 0
		for d, w := range integers {
			if w.bits == bits && w.signed == signed {
				return d, "", d.String()
			}
		}
		text = fmt.Sprintf("int of %d bits", bits)
	case typeFloat:
		if p := t.i16(0, 0); p >= 0 && int(p) < len(floats) {
			return floats[p], "", floats[p].String()
		}
	case typeBool:
		return matrix.Bool, "", text
	case typeDecimal:
		text = fmt.Sprintf("decimal%d", t.i32(2, 128))
	}
	return matrix.Invalid, "", text
}

// units are the units of time by their number.
var units = []string{"s", "ms", "us", "ns"}

// timeOf is what numbers of the type stand for; ok is false if it is no type of time.
func timeOf(kind uint8, t tab) (when format.TimeType, ok bool) {
	unit := t.i16(0, 1) // which only timestamps have another default for
	switch kind {
	case typeDate:
		when = format.TimeType{Kind: "date64", Unit: "ms"}
		if unit == 0 {
			when = format.TimeType{Kind: "date32", Unit: "day"}
		}
		return when, unit >= 0 && unit <= 1
	case typeTime:
		when.Kind = fmt.Sprintf("time%d", t.i32(1, 32))
	case typeTimestamp:
		unit = t.i16(0, 0)
		when.Kind, when.Zone = "timestamp", t.str(1)
	case typeDuration:
		when.Kind = "duration"
	default:
		return when, false
	}
	if unit >= 0 && int(unit) < len(units) {
		when.Unit = units[unit]
	}
	return when, when.DType() != matrix.Invalid
}

// timeType is the type of a column as the schema says it.
func timeType(when format.TimeType) (kind uint8, typ []val) {
	unit := int16(slices.Index(units, when.Unit))
	switch when.Kind {
	case "date32":
		return typeDate, []val{{slot: 0, v: int16(0)}}
	case "date64":
		return typeDate, []val{{slot: 0, v: int16(1)}}
	case "timestamp":
		typ = []val{{slot: 0, v: unit}}
		if when.Zone != "" {
			typ = append(typ, val{slot: 1, v: when.Zone})
		}
		return typeTimestamp, typ
	case "duration":
		return typeDuration, []val{{slot: 0, v: unit}}
	}
	return typeTime, []val{{slot: 0, v: unit}, {slot: 1, v: int32(8 * when.DType().Size())}}
}

// integers are the integer types as the schema says them.
var integers = map[matrix.DType]struct {
	bits   int32
	signed bool
}{
	matrix.I8: {8, true}, matrix.I16: {16, true}, matrix.I32: {32, true}, matrix.I64: {64, true},
	matrix.U8: {8, false}, matrix.U16: {16, false}, matrix.U32: {32, false}, matrix.U64: {64, false},
}

// floats are the floating point types by their precision.
var floats = []matrix.DType{matrix.F16, matrix.F32, matrix.F64}

// storedAs is the element type of a column that holds values of type d.
func storedAs(d matrix.DType) matrix.DType {
	if d == matrix.BF16 {
		return matrix.F32
	}
	return d
}
