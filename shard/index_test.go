package shard

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/kernel"
)

// check holds an index to a map: every key is found where searches look, nothing else is there, and lines and keys are in
// the order that growing needs.
func (x *index) check(t *rapid.T, want map[uint64]uint32) {
	seen := 0
	for line := range x.lines {
		l := &x.lines[line]
		for i, row := range l.Row {
			if i >= l.Taken() && (row != 0 || l.Key[i] != 0) {
				t.Fatalf("line %d: a key or row after the free slot %d", line, l.Taken())
			}
		}
		for i := range l.Taken() {
			seen++
			if row := want[l.Key[i]]; row != l.Row[i] || stampFor(row) != l.Stamp(i) {
				t.Fatalf("key %d has row %d and stamp %d, want %d and %d", l.Key[i], l.Row[i], l.Stamp(i), row, stampFor(row))
			}
			for from := x.line(l.Key[i]); from < line; from++ {
				if !x.lines[from].Full() {
					t.Fatalf("key %d of line %d: line %d before it is not full", l.Key[i], line, from)
				}
			}
			if x.line(l.Key[i]) > line {
				t.Fatalf("key %d stands in line %d, before its place %d", l.Key[i], line, x.line(l.Key[i]))
			}
		}
	}
	if seen != len(want) || x.keys != len(want) {
		t.Fatalf("%d keys, counted %d, want %d", seen, x.keys, len(want))
	}
	if x.lines[len(x.lines)-1].Full() {
		t.Fatal("the last line is full: searches run over the end")
	}
}

// stampFor is the stamp of the key with a row.
func stampFor(row uint32) uint8 { return uint8(row * 7 % 64) }

// TestIndexModel inserts and removes keys, many of which look alike, at every stage of growth.
func TestIndexModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, err := newIndex(rapid.IntRange(0, 3).Draw(t, "bits"))
		if err != nil {
			t.Fatal(err)
		}
		want := map[uint64]uint32{}
		step := rapid.SampledFrom([]uint64{1, 1 << 32, 0x9e3779b97f4a7c15}).Draw(t, "step")
		next := uint32(0)
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				n := rapid.IntRange(1, block).Draw(t, "n")
				if err := x.reserve(n); err != nil {
					t.Fatal(err)
				}
				for range n {
					key := uint64(next) * step
					next++
					line, at, ok := x.find(key)
					if ok {
						t.Fatalf("key %d is there", key)
					}
					x.set(line, at, slot{key, next, stampFor(next)})
					x.keys++
					want[key] = next
				}
			},
			"remove": func(t *rapid.T) {
				for range rapid.IntRange(1, block).Draw(t, "n") {
					key := uint64(rapid.Uint32Range(0, next).Draw(t, "key")) * step
					row, ok := x.remove(key)
					if row != want[key] || ok != (want[key] != 0) {
						t.Fatalf("removed key %d with row %d, %v, want row %d", key, row, ok, want[key])
					}
					delete(want, key)
				}
			},
			"scan": func(t *rapid.T) {
				from := rapid.Uint64Range(0, allPoints).Draw(t, "from")
				to := rapid.Uint64Range(from, allPoints).Draw(t, "to")
				var got, all []uint64
				stamps := rapid.Uint64().Draw(t, "stamps")
				x.visit(from, to, stamps, func(line, at int) { got = append(got, x.lines[line].Key[at]) })
				for key, row := range want {
					if p := x.spread.Point(kernel.Hash(key)); p >= from && p < to && stamps>>stampFor(row)&1 != 0 {
						all = append(all, key)
					}
				}
				slices.Sort(got)
				slices.Sort(all)
				if !slices.Equal(got, all) {
					t.Fatalf("scan of [%d,%d) gives %d keys, want %d", from, to, len(got), len(all))
				}
			},
			"": func(t *rapid.T) { x.check(t, want) },
		})
	})
}

// TestIndexGrowsInSteps: no insertion moves more than a few keys for each new one, and the index stays as full as it should.
func TestIndexGrowsInSteps(t *testing.T) {
	x, err := newIndex(0)
	if err != nil {
		t.Fatal(err)
	}
	const longRun = 2000 // keys: the moves of a step end with a whole run
	for n := 0; n < 300_000; n += block {
		edge := x.edge
		if err := x.reserve(block); err != nil {
			t.Fatal(err)
		}
		if moved := (edge - x.edge) * kernel.Slots; n > 20_000 && edge > 0 && x.edge > 0 && moved > block*movesPerKey*2+longRun {
			t.Fatalf("at %d keys a step of %d moves some %d", n, block, moved)
		}
		for i := range block {
			key := uint64(n + i)
			line, at, _ := x.find(key)
			x.set(line, at, slot{key: key, row: uint32(n + i + 1)})
			x.keys++
		}
		if full := float64(x.keys) / float64(x.spread.Lines*kernel.Slots); n > 20_000 && (full < 0.65 || full > mustFull) {
			t.Fatalf("at %d keys %.2f of the slots are taken", n, full)
		}
	}
}
