package tcp

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// frameCost is what a queued frame costs besides its bytes.
	frameCost = 256
	// keep is how much memory a frame may have to be used again.
	keep = 64 << 10
	// spares is how many frames are kept for being used again.
	spares = 16
	// together is up to how many bytes several slices are copied into one, which costs less than many slices.
	together = 16 << 10
	// piece is how much is written at once, so that a slow write is seen to move.
	piece = 1 << 20
	// progress is from how many bytes on a write shows that the other side takes them; fewer may only have gone into
	// the system's buffers.
	progress = 256 << 10
)

// sender writes frames. Who sends while nobody writes starts a goroutine for it; the frames that queue up until it runs
// and while it writes go out together in its next write. (Writing in the caller's own goroutine is not faster for
// single requests, and half as fast for many, because it keeps them from queueing up.)
type sender struct {
	nc     net.Conn
	budget *budget        // of the frames queued
	moved  *atomic.Uint64 // counts large writes
	work   sync.WaitGroup // goroutines that write

	mu      sync.Mutex
	queue   []*frame
	spare   []*frame
	writing bool
	closed  bool

	// These belong to who writes.
	batch []*frame
	vec   net.Buffers
	list  [][]byte
	flat  []byte
}

func newSender(nc net.Conn, queueLimit int64, moved *atomic.Uint64) *sender {
	return &sender{nc: nc, budget: newBudget(queueLimit), moved: moved}
}

// frame is an empty frame, to be sent or dropped.
func (s *sender) frame() *frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.spare); n > 0 {
		f := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return f.begin()
	}
	return new(frame).begin()
}

// drop takes back a frame that is not sent.
func (s *sender) drop(f *frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(f)
}

func (s *sender) release(f *frame) {
	if f.charge > 0 {
		s.budget.give(f.charge)
		f.charge = 0
	}
	if f.Reset(); len(s.spare) < spares && f.Cap() <= keep {
		s.spare = append(s.spare, f)
	}
}

// send queues the frame, which is the sender's from now on. It does not wait for the other side.
func (s *sender) send(f *frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.release(f)
		return
	}
	s.queue = append(s.queue, f)
	if !s.writing {
		s.writing = true
		s.work.Go(s.drain)
	}
}

// drain writes until nothing is queued.
func (s *sender) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) > 0 {
		s.write()
	}
	s.writing = false
}

// write takes everything queued and writes it, without the lock. After an error the reader has a moment left to find
// out why the other side takes no more, and ends too.
func (s *sender) write() {
	s.batch, s.queue = s.queue, s.batch[:0]
	s.mu.Unlock()
	err := s.flush()
	if err != nil {
		_ = s.nc.SetReadDeadline(time.Now().Add(lingerTime))
	}
	s.mu.Lock()
	for i, f := range s.batch {
		s.release(f)
		s.batch[i] = nil
	}
	s.closed = s.closed || err != nil
	if s.closed {
		s.discard()
	}
}

func (s *sender) flush() error {
	s.list = s.list[:0]
	total := 0
	for _, f := range s.batch {
		s.list = f.Buffers(s.list)
		total += f.Len()
	}
	list := s.list
	defer clear(list)
	if len(list) > 1 && total <= together {
		s.flat = s.flat[:0]
		for _, b := range list {
			s.flat = append(s.flat, b...)
		}
		return s.writeSome(s.flat)
	}
	for len(list) > 0 {
		n, size := 0, 0
		for n < len(list) && size+len(list[n]) <= piece {
			size += len(list[n])
			n++
		}
		var err error
		if n <= 1 {
			n = 1
			err = s.writeSome(list[0])
		} else {
			s.vec = append(net.Buffers(nil), list[:n]...)
			_, err = s.vec.WriteTo(s.nc)
			s.count(size)
		}
		if err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// writeSome writes b in pieces.
func (s *sender) writeSome(b []byte) error {
	for len(b) > 0 {
		n, err := s.nc.Write(b[:min(len(b), piece)])
		if s.count(n); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

func (s *sender) count(n int) {
	if n >= progress {
		s.moved.Add(1)
	}
}

// busy reports whether frames are being written.
func (s *sender) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writing
}

// lastWords writes the frame, if nobody else is writing and the other side takes it soon, and ends the sending.
func (s *sender) lastWords(f *frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && !s.writing {
		_ = s.nc.SetWriteDeadline(time.Now().Add(lingerTime))
		_, _ = s.nc.Write(f.Bytes())
	}
	s.closed = true
	s.release(f)
	s.discard()
}

// close ends the sending; what is queued is dropped. Wait on work for who still writes, once the connection is closed.
func (s *sender) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.discard()
}

func (s *sender) discard() {
	for i, f := range s.queue {
		s.release(f)
		s.queue[i] = nil
	}
	s.queue = s.queue[:0]
}
