package paddle

import (
	"encoding/binary"
	"fmt"
	"math"

	"thole.example/format"
)

// operation is one of a pickle. Those without do are known, and refused by name.
type operation struct {
	name string
	do   func(m *pickle)
}

// operations by their code.
var operations = [256]operation{
	0x80: {"PROTO", opProto},
	0x95: {"FRAME", opFrame},
	'.':  {"STOP", func(m *pickle) { m.done = true }},

	'N':  {"NONE", func(m *pickle) { m.push(nil) }},
	0x88: {"NEWTRUE", func(m *pickle) { m.push(true) }},
	0x89: {"NEWFALSE", func(m *pickle) { m.push(false) }},
	'K':  {"BININT1", func(m *pickle) { m.integer(1) }},
	'M':  {"BININT2", func(m *pickle) { m.integer(2) }},
	'J':  {"BININT", func(m *pickle) { m.integer(4) }},
	0x8a: {"LONG1", opLong},
	'G':  {"BINFLOAT", opFloat},

	0x8c: {"SHORT_BINUNICODE", func(m *pickle) { m.text(1, true) }},
	'X':  {"BINUNICODE", func(m *pickle) { m.text(4, true) }},
	0x8d: {"BINUNICODE8", func(m *pickle) { m.text(8, true) }},
	'U':  {"SHORT_BINSTRING", func(m *pickle) { m.text(1, false) }},
	'T':  {"BINSTRING", func(m *pickle) { m.text(4, false) }},
	'C':  {"SHORT_BINBYTES", func(m *pickle) { m.text(1, false) }},
	'B':  {"BINBYTES", func(m *pickle) { m.text(4, false) }},
	0x8e: {"BINBYTES8", func(m *pickle) { m.text(8, false) }},
	0x96: {"BYTEARRAY8", func(m *pickle) { m.text(8, false) }},
	0x98: {"READONLY_BUFFER", func(m *pickle) { top[*text](m) }},

	'(':  {"MARK", opMark},
	')':  {"EMPTY_TUPLE", func(m *pickle) { m.tuple(nil) }},
	0x85: {"TUPLE1", func(m *pickle) { m.tupleOf(1) }},
	0x86: {"TUPLE2", func(m *pickle) { m.tupleOf(2) }},
	0x87: {"TUPLE3", func(m *pickle) { m.tupleOf(3) }},
	't':  {"TUPLE", func(m *pickle) { m.tuple(m.popMark()) }},
	']':  {"EMPTY_LIST", func(m *pickle) { m.list(nil) }},
	'l':  {"LIST", func(m *pickle) { m.list(m.popMark()) }},
	'a':  {"APPEND", func(m *pickle) { m.extend([]any{m.pop()}) }},
	'e':  {"APPENDS", func(m *pickle) { m.extend(m.popMark()) }},
	'}':  {"EMPTY_DICT", func(m *pickle) { m.dict(nil) }},
	'd':  {"DICT", func(m *pickle) { m.dict(m.popMark()) }},
	's':  {"SETITEM", opSetItem},
	'u':  {"SETITEMS", func(m *pickle) { m.fill(m.popMark()) }},

	'q':  {"BINPUT", func(m *pickle) { m.put(m.s.u8("place")) }},
	'r':  {"LONG_BINPUT", func(m *pickle) { m.put(int64(m.s.u32("place"))) }},
	0x94: {"MEMOIZE", func(m *pickle) { m.put(int64(len(m.memo))) }},
	'h':  {"BINGET", func(m *pickle) { m.get(m.s.u8("place")) }},
	'j':  {"LONG_BINGET", func(m *pickle) { m.get(int64(m.s.u32("place"))) }},

	'c':  {"GLOBAL", func(m *pickle) { m.global(m.line("module"), m.line("name")) }},
	0x93: {"STACK_GLOBAL", opStackGlobal},
	'R':  {"REDUCE", func(m *pickle) { args := m.pop(); m.reduce(m.pop(), args) }},
	'b':  {"BUILD", func(m *pickle) { m.build(m.pop()) }},

	'i': {"INST", opInst},
	'o': {name: "OBJ"}, 0x81: {name: "NEWOBJ"}, 0x92: {name: "NEWOBJ_EX"}, 'P': {name: "PERSID"}, 'Q': {name: "BINPERSID"},
	0x82: {name: "EXT1"}, 0x83: {name: "EXT2"}, 0x84: {name: "EXT4"}, 0x97: {name: "NEXT_BUFFER"}, '0': {name: "POP"},
	'1': {name: "POP_MARK"}, '2': {name: "DUP"}, 'I': {name: "INT"}, 'L': {name: "LONG"}, 'F': {name: "FLOAT"},
	'S': {name: "STRING"}, 'V': {name: "UNICODE"}, 'p': {name: "PUT"}, 'g': {name: "GET"}, 0x8b: {name: "LONG4"},
	0x8f: {name: "EMPTY_SET"}, 0x90: {name: "ADDITEMS"}, 0x91: {name: "FROZENSET"},
}

