package state

import (
	"io"
	"sync/atomic"

	"thole.example/blob"
)

// behind writes in another goroutine than its caller, a chunk at a time, so that what is written next is made meanwhile. It keeps a
// copy of what it is given, and takes chunks x chunkBytes of memory. Chunks lie where a disk can take them from.
type behind struct {
	fill       []byte // being filled
	full, free chan []byte
	failed     atomic.Pointer[error] // the first error: what comes after it is in no place
	yields     atomic.Bool
	ended      bool
	done       chan struct{}
}

const (
	chunks     = 4
	chunkBytes = 1 << 20
)

func newBehind(w io.Writer) *behind {
	yielder, can := w.(blob.Yielder)
	b := &behind{full: make(chan []byte, chunks), free: make(chan []byte, chunks), done: make(chan struct{})}
	for range chunks - 1 {
		b.free <- nil // made when they are needed
	}
	go func() {
		defer close(b.done)
		for chunk := range b.full {
			if can {
				yielder.Yield(b.yields.Load())
			}
			if b.failed.Load() == nil {
				if _, err := w.Write(chunk); err != nil {
					b.failed.Store(&err)
				}
			}
			b.free <- chunk[:0]
		}
	}()
	return b
}

// Yield has what is not written yet be written as by a [blob.Yielder], or not any more.
func (b *behind) Yield(yes bool) { b.yields.Store(yes) }

func (b *behind) err() error {
	if err := b.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Write implements io.Writer. An error is that of an earlier write.
func (b *behind) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if cap(b.fill) == 0 {
			b.fill = make([]byte, 0, chunkBytes)
		}
		some := p[:min(len(p), cap(b.fill)-len(b.fill))]
		b.fill, p, n = append(b.fill, some...), p[len(some):], n+len(some)
		if len(b.fill) == cap(b.fill) {
			b.full <- b.fill
			b.fill = <-b.free
		}
	}
	return n, b.err()
}

// end writes the rest, waits for it, and answers with the first error. It may be called again.
func (b *behind) end() error {
	if !b.ended {
		b.ended = true
		b.full <- b.fill
		close(b.full)
		<-b.done
	}
	return b.err()
}
