// Package wire turns values into bytes and back: functions that append, and a [Cursor] that reads with limits and one
// sticky error, both in either byte order. It holds the bulk views of number slices as bytes and so, besides package
// kernel, the only use of unsafe.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Order is the byte order of a format.
type Order = binary.ByteOrder

// The two byte orders.
var (
	Little Order = binary.LittleEndian
	Big    Order = binary.BigEndian
)

// ErrTruncated says that a field reaches past the end of the input.
var ErrTruncated = errors.New("input ends too early")

// At says at which byte of the input an error was found.
type At struct {
	Off int64
	Err error
}

// Error implements error as "at byte N: …".
func (e *At) Error() string { return fmt.Sprintf("at byte %d: %v", e.Off, e.Err) }

// Unwrap gives the error without the place.
func (e *At) Unwrap() error { return e.Err }

// AppendU16 and its siblings append a number in the given order, Little or Big.
func AppendU16(dst []byte, o Order, v uint16) []byte {
	if o == Big {
		return binary.BigEndian.AppendUint16(dst, v)
	}
	return binary.LittleEndian.AppendUint16(dst, v)
}

// AppendU32 appends four bytes.
func AppendU32(dst []byte, o Order, v uint32) []byte {
	if o == Big {
		return binary.BigEndian.AppendUint32(dst, v)
	}
	return binary.LittleEndian.AppendUint32(dst, v)
}

// AppendU64 appends eight bytes.
func AppendU64(dst []byte, o Order, v uint64) []byte {
	if o == Big {
		return binary.BigEndian.AppendUint64(dst, v)
	}
	return binary.LittleEndian.AppendUint64(dst, v)
}

// AppendString appends the length as u32 and the bytes.
func AppendString(dst []byte, o Order, s string) []byte {
	return append(AppendU32(dst, o, uint32(len(s))), s...)
}

// Cursor reads fields from bytes. After the first error every read gives zero, so that a decoder can read a whole
// record and ask Err once. A Cursor is a value for one goroutine; what it returns are views into its input.
type Cursor struct {
	buf   []byte
	pos   int
	base  int64
	order Order
	err   error
}

// NewCursor reads buf, whose first byte is byte base of the file or frame (errors name absolute places).
func NewCursor(buf []byte, base int64, o Order) *Cursor {
	return &Cursor{buf: buf, base: base, order: o}
}

// Err is the first error, an *At, or nil.
func (c *Cursor) Err() error { return c.err }

// Off is the absolute place of the next byte.
func (c *Cursor) Off() int64 { return c.base + int64(c.pos) }

// Len is the number of bytes that remain.
func (c *Cursor) Len() int { return len(c.buf) - c.pos }

// SetOrder changes the byte order of what follows.
func (c *Cursor) SetOrder(o Order) { c.order = o }

// Fail records an error at the place of the next byte, unless there is one already.
func (c *Cursor) Fail(format string, args ...any) { c.FailAt(c.Off(), format, args...) }

// FailAt records an error at an absolute place, unless there is one already.
func (c *Cursor) FailAt(off int64, format string, args ...any) {
	if c.err == nil {
		c.err = &At{off, fmt.Errorf(format, args...)}
	}
}

// Bytes takes n bytes as a view; what names the field in the error.
func (c *Cursor) Bytes(n int, what string) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 || n > c.Len() {
		c.Fail("%s needs %d bytes, %d remain: %w", what, n, c.Len(), ErrTruncated)
		return nil
	}
	c.pos += n
	return c.buf[c.pos-n : c.pos : c.pos]
}

// Skip passes over n bytes.
func (c *Cursor) Skip(n int, what string) { c.Bytes(n, what) }

// U8 reads one byte.
func (c *Cursor) U8(what string) uint8 {
	if b := c.Bytes(1, what); b != nil {
		return b[0]
	}
	return 0
}

// U16 reads two bytes.
func (c *Cursor) U16(what string) uint16 {
	if b := c.Bytes(2, what); b != nil {
		return c.order.Uint16(b)
	}
	return 0
}

// U32 reads four bytes.
func (c *Cursor) U32(what string) uint32 {
	if b := c.Bytes(4, what); b != nil {
		return c.order.Uint32(b)
	}
	return 0
}

// U64 reads eight bytes.
func (c *Cursor) U64(what string) uint64 {
	if b := c.Bytes(8, what); b != nil {
		return c.order.Uint64(b)
	}
	return 0
}

// I32 reads four bytes as a signed number.
func (c *Cursor) I32(what string) int32 { return int32(c.U32(what)) }

// I64 reads eight bytes as a signed number.
func (c *Cursor) I64(what string) int64 { return int64(c.U64(what)) }

// F64 reads eight bytes as a float64.
func (c *Cursor) F64(what string) float64 { return math.Float64frombits(c.U64(what)) }

// Count checks a count read before: it must not be negative, not above limit, and n elements of size bytes must remain.
// It returns 0 and records an error otherwise. Call it before anything is allocated for the count.
func (c *Cursor) Count(n int64, size int, limit int64, what string) int {
	switch {
	case c.err != nil:
		return 0
	case n < 0 || n > limit:
		c.Fail("%s is %d, want 0..%d", what, n, limit)
		return 0
	case size > 0 && n > int64(c.Len()/size):
		c.Fail("%s is %d, of %d bytes each, but %d bytes remain: %w", what, n, size, c.Len(), ErrTruncated)
		return 0
	}
	return int(n)
}

// String reads a u32 length, at most limit, and that many bytes.
func (c *Cursor) String(limit int64, what string) string {
	n := c.Count(int64(c.U32(what+" length")), 1, limit, what+" length")
	return string(c.Bytes(n, what))
}

// End records an error if bytes remain.
func (c *Cursor) End(what string) {
	if c.err == nil && c.Len() > 0 {
		c.Fail("%d bytes after the end of %s", c.Len(), what)
	}
}

// ErrUnread says that bytes could not be read, as by a disk that fails: what they are is not known.
var ErrUnread = errors.New("cannot be read")

// unread is an error that is ErrUnread without saying so in its text.
type unread struct{ err error }

func (u unread) Error() string   { return u.err.Error() }
func (u unread) Unwrap() []error { return []error{u.err, ErrUnread} }

// ReadAt fills buf from r at off. An early end is an *At with ErrTruncated, and any other error of r one with ErrUnread.
func ReadAt(r io.ReaderAt, buf []byte, off int64) error {
	n, err := r.ReadAt(buf, off)
	if n == len(buf) {
		return nil
	}
	if err == io.EOF || err == nil {
		return &At{off + int64(n), fmt.Errorf("%d bytes missing: %w", len(buf)-n, ErrTruncated)}
	}
	return &At{off + int64(n), unread{err}}
}
