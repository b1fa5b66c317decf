package tcp

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"thole.example/rpc"
)

const (
	// keep is how much memory a frame may have to be used again.
	keep = 64 << 10
	// spares is how many frames are kept for being used again.
	spares = 16
	// together is up to how many bytes several slices are copied into one, which costs less than many slices.
	together = 16 << 10
	// portion is about how much is written at once.
	portion = 1 << 20
)

// sender writes frames. A large frame, or a small one that nothing else is about to follow, goes out at once, from the
// goroutine that sends it, as far as the system takes it without waiting. What is left a goroutine writes, and small frames of
// which others are under way; the frames that queue up meanwhile go out together in its next write. Nobody who sends ever
// waits for the other side.
//
// Measured between two processes (shared machine of 2 cores, empty requests, interleaved): one at a time 11.5 to 12.6 µs
// this way against 14.3 to 14.5 µs by a goroutine; 16 under way 3.0 µs of CPU by a goroutine against 5.0 µs, because
// frames queue up for it. A large frame lies in the cache of the processor that made it: docs/performance.md.
type sender struct {
	nc    net.Conn        // below encryption
	tls   *link           // nil: nothing is encrypted
	raw   syscall.RawConn // nil: none that can be written to without waiting
	sum   bool            // bodies get a checksum
	moved func()          // told after writes, when less is queued
	work  sync.WaitGroup  // one for the time that somebody writes

	queued atomic.Int64  // bytes of frames that are not written
	sent   atomic.Uint64 // frames
	taken  atomic.Uint64 // portions of large frames, in bytes: shows that the other side reads

	mu      sync.Mutex
	queue   []*frame
	spare   []*frame
	writing bool
	closed  bool
	corked  bool // frames wait for flush

	// These belong to who writes.
	batch  []*frame
	list   [][]byte
	vec    [][]byte    // the next portion of it
	out    net.Buffers // of vec
	left   [][]byte    // of list: what the system has not taken yet
	flat   []byte
	number uint16  // of the next frame
	count  uint64  // requests or answers so far
	cipher *[]byte // the batch, encrypted, if it is small enough; list is that
	failed error   // of encryption
	try    func(fd uintptr) bool
}

func newSender(nc net.Conn, sum bool, moved func()) *sender {
	s := &sender{nc: nc, sum: sum, moved: moved}
	s.try = s.tryWrite
	if l, ok := nc.(*link); ok {
		s.nc, s.tls, s.sum = l.out.Conn, l, false // TLS has checksums of its own
	}
	if c, ok := s.nc.(syscall.Conn); ok && triesWrites {
		s.raw, _ = c.SyscallConn()
	}
	return s
}

// frame is an empty frame, to be sent or dropped.
func (s *sender) frame(k kind, id uint64) *frame {
	s.mu.Lock()
	f := (*frame)(nil)
	if n := len(s.spare); n > 0 {
		f, s.spare = s.spare[n-1], s.spare[:n-1]
	}
	s.mu.Unlock()
	if f == nil {
		f = new(frame)
	}
	f.kind, f.id = k, id
	return f.begin()
}

// drop takes back a frame that is not sent.
func (s *sender) drop(f *frame) {
	f.done()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recycle(f)
}

func (s *sender) recycle(f *frame) {
	if len(s.spare) < spares && f.Cap() <= keep {
		s.spare = append(s.spare, f)
	}
}

// send queues the frame, which is the sender's from now on, and sees to it that it is written. alone says that nothing
// else is expected to follow soon.
func (s *sender) send(f *frame, alone bool) {
	if s.enqueue(f) {
		s.begin(alone)
	}
}

// enqueue queues the frame; true if the caller must call begin.
func (s *sender) enqueue(f *frame) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		f.done()
		return false
	}
	s.queue = append(s.queue, f)
	s.queued.Add(int64(f.Len()))
	return !s.corked && s.claim()
}

// claim makes the caller the one who writes, unless somebody does. The sender is locked.
func (s *sender) claim() bool {
	if s.writing {
		return false
	}
	s.writing = true
	s.work.Add(1)
	return true
}

// yield ends the writing. The sender is locked.
func (s *sender) yield() {
	s.writing = false
	s.work.Done()
}

// cork lets frames queue up until flush.
func (s *sender) cork() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.corked = true
}

// flush sends what has queued up since cork.
func (s *sender) flush() {
	s.mu.Lock()
	s.corked = false
	start := len(s.queue) > 0 && s.claim()
	s.mu.Unlock()
	if start {
		s.begin(false)
	}
}

// begin writes what is queued: here, as far as the system takes it at once, if it is much or nothing is to follow it; else in
// a goroutine.
func (s *sender) begin(alone bool) {
	if s.raw == nil || !alone && s.queued.Load() <= together {
		go s.drain()
		return
	}
	if !s.take() {
		return
	}
	s.seal()
	if s.tls != nil && s.cipher == nil {
		go s.rest()
		return
	}
	err := s.raw.Write(s.try)
	if err == nil && len(s.left) > 0 {
		go s.rest()
		return
	}
	s.written(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 {
		go s.drain()
	} else {
		s.yield()
	}
}

// rest writes what the system did not take at once, and what has queued up.
func (s *sender) rest() {
	s.written(s.write())
	s.drain()
}

// tryWrite gives the system as much as it takes without waiting.
func (s *sender) tryWrite(fd uintptr) bool {
	for len(s.left) > 0 && s.failed == nil {
		n, err := writeFD(fd, s.next())
		if n <= 0 || err != nil {
			break // errors are seen by the next write, in a goroutine
		}
		s.took(n)
	}
	return true
}

// drain writes until nothing is queued.
func (s *sender) drain() {
	for s.take() {
		s.seal()
		s.written(s.write())
	}
}

// take makes everything queued the batch that is written next; without any, the writing ends.
func (s *sender) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.yield()
		return false
	}
	s.batch, s.queue = s.queue, s.batch[:0]
	return true
}

