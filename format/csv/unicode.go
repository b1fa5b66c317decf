package csv

import (
	"bytes"
	"context"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/wire"
)

// wideMarks begin texts in UTF-16.
var wideMarks = []struct {
	mark  []byte
	order wire.Order
	name  string
}{{[]byte{0xff, 0xfe}, wire.Little, "UTF-16, little-endian"}, {[]byte{0xfe, 0xff}, wire.Big, "UTF-16, big-endian"}}

// maxWide is the largest file in UTF-16, which is read as a whole.
const maxWide = 1 << 30

// decoded is the object of the table: that of the file, or if the file is UTF-16 one in memory with its text in UTF-8.
func (r *reader) decoded(ctx context.Context) (blob.Object, error) {
	start := make([]byte, min(2, r.obj.Size()))
	if err := wire.ReadAt(r.obj, start, 0); err != nil {
		return r.obj, err
	}
	for _, w := range wideMarks {
		if !bytes.Equal(start, w.mark) {
			continue
		}
		if r.obj.Size() > maxWide {
			return r.obj, fmt.Errorf("%s of %d bytes, want at most %d: %w", w.name, r.obj.Size(), maxWide, format.ErrLimit)
		}
		raw := make([]byte, r.obj.Size())
		if err := wire.ReadAt(r.obj, raw, 0); err != nil {
			return r.obj, err
		}
		if len(raw)%2 != 0 {
			err := fmt.Errorf("%s of %d bytes, want an even number: %w", w.name, len(raw), wire.ErrTruncated)
			return r.obj, &wire.At{Off: int64(len(raw)), Err: err}
		}
		memory := &blob.Mem{}
		if err := blob.WriteAll(ctx, memory, "text", narrow(raw[2:], w.order)); err != nil {
			return r.obj, err
		}
		o, err := memory.Open(ctx, "text")
		if err != nil {
			return r.obj, err
		}
		r.notes = append(r.notes, w.name+", bytes are counted as in UTF-8")
		return o, r.obj.Close()
	}
	return r.obj, nil
}

// narrow is the text in UTF-8. Half a pair becomes the sign for what is no character.
func narrow(raw []byte, order wire.Order) []byte {
	text := make([]byte, 0, len(raw)/2)
	for i := 0; i+1 < len(raw); i += 2 {
		c := rune(order.Uint16(raw[i:]))
		if utf16.IsSurrogate(c) && i+3 < len(raw) {
			if pair := utf16.DecodeRune(c, rune(order.Uint16(raw[i+2:]))); pair != utf8.RuneError {
				c = pair
				i += 2
			}
		}
		text = utf8.AppendRune(text, c)
	}
	return text
}
