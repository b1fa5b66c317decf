package train

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"thole.example/data"
)

// TestFeed: every step has its own batch, whoever gathers it; an error is that of the step that it is of, and an epoch may end anywhere.
func TestFeed(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	all := set(examples(500, 1))
	for i := range all.Label {
		all.Label[i] = float32(i)
	}
	rapid.Check(t, func(t *rapid.T) {
		runtime.GOMAXPROCS(rapid.IntRange(1, 2).Draw(t, "processors"))
		rows := rapid.SampledFrom([]int{1, 50, 700, portionRows, 3 * portionRows}).Draw(t, "rows")
		fails := -1
		var filling atomic.Int32
		broken := errors.New("broken")
		f := newFeed(rows, func(g *data.Gatherer, step int) (*data.Batch, error) {
			filling.Add(1)
			defer filling.Add(-1)
			if step == fails {
				return nil, broken
			}
			return g.Gather(all, []int{step, step}), nil
		})
		for range rapid.IntRange(1, 3).Draw(t, "epochs") {
			steps := rapid.IntRange(1, 120).Draw(t, "steps")
			takes := rapid.IntRange(0, steps).Draw(t, "taken")
			fails = rapid.IntRange(-1, 2*steps).Draw(t, "fails")
			f.begin(0, steps)
			var before *data.Batch
			for step := range takes {
				b, err := f.next(step)
				if step == fails {
					if !errors.Is(err, broken) {
						t.Fatalf("step %d: error %v, want that of its batch", step, err)
					}
					break
				}
				if err != nil || b.Len() != 2 || b.Label[1] != float32(step) {
					t.Fatalf("step %d: batch %v, error %v", step, b, err)
				}
				if before != nil && before.Label[1] != float32(step-1) {
					t.Fatalf("step %d: the batch before is %v", step, before)
				}
				before = b
			}
			f.end()
			if filling.Load() != 0 {
				t.Fatal("something is gathered after the end")
			}
		}
	})
}
