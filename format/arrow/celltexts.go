package arrow

import (
	"encoding/binary"
	"fmt"
	"slices"

	"thole.example/format"
	"thole.example/wire"
)

// texts appends texts that lie behind each other.
func (c *cellReader) texts(lo, n int64, to *format.Cells) (err error) {
	if c.places, err = c.offsets(c.values, c.places, lo, n+1, c.offsetSize()); err != nil {
		return err
	}
	if err := ascending(c.places, c.size, "texts"); err != nil {
		return err
	}
	base, first := int64(len(to.Text.Bytes)), c.places[0]
	size := c.places[n] - first
	if size > maxTexts-base {
		return fmt.Errorf("%d bytes of text in a batch, want at most %d: %w", size, maxTexts, format.ErrLimit)
	}
	to.Text.Bytes = slices.Grow(to.Text.Bytes, int(size))[:base+size]
	if size > 0 {
		if err := wire.ReadAt(c.data.r, to.Text.Bytes[base:], c.data.off+first); err != nil {
			return err
		}
	}
	for _, end := range c.places[1:] {
		to.Text.End = append(to.Text.End, base+end-first)
	}
	return nil
}

// maxTexts is the most bytes of the texts of a column in a batch.
const maxTexts = 256 << 20

const (
	viewLen   = 16
	viewShort = 12 // bytes of text that a view holds itself
)

// viewed appends texts of views.
func (c *cellReader) viewed(lo, n int64, to *format.Cells) error {
	raw, err := c.stored(lo, n, viewLen)
	if err != nil {
		return err
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if c.order == wire.Big {
		order = binary.BigEndian
	}
	first := cellCount(to)
	for i := range int(n) {
		if to.Null == nil || !to.Null[first+i] {
			text, err := c.view(raw[i*viewLen:][:viewLen], order)
			if err != nil {
				return err
			}
			to.Text.Bytes = append(to.Text.Bytes, text...)
		}
		to.Text.End = append(to.Text.End, int64(len(to.Text.Bytes)))
		if size := len(to.Text.Bytes); size > maxTexts {
			return fmt.Errorf("%d bytes of text in a batch, want at most %d: %w", size, maxTexts, format.ErrLimit)
		}
	}
	return nil
}

// view is the text of a view.
func (c *cellReader) view(v []byte, order binary.ByteOrder) ([]byte, error) {
	size := int64(int32(order.Uint32(v)))
	if size >= 0 && size <= viewShort {
		return v[4:][:size], nil
	}
	k, off := int64(int32(order.Uint32(v[8:]))), int64(int32(order.Uint32(v[12:])))
	if size < 0 || k < 0 || k >= int64(len(c.others)) || off < 0 || off > int64(len(c.others[k]))-size {
		return nil, fmt.Errorf("a text of %d bytes at byte %d of buffer %d of %d", size, off, k, len(c.others))
	}
	return c.others[k][off:][:size], nil
}
