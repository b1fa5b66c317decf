package onnx

import (
	"fmt"
	"io"

	"thole.example/format"
)

// The wire types that are read beside those that are written.
const (
	fixed64 = 1
	fixed32 = 5
)

const (
	windowSize = 64 << 10 // of the file, in memory at a time
	itemLimit  = 64 << 10 // things that are kept of a model
	textLimit  = 64 << 20 // bytes of all texts that are kept
)

// decoder walks through messages in a file. Depth is bounded by the messages that are known: others are passed over, and so are values.
type decoder struct {
	path   string
	file   io.ReaderAt
	size   int64
	window []byte
	at     int64 // of the window in the file
	items  int
	text   int64
}

// field is a field of a message: its number, and by the wire type what it is or where it lies in the file.
type field struct {
	number int
	wire   int
	value  uint64
	off, n int64
}

func (d *decoder) corrupt(off int64, text string, args ...any) error {
	return format.Corrupt("onnx", d.path, off, text, args...)
}

// limit is the error of a model that is too large to be shown.
func (d *decoder) limit(off int64, text string, args ...any) error {
	err := fmt.Errorf("%s: %w", fmt.Sprintf(text, args...), format.ErrLimit)
	return &format.Error{Codec: "onnx", Path: d.path, Off: off, Err: err}
}

// keep counts one more thing that is kept.
func (d *decoder) keep() error {
	if d.items++; d.items > itemLimit {
		return d.limit(-1, "more than %d inputs, outputs, initializers and other parts", itemLimit)
	}
	return nil
}

// octet is the byte at a place before the end of the file.
func (d *decoder) octet(off int64) (byte, error) {
	if i := off - d.at; i >= 0 && i < int64(len(d.window)) {
		return d.window[i], nil
	}
	n := min(windowSize, d.size-off)
	if cap(d.window) < int(n) {
		d.window = make([]byte, n)
	}
	d.window, d.at = d.window[:n], off
	if got, err := d.file.ReadAt(d.window, off); got < len(d.window) {
		d.window = nil
		return 0, fmt.Errorf("onnx: %s: %w", d.path, err)
	}
	return d.window[0], nil
}

// varint reads a number that begins at *off and ends before end.
func (d *decoder) varint(off *int64, end int64, what string) (v uint64, err error) {
	from := *off
	for shift := 0; shift < 70; shift += 7 {
		if *off >= end {
			return 0, d.corrupt(from, "%s has no end", what)
		}
		b, err := d.octet(*off)
		if err != nil {
			return 0, err
		}
		*off++
		if shift == 63 && b > 1 {
			break
		}
		if v |= uint64(b&0x7f) << shift; b < 0x80 {
			return v, nil
		}
	}
	return 0, d.corrupt(from, "%s has more than 64 bits", what)
}

// walk calls visit for each field of the message of n bytes at off.
func (d *decoder) walk(name string, off, n int64, visit func(field) error) error {
	for end := off + n; off < end; {
		from := off
		key, err := d.varint(&off, end, name+": the number of a field")
		if err != nil {
			return err
		}
		if key>>3 == 0 || key>>3 > 1<<29-1 {
			return d.corrupt(from, "%s: field %d, want 1 to %d", name, key>>3, 1<<29-1)
		}
		f := field{number: int(key >> 3), wire: int(key & 7)}
		length := uint64(0)
		switch f.wire {
		case varint:
			f.value, err = d.varint(&off, end, name+": a number")
		case fixed64:
			length = 8
		case fixed32:
			length = 4
		case sized:
			length, err = d.varint(&off, end, name+": a length")
		default:
			err = d.corrupt(from, "%s: field %d of wire type %d, want 0, 1, 2 or 5", name, f.number, f.wire)
		}
		if err != nil {
			return err
		}
		if length > uint64(end-off) {
			return d.corrupt(from, "%s: field %d of %d bytes, and %d remain", name, f.number, length, end-off)
		}
		f.off, f.n = off, int64(length)
		if err := visit(f); err != nil {
			return err
		}
		off += f.n
	}
	return nil
}

// sub walks through a field that is a message.
func (d *decoder) sub(name string, f field, visit func(field) error) error {
	if f.wire != sized {
		return d.corrupt(f.off, "field %d of wire type %d, want %d, a %s", f.number, f.wire, sized, name)
	}
	return d.walk(name, f.off, f.n, visit)
}

// setText reads a text.
func (d *decoder) setText(to *string, f field) error {
	if f.wire != sized {
		return d.corrupt(f.off, "field %d of wire type %d, want %d, a text", f.number, f.wire, sized)
	}
	if d.text += f.n; d.text > textLimit {
		return d.limit(f.off, "texts of more than %s", format.Bytes(textLimit))
	}
	b := make([]byte, f.n)
	if n, err := d.file.ReadAt(b, f.off); n < len(b) {
		return fmt.Errorf("onnx: %s: %w", d.path, err)
	}
	*to = string(b)
	return nil
}

// setInt reads an integer.
func (d *decoder) setInt(to *int64, f field) error {
	if f.wire != varint {
		return d.corrupt(f.off, "field %d of wire type %d, want %d, an integer", f.number, f.wire, varint)
	}
	*to = int64(f.value)
	return nil
}
