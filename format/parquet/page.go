package parquet

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/parquet-go/parquet-go/compress/zstd"
	pf "github.com/parquet-go/parquet-go/format"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

const (
	maxPage   = 256 << 20 // bytes of a page, unpacked
	maxValues = 1 << 24   // of a page
)

// nulls says what a null is.
type nulls uint8

const (
	nullError nulls = iota
	nullNaN
	nullZero
)

func newNulls(o *format.Options) (nulls, error) {
	info := codec{}.Info()
	if err := o.CheckSet(info); err != nil {
		return 0, err
	}
	for i, name := range []string{"error", "nan", "0"} {
		if o.Get(info, "nulls") == name {
			return nulls(i), nil
		}
	}
	return 0, fmt.Errorf("option nulls is %q, want error, nan or 0: %w", o.Get(info, "nulls"), format.ErrOption)
}

// chunk reads the pages of a column in a row group.
type chunk struct {
	r      io.ReaderAt
	col    *column
	meta   *pf.ColumnMetaData
	rows   int64
	nulls  nulls
	zstd   *zstd.Codec
	dict   matrix.Data // nil before a dictionary page
	levels []uint32    // of the page, nil if it has no nulls
}

// pages gives the values of the rows within want, counted from the first of the group, in pieces. The values have the
// raw type of the column.
func (c *chunk) pages(want matrix.Range, use func(first int64, d matrix.Data) error) error {
	off, size := extent(c.meta)
	end, row := off+size, int64(0)
	for off < end && (row < c.rows || c.rows == 0) {
		h, n, err := readHeader(c.r, off, end)
		if err != nil {
			return err
		}
		body := off + n
		if err := c.checkPage(&h, end-body, c.rows-row); err != nil {
			return &wire.At{Off: off, Err: err}
		}
		off = body + int64(h.CompressedPageSize)
		count := values(&h)
		at := matrix.Range{Lo: row, Hi: row + count}
		if h.Type != pf.DictionaryPage {
			row += count
			if want.Intersect(at).Len() == 0 {
				continue
			}
		}
		d, err := c.page(&h, body)
		if err == nil && h.Type == pf.DictionaryPage {
			c.dict = d
			continue
		}
		if err == nil && d != nil {
			err = use(at.Lo, d)
		}
		if err != nil {
			return &wire.At{Off: body, Err: err}
		}
	}
	if row != c.rows {
		return corrupt(end, "%d values in the pages, want %d", row, c.rows)
	}
	return nil
}

// values is how many rows a page has.
func values(h *pf.PageHeader) int64 {
	switch h.Type {
	case pf.DataPage:
		return int64(h.DataPageHeader.V.NumValues)
	case pf.DataPageV2:
		return int64(h.DataPageHeaderV2.V.NumValues)
	}
	return 0
}

func (c *chunk) checkPage(h *pf.PageHeader, room, rows int64) error {
	n := values(h)
	switch {
	case h.CompressedPageSize < 0 || int64(h.CompressedPageSize) > room:
		return fmt.Errorf("page of %d bytes, want at most %d", h.CompressedPageSize, room)
	case h.UncompressedPageSize < 0:
		return fmt.Errorf("page of %d bytes", h.UncompressedPageSize)
	case h.UncompressedPageSize > maxPage || n > maxValues:
		return fmt.Errorf("page of %d values in %d bytes, want at most %d and %d: %w",
			n, h.UncompressedPageSize, maxValues, maxPage, format.ErrLimit)
	case n < 0 || n > rows:
		return fmt.Errorf("page of %d values, want at most %d", n, rows)
	case h.Type == pf.DataPage && !h.DataPageHeader.Valid || h.Type == pf.DataPageV2 && !h.DataPageHeaderV2.Valid ||
		h.Type == pf.DictionaryPage && !h.DictionaryPageHeader.Valid:
		return fmt.Errorf("page of type %v without its header", h.Type)
	}
	return nil
}

