package parquet

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"

	"thole.example/format"
)

// The types of the compact protocol.
const (
	typeTrue   = 1
	typeFalse  = 2
	typeI8     = 3
	typeI64    = 6
	typeDouble = 7
	typeBinary = 8
	typeList   = 9
	typeSet    = 10
	typeMap    = 11
	typeStruct = 12
)

const (
	maxDepth = 24 // of structs and lists within each other
	// minStruct is the fewest bytes of a struct within a list: those that occur have a required field.
	minStruct = 3
)

// errMore says that a struct goes on behind the bytes at hand.
var errMore = errors.New("ends within a struct")

// decode reads a struct that the bytes begin with and gives its length. The library allocates what a length says before
// it looks for the bytes, so the struct is walked first.
func decode(b []byte, into any) (n int, err error) {
	w := walker{b: b}
	if err := w.fields(0); err != nil {
		return 0, err
	}
	if err := thrift.Unmarshal(&thrift.CompactProtocol{}, b[:w.i], into); err != nil {
		return 0, fmt.Errorf("%v: %w", err, format.ErrCorrupt)
	}
	return w.i, nil
}

// walker steps over values of the compact protocol and checks every length against the bytes that remain.
type walker struct {
	b []byte
	i int
}

func (w *walker) byte() (byte, error) {
	if w.i >= len(w.b) {
		return 0, errMore
	}
	w.i++
	return w.b[w.i-1], nil
}

func (w *walker) uvarint() (v uint64, err error) {
	for shift := 0; shift < 64; shift += 7 {
		c, err := w.byte()
		if err != nil {
			return 0, err
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, nil
		}
	}
	return 0, fmt.Errorf("a number of more than 64 bits: %w", format.ErrCorrupt)
}

func (w *walker) skip(n uint64) error {
	if n > uint64(len(w.b)-w.i) {
		return errMore
	}
	w.i += int(n)
	return nil
}

// fields steps over the fields of a struct and its end.
func (w *walker) fields(depth int) error {
	for {
		head, err := w.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 {
			if _, err := w.uvarint(); err != nil {
				return err
			}
		}
		if t := head & 15; t != typeTrue && t != typeFalse { // whose value is the type
			if err := w.value(t, depth); err != nil {
				return err
			}
		}
	}
}

func (w *walker) value(t byte, depth int) error {
	if depth >= maxDepth {
		return fmt.Errorf("structs of more than %d levels: %w", maxDepth, format.ErrCorrupt)
	}
	switch {
	case t == typeTrue || t == typeFalse || t == typeI8:
		return w.skip(1)
	case t > typeI8 && t <= typeI64:
		_, err := w.uvarint()
		return err
	case t == typeDouble:
		return w.skip(8)
	case t == typeBinary:
		n, err := w.uvarint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case t == typeList || t == typeSet:
		return w.list(depth)
	case t == typeMap:
		return w.mapping(depth)
	case t == typeStruct:
		return w.fields(depth + 1)
	}
	return fmt.Errorf("type %d of the compact protocol, want 1 to 12: %w", t, format.ErrCorrupt)
}

func (w *walker) list(depth int) error {
	head, err := w.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = w.uvarint(); err != nil {
			return err
		}
	}
	t, least := head&15, uint64(1)
	if t == typeStruct {
		least = minStruct
	}
	if n > uint64(len(w.b)-w.i)/least {
		return errMore
	}
	for range n {
		if err := w.value(t, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) mapping(depth int) error {
	n, err := w.uvarint()
	if err != nil || n == 0 {
		return err
	}
	types, err := w.byte()
	if err != nil {
		return err
	}
	if n > uint64(len(w.b)-w.i)/2 {
		return errMore
	}
	for range n {
		if err := w.value(types>>4, depth+1); err != nil {
			return err
		}
		if err := w.value(types&15, depth+1); err != nil {
			return err
		}
	}
	return nil
}
