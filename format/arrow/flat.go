package arrow

import (
	"encoding/binary"
	"fmt"

	"thole.example/format"
	"thole.example/wire"
)

// flat is a flatbuffer. Everything in it is found through offsets, each of which is checked before it is followed. After
// the first error every read gives zero, so that a whole table can be read and err asked once.
type flat struct {
	b    []byte
	text string // the same bytes: strings are parts of it
	base int64  // the place of the first byte in the file
	left int    // what may still be read, about in bytes: who refers to one thing many times gains little
	far  int    // the end of what was read
	err  error
}

func newFlat(b []byte, base int64) *flat {
	return &flat{b: b, text: string(b), base: base, left: 4*len(b) + 64}
}

func (f *flat) fail(at int, text string, args ...any) {
	if f.err == nil {
		f.err = &wire.At{Off: f.base + int64(at), Err: fmt.Errorf(text, args...)}
	}
}

// has reports whether n bytes lie at the place, which is an error if not.
func (f *flat) has(at, n int, what string) bool {
	if f.err == nil && (at < 0 || n < 0 || n > len(f.b) || at > len(f.b)-n) {
		f.fail(min(max(at, 0), len(f.b)), "%s needs %d bytes at byte %d of %d: %w", what, n, at, len(f.b), format.ErrCorrupt)
	}
	f.far = max(f.far, at+n)
	return f.err == nil
}

// end checks that nothing but zeros lies behind the last field. A wrong length, which makes a message swallow those behind
// it, is so found.
func (f *flat) end(of func() spec) error {
	g := *f
	g.left, g.far = 4*len(f.b)+64, 0
	a := annotator{f: &g, quiet: true}
	a.table(g.root(), of())
	if g.err != nil {
		return g.err
	}
	for i, v := range g.b[g.far:] {
		if v != 0 {
			g.fail(g.far+i, "byte %02x behind the last field, want zeros up to byte %d: %w", v, g.base+int64(len(g.b)), format.ErrCorrupt)
			break
		}
	}
	return g.err
}

func (f *flat) spend(at, n int) bool {
	if f.left -= n; f.left < 0 {
		f.fail(at, "tables and strings that are referred to more than once: %w", format.ErrCorrupt)
	}
	return f.err == nil
}

func (f *flat) u16(at int) int { return int(binary.LittleEndian.Uint16(f.b[at:])) }
func (f *flat) u32(at int) int { return int(binary.LittleEndian.Uint32(f.b[at:])) }

// root is the table that the buffer begins with.
func (f *flat) root() tab { return f.follow(0) }

// follow is the table that the offset at the place leads to.
func (f *flat) follow(at int) tab {
	if !f.has(at, 4, "offset") {
		return tab{}
	}
	return f.tab(at + f.u32(at))
}

// tab is the table at the place. It begins with the way back to its vtable, which has the places of its fields.
func (f *flat) tab(at int) tab {
	if !f.has(at, 4, "table") || !f.spend(at, 4) {
		return tab{}
	}
	v := at - int(int32(f.u32(at)))
	if !f.has(v, 4, "vtable") {
		return tab{}
	}
	t := tab{f: f, at: at, v: v, slots: f.u16(v), size: f.u16(v + 2)}
	if t.slots < 4 || t.size < 4 {
		f.fail(v, "vtable of %d bytes for a table of %d, want 4 at least: %w", t.slots, t.size, format.ErrCorrupt)
	}
	if !f.has(v, t.slots, "vtable") || !f.has(at, t.size, "table") {
		return tab{}
	}
	return t
}

// tab is a table; the zero one has no fields.
type tab struct {
	f                  *flat
	at, v, slots, size int
}

// slot is the place of a field of n bytes, 0 if it is not there.
func (t tab) slot(i, n int) int {
	if t.f == nil || t.f.err != nil || 4+2*i+2 > t.slots {
		return 0
	}
	off := t.f.u16(t.v + 4 + 2*i)
	if off == 0 {
		return 0
	}
	if off < 4 || off+n > t.size {
		t.f.fail(t.v+4+2*i, "field %d at byte %d of a table of %d: %w", i, off, t.size, format.ErrCorrupt)
		return 0
	}
	return t.at + off
}

func (t tab) u8(i int) uint8 {
	if at := t.slot(i, 1); at > 0 {
		return t.f.b[at]
	}
	return 0
}

func (t tab) i16(i int, absent int16) int16 {
	if at := t.slot(i, 2); at > 0 {
		return int16(t.f.u16(at))
	}
	return absent
}

func (t tab) i32(i int, absent int32) int32 {
	if at := t.slot(i, 4); at > 0 {
		return int32(t.f.u32(at))
	}
	return absent
}

func (t tab) i64(i int) int64 {
	if at := t.slot(i, 8); at > 0 {
		return int64(binary.LittleEndian.Uint64(t.f.b[at:]))
	}
	return 0
}

// tab is the table that the field refers to.
func (t tab) tab(i int) tab {
	if at := t.slot(i, 4); at > 0 {
		return t.f.follow(at)
	}
	return tab{}
}

// vector is the place of the first element of the vector that the field refers to, and how many of n bytes it has.
func (t tab) vector(i, n int) (first, count int) {
	at := t.slot(i, 4)
	if at == 0 {
		return 0, 0
	}
	at += t.f.u32(at)
	if !t.f.has(at, 4, "length of a vector") {
		return 0, 0
	}
	count = t.f.u32(at)
	if count > (len(t.f.b)-at-4)/n {
		t.f.fail(at, "vector of %d elements of %d bytes in %d: %w", count, n, len(t.f.b)-at-4, format.ErrCorrupt)
		return 0, 0
	}
	return at + 4, count
}

// str is the string that the field refers to.
func (t tab) str(i int) string {
	at, n := t.vector(i, 1)
	if n == 0 || !t.f.spend(at, n) {
		return ""
	}
	return t.f.text[at : at+n]
}

// tabs are the tables of the vector that the field refers to.
func (t tab) tabs(i int) []tab {
	at, n := t.vector(i, 4)
	if n == 0 || !t.f.spend(at, n) {
		return nil
	}
	all := make([]tab, n)
	for k := range all {
		if all[k] = t.f.follow(at + 4*k); t.f.err != nil {
			return nil
		}
	}
	return all
}

// longs are elements of n bytes of the vector that the field refers to, each as its 64-bit numbers.
func (t tab) longs(i, n int) []int64 {
	at, count := t.vector(i, n)
	if count == 0 || !t.f.spend(at, count) {
		return nil
	}
	all := make([]int64, count*n/8)
	wire.Get(all, t.f.b[at:at+count*n], wire.Little)
	return all
}
