package parquet

import (
	"strings"

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
	f, err := readFooter(o, true)
	if f.start > 0 {
		tail := make([]byte, tailLen)
		if err := wire.ReadAt(o, tail, o.Size()-tailLen); err != nil {
			return err
		}
		p.Head("footer: %s", f)
		for _, c := range f.columns[:min(len(f.columns), shownColumns)] {
			need := "required"
			if c.optional {
				need = "optional"
			}
			what := c.dtype.String()
			if c.when.Kind != "" {
				what = c.when.String()
			}
			p.Head("  column %d %q: %v, %s, %s", c.index, c.name, c.physical, what, need)
		}
		if more := len(f.columns) - shownColumns; more > 0 {
			p.Head("  %d more columns", more)
		}
		if len(f.others) > 0 {
			p.Head("  columns that are not of numbers: %s", strings.Join(f.others[:min(len(f.others), shownColumns)], ", "))
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
		chunk := &g.chunks[k]
		off, size := extent(chunk)
		h, n, err := readHeader(o, off, off+size)
		if err != nil {
			return err
		}
		if err := checkPage(&h, size-n, g.rows.Len()); err != nil {
			return &wire.At{Off: off, Err: err}
		}
		p.Gap(off, n, "column %d: header of a page, %v of %d values", f.columns[k].index, h.Type, values(&h))
		body := make([]byte, min(8, h.CompressedPageSize))
		if err := wire.ReadAt(o, body, off+n); err != nil {
			return err
		}
		p.Field(off+n, body, "the first of %d bytes, %v", h.CompressedPageSize, chunk.Codec)
		if n += int64(len(body)); n < size {
			p.Gap(off+n, size-n, "more of the column")
		}
	}
	if more := g.chunks[min(len(g.chunks), shownColumns):]; len(more) > 0 {
		from, _ := extent(&more[0])
		to, size := extent(&more[len(more)-1])
		p.Gap(from, to+size-from, "%d more columns", len(more))
	}
	return nil
}
