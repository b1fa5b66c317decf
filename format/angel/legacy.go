package angel

import (
	"context"
	"fmt"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// legacy is how Angel 1.x stores partitions, big-endian:
//
//	int32 nRow | nRow x { int32 rowId | dense: a value for each column
//	                                  | sparse: int32 n | n x { int32 or int64 column, value } }
var legacy = layout{name: "Angel 1.x", colID: true, framed: true}

// parseLegacy reads the metadata of 1.x, big-endian:
//
//	int32 matrixId | UTF name | int32 rowType | int32 row | int64 col | int32 blockRow | int64 blockCol
//	int32 nOpt | nOpt x { UTF key, UTF value }
//	int32 nPart | nPart x { int32 partId, startRow, endRow | int64 startCol, endCol, nnz | UTF fileName
//	  int64 offset, length | int32 nRow | nRow x { int32 rowId | int64 offset } }
func parseLegacy(b []byte) (*matrixMeta, error) {
	c := wire.NewCursor(b, 0, wire.Big)
	m := &matrixMeta{id: c.I32("matrixId"), name: readUTF(c, "name"), class: legacy.name, origin: fromLegacy, options: map[string]string{}}
	at, kind := c.Off(), c.I32("rowType")
	m.rows, m.cols = c.I32("row"), c.I64("col")
	m.blockRow, m.blockCol = c.I32("blockRow"), c.I64("blockCol")
	n := c.I32("number of options")
	checkCount(c, n, 4)
	for i := int32(0); i < n && c.Err() == nil; i++ {
		key := readUTF(c, "option")
		m.options[key] = readUTF(c, "option")
	}
	parts := c.I32("number of partitions")
	checkCount(c, parts, 58)
	for i := int32(0); i < parts && c.Err() == nil; i++ {
		if err := m.legacyPart(c); err != nil {
			return nil, err
		}
	}
	if c.Err() == nil && c.Len() > 0 {
		c.Fail("%d bytes behind the metadata", c.Len())
	}
	is, known := matrix.FirstRowType(int(kind))
	switch {
	case c.Err() != nil:
		return nil, c.Err()
	case m.rows < 0 || m.cols < -1:
		return nil, &wire.At{Off: at, Err: fmt.Errorf("%d rows of %d columns", m.rows, m.cols)}
	case !known:
		return nil, &wire.At{Off: at, Err: fmt.Errorf("row type %d of Angel 1.x, want 1..%d: %w", kind, matrix.FirstRowTypes, format.ErrVersion)}
	case is == matrix.IntArbitrary:
		m.fault = fmt.Errorf("row type %v of Angel 1.x, whose bytes no document describes: %w", is, format.ErrVersion)
	}
	m.rowType = is
	return m, nil
}

func (m *matrixMeta) legacyPart(c *wire.Cursor) error {
	p := partMeta{place: c.Off(), id: c.I32("partId"), saved: counts{-1, -1, -1}}
	p.rows.Lo, p.rows.Hi = int64(c.I32("startRow")), int64(c.I32("endRow"))
	p.cols.Lo, p.cols.Hi, p.nnz = c.I64("startCol"), c.I64("endCol"), c.I64("nnz")
	p.file = readUTF(c, "fileName")
	p.off, p.size = c.I64("offset"), c.I64("length")
	n := c.I32("number of rows")
	checkCount(c, n, 12)
	for i := int32(0); i < n && c.Err() == nil; i++ {
		p.rowMetas.add(rowMeta{id: c.I32("rowId"), off: c.I64("offset")})
	}
	if c.Err() != nil {
		return c.Err()
	}
	m.parts = append(m.parts, p)
	return p.plausible()
}

// frames reads where the rows of every partition begin and how long they are, for formats that say it among the data.
func (s *stored) frames(ctx context.Context, b blob.Bucket, m *matrixMeta) error {
	for i := range m.parts {
		p := &m.parts[i]
		file := blob.Join(s.dir.path, p.file)
		o, err := s.dir.open(ctx, b, p)
		if err != nil {
			return err
		}
		if p.size > o.Size() || p.off > o.Size()-p.size {
			err = &wire.At{Off: o.Size(), Err: fmt.Errorf("%d bytes, want %d: %w", o.Size(), p.size, wire.ErrTruncated)}
		} else if s.layout.csr {
			err = p.frameCSR(o)
		} else {
			err = p.frameLegacy(ctx, o, m)
		}
		o.Close()
		if err != nil {
			return format.Wrap(name, file, err)
		}
	}
	return nil
}

func (p *partMeta) frameLegacy(ctx context.Context, o blob.Object, m *matrixMeta) error {
	at, end := p.off, p.off+p.size
	next := func(n int64) *wire.Cursor {
		b := make([]byte, n)
		if at+n > end {
			return wire.NewCursor(nil, at, wire.Big)
		}
		if err := wire.ReadAt(o, b, at); err != nil {
			b = nil
		}
		at += n
		return wire.NewCursor(b, at-n, wire.Big)
	}
	c := next(4)
	n := int64(c.I32("number of rows"))
	if c.Err() == nil && n != int64(p.rowMetas.n) {
		c.Fail("%d rows, the metadata say %d", n, p.rowMetas.n)
	}
	each := legacyEach(m)
	var framed rowList
	for _, r := range p.rowMetas.all() {
		if c.Err() != nil || ctx.Err() != nil {
			break
		}
		head := int64(4)
		if m.rowType.Layout() == matrix.RowSparse {
			head = 8
		}
		c = next(head)
		if id := c.I32("row id"); c.Err() == nil && id != r.id {
			c.Fail("row %d, the metadata say %d", id, r.id)
		}
		count := p.cols.Len()
		if m.rowType.Layout() == matrix.RowSparse {
			count, r.kind = int64(c.I32("number of values")), 1
		}
		if c.Err() == nil && (count < 0 || count != int64(int32(count)) || count > (end-at)/each) {
			c.Fail("row %d has %d values, %d bytes remain: %w", r.id, count, end-at, wire.ErrTruncated)
			break
		}
		r.n, r.off = int32(count), at
		at += count * each
		framed.add(r)
	}
	p.rowMetas = framed
	if c.Err() == nil && at != end {
		return &wire.At{Off: at, Err: fmt.Errorf("%d bytes behind the last row", end-at)}
	}
	return errorsFirst(c.Err(), ctx.Err)
}

// legacyEach is the size of a value with its column id, if that is stored.
func legacyEach(m *matrixMeta) int64 {
	l := &valueBinary
	if m.rowType.Layout() == matrix.RowSparse {
		l = &colIDValueBinary
	}
	return l.each(style{long: m.rowType.LongKeys()}, elementOf(m.rowType).Size())
}

// legacyRuns are the rows of a partition of 1.x.
func (p *piece) legacyRuns(m *matrixMeta, cols matrix.Range) (runs []run) {
	for _, r := range p.rowMetas.all() {
		l := &valueBinary
		if r.kind != 0 {
			l = &colIDValueBinary
		}
		n := int64(r.n)
		runs = append(runs, run{layout: l, off: r.off, size: n * legacyEach(m), rows: spanOf(r), cols: cols, records: n,
			dense: n == cols.Len()})
	}
	return runs
}
