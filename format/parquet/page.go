package parquet

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	pf "github.com/parquet-go/parquet-go/format"

	"thole.example/format"
	"thole.example/wire"
)

const (
	maxPage   = 256 << 20 // bytes of a page, unpacked
	maxValues = 1 << 24   // of a page
)

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

// checkPage checks the header of a page that has room bytes and whose column has some rows more.
func checkPage(h *pf.PageHeader, room, rows int64) error {
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

// page decodes the page whose bytes begin at off: a dictionary, or values.
func (c *cursor) page(h *pf.PageHeader, off int64) error {
	raw, err := c.load(h, off)
	if err != nil {
		return err
	}
	if h.Type == pf.DictionaryPage {
		return c.dictionary(h, raw)
	}
	p, err := c.parts(h, raw)
	if err != nil {
		return err
	}
	c.levels = c.levels[:0]
	if c.col.optional {
		if err := c.define(p.define, p.slots); err != nil {
			return err
		}
	}
	return c.values(p.values, p.encoding, p.slots)
}

// load reads the bytes of a page as they are stored.
func (c *cursor) load(h *pf.PageHeader, off int64) ([]byte, error) {
	c.stored = grown(c.stored, int(h.CompressedPageSize))
	raw := c.stored
	if err := wire.ReadAt(c.r, raw, off); err != nil {
		return nil, err
	}
	if h.CRC != 0 {
		if sum := crc32.ChecksumIEEE(raw); uint32(h.CRC) != sum {
			return nil, fmt.Errorf("checksum %08x, want %08x", sum, uint32(h.CRC))
		}
	}
	return raw, nil
}

// parts are what a data page consists of, unpacked.
type parts struct {
	repeat, define, values []byte // the levels of repetition and definition, in runs; the values
	encoding               pf.Encoding
	slots                  int // values and nulls
}

// parts takes a data page apart.
func (c *cursor) parts(h *pf.PageHeader, raw []byte) (p parts, err error) {
	if h.Type == pf.DataPageV2 {
		return c.version2(h, raw)
	}
	d := &h.DataPageHeader.V
	p.encoding, p.slots = d.Encoding, int(d.NumValues)
	if p.values, err = c.unpack(c.meta.Codec, raw, int(h.UncompressedPageSize)); err != nil {
		return p, err
	}
	if c.col.repeated {
		if p.repeat, err = p.levels("repetition", d.RepetitionLevelEncoding); err != nil {
			return p, err
		}
	}
	if c.col.optional {
		p.define, err = p.levels("definition", d.DefinitionLevelEncoding)
	}
	return p, err
}

// levels takes levels, behind their length, from before the values.
func (p *parts) levels(what string, e pf.Encoding) ([]byte, error) {
	if e != pf.RLE {
		return nil, fmt.Errorf("%s levels in %v, want RLE: %w", what, e, format.ErrVersion)
	}
	if len(p.values) < 4 || int64(binary.LittleEndian.Uint32(p.values)) > int64(len(p.values)-4) {
		return nil, fmt.Errorf("%s levels without their end", what)
	}
	n := binary.LittleEndian.Uint32(p.values)
	levels := p.values[4 : 4+n]
	p.values = p.values[4+n:]
	return levels, nil
}

func (c *cursor) dictionary(h *pf.PageHeader, raw []byte) error {
	d := &h.DictionaryPageHeader.V
	raw, err := c.unpack(c.meta.Codec, raw, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	if d.Encoding != pf.Plain && d.Encoding != pf.PlainDictionary {
		return fmt.Errorf("dictionary in %v, want plain: %w", d.Encoding, format.ErrVersion)
	}
	if c.col.number != nil {
		raw, err = c.numbers(raw, pf.Plain, int(d.NumValues))
	} else {
		raw, err = c.plain(raw, int(d.NumValues))
	}
	if err != nil {
		return err
	}
	c.dict = grown(c.dict, len(raw))
	copy(c.dict, raw)
	c.hasDict = true
	return nil
}

// version2 takes a page apart whose levels stand before the values, not compressed.
func (c *cursor) version2(h *pf.PageHeader, raw []byte) (p parts, err error) {
	d := &h.DataPageHeaderV2.V
	levels := int64(d.RepetitionLevelsByteLength) + int64(d.DefinitionLevelsByteLength)
	if d.RepetitionLevelsByteLength < 0 || d.DefinitionLevelsByteLength < 0 || levels > int64(min(len(raw), int(h.UncompressedPageSize))) {
		return p, fmt.Errorf("levels of %d bytes in a page of %d", levels, len(raw))
	}
	p.encoding, p.slots = d.Encoding, int(d.NumValues)
	p.repeat, p.define = raw[:d.RepetitionLevelsByteLength], raw[d.RepetitionLevelsByteLength:levels]
	codec := c.meta.Codec
	if d.IsCompressed.Valid && !d.IsCompressed.V {
		codec = pf.Uncompressed
	}
	p.values = raw[levels:]
	if len(p.values) > 0 || int64(h.UncompressedPageSize) > levels {
		p.values, err = c.unpack(codec, p.values, int(int64(h.UncompressedPageSize)-levels))
	}
	return p, err
}

// define reads which of n rows have a value. levels stays empty if all have.
func (c *cursor) define(raw []byte, n int) error {
	if allOnes(raw, n) {
		return nil
	}
	c.levels = grownIndex(c.levels, n)
	if err := hybrid(c.levels, raw, 1); err != nil {
		return fmt.Errorf("definition levels: %w", err)
	}
	for _, l := range c.levels {
		if l == 0 {
			return nil
		}
	}
	c.levels = c.levels[:0]
	return nil
}
