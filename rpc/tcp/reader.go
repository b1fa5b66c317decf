package tcp

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync/atomic"

	"thole.example/budget"
	"thole.example/kernel"
	"thole.example/rpc"
)

const (
	// readerSize is large enough for many small frames in one read; larger bodies are read into their own memory. It is
	// what a connection costs that does nothing.
	readerSize = 16 << 10
	// firstStep and lastStep are how much memory a body that a connection's past does not vouch for is given at once:
	// as much as has come already, within these.
	firstStep = 64 << 10
	lastStep  = 1 << 20
	// turnLeast is how much is copied in a turn: less takes less time than to wait for one.
	turnLeast = 32 << 10
)

// What a reader does.
const (
	reading uint32 = iota
	noRoom         // it waits for the ledger
	noTaker        // it waits until the other side has taken more of its answers
)

// reader reads frames. Bodies are counted in the ledger as their bytes come, never by the length that was announced.
type reader struct {
	src    *source
	br     *bufio.Reader
	limit  uint32
	ctx    context.Context // ends with the connection
	ledger *budget.Ledger
	credit *budget.Credit // of small bodies
	urgent func() bool    // may the reserve be used? nil: no
	mapped bool           // whoever gets a body is sure to release it
	before func()         // called before the reader waits for something else than bytes
	turn   func() func()  // waits until much may be copied; what it returns, if not nil, is called afterwards. nil: always
	number uint16         // of the next frame
	proven int            // the largest body that has come whole
	head   [headSize]byte
	heard  atomic.Uint64 // bytes so far
	state  atomic.Uint32 // reading, noRoom or noTaker
	inside atomic.Bool   // it reads a body
	yields bool          // it does not wait for room, and reads no body that needs steps; it can be interrupted: errInterrupted
	part   partial       // of a body whose reading was interrupted
}

// partial is a body of which some bytes have come.
type partial struct {
	buffer *rpc.Buffer // nil: no body
	come   int
	sum    uint32
}

func newReader(ctx context.Context, nc net.Conn, limit uint32, ledger *budget.Ledger) *reader {
	r := &reader{limit: limit, ctx: ctx, ledger: ledger, before: func() {}}
	if l, ok := nc.(*link); ok {
		l.out.buffered()
	}
	r.src = newSource(nc, &r.heard)
	r.br = bufio.NewReaderSize(r.src, readerSize)
	r.credit = ledger.NewCredit(budget.Small, creditStep(ledger, budget.Small))
	return r
}

// creditStep is how many bytes of the class a connection takes in advance. It keeps up to two of them, so that requests and
// answers of up to 1 MiB, one after the other, do not ask the ledger, which all share.
func creditStep(ledger *budget.Ledger, c budget.Class) int64 {
	return max(4<<10, min(ledger.Most(c)/256, 512<<10))
}

// next reads the head of the next frame.
func (r *reader) next() (head, error) {
	if _, err := io.ReadFull(r.br, r.head[:]); err != nil {
		return head{}, err
	}
	h, err := parseHead(&r.head, r.limit)
	if err != nil {
		return h, &breach{err}
	}
	return h, nil
}

// ready reports whether the whole next frame has come already.
func (r *reader) ready() bool {
	have := r.br.Buffered()
	if have < headSize {
		return false
	}
	b, _ := r.br.Peek(4)
	return uint64(have) >= headSize+uint64(binary.LittleEndian.Uint32(b))
}

// pause says that the reader does not read for now.
func (r *reader) pause(why uint32) {
	r.before()
	r.state.Store(why)
}

// resume says that it goes on.
func (r *reader) resume() { r.state.Store(reading) }

// follow checks that no frame before this one is missing.
func (r *reader) follow(h head) error {
	if h.number != r.number {
		return &breach{fmt.Errorf("frame %d follows frame %d: what was between them was lost on the way, or it came twice",
			h.number, r.number-1)}
	}
	r.number++
	return nil
}

// body reads the body of a frame. An empty one has no Buffer. A *budget.TooLarge says that it never has room; then it is
// read and dropped, and the next frame follows. After errInterrupted the next call, which may be another goroutine's, continues.
func (r *reader) body(h head) (*rpc.Buffer, error) {
	n := int(h.size)
	if n == 0 {
		return nil, nil
	}
	r.inside.Store(true)
	defer r.inside.Store(false)
	class := budget.Small
	if n > lastStep {
		class = budget.Frames
	}
	taken := rpc.Taken(n)
	if most := r.ledger.Most(class); taken > most {
		wanted := int64(n)
		if wanted <= most {
			wanted = taken
		}
		return nil, r.drop(n, &budget.TooLarge{Class: class, Wanted: wanted, Most: most})
	}
	switch {
	case r.part.buffer != nil || n <= max(firstStep, min(r.proven, lastStep)):
		return r.atOnce(h)
	case r.yields:
		return nil, errInterrupted
	}
	claim, err := r.ledger.Claim(class, taken)
	if err != nil {
		return nil, err
	}
	f, err := r.inSteps(h, claim)
	charge := claim.Done()
	if err != nil {
		charge.Release()
		f.Release()
		return nil, err
	}
	f.Count(charge)
	r.proven = max(r.proven, n)
	return f, nil
}

// skip reads the body of a frame and drops it, so that the next frame follows.
func (r *reader) skip(h head) error {
	if _, err := r.br.Discard(int(h.size)); err != nil {
		return early(err)
	}
	return nil
}

// drop reads what is left of a body that there is no room for, n bytes, so that the next frame follows. It gives back why, or
// why that failed.
func (r *reader) drop(n int, why error) error {
	if tooLarge(why) {
		if _, err := r.br.Discard(n); err != nil {
			return early(err)
		}
	}
	return why
}

