package wasm

import (
	"fmt"
	"slices"
)

// Limits of what a module may hold. They bound what compiling it costs before the compiler sees it: each list is checked
// against the bytes that remain and against its limit.
const (
	functionLimit = 50_000
	typeLimit     = 10_000
	paramLimit    = 1_000
	exportLimit   = 1_000
	nameLimit     = 1_000 // bytes of a name
	globalLimit   = 50_000
	tableLimit    = 10
	entryLimit    = 100_000 // entries of a table, and of all segments
	dataLimit     = 100_000 // data segments
	bodyLimit     = 256 << 10
	localLimit    = 5_000 // variables of a function
	depthLimit    = 1_000 // blocks inside each other
	pageSize      = 65536
)

// The sections of a module, in their order in the binary.
const (
	secCustom = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElement
	secCode
	secData
	secDataCount
	sections
)

var sectionOrder = []int{secType, secImport, secFunction, secTable, secMemory, secGlobal, secExport, secStart, secElement,
	secDataCount, secCode, secData}

// Types of values, and marks of the binary format.
const (
	typeI32       = 0x7f
	typeI64       = 0x7e
	typeF32       = 0x7d
	typeF64       = 0x7c
	typeV128      = 0x7b
	typeFunc      = 0x70
	typeExtern    = 0x6f
	markFunction  = 0x60
	kindFunction  = 0
	opEnd         = 0x0b
	opCall        = 0x10
	opGlobalGet   = 0x23
	opGlobalSet   = 0x24
	opI32Const    = 0x41
	opRefFunc     = 0xd2
	header        = "\x00asm\x01\x00\x00\x00"
	meterModule   = "thole"
	meterFunction = "tick"
)

// rewriter reads a module, checks it, and writes it again with a meter in it: see meter.go. Custom sections, which hold
// names and debug information, are left out; tables and memory get their largest sizes.
type rewriter struct {
	cursor
	pages    uint32 // limit of the memory
	in       [sections][]byte
	out      [sections][]byte
	starts   [sections]int
	imported uint32 // functions
	funcs    uint32
	types    uint32
	globals  uint32
	entries  uint32
	shapes   []shape  // of types
	typeOf   []uint32 // functions', the imported ones first
	cost     *cost    // of the function that is read
	spent    float64  // costs of those before
	defined  int      // functions whose code was read
}

// shape is how many parameters and results a type has.
type shape struct{ params, results int }

// rewrite checks a module and gives it a meter. name is for errors.
func rewrite(name string, module []byte, pages uint32) ([]byte, error) {
	return (&rewriter{cursor: cursor{name: name, b: module}, pages: pages}).rewrite()
}

func (r *rewriter) rewrite() ([]byte, error) {
	if len(r.b) < len(header) || string(r.b[:len(header)]) != header {
		return nil, fmt.Errorf("wasm: %s does not begin as a WebAssembly module of version 1", r.name)
	}
	r.at = len(header)
	r.split()
	for _, s := range []struct {
		id   int
		read func() []byte
	}{
		{secType, r.typeSection}, {secImport, r.importSection}, {secFunction, r.functionSection}, {secTable, r.tableSection},
		{secMemory, r.memorySection}, {secGlobal, r.globalSection}, {secExport, r.exportSection}, {secStart, r.startSection},
		{secElement, r.elementSection}, {secDataCount, r.dataCountSection}, {secCode, r.codeSection}, {secData, r.dataSection},
	} {
		present := r.in[s.id] != nil
		if !present && s.id != secType && s.id != secImport && s.id != secGlobal {
			continue
		}
		r.b, r.at, r.base = r.in[s.id], 0, r.starts[s.id]
		out := s.read()
		if r.err == nil && r.at != len(r.b) {
			r.fail("%d bytes after the end of section %d", len(r.b)-r.at, s.id)
		}
		if r.err != nil {
			return nil, r.err
		}
		r.out[s.id] = out
	}
	all := []byte(header)
	for _, id := range sectionOrder {
		if r.out[id] != nil {
			all = append(all, byte(id))
			all = appendU32(all, uint32(len(r.out[id])))
			all = append(all, r.out[id]...)
		}
	}
	return all, nil
}

