package angel

import (
	"math"
	"slices"
	"sort"

	"thole.example/matrix"
	"thole.example/wire"
)

// run is a stretch of a data file with records of one kind: a whole partition, or the part of it that is wanted, as far
// as that lies at places that are known.
type run struct {
	layout    *layout
	off, size int64
	rows      span // saved rows that the records are of, ascending
	cols      matrix.Range
	records   int64
	dense     bool  // every row has every column of cols
	skipped   int64 // records of the partition before the first
	part      bool  // not the whole partition
	instead   *run  // what to read where ids are not in order, so that no place can be calculated
}

// width is the number of values of a record.
func (u *run) width() int64 {
	if u.layout.column {
		return int64(u.rows.len())
	}
	return 1
}

// whole is the partition as runs.
func (p *piece) whole(cols matrix.Range, l *layout) []run {
	if l.framed || p.runs != nil {
		runs := slices.Clone(p.runs)
		for i := range runs {
			u := &runs[i]
			u.cols = cols
			u.dense = u.rows.each(cols.Len())
		}
		return runs
	}
	return []run{{layout: l, off: p.off, size: p.size, rows: p.rowMetas.span(), cols: cols, records: p.records, dense: p.dense}}
}

// minSkip is how many bytes a row has at least where single columns of it are sought instead of reading it.
const minSkip = 4 << 10

// wanted is the part of the partition that is wanted, as runs.
func (w *walk[T]) wanted(p *piece) (runs []run, part bool, err error) {
	l := w.s.layout
	all := p.whole(w.cols, l)
	rows, cols := w.want.Rows.Intersect(p.rows), w.want.Cols.Intersect(w.cols)
	if rows == p.rows && cols == w.cols || l.csr {
		return all, false, nil
	}
	if l.column {
		u, err := w.someColumns(all[0], cols, p.version > 0)
		return []run{u}, u.part, err
	}
	for _, u := range all {
		more, err := w.someRows(u, p.version > 0, cols)
		if err != nil {
			return nil, false, err
		}
		runs = append(runs, more...)
	}
	return runs, true, nil
}

// someRows is the part of a run of rows. own says that the file is ours: offsets of rows are true, columns ascend.
func (w *walk[T]) someRows(u run, own bool, cols matrix.Range) ([]run, error) {
	each := u.layout.each(w.style, sizeOf[T]())
	if each == 0 && !own {
		return []run{u}, nil
	}
	first, last := u.rows.find(w.want.Rows.Lo), u.rows.find(w.want.Rows.Hi)
	rest := u
	rest.part, rest.rows = true, u.rows.cut(first, last)
	rest.records = rest.rows.values()
	rest.off, rest.size = u.off+u.rows.cut(0, first).values()*each, rest.records*each
	if each == 0 && rest.rows.len() > 0 {
		rest.off = rest.rows.at(0).off
		rest.size = u.off + u.size - rest.off
		if last < u.rows.len() {
			rest.size = u.rows.at(last).off - rest.off
		}
	}
	if each == 0 || cols == u.cols || rest.size/max(1, int64(rest.rows.len())) < minSkip {
		return []run{rest}, nil
	}
	var runs []run
	for _, r := range rest.rows.all() {
		one, err := w.stretch(rest, r, cols, each, own)
		if err != nil {
			return nil, err
		}
		rest.off += int64(r.n) * each
		runs = append(runs, one)
	}
	return runs, nil
}

// stretch is the part of the row that the run u begins with.
func (w *walk[T]) stretch(u run, r rowMeta, cols matrix.Range, each int64, own bool) (run, error) {
	from, to := int64(0), int64(r.n)
	row := u
	row.rows, row.records, row.size, row.part = spanOf(r), to, to*each, false
	row.dense = to == u.cols.Len()
	u.instead = &row
	id := func(i int64) (int64, error) { return w.readID(u.layout, u.off+i*each) }
	var err error
	switch {
	case int64(r.n) == u.cols.Len():
		from, to = cols.Lo-u.cols.Lo, cols.Hi-u.cols.Lo
	case own && u.layout.colID:
		from, to, err = between(to, cols, id)
	default:
		cols = u.cols
	}
	u.off, u.size, u.records = u.off+from*each, (to-from)*each, to-from
	u.cols, u.dense = cols, to-from == cols.Len()
	r.n = int32(to - from)
	u.rows = spanOf(r)
	return u, err
}

// someColumns is the part of a run of columns.
func (w *walk[T]) someColumns(u run, cols matrix.Range, own bool) (run, error) {
	each := u.layout.each(w.style, int(u.width())*sizeOf[T]())
	from, to := int64(0), u.records
	all := u
	var err error
	switch {
	case each == 0 || cols == u.cols || u.rows.len() == 0:
		return u, nil
	case u.dense:
		from, to = cols.Lo-u.cols.Lo, cols.Hi-u.cols.Lo
	case own:
		from, to, err = between(to, cols, func(i int64) (int64, error) { return w.readID(u.layout, u.off+i*each) })
	default:
		return u, nil
	}
	u.off, u.size, u.records, u.skipped = u.off+from*each, (to-from)*each, to-from, from
	u.cols, u.part, u.instead = cols, true, &all
	return u, err
}

// readID reads the column id of a binary record.
func (w *walk[T]) readID(l *layout, off int64) (int64, error) {
	if l.rowID {
		off += 4
	}
	var b [8]byte
	id := b[:w.style.idSize()]
	if err := wire.ReadAt(w.o, id, off); err != nil {
		return 0, err
	}
	var out [1]int64
	fetchIDs(out[:], id, len(id), w.style.long)
	return out[0], nil
}

// between finds the ascending ids that lie in a range: those from number lo to before number hi.
func between(n int64, within matrix.Range, id func(i int64) (int64, error)) (lo, hi int64, err error) {
	search := func(to int64) int64 {
		at := sort.Search(int(min(n, math.MaxInt32)), func(i int) bool {
			if err != nil {
				return true
			}
			var v int64
			v, err = id(int64(i))
			return v >= to
		})
		return int64(at)
	}
	lo, hi = search(within.Lo), search(within.Hi)
	return lo, max(lo, hi), err
}

// runsOfRows cuts rows that lie one behind the other into runs of one kind: with column ids, or without.
func runsOfRows(p *piece, cols matrix.Range, s style, size int) []run {
	var runs []run
	off := p.off
	first := 0
	for i, r := range p.rowMetas.all() {
		l := &valueBinary
		if r.kind != 0 {
			l = &colIDValueBinary
		}
		n := int64(r.n) * l.each(s, size)
		if k := len(runs); k > 0 && runs[k-1].layout == l {
			u := &runs[k-1]
			u.rows, u.size, u.records = p.rowMetas.span().cut(first, i+1), u.size+n, u.records+int64(r.n)
			u.dense = u.dense && int64(r.n) == cols.Len()
		} else {
			first = i
			runs = append(runs, run{layout: l, off: off, size: n, rows: p.rowMetas.span().cut(i, i+1), cols: cols, records: int64(r.n),
				dense: int64(r.n) == cols.Len()})
		}
		off += n
	}
	return slices.Clip(runs)
}
