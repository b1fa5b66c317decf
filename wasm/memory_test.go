package wasm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"thole.example/budget"
)

// TestModulesCounted: the ledger counts what is compiled and the memory of instances while they are there; a module that has no room is
// refused, and one whose memory has none cannot grow it.
func TestModulesCounted(t *testing.T) {
	grow := fn{export: exportMap, locals: 1, code: slices.Concat([]byte{0x03, 0x40}, i32(1), []byte{0x40, 0},
		i32(-1), []byte{0x47, 0x04, 0x40, 0x20, 5}, i32(1), []byte{0x6a, 0x21, 5, 0x0c, 1, opEnd, opEnd, 0x20, 5})}
	code := module(grow).bytes()
	call := func(r *Runtime) (error, int64) {
		m, err := r.Compile(t.Context(), "f", code, Limits{Memory: 4 << 20, Time: quiet})
		if err != nil {
			return err, 0
		}
		defer m.Close()
		in, err := m.New(t.Context(), nil)
		if err != nil {
			return err, 0
		}
		defer in.Close()
		x := make([]float64, 10)
		err = Map(context.Background(), in, x, [][]float64{x}, 0, nil)
		return err, r.Ledger.Used()[budget.Modules]
	}
	const compiled = 100 << 10 // at most, of this module
	for _, c := range []struct {
		room int64 // beside what is compiled
		want string
	}{
		{8 << 20, "f: thole_map: code 61"}, // 64 pages are 4 MiB; 3 are there
		{2 << 20, "; its memory could not grow: 65536 bytes of modules"},
		{100 << 10, "bytes of modules"},
	} {
		r := newRuntime(t)
		r.Ledger = budget.New(c.room + compiled)
		held, err := r.Ledger.Hold(budget.Tables, r.Ledger.Left()-c.room)
		if err != nil {
			t.Fatal(err)
		}
		err, most := call(r)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("with room for %d bytes: %v, want %q", c.room, err, c.want)
		}
		if c.room == 8<<20 && (most < 4<<20 || most > 4<<20+compiled) {
			t.Errorf("%d bytes are counted for an instance with 4 MiB", most)
		}
		if left := r.Ledger.Used()[budget.Modules]; c.room > 1<<20 && left == 0 || left > compiled {
			t.Errorf("%d bytes are counted for a compiled module of %d bytes", left, len(code))
		}
		held.Release()
	}
	r := newRuntime(t)
	r.Ledger = budget.New(int64(len(code)))
	var full *budget.TooLarge
	if err, _ := call(r); !errors.Is(err, ErrFull) || !errors.As(err, &full) || r.Ledger.Used() != (budget.Usage{}) {
		t.Errorf("a module that has no room: %v, used %v", err, r.Ledger.Used())
	}
}