// atOnce reads a small body, or one of a size that the connection has brought before.
func (r *reader) atOnce(h head) (*rpc.Buffer, error) {
	p := &r.part
	if p.buffer == nil {
		charge, err := r.takeRoom(h)
		if err != nil {
			return nil, err
		}
		p.buffer = rpc.NewBuffer(int(h.size), charge)
	}
	r.src.yields = r.yields
	n, err := r.fill(h, &p.sum, p.buffer.Bytes()[p.come:])
	r.src.yields = false
	if p.come += n; err == errInterrupted {
		return nil, err
	}
	f, sum := p.buffer, p.sum
	r.part = partial{}
	if err == nil {
		if err = h.checkSum(sum); err != nil {
			err = &breach{err}
		}
	}
	if err != nil {
		f.Release()
		return nil, early(err)
	}
	return f, nil
}

// takeRoom takes what a body needs that is read at once.
func (r *reader) takeRoom(h head) (budget.Charge, error) {
	taken := rpc.Taken(int(h.size))
	charge, ok := r.credit.TryTake(taken)
	switch {
	case ok:
		return charge, nil
	case r.yields:
		return charge, errInterrupted
	}
	r.pause(noRoom)
	charge, err := r.credit.Take(r.ctx, taken, r.urgent)
	r.resume()
	if err != nil {
		err = r.drop(int(h.size), err)
	}
	return charge, err
}

// forget releases a body that was not read to its end.
func (r *reader) forget() {
	r.part.buffer.Release()
	r.part = partial{}
}

// fill reads b, a part of a body, and continues its checksum: of what has come while it is in the processor's cache. n is how many
// bytes came before an error.
func (r *reader) fill(h head, sum *uint32, b []byte) (n int, err error) {
	for n < len(b) {
		more, err := r.readSome(h, sum, b[n:])
		if n += more; err != nil && n < len(b) {
			return n, err
		}
	}
	return n, nil
}

// readSome reads some of b. Much is copied when it is the reader's turn, which it does not have while it waits for the network.
func (r *reader) readSome(h head, sum *uint32, b []byte) (n int, err error) {
	if r.turn == nil || len(b) < turnLeast {
		n, err = r.br.Read(b)
		r.addToSum(h, sum, b[:n])
		return n, err
	}
	if _, err := r.br.Peek(1); err != nil {
		return 0, err
	}
	if end := r.turn(); end != nil {
		defer end()
	}
	buffered, _ := r.br.Read(b) // what Peek has read
	n, err = r.src.readAvailable(b[buffered:])
	n += buffered
	r.addToSum(h, sum, b[:n])
	return n, err
}

// addToSum continues the checksum of a body.
func (r *reader) addToSum(h head, sum *uint32, b []byte) {
	if h.flags&flagSum != 0 {
		*sum = kernel.CRC32C(*sum, b)
	}
}

// inSteps reads a large body: there must be a byte of each step before room is taken for it.
func (r *reader) inSteps(h head, claim *budget.Claim) (f *rpc.Buffer, err error) {
	n, come, sum, taken := int(h.size), 0, uint32(0), int64(0)
	for come < n {
		if _, err = r.br.Peek(1); err != nil {
			return f, early(err)
		}
		step, size, needs := r.step(n, come)
		if size <= len(f.Bytes()) && needs < taken { // it was given more than this step needs
			needs = taken
		}
		if needs > taken {
			r.pause(noRoom)
			err = claim.Take(r.ctx, needs-taken, r.urgent)
			r.resume()
			if err != nil {
				return f, r.drop(n-come, err)
			}
			taken = needs
		}
		if size > len(f.Bytes()) {
			more := r.memory(size)
			copy(more.Bytes(), f.Bytes()[:come])
			f.Release()
			f = more
		}
		b := f.Bytes()[come : come+step]
		if _, err = r.fill(h, &sum, b); err != nil {
			return f, early(err)
		}
		come += step
	}
	if err := h.checkSum(sum); err != nil {
		return f, &breach{err}
	}
	return f, nil
}

// step is what comes next of a body of n bytes of which some have come: how many bytes at once, in a buffer of which size, and what
// that buffer takes until then. A server's is never larger than what comes into it, unless the connection has brought as much before,
// or it is mapped, and so takes nothing before it is written to: large pages of it are taken whole.
func (r *reader) step(n, come int) (step, size int, taken int64) {
	step = min(n-come, max(firstStep, min(come, lastStep)))
	switch {
	case !r.mapped:
		size = min(n, max(r.proven, 2*(come+step)))
		return step, size, int64(come + step)
	case n > rpc.HeapMost && max(come, r.proven) >= lastStep:
		step = min(n-come, rpc.LargePage-come%rpc.LargePage)
		pages := (come + step + rpc.LargePage - 1) / rpc.LargePage
		return step, n, min(rpc.Taken(n), int64(pages)*rpc.LargePage)
	}
	size = min(n, max(min(r.proven, lastStep), come+step))
	return step, size, rpc.Taken(size)
}

// memory is a buffer for a body. It is counted when the body is there: what was taken for it until then the claim has.
func (r *reader) memory(size int) *rpc.Buffer {
	if r.mapped {
		return rpc.MappedBuffer(size, budget.Charge{})
	}
	return rpc.NewBuffer(size, budget.Charge{})
}

// early is the error of a connection that ends within a frame.
func early(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// breach is a peer's violation of the protocol.
type breach struct{ err error }

func (b *breach) Error() string { return b.err.Error() }

func (b *breach) Unwrap() error { return b.err }
