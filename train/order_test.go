package train

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/data"
	"thole.example/kernel"
)

// fromText are the examples as they are read with a limit of bytes; 0: none.
func fromText(t *testing.T, b *data.Batch, limit int64) *data.Set {
	t.Helper()
	var text bytes.Buffer
	if err := data.Write(&text, "libsvm", b); err != nil {
		t.Fatal(err)
	}
	in := data.Input{Name: "examples", R: bytes.NewReader(text.Bytes()), Size: int64(text.Len())}
	all, err := data.LoadAll(t.Context(), []data.Input{in}, data.Options{Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	return all.Set
}

// TestFileSameBits wants one and the same model and report whether the examples are in memory or in files, shared or each process's
// own, with any window, with weights, and of two kinds of labels in turn.
func TestFileSameBits(t *testing.T) {
	for _, o := range []Options{{}, {Window: 70}, {Window: 1}, {Window: 70, Wrap: true}, {Window: 70, PosNeg: 0.5}, {Window: 70, InOrder: true}, {PosNeg: 2, Wrap: true}} {
		o.Epochs, o.Batch, o.Rate, o.Seed, o.Watch = 3, 20, rate(0.3), 7, true
		var want []*Report
		var bits []float32
		for _, limit := range []int64{0, 1} {
			if limit > 0 && !kernel.CanBack {
				continue
			}
			for _, each := range []int{0, 1, 2, 3} {
				o.Data, o.Valid = fromText(t, examples(203, 1), limit), fromText(t, examples(50, 2), limit)
				for i := range o.Data.Label {
					o.Data.Weight = append(o.Data.Weight, 1+float32(i%3)/7)
				}
				if o.Data.Spilled() != (limit > 0) {
					t.Fatalf("limit %d: in a file: %t", limit, o.Data.Spilled())
				}
				got, weights := world{servers: 2, tasks: 3, each: each}.trained(t, o)
				if want == nil {
					want, bits = got, weights
				}
				if !reflect.DeepEqual(got, want) || !slices.Equal(weights, bits) {
					t.Errorf("window %d, limit %d, %d tasks each: reports %+v, want %+v, or other weights", o.Window, limit, each, got[0], want[0])
				}
			}
		}
	}
}

// TestWindow wants an epoch to be the examples of the windows one after the other, another one each time, and all of them from as many
// examples as there are to be those without a window.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, tasks := rapid.IntRange(1, 3000).Draw(t, "examples"), rapid.IntRange(1, 4).Draw(t, "tasks")
		window := rapid.IntRange(1, n).Draw(t, "window")
		o := Options{Data: set(examples(n, 1)), Tasks: tasks, Task: rapid.IntRange(0, tasks-1).Draw(t, "task"), Window: window}
		r, plain := newOrder(o), newOrder(Options{Data: o.Data, Tasks: tasks, Task: o.Task})
		for epoch := range 2 {
			if err := errors.Join(r.begin(epoch), plain.begin(epoch)); err != nil {
				t.Fatal(err)
			}
			var all []int
			for lo := 0; lo < r.count; lo += 13 {
				rows, err := r.some(lo, min(lo+13, r.count))
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, rows...)
				if held := len(r.rows); window < n && held > 2*windowBlocks*r.block+13 {
					t.Fatalf("%d examples of a window of %d and %d tasks are held", held, window, tasks)
				}
			}
			if window == n && !slices.Equal(all, plain.rows) {
				t.Fatal("a window of all examples gives another order than none")
			}
			if slices.IsSorted(all) && r.count > 50 && window > 64*tasks {
				t.Fatal("nothing is shuffled")
			}
			slices.Sort(all)
			want := slices.Clone(plain.rows)
			if slices.Sort(want); !slices.Equal(all, want) {
				t.Fatalf("%v, want each of %d once", all, n)
			}
		}
	})
}
