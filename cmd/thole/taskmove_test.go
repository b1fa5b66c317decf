package main

import (
	"testing"

	"thole.example/state"
)

// How many copies are written before a job stops to move: increments as long as they become smaller.
func TestCopiedEnough(t *testing.T) {
	const mb = 1 << 20
	whole := func(bytes int64) state.Entry { return state.Entry{Bytes: bytes, Head: &state.Checkpoint{}} }
	part := func(bytes int64) state.Entry {
		return state.Entry{Bytes: bytes, Head: &state.Checkpoint{Base: state.Link{Path: "before", ID: "b"}}}
	}
	for _, c := range []struct {
		name   string
		copies []state.Entry
		whole  bool // the next one would be
		want   bool
	}{
		{"nothing", nil, true, false},
		{"one", []state.Entry{whole(800 * mb)}, false, false},
		{"an increment that is much smaller", []state.Entry{whole(800 * mb), part(300 * mb)}, false, false},
		{"and one that is smaller than that", []state.Entry{whole(800 * mb), part(300 * mb), part(80 * mb)}, false, false},
		{"and one that is not", []state.Entry{whole(800 * mb), part(300 * mb), part(80 * mb), part(70 * mb)}, false, true},
		{"a small one", []state.Entry{whole(800 * mb), part(mb)}, false, true},
		{"all of a small model", []state.Entry{whole(mb / 2), part(mb / 2)}, true, true},
		{"most of the values change", []state.Entry{whole(800 * mb), part(700 * mb)}, true, true},
		{"the increments before are many", []state.Entry{part(9 * mb), part(2 * mb)}, true, false},
		{"a whole one is the last", []state.Entry{part(9 * mb), whole(800 * mb)}, false, false},
		{"and an increment of that", []state.Entry{part(9 * mb), whole(800 * mb), part(mb / 2)}, false, true},
		{"always smaller", []state.Entry{whole(800 * mb), part(300 * mb), part(90 * mb), part(60 * mb), part(40 * mb), part(20 * mb)}, false, true},
	} {
		if got := copiedEnough(c.copies, c.whole); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
