package data

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/kernel"
)

// spilled is the set as one that takes no more than limit bytes of memory.
func spilled(t rapid.TB, of *Set, limit int64) *Set {
	s, all := of.empty(), make([]int, of.Len())
	for i := range all {
		all[i] = i
	}
	s.spill.limit = limit
	if err := of.copy(slices.Values(all), s); err != nil {
		t.Fatal(err)
	}
	if s.Bytes() > limit && !s.Spilled() {
		t.Fatalf("%d bytes in memory, want at most %d", s.Bytes(), limit)
	}
	return s
}

// inFiles is how many bytes of files are in this process's memory.
func inFiles(t *testing.T) int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	fields := strings.Fields(string(text))
	n := int64(0)
	for _, c := range fields[2] {
		n = 10*n + int64(c-'0')
	}
	return n * int64(os.Getpagesize())
}

// TestSpilledIsReleased wants a large set in a file to be the one in memory, and to take next to none, whatever is done with it.
func TestSpilledIsReleased(t *testing.T) {
	if !kernel.CanBack {
		t.Skip("no memory of files here")
	}
	const n, values = 400_000, 24
	r := newRows(n, n*values, false)
	for i := range n * values {
		r.idx, r.val = append(r.idx, int64(i*7919%9973)), append(r.val, 1)
		if i%values == values-1 {
			r.ptr, r.label = append(r.ptr, len(r.idx)), append(r.label, float32(i%2))
		}
	}
	here := newSet()
	if err := here.add(&r); err != nil {
		t.Fatal(err)
	}
	r = rows{}
	before := inFiles(t)
	s := spilled(t, here, 1<<20)
	small := func(what string) {
		t.Helper()
		if took := inFiles(t) - before; took > s.Bytes()/2 {
			t.Errorf("%s: %d of %d bytes are in memory", what, took, s.Bytes())
		}
	}
	small("written")
	if s.Checksum() != here.Checksum() {
		t.Error("other examples in a file than in memory")
	}
	small("checksum")
	if !slices.Equal(s.Keys(), here.Keys()) {
		t.Error("other keys in a file than in memory")
	}
	small("keys")
	third := func(i int) bool { return i%3 == 0 }
	out, err := s.Part(third)
	if err != nil {
		t.Fatal(err)
	}
	want, err := here.Part(third)
	if err != nil {
		t.Fatal(err)
	}
	small("parted")
	if out.Checksum() != want.Checksum() || s.Checksum() != here.Checksum() || !out.Spilled() {
		t.Error("other parts in a file than in memory")
	}
	s.release(0, s.Len())
	var g Gatherer
	if numbers := []int{9, 1 << 17, 3}; !exactly(g.Gather(s, numbers), new(Gatherer).Gather(here, numbers)) {
		t.Error("other rows after they were released")
	}
}

// TestSpilledWidens: a set in a file stays in one where a column is too large for narrow rows.
func TestSpilledWidens(t *testing.T) {
	if !kernel.CanBack {
		t.Skip("no memory of files here")
	}
	s := spilled(t, packed(batchOf(three)), 1)
	wide := rows{label: []float32{1}, ptr: []int{0, 1}, idx: []int64{1 << 50}, val: []float32{-2}}
	if err := s.add(&wide); err != nil || !s.wide || !s.Spilled() {
		t.Fatalf("wide %t, in a file %t: %v", s.wide, s.Spilled(), err)
	}
	if got := s.Slice(0, 3); !same(got, batchOf(three)) {
		t.Errorf("rows have changed: %v", got)
	}
}

// TestScratch wants nothing to be left in the folder, not even while the set is there, and one that is missing to be named.
func TestScratch(t *testing.T) {
	if !kernel.CanBack {
		t.Skip("no memory of files here")
	}
	dir := t.TempDir()
	text := []byte(strings.Repeat("1 3:1 7:2\n0 2:1\n", 100))
	for _, name := range []string{"a.libsvm", "a.csv"} {
		in := func() []Input { i := input(text); i.Name = name; return []Input{i} }
		if name == "a.csv" {
			text = []byte("label,x,y\n" + strings.Repeat("1,3,a\n0,2,b\n", 100))
		}
		all, err := LoadAll(context.Background(), in(), Options{Limit: 1, Scratch: dir})
		if err != nil {
			t.Fatal(err)
		}
		here, err := LoadAll(context.Background(), in(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !all.Spilled() || here.Spilled() || all.Checksum() != here.Checksum() {
			t.Errorf("%s: in a file %t and %t, or other examples", name, all.Spilled(), here.Spilled())
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left in the folder: %v", name, left, err)
		}
		none := filepath.Join(dir, "none")
		if _, err := LoadAll(context.Background(), in(), Options{Limit: 1, Scratch: none}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), none) {
			t.Errorf("%s: error %v, want one that names the folder %s", name, err, none)
		}
	}
}
