package tcp

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// source reads the bytes of a connection, for one goroutine, and counts them if somebody wants to know. It waits as any connection
// does; what has come it reads by readFD where that is there.
type source struct {
	nc    net.Conn
	heard *atomic.Uint64
	raw   syscall.RawConn // nil: it reads as nc does
	try   func(fd uintptr) bool

	yields      bool       // a read that waits for bytes ends when it is interrupted
	mu          sync.Mutex // guards interrupted, and the deadline that comes with it
	interrupted bool       // by a deadline in the past

	// of the read that is being tried
	b     []byte
	once  bool // it does not wait for bytes
	empty bool // there were none
	n     int
	err   error
}

func newSource(nc net.Conn, heard *atomic.Uint64) *source {
	s := &source{nc: nc, heard: heard}
	if c, ok := nc.(syscall.Conn); ok && triesReads {
		s.raw, _ = c.SyscallConn()
	}
	s.try = s.tryRead
	return s
}

// errInterrupted is the end of a read that yields.
var errInterrupted = errors.New("interrupted")

// interrupt ends a read that yields and that waits for bytes now. It may be called from any goroutine.
func (s *source) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupted = true
	_ = s.nc.SetReadDeadline(time.Unix(1, 0)) // of a connection that is closed no read waits
}

// resume takes an interruption back. It reports whether there was one.
func (s *source) resume() (was bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.interrupted {
		return false, nil
	}
	s.interrupted = false
	return true, s.nc.SetReadDeadline(time.Time{})
}

func (s *source) Read(b []byte) (n int, err error) {
	for {
		if s.raw == nil || len(b) == 0 {
			n, err = s.nc.Read(b)
		} else {
			n, err = s.read(b, false)
		}
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		was, failed := s.resume()
		if !was {
			break
		}
		if failed != nil {
			err = failed
			break
		}
		if s.yields {
			err = errInterrupted
			break
		}
	}
	s.count(n)
	return n, err
}

// count counts bytes that have come.
func (s *source) count(n int) {
	if n > 0 && s.heard != nil {
		s.heard.Add(uint64(n))
	}
}

// read reads by readFD. If once is set it does not wait for bytes.
func (s *source) read(b []byte, once bool) (int, error) {
	s.b, s.once = b, once
	err := s.raw.Read(s.try)
	s.b = nil // it is the caller's
	switch {
	case err != nil: // the deadline, or the connection is closed
		return 0, err
	case s.empty:
		return 0, nil
	case s.err != nil:
		return 0, os.NewSyscallError("read", s.err)
	case s.n == 0:
		return 0, io.EOF
	}
	return s.n, nil
}

// readAvailable reads what has come already, if the source can do that.
func (s *source) readAvailable(b []byte) (int, error) {
	if s.raw == nil || len(b) == 0 {
		return 0, nil
	}
	n, err := s.read(b, true)
	s.count(n)
	return n, err
}

// tryRead reports whether the read is over; if not, it is tried again when there is something to read.
func (s *source) tryRead(fd uintptr) bool {
	for {
		s.n, s.err = readFD(fd, s.b)
		if s.err == syscall.EINTR {
			continue
		}
		s.empty = s.err == syscall.EAGAIN
		return !s.empty || s.once
	}
}
