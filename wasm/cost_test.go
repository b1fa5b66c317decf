package wasm

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// The estimate follows the height of the stack of values as the engine does.
func TestCostFollowsTheStack(t *testing.T) {
	r := newRuntime(t)
	for _, c := range []struct {
		name                  string
		code                  []byte
		values, blocks, loops int
	}{
		{"a constant", i32(0), 6, 0, 0},
		{"a sum of three", slices.Concat(i32(1), i32(2), i32(3), []byte{0x6a, 0x6a}), 8, 0, 0},
		{"two blocks", slices.Concat([]byte{0x02, 0x40}, i32(1), []byte{0x1a, opEnd, 0x03, 0x40, opEnd}, i32(0)), 6, 2, 1},
		{"if with a value", slices.Concat(i32(1), []byte{0x04, typeI32}, i32(1), i32(2), []byte{0x6a, 0x05}, i32(3), []byte{opEnd}), 7, 1, 0},
		{"behind a jump", slices.Concat([]byte{0x02, 0x40, 0x0c, 0, 0x1a, 0x1a, opEnd}, i32(0)), 6, 1, 0},
		{"a call", slices.Concat(i32(1), []byte{opCall, 0, 0x6a}), 7, 0, 0},
		{"a choice", slices.Concat(i32(1), i32(2), i32(3), []byte{0x1b}), 8, 0, 0},
		{"a store", slices.Concat(i32(8), i32(2), []byte{0x36, 2, 0}, i32(0)), 7, 0, 0},
		{"a fill", slices.Concat(i32(8), i32(2), i32(4), []byte{0xfc, 11, 0}, i32(0)), 8, 0, 0},
		{"vectors", slices.Concat(i32(8), []byte{0xfd, 15}, i32(9), []byte{0xfd, 15, 0xfd, 0x6e, 0xfd, 0x60, 0xfd, 22, 3}), 7, 0, 0},
	} {
		s := module(fn{export: exportMap, code: c.code})
		m, err := r.Compile(t.Context(), "f", s.bytes(), Limits{Time: quiet})
		if err != nil {
			t.Errorf("%s is no module: %v", c.name, err)
			continue
		}
		m.Close()
		rw := &rewriter{cursor: cursor{b: append([]byte{0}, append(c.code, opEnd)...)}, types: 1, funcs: 2}
		rw.shapes, rw.typeOf = []shape{{0, 1}, {5, 1}}, []uint32{0, 1}
		rw.defined = 1
		rw.body(nil)
		if rw.err != nil || rw.cost.values != c.values || rw.cost.blocks != c.blocks || rw.cost.loops != c.loops || rw.cost.height != 1 {
			t.Errorf("%s: %+v, %v, want %d values, %d blocks, %d loops and a height of 1", c.name, *rw.cost, rw.err, c.values, c.blocks, c.loops)
		}
	}
}

// Code that would keep the compiler busy for minutes or hours is refused, however it is spread; examples are far from it.
func TestCostsAreRefused(t *testing.T) {
	loops := func(n int) []byte { return bytes.Repeat([]byte{0x03, 0x40, 0x20, 0, 0x0d, 0, opEnd}, n) }
	var set, push []byte
	for i := range uint32(4000) {
		value := slices.Concat([]byte{0x20, 0}, i32(int32(i)), []byte{0x6a})
		push = append(push, value...)
		set = append(append(set, value...), appendU32([]byte{0x21}, 5+i)...)
	}
	add := bytes.Repeat([]byte{0x6a}, 3999)
	some := fn{sig: signature{"i", "i"}, code: slices.Concat(bytes.Repeat([]byte{0x20, 0, 0x45}, 400), loops(100), add[:399])}
	many := module()
	for range 100 {
		many.funcs = append(many.funcs, some)
	}
	r := newRuntime(t)
	for name, c := range map[string]struct {
		s    *source
		want string
	}{
		"variables through loops": {module(fn{export: exportMap, locals: 4900, code: slices.Concat(set, loops(1000), i32(0))}), "too much to compile: here 1000 loops"},
		"values through loops":    {module(fn{export: exportMap, code: slices.Concat(push, loops(1000), add)}), "and 4006 values at once"},
		"loops":                   {module(fn{export: exportMap, code: slices.Concat(loops(3000), i32(0))}), "more than 2000 loops"},
		"functions":               {many, "too much to compile"},
	} {
		m, err := r.Compile(t.Context(), "f", c.s.bytes(), Limits{Time: quiet})
		if err == nil {
			m.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	module, err := moments()
	if err != nil {
		t.Fatal(err)
	}
	rw := &rewriter{cursor: cursor{name: "moments", b: module}, pages: 1024}
	if _, err := rw.rewrite(); err != nil || rw.spent > costLimit/3 {
		t.Errorf("the example in Go: %v of %v, %v", rw.spent, costLimit, err)
	}
	t.Logf("the example in Go: %v", rw.spent)
}
