package wasm

import (
	"encoding/json"
	"slices"
	"testing"
)

func decode(t *testing.T, text []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// fn is a function of a module that a test writes: signature as in the table of exports, variables of type i32, and code
// without its end.
type fn struct {
	export string
	sig    signature
	locals uint32
	code   []byte
}

// source is a module that a test writes.
type source struct {
	imports []string // functions of WASI
	funcs   []fn
	table   []byte // limits
	memory  []byte // limits
	start   []byte
	data    []byte
	code    []byte // instead of the functions' code
}

func list(items ...[]byte) []byte {
	return append(appendU32(nil, uint32(len(items))), slices.Concat(items...)...)
}

func named(s string) []byte { return append(appendU32(nil, uint32(len(s))), s...) }

// typed is the type of a function.
func typed(s signature) []byte {
	out := []byte{markFunction}
	for _, letters := range []string{s.params, s.results} {
		out = appendU32(out, uint32(len(letters)))
		for _, l := range letters {
			out = append(out, map[rune]byte{'i': typeI32, 'I': typeI64}[l])
		}
	}
	return out
}

// bytes assembles the module.
func (s *source) bytes() []byte {
	var types, imports, funcs, exports, code [][]byte
	for _, name := range s.imports {
		imports = append(imports, slices.Concat(named(wasiModule), named(name), []byte{0, byte(len(types))}))
		f := wasiFunctions[name]
		results := ""
		if f.result {
			results = "i"
		}
		types = append(types, typed(signature{f.params, results}))
	}
	for i, f := range s.funcs {
		funcs = append(funcs, appendU32(nil, uint32(len(types))))
		types = append(types, typed(f.sig))
		if f.export != "" {
			exports = append(exports, append(named(f.export), 0, byte(len(s.imports)+i)))
		}
		body := []byte{0}
		if f.locals > 0 {
			body = append(appendU32([]byte{1}, f.locals), typeI32)
		}
		body = append(append(body, f.code...), opEnd)
		code = append(code, append(appendU32(nil, uint32(len(body))), body...))
	}
	out := []byte(header)
	section := func(id byte, b []byte) {
		if b != nil {
			out = append(append(append(out, id), appendU32(nil, uint32(len(b)))...), b...)
		}
	}
	section(secType, list(types...))
	if imports != nil {
		section(secImport, list(imports...))
	}
	section(secFunction, list(funcs...))
	if s.table != nil {
		section(secTable, list(append([]byte{typeFunc}, s.table...)))
	}
	if s.memory != nil {
		section(secMemory, list(s.memory))
		exports = append(exports, append(named("memory"), 2, 0))
	}
	section(secExport, list(exports...))
	section(secStart, s.start)
	if s.code == nil {
		s.code = list(code...)
	}
	section(secCode, s.code)
	section(secData, s.data)
	return out
}

// Instructions.
func i32(v int32) []byte { return appendS32([]byte{opI32Const}, v) }

func i64(v int32) []byte { return appendS32([]byte{0x42}, v) }

var (
	forever     = []byte{0x03, 0x40, 0x0c, 0, opEnd, 0x00} // loop, br 0, end, unreachable
	unreachable = []byte{0x00}
)

// module is one that maps rows to themselves, with functions that take the place of its own or come after them.
func module(with ...fn) *source {
	s := &source{memory: []byte{0, 3}, funcs: []fn{
		{exportABI, exports[exportABI], 0, i32(ABI)},
		{exportBuffer, exports[exportBuffer], 0, i32(1024)},
		{exportBegin, exports[exportBegin], 0, i32(0)},
		{exportMap, exports[exportMap], 0, i32(0)},
	}}
	for _, f := range with {
		if e, ok := exports[f.export]; ok && f.sig == (signature{}) {
			f.sig = e
		}
		if at := slices.IndexFunc(s.funcs, func(g fn) bool { return g.export == f.export }); at >= 0 && f.export != "" {
			s.funcs[at] = f
		} else {
			s.funcs = append(s.funcs, f)
		}
	}
	return s
}

// get is the functions of a get function that answers nothing.
func get(with ...fn) *source {
	return module(append([]fn{
		{export: exportChunk, code: i32(0)}, {export: exportEnd, code: i64(0)}, {export: exportMerge, code: i64(0)},
	}, with...)...)
}
