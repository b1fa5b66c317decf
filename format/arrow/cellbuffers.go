package arrow

import (
	"fmt"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// cellSource is where the buffers of columns come from. whole and held bound the memory of compressed buffers.
type cellSource struct {
	obj   blob.Object
	src   *source
	whole int64 // bytes of a buffer that is unpacked at once
	held  int64 // by buffers that were unpacked, and by what unpacks them
}

const (
	// heldLimit is the most memory that the compressed buffers of the columns that are read may take at one time.
	heldLimit = 1 << 30
	// wholeBytes are shared by the buffers of a batch that are unpacked at once.
	wholeBytes = 128 << 20
)

// hold counts memory that compressed buffers take.
func (s *cellSource) hold(n int64) error {
	if s.held += n; s.held > heldLimit {
		return fmt.Errorf("compressed buffers that take %d bytes at one time, want at most %d; "+
			"write smaller record batches, or read fewer columns: %w", s.held, int64(heldLimit), format.ErrLimit)
	}
	return nil
}

// cellBuffers are the buffers of a column in one record batch.
type cellBuffers struct {
	of     *cellField
	order  wire.Order
	there  buffer // whether there is a list
	starts buffer // where lists begin

	count  int64 // of the cells
	valid  buffer
	values buffer   // numbers, or where texts are
	data   buffer   // the texts behind each other
	size   int64    // of the data
	others [][]byte // the data of views
}

// maxCount is more cells than any column has.
const maxCount = 1 << 48

// load finds the buffers of a column.
func (s *cellSource) load(b *batch, f *field) (c cellBuffers, err error) {
	c = cellBuffers{of: &f.cells, order: s.src.order, count: b.rows.Len()}
	if c.count > maxCount {
		return c, fmt.Errorf("%d rows, want at most %d: %w", c.count, int64(maxCount), format.ErrLimit)
	}
	node, at := f.node, f.buffer
	if f.cells.list != 0 {
		if c.there, err = s.bitmap(b, node, at, c.count); err != nil {
			return c, err
		}
		node, at = node+1, at+1
		items := b.nodes[2*node]
		if items < 0 || items > maxCount {
			return c, fmt.Errorf("%d values in lists, want at most %d: %w", items, int64(maxCount), format.ErrLimit)
		}
		if f.cells.list == typeFixedList {
			if want, ok := matrix.Cells(c.count, f.cells.width); !ok || items < want {
				return c, fmt.Errorf("%d values in %d lists of %d", items, c.count, f.cells.width)
			}
		} else {
			if c.starts, err = s.starts(b, at, c.count, listOffset(f.cells.list)); err != nil {
				return c, err
			}
			at++
		}
		c.count = items
	}
	return c, s.cells(&c, b, node, at, f)
}

func listOffset(list uint8) int64 {
	if list == typeLargeList {
		return 8
	}
	return 4
}

// bitmap is the buffer that says which of n are there.
func (s *cellSource) bitmap(b *batch, node, at int, n int64) (buffer, error) {
	if _, err := b.bitmap(node, at, n); err != nil {
		return buffer{}, err
	}
	return s.open(b, at, bitBytes(n))
}

// starts is the buffer of n offsets of some bytes, and the end of the last.
func (s *cellSource) starts(b *batch, at int, n, size int64) (buffer, error) {
	if n == 0 {
		return buffer{}, nil
	}
	return s.buffer(b, at, (n+1)*size, "offsets")
}

// buffer is a buffer of some bytes at least.
func (s *cellSource) buffer(b *batch, at int, want int64, what string) (buffer, error) {
	if _, err := b.holds(at, want, what); err != nil {
		return buffer{}, err
	}
	return s.open(b, at, want)
}

func (s *cellSource) open(b *batch, at int, want int64) (buffer, error) {
	got, held, err := newBuffer(s.obj, s.src, b, at, want, s.whole)
	if err == nil {
		err = s.hold(held)
	}
	return got, err
}

// cells finds the buffers of the cells.
func (s *cellSource) cells(c *cellBuffers, b *batch, node, at int, f *field) (err error) {
	t := c.of
	if t.storage == vacant && t.index == matrix.Invalid {
		return nil
	}
	if c.valid, err = s.bitmap(b, node, at, c.count); err != nil {
		return err
	}
	d, size := t.raw, int64(t.raw.Size())
	if t.index != matrix.Invalid {
		d, size = t.index, int64(t.index.Size())
	}
	switch {
	case t.index == matrix.Invalid && (t.storage == decimals || t.storage == fixed):
		size = int64(t.size)
	case t.index != matrix.Invalid || t.storage == numbers:
	case t.storage == views16:
		if c.values, err = s.buffer(b, at+1, 16*c.count, "views"); err != nil {
			return err
		}
		return s.views(c, b, f)
	default:
		return s.texts(c, b, at+1)
	}
	want := size * c.count
	if d == matrix.Bool {
		want = bitBytes(c.count)
	}
	c.values, err = s.buffer(b, at+1, want, "values")
	return err
}

// texts finds where texts are that lie behind each other.
func (s *cellSource) texts(c *cellBuffers, b *batch, at int) (err error) {
	size := c.offsetSize()
	if c.values, err = s.starts(b, at, c.count, size); err != nil || c.count == 0 {
		return err
	}
	last, err := c.offsets(c.values, nil, c.count, 1, size)
	if err != nil {
		return err
	}
	if c.size = last[0]; c.size < 0 {
		return fmt.Errorf("texts that end at byte %d", c.size)
	}
	c.data, err = s.buffer(b, at+1, c.size, "texts")
	return err
}

// offsetSize is the bytes of an offset of a text.
func (c *cellBuffers) offsetSize() int64 {
	if c.of.storage == longs {
		return 8
	}
	return 4
}

// views reads the data of views.
func (s *cellSource) views(c *cellBuffers, b *batch, f *field) error {
	places := b.others[f.buffer]
	for i := 0; i < len(places); i += 2 {
		off, size := b.body+places[i], places[i+1]
		raw, err := s.viewData(b, off, size)
		if err != nil {
			return &wire.At{Off: off, Err: err}
		}
		c.others = append(c.others, raw)
	}
	return nil
}

// viewData reads a buffer that has the data of views, where any text may lie anywhere.
func (s *cellSource) viewData(b *batch, off, size int64) ([]byte, error) {
	if b.packing == plain || size == 0 {
		raw := make([]byte, size)
		return raw, wire.ReadAt(s.obj, raw, off)
	}
	p, err := header(s.obj, off, size, b.packing, 0)
	if err != nil {
		return nil, err
	}
	if err := s.hold(p.size); err != nil {
		return nil, err
	}
	return s.src.whole(p)
}

// offsets reads n offsets from one on, into memory that may be used.
func (c *cellBuffers) offsets(from buffer, to []int64, lo, n, size int64) ([]int64, error) {
	raw := make([]byte, n*size)
	if err := wire.ReadAt(from.r, raw, from.off+lo*size); err != nil {
		return nil, err
	}
	to = to[:0]
	if size == 8 {
		to = append(to, make([]int64, n)...)
		wire.Get(to, raw, c.order)
		return to, nil
	}
	short := make([]int32, n)
	wire.Get(short, raw, c.order)
	for _, v := range short {
		to = append(to, int64(v))
	}
	return to, nil
}
