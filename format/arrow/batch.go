package arrow

import (
	"fmt"
	"math"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

const (
	plain = -1 // not compressed
	lz4   = 0
	zstd  = 1

	// unpackLimit is the most bytes that a compressed buffer may hold.
	unpackLimit = 1 << 30
)

var packings = map[int8]string{plain: "none", lz4: "lz4", zstd: "zstd"}

// batch is a record batch: some rows of all columns.
type batch struct {
	rows    matrix.Range
	body    int64
	packing int8
	nodes   []int64         // of each node its length and its number of nulls
	buffers []int64         // of each buffer its first byte in the body and its length
	others  map[int][]int64 // of a column of views, by its first buffer, those behind
	words   int             // dictionary batches before it
}

func (b *batch) nulls(node int) int64 { return b.nodes[2*node+1] }

// buffer is the place of a buffer in the file.
func (b *batch) buffer(i int) (off, size int64) { return b.body + b.buffers[2*i], b.buffers[2*i+1] }

// newBatch reads a record batch of the schema, whose first row is from. more is how many bytes its buffers have behind
// the values.
func newBatch(m *message, s *schema, from int64) (b *batch, more int64, err error) {
	b = &batch{body: m.body, packing: plain}
	n := m.head.i64(0)
	b.nodes, b.buffers = m.head.longs(1, 16), m.head.longs(2, 16)
	views := m.head.longs(4, 8)
	if c := m.head.tab(3); c.f != nil {
		if b.packing = int8(c.u8(0)); c.u8(1) != 0 || packings[b.packing] == "" || b.packing == plain {
			return nil, 0, fmt.Errorf("compression %d by method %d, want LZ4 (0) or ZSTD (1) by method 0: %w", c.u8(0), c.u8(1), format.ErrVersion)
		}
	}
	if m.flat.err != nil {
		return nil, 0, m.flat.err
	}
	buffers := s.buffers
	for _, v := range views {
		if v < 0 || v > int64(len(b.buffers)) {
			return nil, 0, fmt.Errorf("a column of %d buffers in %d", v, len(b.buffers)/2)
		}
		buffers += int(v)
	}
	switch {
	case m.head.f == nil || n < 0 || n > math.MaxInt64-1-from:
		return nil, 0, fmt.Errorf("record batch of %d rows behind %d", n, from)
	case len(b.nodes) != 2*s.nodes || len(b.buffers) != 2*buffers || len(views) != s.views:
		return nil, 0, fmt.Errorf("record batch of %d nodes and %d buffers, want %d and %d", len(b.nodes)/2, len(b.buffers)/2, s.nodes, buffers)
	}
	b.rows = matrix.Range{Lo: from, Hi: from + n}
	if err := b.place(m.size); err != nil {
		return nil, 0, err
	}
	b.settle(s, views)
	for i := range s.fields {
		extra, err := b.check(&s.fields[i])
		if err != nil {
			return nil, 0, fmt.Errorf("column %d (%q): %w", i, s.fields[i].name, err)
		}
		more += extra
	}
	return b, more, nil
}

// place checks that the buffers lie behind each other and fill the body.
func (b *batch) place(size int64) error {
	end := int64(0)
	for i := 0; i < len(b.buffers); i += 2 {
		off, n := b.buffers[i], b.buffers[i+1]
		if off < 0 || n < 0 || off > size || n > size-off {
			return fmt.Errorf("buffer %d of %d bytes at byte %d of a body of %d", i/2, n, off, size)
		}
		if n == 0 {
			continue
		}
		if off < end || off-end >= padLimit {
			return fmt.Errorf("buffer %d at byte %d of the body, want it behind the one that ends at byte %d", i/2, off, end)
		}
		end = off + n
	}
	if size-end >= padLimit {
		return fmt.Errorf("body of %d bytes, whose buffers end at byte %d", size, end)
	}
	return nil
}

// settle takes out the buffers of columns that have any number of them, so that the others stand where the schema says.
func (b *batch) settle(s *schema, views []int64) {
	if s.views == 0 {
		return
	}
	var kept []int64
	rest := b.buffers
	for i := range s.fields {
		f := &s.fields[i]
		n := 2 * f.buffers
		if f.views == 0 || f.cells.storage == views16 {
			kept = append(kept, rest[:n]...)
		} else {
			kept = append(kept, make([]int64, n)...) // which nobody reads
		}
		if f.views > 0 {
			own := n
			for _, v := range views[:f.views] {
				n += 2 * int(v)
			}
			views = views[f.views:]
			if f.cells.storage == views16 {
				if b.others == nil {
					b.others = map[int][]int64{}
				}
				b.others[f.buffer] = rest[own:n]
			}
		}
		rest = rest[n:]
	}
	b.buffers = kept
}

// check checks what the batch has of a column against its type.
func (b *batch) check(f *field) (more int64, err error) {
	rows := b.rows.Len()
	if n := b.nodes[2*f.node]; n != rows {
		return 0, fmt.Errorf("%d values, want %d", n, rows)
	}
	if f.raw == matrix.Invalid {
		return 0, nil
	}
	cells, ok := matrix.Cells(rows, f.width())
	size, fits := matrix.Cells(cells, int64(f.raw.Size()))
	if !ok || !fits {
		return 0, fmt.Errorf("%d rows of %d numbers, want less than 2^63 bytes: %w", rows, f.width(), format.ErrLimit)
	}
	if f.raw == matrix.Bool {
		size = bitBytes(cells)
	}
	more, err = b.bitmap(f.node, f.buffer, rows)
	if err == nil && f.list {
		var extra int64
		if n := b.nodes[2*f.node+2]; n != cells {
			return 0, fmt.Errorf("%d numbers in the lists, want %d", n, cells)
		}
		extra, err = b.bitmap(f.node+1, f.buffer+1, cells)
		more += extra
	}
	if err != nil {
		return 0, err
	}
	extra, err := b.holds(f.values(), size, "values")
	return more + extra, err
}

// values is the number of the buffer that has the values of the column.
func (f *field) values() int { return f.buffer + f.buffers - 1 }

// bitmap checks a bitmap of validity for n values, which is absent if all are there.
func (b *batch) bitmap(node, buffer int, n int64) (more int64, err error) {
	nulls := b.nulls(node)
	if nulls < 0 || nulls > n {
		return 0, fmt.Errorf("%d nulls among %d values", nulls, n)
	}
	if _, size := b.buffer(buffer); size == 0 && nulls == 0 {
		return 0, nil
	}
	return b.holds(buffer, bitBytes(n), "validity")
}

// holds checks that a buffer is as long as what it is for.
func (b *batch) holds(buffer int, want int64, what string) (more int64, err error) {
	off, n := b.buffer(buffer)
	if b.packing != plain {
		if want > unpackLimit {
			return 0, fmt.Errorf("%s of %d bytes in one compressed buffer, want at most %d: %w", what, want, unpackLimit, format.ErrLimit)
		}
		if n < 8 && want > 0 {
			return 0, &wire.At{Off: off, Err: fmt.Errorf("%s in a compressed buffer of %d bytes, want 8 at least", what, n)}
		}
		return 0, nil
	}
	if n < want {
		return 0, &wire.At{Off: off, Err: fmt.Errorf("%s in a buffer of %d bytes, want %d", what, n, want)}
	}
	if n-want >= padLimit {
		return n - want, nil
	}
	return 0, nil
}

// bitBytes is how many bytes n bits take.
func bitBytes(n int64) int64 { return n/8 + (n%8+7)/8 }