// page reads one page whose bytes begin at off. nil is a page of a kind that holds no values.
func (c *chunk) page(h *pf.PageHeader, off int64) (matrix.Data, error) {
	if h.Type != pf.DataPage && h.Type != pf.DataPageV2 && h.Type != pf.DictionaryPage {
		return nil, nil
	}
	raw := make([]byte, h.CompressedPageSize)
	if err := wire.ReadAt(c.r, raw, off); err != nil {
		return nil, err
	}
	if sum := crc32.ChecksumIEEE(raw); h.CRC != 0 && uint32(h.CRC) != sum {
		return nil, fmt.Errorf("checksum %08x, want %08x", sum, uint32(h.CRC))
	}
	c.levels = nil
	if h.Type == pf.DictionaryPage {
		d := &h.DictionaryPageHeader.V
		raw, err := unpack(c.meta.Codec, raw, int(h.UncompressedPageSize), c.zstd)
		if err != nil {
			return nil, err
		}
		if d.Encoding != pf.Plain && d.Encoding != pf.PlainDictionary {
			return nil, fmt.Errorf("dictionary in %v, want plain: %w", d.Encoding, format.ErrVersion)
		}
		return c.plain(raw, int(d.NumValues))
	}
	if h.Type == pf.DataPageV2 {
		return c.version2(h, raw)
	}
	d := &h.DataPageHeader.V
	raw, err := unpack(c.meta.Codec, raw, int(h.UncompressedPageSize), c.zstd)
	if err != nil {
		return nil, err
	}
	if c.col.optional {
		if d.DefinitionLevelEncoding != pf.RLE {
			return nil, fmt.Errorf("definition levels in %v, want RLE: %w", d.DefinitionLevelEncoding, format.ErrVersion)
		}
		if len(raw) < 4 || int64(binary.LittleEndian.Uint32(raw)) > int64(len(raw)-4) {
			return nil, fmt.Errorf("definition levels without their end")
		}
		n := binary.LittleEndian.Uint32(raw)
		if err := c.define(raw[4:4+n], int(d.NumValues)); err != nil {
			return nil, err
		}
		raw = raw[4+n:]
	}
	return c.values(raw, d.Encoding, int(d.NumValues))
}

// version2 reads a page whose levels stand before the values, not compressed.
func (c *chunk) version2(h *pf.PageHeader, raw []byte) (matrix.Data, error) {
	d := &h.DataPageHeaderV2.V
	levels := int64(d.RepetitionLevelsByteLength) + int64(d.DefinitionLevelsByteLength)
	if d.RepetitionLevelsByteLength < 0 || d.DefinitionLevelsByteLength < 0 || levels > int64(min(len(raw), int(h.UncompressedPageSize))) {
		return nil, fmt.Errorf("levels of %d bytes in a page of %d", levels, len(raw))
	}
	if c.col.optional {
		if err := c.define(raw[d.RepetitionLevelsByteLength:levels], int(d.NumValues)); err != nil {
			return nil, err
		}
	}
	codec := c.meta.Codec
	if d.IsCompressed.Valid && !d.IsCompressed.V {
		codec = pf.Uncompressed
	}
	raw = raw[levels:]
	if len(raw) > 0 || int64(h.UncompressedPageSize) > levels {
		var err error
		if raw, err = unpack(codec, raw, int(int64(h.UncompressedPageSize)-levels), c.zstd); err != nil {
			return nil, err
		}
	}
	return c.values(raw, d.Encoding, int(d.NumValues))
}

// define reads which of n rows have a value.
func (c *chunk) define(raw []byte, n int) (err error) {
	if c.levels, err = hybrid(raw, 1, n); err != nil {
		return fmt.Errorf("definition levels: %w", err)
	}
	for _, l := range c.levels {
		if l == 0 {
			return nil
		}
	}
	c.levels = nil // no null at all
	return nil
}
