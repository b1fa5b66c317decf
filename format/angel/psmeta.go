package angel

import (
	"fmt"
	"math"
	"strings"

	"thole.example/wire"
)

// parsePSMeta reads the metadata that a single parameter server writes: big-endian and without name, format, row type and
// size of the matrix.
//
//	int32 matrixId | int32 nPart | nPart x {
//	  int32 partId, startRow, endRow | int64 startCol, endCol, nnz
//	  int32 saveRowNum, saveColNum, saveColElemNum | UTF fileName | int64 offset, length
//	  int32 nRow | nRow x { int32 rowId | int64 offset | int32 elementNum | int32 saveType } }
func parsePSMeta(b []byte) (*matrixMeta, error) {
	c := wire.NewCursor(b, 0, wire.Big)
	m := &matrixMeta{id: c.I32("matrixId"), rowType: -1, cols: -1, origin: fromServer,
		options: map[string]string{}}
	n := c.I32("nPart")
	checkCount(c, n, 74)
	for range n {
		p := partMeta{place: c.Off(), id: c.I32("partId")}
		p.rows.Lo, p.rows.Hi = int64(c.I32("startRow")), int64(c.I32("endRow"))
		p.cols.Lo, p.cols.Hi, p.nnz = c.I64("startCol"), c.I64("endCol"), c.I64("nnz")
		p.saved = counts{c.I32("saveRowNum"), c.I32("saveColNum"), c.I32("saveColElemNum")}
		p.file = readUTF(c, "fileName")
		p.off, p.size = c.I64("offset"), c.I64("length")
		rows := c.I32("nRow")
		checkCount(c, rows, 20)
		for range rows {
			if c.Err() != nil {
				break
			}
			r := rowMeta{id: c.I32("rowId"), off: c.I64("offset"), n: c.I32("elementNum"), kind: c.I32("saveType")}
			p.list(r, m)
		}
		if c.Err() != nil {
			return nil, c.Err()
		}
		if err := p.plausible(); err != nil {
			return nil, err
		}
		m.rows = max(m.rows, int32(p.rows.Hi))
		m.parts = append(m.parts, p)
	}
	if c.Err() == nil && c.Len() > 0 {
		c.Fail("%d bytes behind the metadata", c.Len())
	}
	return m, c.Err()
}

// plausible reports numbers that JSON metadata cannot have either.
func (p *partMeta) plausible() error {
	bad := p.id < 0 || p.rows.Lo < 0 || p.rows.Hi < p.rows.Lo || p.rows.Hi > math.MaxInt32 || p.off < 0 || p.size < 0 || p.file == ""
	for _, r := range p.rowMetas.all() {
		bad = bad || r.id < 0 || r.n < 0
	}
	if bad {
		return &wire.At{Off: p.place, Err: fmt.Errorf("partition %d of rows %v in file %q, bytes from %d on, %d of them: not what Angel writes",
			p.id, p.rows, p.file, p.off, p.size)}
	}
	return nil
}

// checkCount wants that so many entries of at least so many bytes remain.
func checkCount(c *wire.Cursor, n int32, each int) {
	if c.Err() == nil && (n < 0 || int64(n)*int64(each) > int64(c.Len())) {
		c.Fail("%d entries of at least %d bytes, %d bytes remain: %w", n, each, c.Len(), wire.ErrTruncated)
	}
}

// readUTF reads a string as Java's streams write it: two bytes of length, and UTF-8 with a zero byte as two.
func readUTF(c *wire.Cursor, what string) string {
	n := c.U16(what)
	return strings.ReplaceAll(string(c.Bytes(int(n), what)), "\xc0\x80", "\x00")
}
