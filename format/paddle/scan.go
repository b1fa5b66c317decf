package paddle

import (
	"fmt"
	"io"

	"thole.example/dump"
	"thole.example/wire"
)

// window is how many bytes are read at a time while walking over records.
const window = 4 << 10

// scan walks over the fields of a file without holding it. As with wire.Cursor the first error sticks and later fields
// are zero. With a printer it prints each field as it says what the field means.
type scan struct {
	r         io.ReaderAt
	size, off int64
	order     wire.Order
	buf       []byte // of the file, from base on
	base      int64
	last      []byte // the field taken last
	print     *dump.Printer
	err       error
}

func (s *scan) failAt(off int64, text string, args ...any) {
	if s.err == nil {
		s.err = &wire.At{Off: off, Err: fmt.Errorf(text, args...)}
	}
}

// take gives the next n bytes, valid until the next call.
func (s *scan) take(n int64, what string) []byte {
	if s.err != nil {
		return nil
	}
	if n < 0 || n > s.size-s.off {
		s.failAt(s.off, "%s needs %d bytes, %d remain: %w", what, n, s.size-s.off, wire.ErrTruncated)
		return nil
	}
	if s.off < s.base || s.off+n > s.base+int64(len(s.buf)) {
		s.buf = make([]byte, min(max(n, window), s.size-s.off))
		s.base = s.off
		if s.err = wire.ReadAt(s.r, s.buf, s.base); s.err != nil {
			return nil
		}
	}
	s.last = s.buf[s.off-s.base:][:n]
	s.off += n
	return s.last
}

// means prints the field taken last.
func (s *scan) means(text string, args ...any) {
	if s.print != nil && s.err == nil {
		s.print.Field(s.off-int64(len(s.last)), s.last, text, args...)
	}
}

func (s *scan) u8(what string) int64 {
	if b := s.take(1, what); b != nil {
		return int64(b[0])
	}
	return 0
}

func (s *scan) u32(what string) uint32 {
	if b := s.take(4, what); b != nil {
		return s.order.Uint32(b)
	}
	return 0
}

// count reads an i32 that counts things, 0 to limit.
func (s *scan) count(limit int64, what string) int64 {
	n := int64(int32(s.u32(what)))
	if s.err == nil && (n < 0 || n > limit) {
		s.fault(faultOf(what), s.off-4, "%s is %d, want 0..%d", what, n, limit)
	}
	if s.err != nil {
		return 0
	}
	return n
}

// sizes reads n numbers, none below 0, of 4 bytes each or 8 if they are wide.
func (s *scan) sizes(n int64, wide bool, what string) []int64 {
	width := int64(4)
	if wide {
		width = 8
	}
	b := s.take(n*width, what) // n is at most 2^31
	if b == nil {
		return nil
	}
	v := make([]int64, n)
	for i := range v {
		if wide {
			v[i] = int64(s.order.Uint64(b[i*8:]))
		} else {
			v[i] = int64(int32(s.order.Uint32(b[i*4:])))
		}
		if v[i] < 0 {
			s.fault(faultOf(what), s.off-(n-int64(i))*width, "%s %d is %d, want none below 0 or above the largest", what, i, v[i])
			return nil
		}
	}
	return v
}

// skip passes over n bytes without reading them.
func (s *scan) skip(n int64, what string) {
	if s.err == nil && (n < 0 || n > s.size-s.off) {
		s.failAt(s.off, "%s need %d bytes, %d remain: %w", what, n, s.size-s.off, wire.ErrTruncated)
	}
	if s.err == nil {
		s.off += n
	}
}
