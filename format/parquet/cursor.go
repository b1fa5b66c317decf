package parquet

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/compress/zstd"
	pf "github.com/parquet-go/parquet-go/format"

	"thole.example/matrix"
	"thole.example/wire"
)

// cursor reads the rows of a column in one row group, from the first to the last. It keeps its memory for the next column.
type cursor struct {
	r     io.ReaderAt
	nulls nulls
	zstd  *zstd.Codec

	col  *column
	meta *pf.ColumnMetaData
	to   matrix.DType // of what it gives
	rows int64        // of the row group
	most int64        // bytes that a page and its dictionary may take; 0: any number

	off, end int64  // of the pages that were not opened
	row      int64  // of the first of them
	left     []byte // of the open page: values that were not read
	hasDict  bool
	turn     chan struct{} // closed when the cursor may read on
	err      error

	// The page as it is stored, as it was packed, its values, and these with nulls between them; the dictionary.
	stored, unpacked, decoded, filled, dict []byte
	index, levels                           []uint32 // of the values, and of the rows; no levels if there are no nulls
}

// errLarge is a page that takes more memory than many columns at a time may.
var errLarge = errors.New("a page too large to be read beside others")

// begin sets the cursor before the first row of a column.
func (c *cursor) begin(col *column, meta *pf.ColumnMetaData, to matrix.DType, rows, most int64) {
	off, size := extent(meta)
	c.col, c.meta, c.to, c.rows, c.most = col, meta, to, rows, most
	c.off, c.end, c.row, c.left, c.hasDict, c.err = off, off+size, 0, nil, false, nil
	c.turn = make(chan struct{})
	close(c.turn)
}

// skip goes on by n rows.
func (c *cursor) skip(n int64) error {
	size := int64(c.to.Size())
	for n > 0 {
		if len(c.left) == 0 {
			before := c.row
			if err := c.next(n); err != nil {
				return err
			}
			n -= c.row - before - int64(len(c.left))/size
			continue
		}
		some := min(n, int64(len(c.left))/size)
		c.left, n = c.left[some*size:], n-some
	}
	return nil
}

// read fills dst with the values of the next rows, in the order of the machine.
func (c *cursor) read(dst []byte) error {
	for len(dst) > 0 {
		if len(c.left) == 0 {
			if err := c.next(0); err != nil {
				return err
			}
			continue
		}
		n := copy(dst, c.left)
		dst, c.left = dst[n:], c.left[n:]
	}
	return nil
}

// next opens the next page. One of values that has at most over rows is passed over.
func (c *cursor) next(over int64) error {
	if c.err == nil {
		c.err = c.step(over)
	}
	return c.err
}

func (c *cursor) step(over int64) error {
	h, body, err := c.advance(over)
	if err != nil || h == nil {
		return err
	}
	if err := c.page(h, body); err != nil {
		return &wire.At{Off: body, Err: err}
	}
	return nil
}

// advance goes to the next page and gives its header and the place of its bytes; no header of one that is passed over.
func (c *cursor) advance(over int64) (head *pf.PageHeader, body int64, err error) {
	if c.off >= c.end || c.row >= c.rows {
		return nil, 0, corrupt(c.end, "%d values in the pages, want %d", c.row, c.rows)
	}
	h, n, err := readHeader(c.r, c.off, c.end)
	if err != nil {
		return nil, 0, err
	}
	body = c.off + n
	if err := checkPage(&h, c.end-body, c.rows-c.row); err != nil {
		return nil, 0, &wire.At{Off: c.off, Err: err}
	}
	c.off = body + int64(h.CompressedPageSize)
	count := values(&h)
	data := h.Type == pf.DataPage || h.Type == pf.DataPageV2
	c.row += count
	if !data && h.Type != pf.DictionaryPage || data && count <= over {
		return nil, 0, nil
	}
	need := max(int64(h.UncompressedPageSize), count*int64(max(c.to.Size(), c.col.raw.Size())))
	if c.most > 0 && need+int64(len(c.dict)) > c.most {
		return nil, 0, errLarge
	}
	return &h, body, nil
}

// grown is the memory with n bytes, of which none is known. It begins where any number may.
func grown(b []byte, n int) []byte {
	if cap(b) < n {
		b = wire.View(make([]uint64, (n+7)/8))
	}
	return b[:n]
}

func grownIndex(b []uint32, n int) []uint32 { return slices.Grow(b[:0], n)[:n] }

// named is an error of the column.
func (c *cursor) named(err error) error { return fmt.Errorf("column %q: %w", c.col.name, err) }
