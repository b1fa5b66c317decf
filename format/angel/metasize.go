package angel

import (
	"fmt"
	"math"

	"thole.example/format"
	"thole.example/matrix"
)

// manyRows is how many rows a matrix has at least whose rows without cells the metadata leave out, as our key says.
const manyRows = 1 << 16

// manyEntries is how many rows of all partitions the metadata list before a matrix of which nobody said how large its partitions
// are is cut into ranges of rows, each of which is listed once, instead of ranges of columns.
const manyEntries = 1 << 20

// recordBytes is how long a record of a column format may be, which is in memory as a whole.
const recordBytes = 2 << 20

// metaSize is what the metadata of a matrix will be: how many rows they list in how many partitions, and at most how many
// bytes they have.
type metaSize struct{ listed, parts, bytes int64 }

// partBytes and rowBytes are the most that a partition takes in the metadata without its rows, and what a row takes.
func (p *plan) metaSize() metaSize {
	m := &p.meta
	cell := matrix.Rect{Rows: matrix.Range{Hi: p.grid.row}, Cols: matrix.Range{Hi: p.grid.col}}
	z := metaSize{parts: int64(p.grid.cells()), listed: savedCount(m)}
	times := p.grid.across
	if p.hash > 0 {
		times, z.parts = int64(p.hash), int64(p.hash)
	}
	values := saturated(cell.Rows.Len(), cell.Cols.Len())
	size := saturated(values, p.recordBound())
	end := saturated(size, int64(p.perFile))
	wide := widerOf(m.ColLo, m.ColLo+m.Cols)
	part := partMeta{
		id: int32(z.parts), rows: matrix.Range{Lo: m.Rows, Hi: m.Rows}, cols: matrix.Range{Lo: wide, Hi: wide},
		nnz: values, file: fmt.Sprint(z.parts), off: end, size: size, version: p.version, hasSum: p.sums, sum: math.MaxUint32,
	}
	row := rowMeta{id: int32(max(0, m.Rows-1)), off: end, n: int32(min(cell.Cols.Len(), math.MaxInt32))}
	if p.layout.column {
		part.saved.cols, part.saved.elems = row.n, int32(cell.Rows.Len())
		row.off = -1
	} else {
		part.saved.rows = int32(cell.Rows.Len())
	}
	d := p.describe()
	if p.unlisted() {
		d.own.saved = m.SavedRows()
	}
	const frames = 128 // of the file, the partitions, each of them, and our key
	own := int64(len(d.appendHead(nil)) + len(appendOwn(nil, &d.own)))
	z.listed = saturated(z.listed, times)
	z.bytes = saturated(z.listed, int64(len(appendRow(nil, row))+1))
	each := len(appendPartEnd(appendPartHead(nil, &part), &part)) + len(`,"":,"rowMetas":{}`) + len(part.file)
	z.bytes += saturated(z.parts, int64(each))
	z.bytes = max(z.bytes, z.bytes+own+frames)
	return z
}

// recordBound is more than the bytes that a value takes in the data, with what is beside it.
func (p *plan) recordBound() int64 {
	if !p.layout.text {
		return p.layout.fixed(p.style, 1, elementOf(p.kind).Size())
	}
	longest := map[matrix.DType]int64{matrix.F64: 24, matrix.F32: 14, matrix.I64: 20, matrix.I32: 11}
	n := int64(len(p.style.sep))*2 + 1 + longest[elementOf(p.kind)]
	if p.layout.colID {
		n += int64(len(fmt.Sprint(widerOf(p.meta.ColLo, p.meta.ColLo+p.meta.Cols))))
	}
	if p.layout.rowID {
		n += int64(len(fmt.Sprint(p.meta.Rows)))
	}
	return n
}

// widerOf is the number that takes more digits.
func widerOf(a, b int64) int64 {
	if len(fmt.Sprint(a)) > len(fmt.Sprint(b)) {
		return a
	}
	return b
}

// saturated is a product, or an eighth of the largest number where it is beyond that.
func saturated(a, b int64) int64 {
	if n, ok := matrix.Cells(a, b); ok && n < math.MaxInt64/8 {
		return n
	}
	return math.MaxInt64 / 8
}

// checkSize refuses what has more metadata than are read, and says which settings have less.
func (p *plan) checkSize() error {
	if p.filled && p.grid.col > math.MaxInt32 {
		return fmt.Errorf("matrix %s: %d columns in a partition, want at most %d (%s): %w",
			p.meta.Name, p.grid.col, math.MaxInt32, optBlockCols, format.ErrLimit)
	}
	z := p.metaSize()
	if z.bytes <= maxMeta {
		return nil
	}
	instead := "cut it into several matrices, or write another format, such as daphne or safetensors"
	for times := int64(1 << 10); times > 0; times /= 2 {
		q := *p
		cols := (p.meta.Cols-1)/times + 1
		if q.hash = 0; times >= p.grid.across && p.hash == 0 || cols < 1 {
			continue
		}
		if q.grid, _ = newGrid(p.grid.whole, p.grid.row, cols); q.metaSize().bytes <= maxMeta {
			instead = fmt.Sprintf("%s=%d has %d bytes of them; or write another format, such as daphne or safetensors",
				optBlockCols, cols, q.metaSize().bytes)
			break
		}
	}
	return fmt.Errorf("matrix %s: up to %d bytes of metadata, which list %d rows in %d partitions; they may have at most %d: %s: %w",
		p.meta.Name, z.bytes, z.listed, z.parts, int64(maxMeta), instead, format.ErrLimit)
}
