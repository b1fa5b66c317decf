package angel

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"

	"thole.example/wire"
)

// window is how much of a partition is read at a time. It grows where a single record is longer.
const window = 1 << 18

// castagnoli is the polynomial of the checksums, which processors compute themselves.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// feed reads a stretch of a data file in order.
type feed struct {
	r    io.ReaderAt
	off  int64  // the next byte to read
	end  int64  // behind the last byte
	buf  []byte // bytes that were read and not taken yet
	base int64  // place of buf[0]
	room []byte // what buf lies in
	sum  uint32 // checksum of all bytes that were taken
}

func newFeed(r io.ReaderAt, off, size int64, sum uint32) *feed {
	return &feed{r: r, off: off, end: off + size, base: off, sum: sum}
}

// more reads on, behind the bytes that were not taken yet.
func (f *feed) more() error {
	if size := min(max(2*int64(len(f.buf)), window), f.end-f.base); int64(len(f.room)) < size {
		room := make([]byte, size)
		f.buf = room[:copy(room, f.buf)]
		f.room = room
	} else {
		f.buf = f.room[:copy(f.room, f.buf)]
	}
	kept := len(f.buf)
	n := min(int64(len(f.room)-kept), f.end-f.off)
	f.buf = f.room[:int64(kept)+n]
	if err := wire.ReadAt(f.r, f.buf[kept:], f.off); err != nil {
		f.buf = f.buf[:kept]
		return err
	}
	f.off += n
	return nil
}

func (f *feed) input(s style) input {
	return input{style: s, b: f.buf, base: f.base, last: f.off == f.end}
}

// skip takes n bytes.
func (f *feed) skip(n int) {
	f.sum = crc32.Update(f.sum, castagnoli, f.buf[:n])
	f.buf = f.buf[n:]
	f.base += int64(n)
}

// portion moves whole records to dst, at most about a window and at most most of them, and says how many they are. It
// gives 0 records where it cannot count them: lines that do not end with LF alone, records longer than a window.
func (f *feed) portion(dst []byte, each, most int64) (b []byte, n int64, err error) {
	size := min(int64(cap(dst)), f.end-f.base)
	if each > 0 {
		size = min(size, most*each)
	}
	dst = dst[:size]
	kept := copy(dst, f.buf)
	if int64(kept) < size {
		if err := wire.ReadAt(f.r, dst[kept:], f.off); err != nil {
			return nil, 0, err
		}
	}
	if each > 0 {
		n = size / each
		dst = dst[:n*each]
	} else if dst, n = countLines(dst, most, f.base+size == f.end); n == 0 {
		return nil, 0, nil
	}
	f.take(dst, kept)
	return dst, n, nil
}

// take passes over the bytes b, of which the first kept were in buf.
func (f *feed) take(b []byte, kept int) {
	f.sum = crc32.Update(f.sum, castagnoli, b)
	f.base += int64(len(b))
	if len(b) < kept {
		f.buf = f.buf[len(b):]
		return
	}
	f.buf, f.off = nil, f.base
}

// countLines cuts b behind its last whole line, or behind line most, and counts lines; 0 if there are carriage returns or
// no whole line.
func countLines(b []byte, most int64, last bool) ([]byte, int64) {
	if bytes.IndexByte(b, '\r') >= 0 {
		return nil, 0
	}
	if !last {
		b = b[:bytes.LastIndexByte(b, '\n')+1]
	}
	n := int64(bytes.Count(b, lf))
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	if n <= most {
		return b, n
	}
	end := 0
	for range most {
		end += bytes.IndexByte(b[end:], '\n') + 1
	}
	return b[:end], most
}

var lf = []byte{'\n'}

// mark is a place to come back to.
type mark struct {
	base int64
	sum  uint32
}

func (f *feed) mark() mark { return mark{f.base, f.sum} }

func (f *feed) rewind(m mark) { f.base, f.off, f.sum, f.buf = m.base, m.base, m.sum, nil }

// finish reports bytes that no record took.
func (f *feed) finish(records int64, id int32) error {
	if left := f.end - f.base; left > 0 {
		return &wire.At{Off: f.base, Err: fmt.Errorf("%d bytes behind the %d records of partition %d", left, records, id)}
	}
	return nil
}
