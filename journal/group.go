package journal

import (
	"context"
	"fmt"
	"hash/crc32"
	"slices"
)

// copyLimit is up to which length slices of a body are copied: that takes less than the system does for one more slice to write.
const copyLimit = 4 << 10

// group is records that are written and made durable together.
type group struct {
	first uint64   // position of its first record
	size  int64    // bytes of its records
	mem   []byte   // heads and short bodies
	from  int      // first byte of mem that vec does not have
	vec   [][]byte // what is to be written
	given [][]byte // the same, for one attempt
}

// add adds a record whose body's checksum is sum.
func (g *group) add(h head, seed uint32, body [][]byte) {
	at := len(g.mem)
	g.mem = append(g.mem, make([]byte, recordHead)...)
	h.put(g.mem[at:], seed)
	for _, b := range body {
		if len(b) <= copyLimit {
			g.mem = append(g.mem, b...)
			continue
		}
		g.flush()
		g.vec = append(g.vec, b)
	}
	size := padded(int(h.n))
	g.mem = append(g.mem, make([]byte, size-recordHead-int(h.n))...)
	g.size += int64(size)
}

// flush puts what mem has into vec. It stays where it is when mem grows: the old memory has the same bytes.
func (g *group) flush() {
	if g.from < len(g.mem) {
		g.vec = append(g.vec, g.mem[g.from:len(g.mem):len(g.mem)])
		g.from = len(g.mem)
	}
}

// again is what is to be written, for an attempt, which changes the slice of slices.
func (g *group) again() [][]byte {
	g.given = append(g.given[:0], g.vec...)
	return g.given
}

// clear makes the group empty; it forgets the slices of others.
func (g *group) clear() {
	clear(g.vec)
	clear(g.given[:cap(g.given)])
	g.size, g.mem, g.from, g.vec = 0, g.mem[:0], 0, g.vec[:0]
}

// Append appends a record with the bytes of all slices of body, one after the other, and gives the position after it. It is then in the
// queue of what will be durable, in the order of positions; whoever needs to know when waits for that position, or is notified. Until
// then the slices have to stay as they are: they are the caller's again when Wait for the position, or a later one, gives nil,
// when Notify has said a position that is not smaller or an error, and after Close. The slice of slices is the caller's at once.
//
// While too much waits, Append waits, first come, first served. If it gives an error, of ctx or why the log takes nothing any more, the
// record was not appended.
func (l *Log) Append(ctx context.Context, body [][]byte, kind uint32) (position uint64, err error) {
	n, sum := 0, l.seed
	for _, b := range body {
		if len(b) > BodyLimit-n {
			return 0, fmt.Errorf("journal: a record of more than %d bytes: write several", BodyLimit)
		}
		n += len(b)
	}
	for _, b := range body {
		sum = crc32.Update(sum, castagnoli(), b)
	}
	h := head{n: uint32(n), kind: kind, sum: sum}
	l.mu.Lock()
	if l.blocked == 0 && (l.durable >= l.room(n) || l.refuses() != nil) {
		defer l.mu.Unlock()
		return l.add(h, body)
	}
	l.blocked++
	l.mu.Unlock()
	poke(l.hurry)
	defer func() {
		l.mu.Lock()
		l.blocked--
		l.mu.Unlock()
	}()
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	for {
		l.mu.Lock()
		need := l.room(n)
		if l.durable >= need || l.refuses() != nil {
			defer l.mu.Unlock()
			return l.add(h, body)
		}
		l.mu.Unlock()
		if err := l.await(ctx, need); err != nil {
			return 0, err
		}
	}
}

// room is the position that has to be durable before a record with a body of n bytes may wait; a large one waits alone.
func (l *Log) room(n int) uint64 {
	free := uint64(max(0, l.options.Queue-int64(padded(n))))
	return l.next - min(l.next, free)
}

// refuses says why nothing can be appended any more.
func (l *Log) refuses() error {
	if l.err == nil && l.closing {
		return ErrClosed
	}
	return l.err
}

// add puts a record into the queue.
func (l *Log) add(h head, body [][]byte) (uint64, error) {
	if err := l.refuses(); err != nil {
		return 0, err
	}
	g := l.open
	if g.size == 0 {
		g.first = l.next
		poke(l.wake)
	}
	// A group is written when all before it is durable.
	h.position, h.synced = l.next, g.first
	if l.options.NoSync {
		h.synced = l.synced
	}
	g.add(h, l.seed, body)
	l.next += uint64(padded(int(h.n)))
	return l.next, nil
}

// ticket is somebody who waits until everything before a position is durable.
type ticket struct {
	position uint64
	called   chan struct{} // has room for one
}

// await waits until everything before the position is durable.
func (l *Log) await(ctx context.Context, position uint64) error {
	l.mu.Lock()
	if l.durable >= position || l.err != nil {
		defer l.mu.Unlock()
		return l.reached(position)
	}
	t := l.ticket(position)
	l.mu.Unlock()
	var canceled error
	select {
	case <-t.called:
	case <-ctx.Done():
		canceled = ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if canceled != nil {
		if i := slices.Index(l.tickets, t); i >= 0 {
			l.tickets = slices.Delete(l.tickets, i, i+1)
		} else {
			<-t.called
		}
	}
	l.unused = append(l.unused, t)
	if canceled != nil && l.durable < position {
		return canceled
	}
	return l.reached(position)
}

// ticket gives a ticket that the writing goroutine looks at.
func (l *Log) ticket(position uint64) *ticket {
	var t *ticket
	if n := len(l.unused); n > 0 {
		t, l.unused = l.unused[n-1], l.unused[:n-1]
	} else {
		t = &ticket{called: make(chan struct{}, 1)}
	}
	t.position = position
	l.tickets = append(l.tickets, t)
	return t
}

// reached is nil if everything before the position is durable, or why it never will be.
func (l *Log) reached(position uint64) error {
	if l.durable >= position {
		return nil
	}
	return l.err
}

// call tells all who need not wait any more.
func (l *Log) call() {
	l.tickets = slices.DeleteFunc(l.tickets, func(t *ticket) bool {
		if l.durable < t.position && l.err == nil {
			return false
		}
		t.called <- struct{}{}
		return true
	})
}