// seal fills in the heads of the batch and lists its slices; few bytes become one slice.
func (s *sender) seal() {
	s.list = s.list[:0]
	size := 0
	for _, f := range s.batch {
		switch {
		case f.kind == kindAlive:
			f.id = s.count
		case f.kind != kindCancel && f.id != 0:
			s.count++
		}
		first := len(s.list)
		s.list = f.Buffers(s.list)
		f.seal(s.number, s.sum, s.list[first:])
		s.number++
		size += f.Len()
	}
	if len(s.list) > 1 && size <= together {
		s.flatten()
	}
	s.left = s.list
	if s.tls != nil && size <= portion {
		s.encrypt()
	}
}

// ciphers are slices for what was encrypted: one for each connection that writes now, of a little more than a portion.
var ciphers = sync.Pool{New: func() any { return new([]byte) }}

// encrypt makes the list what it becomes by encryption. An error is found by the write: there is too little then.
func (s *sender) encrypt() {
	s.cipher = ciphers.Get().(*[]byte)
	*s.cipher, s.failed = s.tls.encrypt((*s.cipher)[:0], s.list)
	clear(s.list)
	s.list = append(s.list[:0], *s.cipher)
	s.left = s.list
}

// written gives back the batch. After an error the reader has a moment left to find out why the other side takes no more,
// and ends too.
func (s *sender) written(err error) {
	if err != nil {
		_ = s.nc.SetReadDeadline(time.Now().Add(lingerTime))
	}
	size := int64(0)
	for _, f := range s.batch {
		size += int64(f.Len())
		f.done()
	}
	clear(s.list)
	if s.cipher != nil {
		ciphers.Put(s.cipher)
		s.cipher = nil
	}
	s.sent.Add(uint64(len(s.batch)))
	s.mu.Lock()
	for i, f := range s.batch {
		s.recycle(f)
		s.batch[i] = nil
	}
	if s.closed = s.closed || err != nil; s.closed {
		s.discard()
	}
	s.mu.Unlock()
	s.queued.Add(-size)
	s.moved()
}

// flatten copies the slices into one.
func (s *sender) flatten() {
	s.flat = s.flat[:0]
	for _, b := range s.list {
		s.flat = append(s.flat, b...)
	}
	clear(s.list)
	s.list = append(s.list[:0], s.flat)
}

// next is the slices that are written next.
func (s *sender) next() [][]byte {
	size := 0
	s.vec = s.vec[:0]
	for _, b := range s.left {
		b = b[:min(len(b), portion-size)]
		s.vec = append(s.vec, b)
		if size += len(b); size == portion || len(s.vec) == sliceLimit {
			break
		}
	}
	return s.vec
}

// took notes that the system has taken n bytes.
func (s *sender) took(n int) {
	s.taken.Add(uint64(n))
	for n > 0 {
		k := min(n, len(s.left[0]))
		if s.left[0] = s.left[0][k:]; len(s.left[0]) == 0 {
			s.left = s.left[1:]
		}
		n -= k
	}
}

// write writes what the system has not taken.
func (s *sender) write() error {
	if s.failed != nil {
		return s.failed
	}
	for len(s.left) > 0 {
		n, err := s.writeNext()
		s.took(n)
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *sender) writeNext() (int, error) {
	if s.tls != nil && s.cipher == nil {
		return s.encryptNext()
	}
	if vec := s.next(); len(vec) == 1 {
		return s.nc.Write(vec[0])
	}
	s.out = s.vec
	n, err := s.out.WriteTo(s.nc)
	return int(n), err
}

// encryptNext writes the next portion of a batch that is too large to be encrypted at once.
func (s *sender) encryptNext() (n int, err error) {
	room := ciphers.Get().(*[]byte)
	defer ciphers.Put(room)
	vec := s.next()
	if *room, err = s.tls.encrypt((*room)[:0], vec); err != nil {
		return 0, err
	}
	if _, err := s.nc.Write(*room); err != nil {
		return 0, err
	}
	for _, b := range vec {
		n += len(b)
	}
	return n, nil
}

// busy reports whether frames are being written.
func (s *sender) busy() bool { return s.queued.Load() > 0 }

// lastWords says why the connection ends, after what is queued, if the other side takes it soon, and ends the sending.
func (s *sender) lastWords(err error) {
	f := s.frame(kindFault, 0)
	rpc.NewFault("", err).Append(&f.Gather)
	_ = s.nc.SetWriteDeadline(time.Now().Add(lingerTime))
	s.mu.Lock()
	s.corked = false
	s.mu.Unlock()
	s.send(f, false)
	s.work.Wait()
	s.close()
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
		s.queued.Add(-int64(f.Len()))
		f.done()
		s.queue[i] = nil
	}
	s.queue = s.queue[:0]
}
