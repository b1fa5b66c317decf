package state

import (
	"io"
	"sync/atomic"

	"thole.example/blob"
)

// behind writes in another goroutine than its caller, so that what is written next is made meanwhile. It keeps a copy of what it is given
// by Write, a chunk at a time, and takes chunks x chunkBytes of memory for it. What it is lent is written from where it lies: a copy takes
// half as long as to make what is written.
type behind struct {
	fill   []byte // the chunk that is being filled
	handed int    // how much of it is on its way
	queue  chan segment
	free   chan []byte
	lent   chan struct{}         // a token for each turn whose memory is not given back
	failed atomic.Pointer[error] // the first error: what comes after it is in no place
	yields atomic.Bool
	ended  bool
	done   chan struct{}

	// Of the goroutine that writes.
	w    io.Writer
	at   int64     // where in the stream that is
	vec  [][]byte  // what is written next, where it lies
	out  []byte    // or a copy of it
	size int       // bytes of either
	held []segment // that are given back then
}

// segment is something to write.
type segment struct {
	bytes []byte
	chunk []byte // that is free after it; nil: none
	turn  bool   // after it what was lent before is given back
}

const (
	chunks = 4
	// chunkBytes are written at once, from a multiple of them on, whatever they are made of: a system takes half as long for its pages
	// then as for those of parts that begin and end anywhere, and a disk can take them from where they lie.
	chunkBytes = 1 << 20
)

// Lent is how many bands have their memory in use at a time by who lends them, with that which is being filled in.
const Lent = 16

func newBehind(w io.Writer) *behind {
	b := &behind{w: w, queue: make(chan segment, 4*Lent), free: make(chan []byte, chunks), lent: make(chan struct{}, Lent-1),
		done: make(chan struct{})}
	for range chunks - 1 {
		b.free <- nil // made when they are needed
	}
	go func() {
		defer close(b.done)
		for s := range b.queue {
			b.take(s)
		}
		b.flush()
	}()
	return b
}

// take writes a segment, as far as it fills chunks, and gives it back when all of it is written.
func (b *behind) take(s segment) {
	for p := s.bytes; len(p) > 0; {
		left := chunkBytes - int((b.at+int64(b.size))%chunkBytes)
		some := p[:min(len(p), left)]
		b.put(some)
		if p = p[len(some):]; len(some) == left {
			b.flush()
		}
	}
	b.held = append(b.held, s)
	turns := 0
	for _, s := range b.held {
		if s.turn {
			turns++
		}
	}
	switch {
	case turns >= Lent/2: // the caller may be waiting for them
		b.flush()
	case len(b.vec) == 0:
		b.giveBack()
	}
}

// put puts something to what is written next. It is copied to where a disk can take it from while it is asked to.
func (b *behind) put(p []byte) {
	_, can := b.w.(blob.Vectored)
	if can = can && !b.yields.Load(); can && len(b.out) > 0 || !can && len(b.vec) > 0 {
		b.flush()
	}
	if b.size += len(p); can {
		b.vec = append(b.vec, p)
		return
	}
	if b.out == nil {
		b.out = make([]byte, 0, chunkBytes)
	}
	b.out = append(b.out, p...)
}

// flush writes what was put, and gives it back.
func (b *behind) flush() {
	err := error(nil)
	switch {
	case b.size == 0 || b.failed.Load() != nil:
	case len(b.vec) > 0:
		_, err = b.w.(blob.Vectored).WriteVec(b.vec)
	default:
		if y, can := b.w.(blob.Yielder); can {
			y.Yield(b.yields.Load())
		}
		_, err = b.w.Write(b.out)
	}
	if err != nil {
		b.failed.Store(&err)
	}
	clear(b.vec)
	b.at += int64(b.size)
	b.size, b.vec, b.out = 0, b.vec[:0], b.out[:0]
	b.giveBack()
}

// giveBack gives back the memory of what is written.
func (b *behind) giveBack() {
	for _, s := range b.held {
		if s.chunk != nil {
			b.free <- s.chunk[:0]
		}
		if s.turn {
			<-b.lent
		}
	}
	clear(b.held)
	b.held = b.held[:0]
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
			b.queue <- segment{bytes: b.fill[b.handed:], chunk: b.fill}
			b.fill, b.handed = <-b.free, 0
		}
	}
	return n, b.err()
}

// hand has what was filled in be written.
func (b *behind) hand() {
	if b.handed < len(b.fill) {
		b.queue <- segment{bytes: b.fill[b.handed:]}
		b.handed = len(b.fill)
	}
}

// Lend is Write of something that does not change for so many turns.
func (b *behind) Lend(p []byte) error {
	b.hand()
	b.queue <- segment{bytes: p}
	return b.err()
}

// Turn ends what is lent together. When it returns, all that was lent Lent - 1 turns before is given back.
func (b *behind) Turn() {
	b.lent <- struct{}{}
	b.queue <- segment{turn: true}
}

// end writes the rest, waits for it, and answers with the first error. It may be called again.
func (b *behind) end() error {
	if !b.ended {
		b.ended = true
		b.hand()
		close(b.queue)
		<-b.done
	}
	return b.err()
}
