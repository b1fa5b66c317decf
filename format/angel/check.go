package angel

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// piece is one partition, checked: everything below agrees with the data file's size.
type piece struct {
	partMeta
	dense   bool  // every row has every column of the partition
	records int64 // lines or binary records
	values  int64 // stored values
	crlf    bool  // offset and size were counted with single LF line ends, and are corrected
	runs    []run // where the rows lie, in formats with more than records
}

// at is the error for something wrong with a partition's description.
func (p *partMeta) at(text string, args ...any) error {
	return &wire.At{Off: p.place, Err: fmt.Errorf("partition %d: %w", p.id, fmt.Errorf(text, args...))}
}

// checkParts makes pieces of the partitions, in the order of their ids. ranged is false for hash partitions, which have
// no columns of their own.
func checkParts(m *matrixMeta, l *layout, ranged bool) ([]piece, error) {
	pieces := make([]piece, len(m.parts))
	for i, p := range m.parts {
		pieces[i] = piece{partMeta: p}
	}
	slices.SortFunc(pieces, func(a, b piece) int { return int(a.id) - int(b.id) })
	for i := range pieces {
		p := &pieces[i]
		if i > 0 && pieces[i-1].id == p.id {
			return nil, p.at("described twice")
		}
		if err := p.checkRows(m); err != nil {
			return nil, err
		}
		if err := p.count(m, l, ranged); err != nil {
			return nil, err
		}
	}
	return pieces, nil
}

func (p *piece) checkRows(m *matrixMeta) error {
	if p.rows.Lo > p.rows.Hi || p.rows.Hi > int64(m.rows) || p.cols.Lo > p.cols.Hi {
		return p.at("rows %v, columns %v, want ranges within %d rows", p.rows, p.cols, m.rows)
	}
	deep := strings.Contains(p.file, "/") && m.origin != fromServer
	if deep || strings.ContainsAny(p.file, "\\\x00") || !fs.ValidPath(p.file) || p.file == "." {
		return p.at("file %q, want a name within the folder", p.file)
	}
	if p.off+p.size < p.off {
		return p.at("offset %d and length %d are beyond int64", p.off, p.size)
	}
	p.rowMetas.sort()
	last := int32(-1)
	for _, r := range p.rowMetas.all() {
		if !p.rows.Has(int64(r.id)) {
			return p.at("row %d, want one in %v", r.id, p.rows)
		}
		if last == r.id {
			return p.at("row %d described twice", r.id)
		}
		last = r.id
	}
	return nil
}

// count finds how many records the partition has, and compares that with its length.
func (p *piece) count(m *matrixMeta, l *layout, ranged bool) error {
	full := int64(-1) // columns of a dense row; -1: the partition does not say
	if ranged {
		full = p.cols.Len()
	}
	var err error
	if l.column {
		err = p.countColumns(m, full)
	} else {
		err = p.countRows(m, full)
	}
	if err != nil {
		return err
	}
	if err := p.checkOwn(l); err != nil {
		return err
	}
	s := style{long: m.rowType.LongKeys()}
	size := elementOf(m.rowType).Size()
	switch {
	case l.framed && !l.snapshot: // compared when the lengths were read
		p.runs = p.legacyRuns(m, p.cols)
		return nil
	case l.snapshot:
		return p.countSnapshot(s, size)
	case l.text:
		least := l.least(p.width(l))
		if p.records > (p.size+1)/least || p.records == 0 && p.size > 0 {
			return p.at("%d bytes for %d lines of at least %d", p.size, p.records, least)
		}
		return nil
	case l.loose:
		if p.records > p.size || p.records == 0 && p.size > 0 {
			return p.at("%d bytes for %d records", p.size, p.records)
		}
		return nil
	}
	each := l.fixed(s, p.width(l), size)
	if want, ok := matrix.Cells(p.records, each); !ok || want != p.size {
		return p.at("%d bytes for %d records of %d", p.size, p.records, each)
	}
	return nil
}

// width is the number of values of a record.
func (p *piece) width(l *layout) int64 {
	if l.column {
		return int64(p.rowMetas.n)
	}
	return 1
}

// countSnapshot compares the length with that of rows with and without column ids.
func (p *piece) countSnapshot(s style, size int) error {
	for _, r := range p.rowMetas.all() {
		if r.kind != 0 && r.kind != 1 {
			return p.at("row %d has saveType %d, want 0 or 1: %w", r.id, r.kind, format.ErrVersion)
		}
	}
	p.runs = runsOfRows(p, p.cols, s, size)
	want := int64(0)
	for i := range p.runs {
		want += p.runs[i].size
	}
	if want != p.size {
		return p.at("%d bytes for rows of %d", p.size, want)
	}
	return nil
}

// checkOwn holds our additions against the rest: offsets of rows ascend within the partition, and the bits of what is
// present are as many as values.
func (p *piece) checkOwn(l *layout) error {
	if p.present != nil && (!l.column || int64(len(p.present)) != (p.values+7)/8) {
		return p.at("%d bytes say which of %d values are there", len(p.present), p.values)
	}
	if p.version == 0 || l.column {
		return nil
	}
	last := p.off
	for _, r := range p.rowMetas.all() {
		if r.off < last || r.off > p.off+p.size {
			return p.at("row %d begins at byte %d, want one from %d to %d", r.id, r.off, last, p.off+p.size)
		}
		last = r.off
	}
	return nil
}

