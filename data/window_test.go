package data

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/kernel"
	"thole.example/matrix"
)

// TestTake: what is taken, again and again, into the same memory is what the examples are, wherever they lie.
func TestTake(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		here := packed(drawBatch(t))
		from := here
		if kernel.CanBack && rapid.Bool().Draw(t, "file") {
			from = spilled(t, here, 1)
		}
		to := from.Like()
		defer to.Free()
		for range rapid.IntRange(1, 3).Draw(t, "windows") {
			to.Reset()
			var want []int
			for range rapid.IntRange(0, 4).Draw(t, "ranges") {
				lo := rapid.IntRange(0, here.Len()).Draw(t, "lo")
				hi, step := rapid.IntRange(lo, here.Len()).Draw(t, "hi"), rapid.IntRange(1, 4).Draw(t, "step")
				ranges := []matrix.Range{{Lo: int64(lo), Hi: int64(hi)}}
				if rapid.Bool().Draw(t, "two") {
					other := rapid.IntRange(0, here.Len()).Draw(t, "from")
					ranges = append(ranges, matrix.Range{Lo: int64(other), Hi: int64(here.Len())})
				}
				if err := to.Take(from, step, ranges...); err != nil {
					t.Fatal(err)
				}
				for _, r := range ranges {
					for i := int(r.Lo); i < int(r.Hi); i += step {
						want = append(want, i)
					}
				}
			}
			chosen, err := here.Choose(want)
			if err != nil {
				t.Fatal(err)
			}
			if !exactly(to.Batch(), chosen.Batch()) || to.Values() != chosen.Values() || to.Spilled() {
				t.Fatalf("%v of %d examples: %v, want %v", want, here.Len(), to.Batch(), chosen.Batch())
			}
		}
	})
}

// TestTakeOfShortFile: a file that has become shorter, or another one, is an error, and the window is what it was.
func TestTakeOfShortFile(t *testing.T) {
	if !kernel.CanBack {
		t.Skip("no memory of files here")
	}
	for name, harm := range map[string]func(s *Set){
		"said to be larger": func(s *Set) { s.used, s.ends[2] = 1<<40, 1<<39 },
		"ends before":       func(s *Set) { s.ends[1] = 0 },
		"more values":       func(s *Set) { s.words[0] = 1 << 20 },
	} {
		s := spilled(t, packed(batchOf(three)), 1)
		to := s.Like()
		if err := to.Take(s, 1, matrix.Range{Lo: 2, Hi: 3}); err != nil {
			t.Fatal(err)
		}
		harm(s)
		if err := to.Take(s, 1, matrix.Range{Lo: 0, Hi: 3}); err == nil || !strings.Contains(err.Error(), "the file of examples that do not fit their memory") {
			t.Errorf("%s: error %v, want one of the file", name, err)
		}
		if got := to.Batch(); !same(got, batchOf(three[2:])) {
			t.Errorf("%s: %v, want it as it was", name, got)
		}
	}
}
