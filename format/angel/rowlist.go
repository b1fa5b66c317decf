package angel

import (
	"iter"
	"slices"
	"sort"

	"thole.example/wire"
)

// rowMeta is what the metadata say of one row of a partition.
type rowMeta struct {
	id   int32
	off  int64
	n    int32 // stored elements; -1: not said
	kind int32 // saveType
}

// chunkRows is how many rows of a list are packed together.
const chunkRows = 256

// rowList is a list of rows that takes little memory, since there may be tens of millions: ids mostly count up, rows of dense
// matrices have the same length, offsets lie near a straight line. Rows are packed by chunks: of each of the four numbers a
// line, and how far the rows are from it.
type rowList struct {
	n      int
	last   int32 // id of the last row
	chunks []rowChunk
	rest   []byte    // distances from the lines, chunk after chunk
	tail   []rowMeta // rows behind the chunks
}

// rowChunk packs id, off, n and kind of rows.
type rowChunk struct {
	lines  [4]line
	at     int   // where its distances begin in rest
	values int64 // elements of its rows
}

// line says that number i is base + i*step + a distance of so many bytes (0, 1, 2, 4 or 8). It counts modulo 2^64.
type line struct {
	base, step uint64
	width      uint8
}

func listRows(rows ...rowMeta) (l rowList) {
	for _, r := range rows {
		l.add(r)
	}
	return l
}

func (l *rowList) add(r rowMeta) {
	l.tail, l.last = append(l.tail, r), r.id
	l.n++
	if len(l.tail) == chunkRows {
		l.pack()
	}
}

// pack makes a chunk of the tail. Only full chunks may be followed by others.
func (l *rowList) pack() {
	if len(l.tail) == 0 {
		return
	}
	c := rowChunk{at: len(l.rest)}
	for _, r := range l.tail {
		c.values += int64(r.n)
	}
	var v [chunkRows]uint64
	for k := range c.lines {
		for i, r := range l.tail {
			v[i] = r.number(k)
		}
		c.lines[k], l.rest = packLine(l.rest, v[:len(l.tail)])
	}
	l.chunks, l.tail = append(l.chunks, c), l.tail[:0]
}

// number is the id, off, n or kind.
func (r *rowMeta) number(k int) uint64 {
	return [...]uint64{uint64(r.id), uint64(r.off), uint64(r.n), uint64(r.kind)}[k]
}

func packLine(dst []byte, v []uint64) (line, []byte) {
	ln := line{base: v[0]}
	if last := len(v) - 1; last > 0 {
		ln.step = uint64(int64(v[last]-v[0]) / int64(last))
	}
	least, most := int64(0), int64(0)
	for i := range v {
		v[i] -= ln.base + uint64(i)*ln.step
		least, most = min(least, int64(v[i])), max(most, int64(v[i]))
	}
	ln.base += uint64(least)
	switch spread := uint64(most) - uint64(least); {
	case spread == 0:
	case spread < 1<<8:
		ln.width = 1
	case spread < 1<<16:
		ln.width = 2
	case spread < 1<<32:
		ln.width = 4
	default:
		ln.width = 8
	}
	for _, d := range v {
		d -= uint64(least)
		for k := range ln.width {
			dst = append(dst, byte(d>>(8*k)))
		}
	}
	return ln, dst
}

// number is number i of the line, whose distances b begins with.
func (ln *line) number(b []byte, i int) uint64 {
	d := uint64(0)
	if w := int(ln.width); w > 0 {
		for k, c := range b[i*w : i*w+w] {
			d |= uint64(c) << (8 * k)
		}
	}
	return ln.base + uint64(i)*ln.step + d
}

func (l *rowList) at(i int) rowMeta {
	k := i / chunkRows
	if k >= len(l.chunks) {
		return l.tail[i-k*chunkRows]
	}
	c := &l.chunks[k]
	rest := l.rest[c.at:]
	count := min(l.n-k*chunkRows, chunkRows)
	i -= k * chunkRows
	var v [4]uint64
	for j := range c.lines {
		ln := &c.lines[j]
		v[j] = ln.number(rest, i)
		rest = rest[count*int(ln.width):]
	}
	return rowMeta{id: int32(v[0]), off: int64(v[1]), n: int32(v[2]), kind: int32(v[3])}
}

func (l *rowList) all() iter.Seq2[int, rowMeta] { return l.span().all() }

// change replaces every row by what f makes of it.
func (l *rowList) change(f func(rowMeta) rowMeta) {
	var out rowList
	for _, r := range l.all() {
		out.add(f(r))
	}
	*l = out
}

// shift moves all offsets that are there.
func (l *rowList) shift(by int64) {
	if by != 0 {
		l.change(func(r rowMeta) rowMeta {
			if r.off >= 0 {
				r.off += by
			}
			return r
		})
	}
}

