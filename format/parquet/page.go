package parquet

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/parquet-go/parquet-go/compress/zstd"
	pf "github.com/parquet-go/parquet-go/format"

	"thole/format"
	"thole/internal/wire"
	"thole/matrix"
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
		return fmt.Errorf("page of %d values in %d bytes, want at most %d and %d: %w", n, h.UncompressedPageSize, maxValues, maxPage, format.ErrLimit)
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

// values reads n rows, nulls among them.
func (c *chunk) values(raw []byte, e pf.Encoding, n int) (d matrix.Data, err error) {
	held := n
	if c.levels != nil {
		if c.nulls == nullError {
			return nil, fmt.Errorf("a null, want a number (the option nulls says what it shall be)")
		}
		if c.nulls == nullNaN && !c.col.raw.Float() {
			return nil, fmt.Errorf("a null, which %v cannot hold as nan", c.col.dtype)
		}
		held = 0
		for _, l := range c.levels {
			held += int(l)
		}
	}
	switch e {
	case pf.Plain:
		d, err = c.plain(raw, held)
	case pf.PlainDictionary, pf.RLEDictionary:
		d, err = c.indexed(raw, held)
	case pf.ByteStreamSplit:
		d, err = c.split(raw, held)
	case pf.RLE:
		d, err = c.runs(raw, held)
	default:
		err = fmt.Errorf("values in %v, want plain, dictionary, RLE or byte stream split: %w", e, format.ErrVersion)
	}
	if err != nil || c.levels == nil {
		return d, err
	}
	return c.spread(d), nil
}

// plain reads values that stand side by side.
func (c *chunk) plain(raw []byte, n int) (matrix.Data, error) {
	size := int64(c.col.raw.Size())
	need := int64(n) * size
	if c.col.raw == matrix.Bool {
		need = (int64(n) + 7) / 8
	}
	if n < 0 || int64(len(raw)) != need {
		return nil, fmt.Errorf("%d values of %v in %d bytes, want %d", n, c.col.raw, len(raw), need)
	}
	d := matrix.KindOf(c.col.raw).Dense(n)
	to, _ := wire.ViewAny(d.Values())
	if c.col.raw == matrix.Bool {
		for i := range n {
			to[i] = raw[i/8] >> (i % 8) & 1
		}
		return d, nil
	}
	copy(to, raw)
	wire.Swap(to, int(size), wire.Little)
	return d, nil
}

// indexed reads numbers of values in the dictionary.
func (c *chunk) indexed(raw []byte, n int) (matrix.Data, error) {
	if c.dict == nil {
		return nil, fmt.Errorf("a page that needs a dictionary, and none before it")
	}
	var index []uint32
	if n > 0 {
		if len(raw) == 0 {
			return nil, fmt.Errorf("numbers of a dictionary without their width")
		}
		var err error
		if index, err = hybrid(raw[1:], int(raw[0]), n); err != nil {
			return nil, err
		}
	}
	d := matrix.KindOf(c.col.raw).Dense(n)
	to, size := wire.ViewAny(d.Values())
	from, _ := wire.ViewAny(c.dict.Values())
	for i, k := range index {
		if int64(k) >= int64(c.dict.NNZ()) {
			return nil, fmt.Errorf("number %d of a dictionary of %d", k, c.dict.NNZ())
		}
		copy(to[i*size:(i+1)*size], from[int(k)*size:])
	}
	return d, nil
}

// split reads values whose first bytes stand before all second bytes, and so on.
func (c *chunk) split(raw []byte, n int) (matrix.Data, error) {
	if c.col.raw == matrix.Bool || len(raw) != n*c.col.raw.Size() {
		return nil, fmt.Errorf("%d split values of %v in %d bytes", n, c.col.raw, len(raw))
	}
	d := matrix.KindOf(c.col.raw).Dense(n)
	to, size := wire.ViewAny(d.Values())
	for k := range size {
		for i, b := range raw[k*n : (k+1)*n] {
			to[i*size+k] = b
		}
	}
	wire.Swap(to, size, wire.Little)
	return d, nil
}

// runs reads truth values in runs, behind their length.
func (c *chunk) runs(raw []byte, n int) (matrix.Data, error) {
	if c.col.raw != matrix.Bool {
		return nil, fmt.Errorf("values of %v in RLE: %w", c.col.raw, format.ErrVersion)
	}
	if len(raw) < 4 || int64(binary.LittleEndian.Uint32(raw)) > int64(len(raw)-4) {
		return nil, fmt.Errorf("runs without their end")
	}
	bits, err := hybrid(raw[4:][:binary.LittleEndian.Uint32(raw)], 1, n)
	if err != nil {
		return nil, err
	}
	d := &matrix.Dense[matrix.Boolean]{Val: make([]matrix.Boolean, n)}
	for i, b := range bits {
		d.Val[i] = matrix.Boolean(b)
	}
	return d, nil
}

// spread puts the values to their rows, and NaN or zero to the others.
func (c *chunk) spread(d matrix.Data) matrix.Data {
	out := matrix.KindOf(d.DType()).Dense(len(c.levels))
	to, size := wire.ViewAny(out.Values())
	from, _ := wire.ViewAny(d.Values())
	var null []byte
	if c.nulls == nullNaN {
		nan, _ := matrix.Block{At: matrix.At(0, 1, 0, 1), Data: &matrix.Dense[float64]{Val: []float64{math.NaN()}}}.Cast(d.DType())
		null, _ = wire.ViewAny(nan.Data.Values())
	}
	for i, l := range c.levels {
		if l == 0 {
			copy(to[i*size:], null)
			continue
		}
		copy(to[i*size:(i+1)*size], from)
		from = from[size:]
	}
	return out
}
