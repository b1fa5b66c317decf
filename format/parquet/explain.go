package parquet

import (
	"fmt"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/wire"
)

const (
	shownColumns = 16
	shownGroups  = 4
)

// explain prints the magic, the schema, and the first pages of the first row groups.
func explain(o blob.Object, p *dump.Printer) error {
	start := make([]byte, min(o.Size(), int64(len(magic))))
	if err := wire.ReadAt(o, start, 0); err != nil {
		return err
	}
	p.Field(0, start, "magic")
	f, err := readFooter(o)
	if f.start > 0 {
		tail := make([]byte, tailLen)
		if err := wire.ReadAt(o, tail, o.Size()-tailLen); err != nil {
			return err
		}
		p.Head("footer: %s", f)
		for i, c := range f.columns[:min(len(f.columns), shownColumns)] {
			need := "required"
			if c.optional {
				need = "optional"
			}
			p.Head("  column %d %q: %v, %v, %s", i, c.name, c.physical, c.dtype, need)
		}
		if more := len(f.columns) - shownColumns; more > 0 {
			p.Head("  %d more columns", more)
		}
		for _, kv := range f.KeyValueMetadata {
			p.Head("  key %q: %.200q", kv.Key, kv.Value)
		}
		p.Gap(f.start, o.Size()-tailLen-f.start, "footer, a Thrift struct")
		p.Field(o.Size()-tailLen, tail[:4], "its length: %d", o.Size()-tailLen-f.start)
		p.Field(o.Size()-4, tail[4:], "magic")
	}
	if err != nil {
		return err
	}
	for i := range f.groups[:min(len(f.groups), shownGroups)] {
		if err := explainGroup(o, f, i, p); err != nil {
			return err
		}
	}
	if more := len(f.groups) - shownGroups; more > 0 {
		p.Head("%d more row groups", more)
	}
	return p.Err()
}

func explainGroup(o blob.Object, f *footer, i int, p *dump.Printer) error {
	g := &f.groups[i]
	p.Head("row group %d: rows %v", i, g.rows)
	for k := range g.chunks[:min(len(g.chunks), shownColumns)] {
		c := chunk{r: o, col: &f.columns[k], meta: &g.chunks[k], rows: g.rows.Len()}
		off, size := extent(c.meta)
		h, n, err := readHeader(o, off, off+size)
		if err != nil {
			return err
		}
		if err := c.checkPage(&h, off+size-off-n, c.rows); err != nil {
			return &wire.At{Off: off, Err: err}
		}
		p.Gap(off, n, "%s", fmt.Sprintf("column %d: header of a page, %v of %d values", k, h.Type, values(&h)))
		body := make([]byte, min(8, h.CompressedPageSize))
		if err := wire.ReadAt(o, body, off+n); err != nil {
			return err
		}
		p.Field(off+n, body, "the first of %d bytes, %v", h.CompressedPageSize, c.meta.Codec)
	}
	return nil
}
