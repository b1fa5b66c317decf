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
	fill    []byte // the chunk that is being filled
	handed  int    // how much of it is on its way
	queue   chan segment
	free    chan []byte
	lent    chan struct{}         // a token for each turn whose memory is not given back
	failed  atomic.Pointer[error] // the first error: what comes after it is in no place
	yields  atomic.Bool
	ended   bool
	done    chan struct{}
	w       io.Writer
	yielder blob.Yielder // the same, if it is one
	out     []byte       // what is put together, by the goroutine that writes
	at      int64        // how much was written
}

// segment is something to write.
type segment struct {
	bytes []byte
	chunk []byte // that is free after it; nil: none
	turn  bool   // after it what was lent before is given back
}

const (
	chunks     = 4
	chunkBytes = 1 << 20
	aloneBytes = 64 << 10 // from how many on something is written alone, and not put together with what comes after it
	pageBytes  = 4 << 10  // at a multiple of which a disk takes what lies in memory
)

// Lent is how many bands have their memory in use at a time by who lends them, with that which is being filled in.
const Lent = 8

func newBehind(w io.Writer) *behind {
	b := &behind{w: w, queue: make(chan segment, 4*Lent), free: make(chan []byte, chunks), lent: make(chan struct{}, Lent-1),
		done: make(chan struct{})}
	b.yielder, _ = w.(blob.Yielder)
	for range chunks - 1 {
		b.free <- nil // made when they are needed
	}
	go func() {
		defer close(b.done)
		for s := range b.queue {
			b.put(s.bytes)
			if s.chunk != nil {
				b.free <- s.chunk[:0]
			}
			if s.turn {
				<-b.lent
			}
		}
		b.flush()
	}()
	return b
}

// put writes something, or puts it together with what comes after it: what is small, and all of it while the disk may be asked to take it
// from where it lies, which has to be many whole pages then.
func (b *behind) put(p []byte) {
	if len(p) >= aloneBytes && !b.yields.Load() {
		b.flush()
		b.write(p)
		return
	}
	for len(p) > 0 {
		if b.out == nil {
			b.out = make([]byte, 0, chunkBytes)
		}
		room := chunkBytes - int(b.at%pageBytes) - len(b.out)
		some := p[:min(len(p), room)]
		b.out, p = append(b.out, some...), p[len(some):]
		if len(some) == room {
			b.flush()
		}
	}
}

// flush writes what was put together.
func (b *behind) flush() {
	if len(b.out) > 0 {
		b.write(b.out)
		b.out = b.out[:0]
	}
}

func (b *behind) write(p []byte) {
	if b.failed.Load() != nil {
		return
	}
	if b.yielder != nil {
		b.yielder.Yield(b.yields.Load())
	}
	n, err := b.w.Write(p)
	if b.at += int64(n); err != nil {
		b.failed.Store(&err)
	}
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
