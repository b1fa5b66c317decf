package program

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"thole.example/format"
	"thole.example/wire"
)

// Limits of what is read. A message takes at most about 25 times its bytes in memory.
const (
	maxBytes    = 256 << 20
	maxMessages = 4 << 20
)

// checker walks over the bytes of a message before anything is made of them, so that what is wrong has a place.
type checker struct {
	left int // messages that may still come
}

func failAt(off int, text string, args ...any) error {
	return &wire.At{Off: int64(off), Err: fmt.Errorf(text, args...)}
}

// message checks the bytes of one message that begins at byte off of the file.
func (c *checker) message(data []byte, off int, md protoreflect.MessageDescriptor) error {
	if c.left--; c.left < 0 {
		return failAt(off, "more than %d messages: %w", maxMessages, format.ErrLimit)
	}
	var seen uint64 // bit n: field n, all of the schema's are below 64
	for at := 0; at < len(data); {
		num, typ, n := protowire.ConsumeTag(data[at:])
		if n < 0 {
			return failAt(off+at, "%s: no field tag: %v", md.Name(), protowire.ParseError(n))
		}
		body := at + n
		n = protowire.ConsumeFieldValue(num, typ, data[body:])
		if n < 0 {
			return failAt(off+at, "%s: value of field %d, of which %d bytes remain: %w",
				md.Name(), num, len(data)-body, cut(n))
		}
		if fd := md.Fields().ByNumber(num); fd != nil {
			if err := c.field(data[body:body+n], off+body, fd, typ); err != nil {
				return err
			}
			seen |= 1 << (num & 63)
		}
		at = body + n
	}
	for i := range md.RequiredNumbers().Len() {
		if num := md.RequiredNumbers().Get(i); seen&(1<<num) == 0 {
			return failAt(off, "%s: required field %s is missing", md.Name(), md.Fields().ByNumber(num).Name())
		}
	}
	return nil
}

// cut is the error of a value that cannot be consumed.
func cut(n int) error {
	err := protowire.ParseError(n)
	if n == -1 { // protowire's code of an early end
		return wire.ErrTruncated
	}
	return err
}

// field checks a value of a field that the schema knows.
func (c *checker) field(value []byte, off int, fd protoreflect.FieldDescriptor, typ protowire.Type) error {
	want := wireType(fd.Kind())
	packed := typ == protowire.BytesType && fd.IsList() && want != protowire.BytesType
	if typ != want && !packed {
		return failAt(off, "%s: field %s has wire type %d, want %d", fd.Parent().Name(), fd.Name(), typ, want)
	}
	if fd.Kind() != protoreflect.MessageKind {
		return nil
	}
	body, n := protowire.ConsumeBytes(value) // which message has consumed already
	return c.message(body, off+n-len(body), fd.Message())
}

// wireType is how values of a kind are stored.
func wireType(k protoreflect.Kind) protowire.Type {
	switch k {
	case protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.DoubleKind:
		return protowire.Fixed64Type
	case protoreflect.StringKind, protoreflect.MessageKind:
		return protowire.BytesType
	}
	return protowire.VarintType
}

// find is the first value of a field in a message, nil if there is none.
func find(data []byte, want protowire.Number) (value []byte, typ protowire.Type) {
	for len(data) > 0 {
		num, t, n := protowire.ConsumeTag(data)
		if n < 0 {
			return nil, 0
		}
		size := protowire.ConsumeFieldValue(num, t, data[n:])
		if size < 0 {
			return nil, 0
		}
		value = data[n : n+size]
		if num == want {
			if t == protowire.BytesType {
				value, _ = protowire.ConsumeBytes(value)
			}
			return value, t
		}
		data = data[n+size:]
	}
	return nil, 0
}

// isEarly tells a topology of release 0.11: the type of its first variable is a number.
func isEarly(data []byte) bool {
	block, _ := find(data, 1)
	variable, _ := find(block, 3)
	kind, typ := find(variable, 2)
	return kind != nil && typ == protowire.VarintType
}

// looksLikeDesc reports whether bytes may begin a ProgramDesc: a first block that begins with its number and its parent.
func looksLikeDesc(data []byte) bool {
	if len(data) < 4 || data[0] != 0x0a {
		return false
	}
	_, n := protowire.ConsumeVarint(data[1:])
	if n < 0 {
		return false
	}
	block := data[1+n:]
	if len(block) == 0 || block[0] != 0x08 {
		return false
	}
	_, n = protowire.ConsumeVarint(block[1:])
	return n > 0 && (len(block) <= 1+n || block[1+n] == 0x10)
}
