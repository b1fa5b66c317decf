package blob

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// spoolInMemory is how many bytes of a Spool are kept in memory before it takes a file.
const spoolInMemory = 1 << 20

// Spool keeps what is written to an object until all of it is known: for buckets whose objects are written once, from front to back.
// The first MiB is in memory, a larger object in a file without a name in the system's folder for temporary files ($TMPDIR). Write,
// WriteAt and ReadAt are as those of a Writer, errors name the object. It may be used by many goroutines; the zero value is not ready.
type Spool struct {
	name   string
	mu     sync.RWMutex // of memory, file and closed; held for reading by those who use the file
	memory []byte
	file   *os.File // nil: all is in memory
	closed bool

	sizes sync.Mutex // of pos and size
	pos   int64      // where Write goes on
	size  int64
}

// NewSpool begins an object of that name without bytes.
func NewSpool(name string) *Spool { return &Spool{name: name} }

// fails is an error of the object.
func (s *Spool) fails(op string, err error) error {
	return fmt.Errorf("blob: %w", &fs.PathError{Op: op, Path: s.name, Err: err})
}

// Write implements io.Writer: it appends behind the furthest byte that Write has reached. One goroutine at a time may call it.
func (s *Spool) Write(p []byte) (int, error) {
	s.sizes.Lock()
	pos := s.pos
	s.sizes.Unlock()
	n, err := s.WriteAt(p, pos)
	s.sizes.Lock()
	s.pos = pos + int64(n)
	s.sizes.Unlock()
	return n, err
}

// WriteAt implements io.WriterAt.
func (s *Spool) WriteAt(p []byte, off int64) (n int, err error) {
	if off < 0 || off+int64(len(p)) < off {
		return 0, s.fails("write", fmt.Errorf("%d bytes at %d: %w", len(p), off, fs.ErrInvalid))
	}
	end := off + int64(len(p))
	s.mu.RLock()
	if s.file == nil {
		s.mu.RUnlock()
		if done, err := s.writeMemory(p, off, end); done || err != nil {
			return len(p), err
		}
		s.mu.RLock()
	}
	defer s.mu.RUnlock()
	if s.closed {
		return 0, s.fails("write", fs.ErrClosed)
	}
	if n, err = s.file.WriteAt(p, off); err != nil {
		err = s.fails("write", fmt.Errorf("to a temporary file: %w", err))
	}
	if n > 0 {
		s.grown(off + int64(n))
	}
	return n, err
}

// writeMemory writes to memory, unless there is a file or has to be one: then it makes it.
func (s *Spool) writeMemory(p []byte, off, end int64) (done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return false, s.fails("write", fs.ErrClosed)
	case s.file != nil:
		return false, nil
	case len(p) == 0:
		return true, nil
	case end > spoolInMemory:
		return false, s.toFile()
	}
	if more := int(end) - len(s.memory); more > 0 {
		s.memory = append(s.memory, make([]byte, more)...)
	}
	copy(s.memory[off:], p)
	s.grown(end)
	return true, nil
}

// toFile moves the bytes to a file. It has no name as soon as it is open, where the system allows that, so that a process that is killed
// leaves none.
func (s *Spool) toFile() error {
	f, err := os.CreateTemp("", "thole-object-*")
	if err == nil {
		_ = os.Remove(f.Name()) // or by Close
		_, err = f.WriteAt(s.memory, 0)
	}
	if err != nil {
		if f != nil {
			f.Close()
		}
		return s.fails("write", fmt.Errorf("to a temporary file: %w", err))
	}
	s.file, s.memory = f, nil
	return nil
}

func (s *Spool) grown(to int64) {
	s.sizes.Lock()
	s.size = max(s.size, to)
	s.sizes.Unlock()
}

// Size is how many bytes the object has, gaps included.
func (s *Spool) Size() int64 {
	s.sizes.Lock()
	defer s.sizes.Unlock()
	return s.size
}

// Written is how far Write has come.
func (s *Spool) Written() int64 {
	s.sizes.Lock()
	defer s.sizes.Unlock()
	return s.pos
}

// ReadAt implements io.ReaderAt: of what was written so far, gaps are zero.
func (s *Spool) ReadAt(p []byte, off int64) (int, error) {
	size := s.Size()
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return 0, s.fails("read", fs.ErrClosed)
	}
	if s.file == nil {
		return bytes.NewReader(s.memory).ReadAt(p, off)
	}
	n, err := io.NewSectionReader(s.file, 0, size).ReadAt(p, off)
	if err != nil && err != io.EOF {
		err = s.fails("read", fmt.Errorf("from a temporary file: %w", err))
	}
	return n, err
}

// Close forgets the bytes. It reports whether it is the first one that does.
func (s *Spool) Close() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.closed, s.memory = true, nil
	if s.file != nil {
		s.file.Close()
		_ = os.Remove(s.file.Name()) // where it could not be while it was open
	}
	return true
}
