package tcp

import (
	"context"
	"slices"
	"sync"
)

// budget is a number of bytes that many may take parts of. Who asks for more than is left waits, first come first
// served, so that large takers do not starve.
type budget struct {
	mu      sync.Mutex
	size    int64
	left    int64
	waiting []*taker
}

type taker struct {
	n     int64
	given chan struct{}
}

func newBudget(size int64) *budget { return &budget{size: size, left: size} }

// take waits until n bytes, or the whole budget if n is larger, are left, and takes them. It gives what was taken; ok
// is false if ctx or gone ended first, and nothing was taken.
func (b *budget) take(ctx context.Context, gone <-chan struct{}, n int64) (taken int64, ok bool) {
	n = min(n, b.size)
	b.mu.Lock()
	if len(b.waiting) == 0 && b.left >= n {
		b.left -= n
		b.mu.Unlock()
		return n, true
	}
	w := &taker{n, make(chan struct{})}
	b.waiting = append(b.waiting, w)
	b.mu.Unlock()
	select {
	case <-w.given:
		return n, true
	case <-ctx.Done():
	case <-gone:
	}
	b.leave(w)
	return 0, false
}

// leave ends the waiting of w, which may have been given its part in the meantime.
func (b *budget) leave(w *taker) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, w); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	} else {
		b.left += w.n
	}
	b.serve()
}

// give returns what was taken.
func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += n
	b.serve()
}

func (b *budget) serve() {
	for len(b.waiting) > 0 && b.waiting[0].n <= b.left {
		b.left -= b.waiting[0].n
		close(b.waiting[0].given)
		b.waiting = b.waiting[1:]
	}
}