// split finds the sections.
func (r *rewriter) split() {
	last := -1
	for r.err == nil && r.at < len(r.b) {
		id := int(r.byte())
		at := r.at
		body := r.bytes(r.u32())
		switch {
		case r.err != nil || id == secCustom:
			continue
		case id >= sections:
			r.failAt(at-1, "section %d, want 0 to %d", id, sections-1)
			return
		}
		if order := slices.Index(sectionOrder, id); order <= last {
			r.failAt(at-1, "section %d again or out of order", id)
		} else {
			last = order
		}
		r.in[id], r.starts[id] = body, r.at-len(body)
		if body == nil {
			r.in[id] = []byte{}
		}
	}
}

// typeSection adds the type of the meter's function: no parameters, an i32.
func (r *rewriter) typeSection() []byte {
	if len(r.b) > 0 {
		r.types = r.count(typeLimit, "types")
	}
	start := r.at
	for range r.types {
		if b := r.byte(); b != markFunction {
			r.fail("type %#x, want %#x, a function", b, markFunction)
		}
		r.shapes = append(r.shapes, shape{r.valueTypes(), r.valueTypes()})
	}
	return r.added(r.types, start, markFunction, 0, 1, typeI32)
}

// added is a list with one element more.
func (r *rewriter) added(n uint32, start int, element ...byte) []byte {
	if r.err != nil {
		return nil
	}
	return append(append(appendU32(nil, n+1), r.b[start:r.at]...), element...)
}

// valueTypes reads a list of types, and says how many they are.
func (r *rewriter) valueTypes() int {
	n := r.count(paramLimit, "parameters or results")
	for range n {
		r.valueType()
	}
	return int(n)
}

func (r *rewriter) valueType() {
	switch b := r.byte(); b {
	case typeI32, typeI64, typeF32, typeF64, typeV128, typeFunc, typeExtern:
	default:
		r.fail("type of value %#x", b)
	}
}

// importSection adds the meter's function behind the module's own imports, all of which have to be known functions.
func (r *rewriter) importSection() []byte {
	if len(r.b) > 0 {
		r.imported = r.count(len(wasiFunctions), "imports")
	}
	start := r.at
	for range r.imported {
		module, name := r.text(), r.text()
		switch kind := r.byte(); {
		case r.err != nil:
		case kind != kindFunction || module != wasiModule || wasiFunctions[name] == nil:
			r.fail("import of %q from %q, want only functions of %q", name, module, wasiModule)
		}
		r.typeOf = append(r.typeOf, r.index(r.types, "types"))
	}
	element := append(append([]byte{byte(len(meterModule))}, meterModule...), byte(len(meterFunction)))
	element = append(append(element, meterFunction...), kindFunction)
	return r.added(r.imported, start, appendU32(element, r.types)...)
}

func (r *rewriter) functionSection() []byte {
	r.funcs = r.count(functionLimit, "functions")
	for range r.funcs {
		r.typeOf = append(r.typeOf, r.index(r.types, "types"))
	}
	return r.b
}

// sized reads the smallest and the largest size of a table or memory, and writes them with a largest size within limit.
func (r *rewriter) sized(out []byte, limit uint32, what string) []byte {
	flags := r.byte()
	if flags > 1 {
		r.fail("%s with flags %#x, want 0 or 1", what, flags)
	}
	low, high := r.u32(), limit
	if flags == 1 {
		high = min(high, r.u32())
	}
	if low > limit {
		r.fail("%s of %d, want at most %d", what, low, limit)
	}
	return appendU32(appendU32(append(out, 1), low), high)
}

func (r *rewriter) tableSection() []byte {
	n := r.count(tableLimit, "tables")
	out := appendU32(nil, n)
	for range n {
		t := r.byte()
		if t != typeFunc && t != typeExtern {
			r.fail("table of %#x", t)
		}
		out = r.sized(append(out, t), entryLimit, "a table's entries")
	}
	return out
}

func (r *rewriter) memorySection() []byte {
	n := r.count(1, "memories")
	out := appendU32(nil, n)
	for range n {
		out = r.sized(out, r.pages, "a memory's pages")
	}
	return out
}

