package angel

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"

	"thole/internal/wire"
)

// window is how much of a partition is read at a time. It grows where a single record is longer.
const window = 1 << 20

// castagnoli is the polynomial of the checksums, which processors compute themselves.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// feed reads the bytes of one partition in order.
type feed struct {
	r    io.ReaderAt
	off  int64  // the next byte to read
	end  int64  // behind the partition's last byte
	buf  []byte // bytes that were read and not taken yet
	base int64  // place of buf[0]
	room []byte // what buf lies in
	sum  uint32 // checksum of all bytes that were read
}

func newFeed(r io.ReaderAt, off, size int64) *feed {
	return &feed{r: r, off: off, end: off + size, base: off, room: make([]byte, min(window, size))}
}

// more reads on, behind the bytes that were not taken yet.
func (f *feed) more() error {
	if len(f.buf) > len(f.room)/2 {
		f.room = make([]byte, min(2*int64(len(f.room)), f.end-f.base))
	}
	kept := copy(f.room, f.buf)
	n := min(int64(len(f.room)-kept), f.end-f.off)
	f.buf = f.room[:int64(kept)+n]
	if err := wire.ReadAt(f.r, f.buf[kept:], f.off); err != nil {
		return err
	}
	f.sum = crc32.Update(f.sum, castagnoli, f.buf[kept:])
	f.off += n
	return nil
}

func (f *feed) input(s style) input {
	return input{style: s, b: f.buf, base: f.base, last: f.off == f.end}
}

func (f *feed) skip(n int) {
	f.buf = f.buf[n:]
	f.base += int64(n)
}

// finish reports bytes that no record took, and bytes that are not those that were written.
func (f *feed) finish(p *piece, compare bool) error {
	if left := f.end - f.base; left > 0 {
		return &wire.At{Off: f.base, Err: fmt.Errorf("%d bytes behind the %d records of partition %d", left, p.records, p.id)}
	}
	if compare && p.hasSum && f.sum != p.sum {
		return &wire.At{Off: p.off, Err: fmt.Errorf("checksum of partition %d is %08x, want %08x", p.id, f.sum, p.sum)}
	}
	return nil
}

// take appends the next n records to r.
func take[T Number](ctx context.Context, f *feed, l pair[T], s style, r *records[T], n int) error {
	for n > 0 {
		before := len(r.val)
		used, err := l.take(f.input(s), r, n)
		if err != nil {
			return err
		}
		n -= (len(r.val) - before) / r.width
		f.skip(used)
		switch {
		case n == 0:
			return nil
		case f.off == f.end:
			return &wire.At{Off: f.end, Err: fmt.Errorf("%d records missing: %w", n, wire.ErrTruncated)}
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if err := f.more(); err != nil {
			return err
		}
	}
	return nil
}
