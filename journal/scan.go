package journal

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"thole.example/wire"
)

// windowLen is how many bytes are read at once, if no record is longer.
const windowLen = 256 << 10

// source is a segment that is read.
type source struct {
	file  File
	name  string
	first uint64
	limit int64 // byte at which records end, at the latest
	seed  uint32

	synced uint64 // as the head says

	window int                      // how many bytes are read at once; 0: windowLen
	renew  func(used []byte) []byte // gives memory instead of that which was used, of which parts are still read; nil: it is used again

	mem []byte
	buf []byte // the bytes of the file from off on
	off int64
}

// at is the byte of the file at which the record of a position begins.
func (s *source) at(position uint64) int64 { return segmentHead + int64(position-s.first) }

// position is that of a record that begins at a byte of the file.
func (s *source) position(at int64) uint64 { return s.first + uint64(at-segmentHead) }

// bytes gives n bytes of the file, until the next call. There have to be so many before the limit.
func (s *source) bytes(at int64, n int) ([]byte, error) {
	if at < s.off || at+int64(n) > s.off+int64(len(s.buf)) {
		want := int(min(int64(max(n, cmp.Or(s.window, windowLen))), s.limit-at))
		if s.renew != nil {
			s.mem = s.renew(s.mem)
		}
		if cap(s.mem) < want {
			s.mem = make([]byte, want)
		}
		s.buf, s.off = s.mem[:want], at
		if err := wire.ReadAt(s.file, s.buf, at); err != nil {
			s.buf = nil
			return nil, err
		}
	}
	return s.buf[at-s.off:][:n], nil
}

// head reads the head of the record at a position.
func (s *source) head(position uint64) (head, error) {
	at := s.at(position)
	if s.limit-at < recordHead {
		return head{}, flaw(at, "%d bytes to the end, want the head of a record of %d", s.limit-at, recordHead)
	}
	b, err := s.bytes(at, recordHead)
	if err != nil {
		return head{}, err
	}
	return decodeHead(b, at, position, s.seed)
}

// record reads the record at a position. The body lies in memory that the next call uses again.
func (s *source) record(position uint64) (head, []byte, error) {
	h, err := s.head(position)
	if err != nil {
		return head{}, nil, err
	}
	at, size := s.at(position), padded(int(h.n))
	if int64(size) > s.limit-at {
		return head{}, nil, flaw(at+16, "a record of %d bytes, want at most the %d that remain", size, s.limit-at)
	}
	b, err := s.bytes(at, size)
	if err != nil {
		return head{}, nil, err
	}
	body, padding := b[recordHead:recordHead+h.n], b[recordHead+h.n:]
	return h, body, h.check(body, padding, at, s.seed)
}

// later looks for a head, after the record of a position, that was written when everything before some later position was durable. Heads
// alone count: also of a record that was torn itself one knows when it was written. Only whole multiples of 8 are looked at, and bodies are
// not read for it, so it takes one pass whatever the bytes are.
func (s *source) later(from, than uint64) (found uint64, ok bool, err error) {
	for at := s.at(from); at+recordHead <= s.limit; at += 8 {
		b, err := s.bytes(at, recordHead)
		if err != nil {
			return 0, false, err
		}
		if binary.LittleEndian.Uint64(b[8:]) != s.position(at) {
			continue
		}
		if h, err := decodeHead(b, at, s.position(at), s.seed); err == nil && h.synced > than {
			return h.position, true, nil
		}
	}
	return 0, false, nil
}

// blank reports whether there are but zeros where the head of a record should be.
func (s *source) blank(position uint64) (bool, error) {
	at := s.at(position)
	b, err := s.bytes(at, int(min(recordHead, s.limit-at)))
	return len(bytes.TrimLeft(b, "\x00")) == 0, err
}

// wrong says in which file an error is, of a place in it or of reading it.
func wrong(name string, err error) error { return fmt.Errorf("journal: %s: %w", name, err) }

// torn reports whether bytes that should be a record are none, and not that they could not be read.
func torn(err error) bool { return errors.Is(err, ErrDamaged) }