// sort puts rows in the order of their ids.
func (l *rowList) sort() {
	last := int32(-1 << 31)
	for _, r := range l.all() {
		if r.id < last {
			rows := l.span().rows(0, l.n)
			slices.SortStableFunc(rows, func(a, b rowMeta) int { return compare(int64(a.id), int64(b.id)) })
			*l = listRows(rows...)
			return
		}
		last = r.id
	}
}

// append writes the list as bytes that readRowList reads.
func (l *rowList) append(dst []byte) []byte {
	l.pack()
	dst = wire.AppendU64(dst, wire.Little, uint64(l.n))
	for i := range l.chunks {
		for _, ln := range l.chunks[i].lines {
			dst = append(wire.AppendU64(wire.AppendU64(dst, wire.Little, ln.base), wire.Little, ln.step), ln.width)
		}
	}
	return append(dst, l.rest...)
}

func readRowList(b []byte, base int64) (rowList, error) {
	c := wire.NewCursor(b, base, wire.Little)
	n := c.I64("rows")
	count := c.Count(int64(uint64(n)+chunkRows-1)/chunkRows, 4*17, int64(len(b)), "chunks of rows")
	l := rowList{n: int(n), chunks: make([]rowChunk, count)}
	need := 0
	for i := range l.chunks {
		l.chunks[i].at = need
		for k := range l.chunks[i].lines {
			ln := line{c.U64("base"), c.U64("step"), c.U8("width")}
			if ln.width > 8 || ln.width&(ln.width-1) != 0 {
				c.Fail("distances of %d bytes", ln.width)
			}
			l.chunks[i].lines[k] = ln
			need += int(ln.width) * min(l.n-i*chunkRows, chunkRows)
		}
	}
	if c.Err() == nil && need != c.Len() {
		c.Fail("%d bytes of distances, want %d", c.Len(), need)
	}
	l.rest = slices.Clone(c.Bytes(c.Len(), "distances"))
	if c.Err() != nil {
		return rowList{}, c.Err()
	}
	for i, r := range l.all() {
		l.chunks[i/chunkRows].values += int64(r.n)
	}
	return l, nil
}

// span is a stretch of a list.
type span struct {
	list   *rowList
	lo, hi int
}

func (l *rowList) span() span { return span{l, 0, l.n} }

// spanOf is a span of a list of its own.
func spanOf(rows ...rowMeta) span {
	l := listRows(rows...)
	return l.span()
}

func (s span) len() int            { return s.hi - s.lo }
func (s span) at(i int) rowMeta    { return s.list.at(s.lo + i) }
func (s span) cut(lo, hi int) span { return span{s.list, s.lo + lo, s.lo + hi} }

// rows are those from number lo to before number hi.
func (s span) rows(lo, hi int) []rowMeta {
	rows := make([]rowMeta, 0, hi-lo)
	for _, r := range s.cut(lo, hi).all() {
		rows = append(rows, r)
	}
	return rows
}

func (s span) all() iter.Seq2[int, rowMeta] {
	return func(yield func(int, rowMeta) bool) {
		for i := range s.len() {
			if !yield(i, s.at(i)) {
				return
			}
		}
	}
}

// find is the number of the first row with that id or a later one, of rows in ascending order.
func (s span) find(id int64) int {
	return sort.Search(s.len(), func(i int) bool { return int64(s.at(i).id) >= id })
}

// values are the elements of all rows.
func (s span) values() (n int64) {
	for i := s.lo; i < s.hi; {
		if k := i / chunkRows; i%chunkRows == 0 && i+chunkRows <= s.hi {
			n += s.list.chunks[k].values
			i += chunkRows
			continue
		}
		n += int64(s.list.at(i).n)
		i++
	}
	return n
}

// rowCost is about how many bytes a row takes while its values are in memory, besides these.
const rowCost = 32

// fill is how many of the first rows a block of most values holds, and their values. 0 rows: the first has more.
func (s span) fill(most int64) (rows int, values int64) {
	for _, r := range s.all() {
		if values+int64(r.n) > most || rows == maxBlock/rowCost {
			break
		}
		values += int64(r.n)
		rows++
	}
	return rows, values
}

// each reports whether every row has n elements.
func (s span) each(n int64) bool {
	for _, r := range s.all() {
		if int64(r.n) != n {
			return false
		}
	}
	return true
}

// fill sets how many elements rows have that do not say it.
func (l *rowList) fill(n int32) {
	for _, r := range l.all() {
		if r.n < 0 {
			l.change(func(r rowMeta) rowMeta {
				if r.n < 0 {
					r.n = n
				}
				return r
			})
			return
		}
	}
}