func (p *piece) countRows(m *matrixMeta, full int64) error {
	if p.saved.rows >= 0 && int(p.saved.rows) != p.rowMetas.n {
		return p.at("saveRowNum is %d, %d rows are described", p.saved.rows, p.rowMetas.n)
	}
	p.dense = full >= 0
	if m.rowType.Layout() == matrix.RowDense && full >= 0 && full == int64(int32(full)) {
		p.rowMetas.fill(int32(full))
	}
	for _, r := range p.rowMetas.all() {
		if r.n < 0 {
			return p.at("row %d without elementNum", r.id)
		}
		if full >= 0 && int64(r.n) > full {
			return p.at("row %d has %d elements in %d columns", r.id, r.n, full)
		}
		if int64(r.n) != full {
			p.dense = false
		}
		if m.rowType.Layout() == matrix.RowDense && full >= 0 && int64(r.n) != full {
			return p.at("dense row %d has %d elements, want %d", r.id, r.n, full)
		}
		p.records += int64(r.n)
	}
	p.values = p.records
	return nil
}

func (p *piece) countColumns(m *matrixMeta, full int64) error {
	rows := int64(p.rowMetas.n)
	p.records = int64(p.saved.cols)
	if p.records < 0 && m.rowType.Layout() == matrix.RowDense && full >= 0 {
		p.records = full
	}
	switch {
	case p.records < 0:
		return p.at("without saveColNum")
	case p.records > 0 && p.saved.elems >= 0 && int64(p.saved.elems) != rows:
		return p.at("saveColElemNum is %d, %d rows are described", p.saved.elems, rows)
	case p.records > 0 && rows == 0:
		return p.at("%d columns of no row", p.records)
	case full >= 0 && p.records > full:
		return p.at("saveColNum is %d in %d columns", p.records, full)
	case m.rowType.Layout() == matrix.RowDense && full >= 0 && rows > 0 && p.records != full:
		return p.at("saveColNum of dense rows is %d, want %d", p.records, full)
	}
	p.dense = full >= 0 && p.records == full
	values, ok := matrix.Cells(p.records, rows)
	if !ok {
		return p.at("%d columns of %d rows: %w", p.records, rows, format.ErrLimit)
	}
	p.values = values
	return nil
}

// checkFiles holds the partitions against the data files: every byte belongs to one partition. Text whose line ends
// have become CRLF since the save has one byte more a line than the metadata say; offsets and sizes are corrected.
func checkFiles(d *dir, l *layout, pieces []piece) (notes []string, err error) {
	of := map[string][]*piece{}
	for i := range pieces {
		of[pieces[i].file] = append(of[pieces[i].file], &pieces[i])
	}
	crlf := 0
	for i := range pieces {
		group := of[pieces[i].file]
		if group[0] != &pieces[i] {
			continue
		}
		size, ok := d.sizes[pieces[i].file]
		if !ok {
			return nil, pieces[i].at("data file %q is missing", pieces[i].file)
		}
		changed, err := checkFile(blob.Join(d.path, pieces[i].file), size, l, group)
		if err != nil {
			return nil, err
		}
		if changed {
			crlf++
		}
	}
	if crlf > 0 {
		notes = append(notes, format.Warning(fmt.Sprintf("line ends of %d data files have become CRLF since they were saved", crlf)))
	}
	stray, err := d.stray(of)
	return append(notes, stray...), err
}

// stray looks for files of which no partition is a part. One that is named as data are, and not empty, is a part of the
// matrix that would be lost.
func (d *dir) stray(of map[string][]*piece) (notes []string, err error) {
	n := 0
	for _, f := range slices.Sorted(maps.Keys(d.sizes)) {
		if len(of[f]) > 0 || slices.Contains(metaNames, blob.Base(f)) || d.sizes[f] == 0 {
			continue
		}
		if isNumber(blob.Base(f)) {
			return nil, format.Corrupt(name, blob.Join(d.path, f), 0, "%d bytes of data that the metadata do not name", d.sizes[f])
		}
		n++
	}
	if n > 0 {
		notes = append(notes, format.Warning(fmt.Sprintf("%d files that the metadata do not name", n)))
	}
	return notes, nil
}

func checkFile(file string, size int64, l *layout, group []*piece) (crlf bool, err error) {
	slices.SortFunc(group, func(a, b *piece) int {
		if a.off != b.off {
			return int(min(1, max(-1, a.off-b.off)))
		}
		return int(min(1, max(-1, a.size-b.size)))
	})
	end, lines := int64(0), int64(0)
	for _, p := range group {
		if p.off != end {
			return false, p.at("begins at byte %d of file %s, want %d, where the one before ends", p.off, p.file, end)
		}
		end += p.size
		lines += p.records
	}
	switch {
	case size == end:
		return false, nil
	case !l.text || lines == 0 || size != end+lines:
		err := fmt.Errorf("%d bytes, want %d", size, end)
		if size < end {
			err = fmt.Errorf("%w: %w", err, wire.ErrTruncated)
		}
		return false, format.Wrap(name, file, &wire.At{Off: min(size, end), Err: err})
	}
	moved := int64(0)
	for _, p := range group {
		p.off += moved
		p.size += p.records
		moved += p.records
		p.crlf, p.hasSum, p.version = true, false, 0 // neither sums nor offsets of rows are true any more
	}
	return true, nil
}
