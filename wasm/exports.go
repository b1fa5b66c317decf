package wasm

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"
)

// Kinds of functions.
const (
	KindMap = "map" // cells of one to three rows to cells of one
	KindGet = "get" // a matrix to bytes
)

// Description is what a module says of itself; a module may leave out what follows from its exports.
type Description struct {
	Name      string `json:"name,omitempty"`
	Help      string `json:"help,omitempty"`
	Kind      string `json:"kind,omitempty"`       // KindMap or KindGet
	Rows      int    `json:"rows,omitempty"`       // rows that a call reads at once, 1 to 3; 0 is 1
	KeepsZero bool   `json:"keeps_zero,omitempty"` // of a map: it gives 0 where all its rows are 0, whatever the column
}

// Names of the functions that modules export.
const (
	exportABI      = "thole_abi"
	exportBuffer   = "thole_buffer"
	exportBegin    = "thole_begin"
	exportMap      = "thole_map"
	exportChunk    = "thole_chunk"
	exportEnd      = "thole_end"
	exportMerge    = "thole_merge"
	exportDescribe = "thole_describe"
	exportError    = "thole_error"
	exportMemory   = "memory"
	exportStart    = "_initialize" // what runtimes of languages need before anything else
)

// signature is the type of an exported function: i for i32, I for i64.
type signature struct{ params, results string }

var exports = map[string]signature{
	exportABI: {"", "i"}, exportBuffer: {"i", "i"}, exportBegin: {"i", "i"}, exportMap: {"iiiIi", "i"},
	exportChunk: {"iiiIiI", "i"}, exportEnd: {"", "I"}, exportMerge: {"i", "I"}, exportDescribe: {"", "I"}, exportError: {"", "I"},
}

// examine checks what a module exports, and asks it for its version and description.
func (m *Module) examine(ctx context.Context) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("wasm: %s: %s", m.name, fmt.Sprintf(format, args...))
	}
	m.c.has = map[string]bool{}
	functions := m.c.code.ExportedFunctions()
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		want, known := exports[name]
		if !known {
			if strings.HasPrefix(name, "thole_") {
				return wrong("it exports %s, which is not of version %d", name, ABI)
			}
			continue
		}
		got := signature{letters(functions[name].ParamTypes()), letters(functions[name].ResultTypes())}
		if got != want {
			return wrong("%s has the type (%s) -> (%s), want (%s) -> (%s), where i is i32 and I is i64", name, got.params,
				got.results, want.params, want.results)
		}
		m.c.has[name] = true
	}
	has := m.c.has
	for _, name := range []string{exportABI, exportBuffer} {
		if !has[name] {
			return wrong("it does not export %s", name)
		}
	}
	get := has[exportChunk] && has[exportEnd] && has[exportMerge]
	switch {
	case m.c.code.ExportedMemories()[exportMemory] == nil:
		return wrong("it does not export its memory as %q", exportMemory)
	case !get && (has[exportChunk] || has[exportEnd] || has[exportMerge]):
		return wrong("it exports some of %s, %s and %s, want all or none", exportChunk, exportEnd, exportMerge)
	case !get && !has[exportMap]:
		return wrong("it exports neither %s nor %s", exportMap, exportChunk)
	}
	in, err := m.instance(ctx)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := in.version(ctx); err != nil {
		return err
	}
	return in.describe(ctx)
}

func letters(types []api.ValueType) string {
	var b strings.Builder
	for _, t := range types {
		switch t {
		case api.ValueTypeI32:
			b.WriteByte('i')
		case api.ValueTypeI64:
			b.WriteByte('I')
		default:
			b.WriteString(" " + api.ValueTypeName(t) + " ")
		}
	}
	return b.String()
}

func (in *Instance) version(ctx context.Context) error {
	v, err := in.call(ctx, exportABI)
	if err == nil && v != ABI {
		err = in.m.failed(exportABI, "version %d, want %d", int32(v), ABI)
	}
	return err
}

// describe fills in what the module says of itself, and checks it against what it exports.
func (in *Instance) describe(ctx context.Context) error {
	m, d := in.m, &in.m.c.about
	if m.c.has[exportDescribe] {
		text, err := in.answer(ctx, exportDescribe, min(saidLimit, m.limits.Result))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, d); err != nil {
			return m.failed(exportDescribe, "%v", err)
		}
	}
	if d.Rows == 0 {
		d.Rows = 1
	}
	if d.Kind == "" {
		d.Kind = KindGet
		if m.c.has[exportMap] {
			d.Kind = KindMap
		}
	}
	switch {
	case d.Rows < 1 || d.Rows > 3:
		return m.failed(exportDescribe, "%d rows, want 1 to 3", d.Rows)
	case d.Kind != KindMap && d.Kind != KindGet:
		return m.failed(exportDescribe, "kind %q, want %q or %q", d.Kind, KindMap, KindGet)
	case d.Kind == KindMap && !m.c.has[exportMap] || d.Kind == KindGet && !m.c.has[exportChunk]:
		return m.failed(exportDescribe, "kind %q, but its functions are not exported", d.Kind)
	}
	if d.Name == "" {
		d.Name = m.name
	}
	return nil
}

// Describe is what the module says of itself, with what follows from its exports filled in.
func (m *Module) Describe() Description { return m.c.about }

// failed is an error of a function of the module.
func (m *Module) failed(function, format string, args ...any) error {
	return fmt.Errorf("wasm: %s: %s: %s", m.name, function, fmt.Sprintf(format, args...))
}
