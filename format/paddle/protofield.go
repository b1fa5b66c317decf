package paddle

import (
	"encoding/binary"
	"fmt"

	"thole.example/wire"
)

// The wire types of protobuf that Paddle's messages use.
const (
	wireVarint = 0
	wireI64    = 1
	wireBytes  = 2
	wireI32    = 5
)

// protoField is one field of a protobuf message.
type protoField struct {
	off    int64 // in the file
	number uint64
	wire   byte
	value  uint64 // of wireVarint, wireI64 and wireI32
	body   []byte // of wireBytes
	at     int64  // of the body in the file
}

// eachField calls visit for every field of the message b, whose first byte is byte base of the file. Errors are *wire.At.
func eachField(b []byte, base int64, visit func(f protoField) error) error {
	for pos := 0; pos < len(b); {
		f, n, err := nextField(b[pos:], base+int64(pos))
		if err == nil {
			err = visit(f)
		}
		if err != nil {
			if _, placed := err.(*wire.At); placed {
				return err
			}
			return &wire.At{Off: base + int64(pos), Err: err}
		}
		pos += n
	}
	return nil
}

// nextField reads the field that b begins with, and says how long it is.
func nextField(b []byte, base int64) (f protoField, n int, err error) {
	tag, n := binary.Uvarint(b)
	if n <= 0 {
		return f, 0, fmt.Errorf("field tag: %w", varintError(n))
	}
	f.off, f.number, f.wire = base, tag>>3, byte(tag&7)
	if f.number == 0 || f.number > 1<<29-1 {
		return f, 0, fmt.Errorf("field number %d, want 1..2^29-1", f.number)
	}
	rest := b[n:]
	size := 0
	switch f.wire {
	case wireVarint:
		f.value, size = binary.Uvarint(rest)
		if size <= 0 {
			return f, 0, fmt.Errorf("value of field %d: %w", f.number, varintError(size))
		}
		return f, n + size, nil
	case wireI64, wireI32:
		size = 8
		if f.wire == wireI32 {
			size = 4
		}
		if len(rest) < size {
			return f, 0, fmt.Errorf("field %d needs %d bytes, %d remain: %w", f.number, size, len(rest), wire.ErrTruncated)
		}
		wide := make([]byte, 8)
		copy(wide, rest[:size])
		f.value = binary.LittleEndian.Uint64(wide)
		return f, n + size, nil
	case wireBytes:
		length, k := binary.Uvarint(rest)
		if k <= 0 {
			return f, 0, fmt.Errorf("length of field %d: %w", f.number, varintError(k))
		}
		if length > uint64(len(rest)-k) {
			return f, 0, fmt.Errorf("field %d needs %d bytes, %d remain: %w", f.number, length, len(rest)-k, wire.ErrTruncated)
		}
		f.at, f.body = base+int64(n+k), rest[k:k+int(length)]
		return f, n + k + int(length), nil
	}
	return f, 0, fmt.Errorf("wire type %d of field %d, want 0, 1, 2 or 5", f.wire, f.number)
}

// varintError says why binary.Uvarint gave n, which is not above 0.
func varintError(n int) error {
	if n < 0 {
		return fmt.Errorf("a number of more than 64 bits")
	}
	return wire.ErrTruncated
}

// numbers are the values of a repeated field of integers, at most limit with those that dst has: one value, or several in
// the packed form.
func (f *protoField) numbers(dst []int64, limit int) ([]int64, error) {
	if f.wire == wireVarint {
		if len(dst) >= limit {
			return dst, fmt.Errorf("more than %d values of field %d", limit, f.number)
		}
		return append(dst, int64(f.value)), nil
	}
	if f.wire != wireBytes {
		return dst, fmt.Errorf("wire type %d of field %d, want 0 or 2", f.wire, f.number)
	}
	for b := f.body; len(b) > 0; {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return dst, fmt.Errorf("packed values of field %d: %w", f.number, varintError(n))
		}
		if len(dst) >= limit {
			return dst, fmt.Errorf("more than %d values of field %d", limit, f.number)
		}
		dst, b = append(dst, int64(v)), b[n:]
	}
	return dst, nil
}