// globalSection adds the meter's fuel.
func (r *rewriter) globalSection() []byte {
	if len(r.b) > 0 {
		r.globals = r.count(globalLimit, "globals")
	}
	out := appendU32(nil, r.globals+1)
	for range r.globals {
		start := r.at
		r.valueType()
		r.byte() // whether it changes
		out = r.constant(append(out, r.since(start)...))
	}
	out = append(out, typeI32, 1, opI32Const)
	return append(appendS32(out, fuel), opEnd)
}

// since is what was read from a place on.
func (r *rewriter) since(start int) []byte {
	if r.err != nil {
		return nil
	}
	return r.b[start:r.at]
}

// constant reads an expression of constants, and writes it with the functions' new numbers.
func (r *rewriter) constant(out []byte) []byte {
	for n := 0; r.err == nil; n++ {
		start := r.at
		switch op := r.byte(); op {
		case opEnd:
			return append(out, opEnd)
		case opI32Const, 0x42:
			r.leb()
		case 0x43:
			r.bytes(4)
		case 0x44:
			r.bytes(8)
		case opGlobalGet:
			r.index(r.globals, "globals")
		case 0xd0: // ref.null
			r.byte()
		case opRefFunc:
			out = append(out, opRefFunc)
			out = r.function(out)
			continue
		case 0xfd: // a vector
			r.bytes(17)
		default:
			r.fail("instruction %#x in a constant", op)
		}
		if n > 0 {
			r.fail("a constant of more than one instruction")
		}
		out = append(out, r.since(start)...)
	}
	return out
}

// function reads the number of a function and writes its new one: the meter's function stands before those with code.
func (r *rewriter) function(out []byte) []byte {
	return r.renumbered(out, r.index(r.imported+r.funcs, "functions"))
}

func (r *rewriter) renumbered(out []byte, n uint32) []byte {
	if n >= r.imported {
		n++
	}
	return appendU32(out, n)
}

func (r *rewriter) exportSection() []byte {
	n := r.count(exportLimit, "exports")
	out := appendU32(nil, n)
	for range n {
		start := r.at
		r.text()
		kind := r.byte()
		out = append(out, r.since(start)...)
		if kind == kindFunction {
			out = r.function(out)
		} else {
			out = appendU32(out, r.u32())
		}
	}
	return out
}

func (r *rewriter) startSection() []byte {
	return r.function(nil)
}

// elementSection reads what is put into tables: bit 0 of the flags says that it is not put there at the start, bit 1 that a
// table or a type is named, bit 2 that the entries are expressions.
func (r *rewriter) elementSection() []byte {
	n := r.count(entryLimit, "element segments")
	out := appendU32(nil, n)
	for range n {
		start := r.at
		flags := r.u32()
		if flags > 7 {
			r.fail("element segment with flags %#x, want at most 7", flags)
		}
		if flags&1 == 0 && flags&2 != 0 {
			r.u32() // the table
		}
		out = append(out, r.since(start)...)
		if flags&1 == 0 {
			out = r.constant(out)
		}
		if flags&3 != 0 {
			out = append(out, r.byte()) // the kind or type
		}
		entries := r.count(entryLimit, "entries")
		if r.entries += entries; r.entries > entryLimit {
			r.fail("more than %d entries for tables", entryLimit)
		}
		out = appendU32(out, entries)
		for range entries {
			if flags&4 != 0 {
				out = r.constant(out)
			} else {
				out = r.function(out)
			}
			if r.err != nil {
				return nil
			}
		}
	}
	return out
}

func (r *rewriter) dataCountSection() []byte {
	r.u32()
	return r.b
}

func (r *rewriter) dataSection() []byte {
	n := r.count(dataLimit, "data segments")
	out := appendU32(nil, n)
	for range n {
		start := r.at
		flags := r.u32()
		if flags == 2 {
			r.u32() // the memory
		} else if flags > 2 {
			r.fail("data segment with flags %#x, want 0 to 2", flags)
		}
		out = append(out, r.since(start)...)
		if flags != 1 {
			out = r.constant(out)
		}
		start = r.at
		r.bytes(r.u32())
		out = append(out, r.since(start)...)
		if r.err != nil {
			return nil
		}
	}
	return out
}
