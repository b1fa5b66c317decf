package server_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"thole.example/blob"
	"thole.example/internal/seeds"
	"thole.example/ps"
	"thole.example/state"
)

// compacted compacts an increment, and wants it to say what it said and to have what a whole checkpoint of that moment has.
func (h *history) compacted(bucket blob.Bucket, increment, whole string) {
	h.t.Helper()
	before, err := state.Open(h.t.Context(), bucket, increment)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := state.Compact(h.t.Context(), bucket, increment, nil); err != nil {
		h.t.Fatal(err)
	}
	in, err := state.NewInput(h.t.Context(), bucket, increment)
	if err != nil {
		h.t.Fatal(err)
	}
	defer in.Close()
	was, err1 := before.Sum()
	is, err2 := in.Sum()
	if !in.Whole() || was != is || errors.Join(err1, err2, in.Verify(h.t.Context(), nil)) != nil {
		h.t.Fatalf("%s: whole %v, digest %.12s, want %.12s: %v", increment, in.Whole(), is, was, errors.Join(err1, err2, in.Verify(h.t.Context(), nil)))
	}
	if got, want := h.whole(bucket, increment), h.whole(bucket, whole); !maps.Equal(got, want) {
		for text := range want {
			if got[text] == "" {
				h.t.Fatalf("%s: %.200s is missing", increment, text)
			}
		}
		h.t.Fatalf("%s has more than %s", increment, whole)
	}
}

// TestCompact: increments that were made whole, by jobs on other servers before and after, have what whole checkpoints of these moments
// have; so do those that are based on them; and a job goes on from them with the same bits and further increments.
func TestCompact(t *testing.T) {
	chains, made := 0, 0
	set := seeds.Of(t, "COMPACT", 60, 6)
	for seed := range set.All() {
		h := &history{t: t, metas: changed(), rng: rand.New(rand.NewPCG(seed, 4))}
		bucket, base, n := &blob.Mem{}, "", 0
		for range 1 + h.rng.IntN(3) {
			h.on(h.rng.Uint64(), bucket, func(ctx context.Context, p *ps.Client) (err error) {
				base, n, err = h.increments(ctx, p, "s/", base, n, func(increment, whole string) {
					if h.rng.IntN(3) == 0 { // while the job goes on
						h.compacted(bucket, increment, whole)
						made++
					}
				})
				return err
			})
		}
		for k := range n {
			increment, whole := fmt.Sprint("s/increment", k), fmt.Sprint("whole", k)
			if head, err := state.Open(t.Context(), bucket, increment); err != nil || !head.Whole() {
				chains++
			}
			if h.rng.IntN(2) == 0 {
				h.compacted(bucket, increment, whole)
			}
			h.same(seed+uint64(k), bucket, increment, whole)
		}
	}
	if set.Count >= 60 && (chains < 50 || made < 20) {
		t.Errorf("%d increments, %d made whole on the way: want more of them", chains, made)
	}
}