func opProto(m *pickle) {
	at := m.s.off - 1
	v := m.s.u8("protocol")
	m.said = fmt.Sprint(v)
	switch {
	case m.s.err != nil:
	case at != 0:
		m.s.failAt(at, "PROTO again, want it once, at the beginning")
	case v < 2 || v > 5:
		m.s.failAt(at+1, "pickle protocol %d, want 2..5: %w", v, format.ErrVersion)
	}
	m.proto = v
}

func opFrame(m *pickle) {
	s := m.s
	m.said = fmt.Sprint(s.number(max(s.size-s.off-8, 0), "length of the frame"))
}

func (m *pickle) integer(width int64) {
	b := m.s.take(width, "number")
	if b == nil {
		return
	}
	wide := make([]byte, 4)
	copy(wide, b)
	v := int64(int32(binary.LittleEndian.Uint32(wide)))
	m.said = fmt.Sprint(v)
	m.push(v)
}

func opLong(m *pickle) {
	n := m.s.u8("length of a number")
	b := m.s.take(n, "number")
	if m.s.err != nil {
		return
	}
	if n > 8 {
		m.fail("number of %d bytes, want at most 8: %w", n, format.ErrLimit)
		return
	}
	wide := make([]byte, 8)
	copy(wide, b)
	v := int64(binary.LittleEndian.Uint64(wide))
	if n > 0 && n < 8 { // the sign is that of the last byte
		v = v << (64 - 8*n) >> (64 - 8*n)
	}
	m.said = fmt.Sprint(v)
	m.push(v)
}

func opFloat(m *pickle) {
	if b := m.s.take(8, "number"); b != nil {
		v := math.Float64frombits(binary.BigEndian.Uint64(b))
		m.said = fmt.Sprint(v)
		m.push(v)
	}
}

// text reads a length of width bytes and passes over so many bytes, which it keeps if they are few.
func (m *pickle) text(width int64, unicode bool) {
	s := m.s
	b := s.take(width, "length")
	if b == nil {
		return
	}
	wide := make([]byte, 8)
	copy(wide, b)
	n := binary.LittleEndian.Uint64(wide)
	if n > uint64(s.size-s.off) {
		s.failAt(s.off-width, "length %d, but %d bytes remain", n, s.size-s.off)
		return
	}
	t := &text{off: s.off, n: int64(n), unicode: unicode}
	if t.n <= maxHeld {
		t.held, t.kept = string(s.take(t.n, "text")), true
	} else {
		s.skip(t.n, "text")
	}
	m.said = fmt.Sprintf("of %d bytes", n)
	if n <= lineBytes*4 {
		m.said = fmt.Sprintf("%q", t.held)
	}
	m.objects++
	m.push(t)
}

func opMark(m *pickle) {
	if len(m.marks) == maxStack {
		m.fail("more than %d marks on the stack: %w", maxStack, format.ErrLimit)
		return
	}
	m.marks = append(m.marks, len(m.stack))
}

func opSetItem(m *pickle) {
	value := m.pop()
	m.fill([]any{m.pop(), value})
}

func opStackGlobal(m *pickle) {
	n, okN := word(m.pop())
	module, okM := word(m.pop())
	if m.s.err == nil && !(okN && okM) {
		m.fail("a global without module or name")
	}
	if m.s.err == nil {
		m.global(module, n)
	}
}

func opInst(m *pickle) {
	module, n := m.line("module"), m.line("name")
	if m.s.err == nil {
		m.fail("%w", &GlobalError{module + "." + n, "by INST"})
	}
}
