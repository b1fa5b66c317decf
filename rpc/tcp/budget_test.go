package tcp

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10)
		first, _ := b.take(t.Context(), nil, 7)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan struct{})
		order := make(chan string, 4)
		take := func(name string, ctx context.Context, gone <-chan struct{}, n int64) {
			go func() {
				if got, ok := b.take(ctx, gone, n); ok {
					order <- name
					if name != "last" {
						b.give(got)
					}
				} else {
					order <- name + " gave up"
				}
			}()
			synctest.Wait()
		}
		take("all", t.Context(), nil, 99) // the whole budget, behind which even one byte waits
		take("context", ctx, nil, 4)
		take("gone", t.Context(), gone, 4)
		take("last", t.Context(), nil, 1)
		if len(order) != 0 {
			t.Fatalf("%s did not wait", <-order)
		}
		cancel()
		synctest.Wait()
		close(gone)
		synctest.Wait()
		b.give(first)
		for _, want := range []string{"context gave up", "gone gave up", "all", "last"} {
			if got := <-order; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		if b.left != 9 {
			t.Errorf("%d of 10 left, want 9", b.left)
		}
	})
}
