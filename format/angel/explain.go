package angel

import (
	"context"
	"errors"
	"fmt"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// Entries of a list and records of a partition that are printed: so many from the beginning, so many from the end.
const (
	headEntries = 6
	headRecords = 8
	tailRecords = 3
)

// Explain prints the metadata field by field and the first and last records of every partition. A matrix that cannot
// be understood does not hide the others; its error comes at the end.
func (c codec) Explain(ctx context.Context, b blob.Bucket, root string, d *dump.Printer) error {
	t, err := list(ctx, b, root)
	if err != nil {
		return err
	}
	if t.single != nil && len(t.dirs) == 0 {
		t.dirs = []dir{*t.single}
	}
	if len(t.dirs) == 0 {
		return format.Wrap(name, root, fmt.Errorf("%w: %w", errNoMatrix, format.ErrUnknown))
	}
	for _, f := range t.files {
		d.Head("file %s, %d bytes", f.Name, f.Size)
	}
	var failed []error
	for i := range t.dirs {
		failed = append(failed, c.explainMatrix(ctx, b, &t.dirs[i], d))
	}
	return errors.Join(append(failed, d.Err())...)
}

func (c codec) explainMatrix(ctx context.Context, b blob.Bucket, at *dir, d *dump.Printer) error {
	if at.meta == "" {
		d.Head("folder %s, %d files without metadata", at.path, len(at.sizes))
	}
	metas := at.metas
	if len(metas) == 0 && at.meta != "" {
		metas = []string{at.meta}
	}
	for _, meta := range metas {
		if err := explainMeta(ctx, b, blob.Join(at.path, meta), d); err != nil {
			return err
		}
	}
	m, err := c.openMatrix(ctx, b, at, &format.Options{})
	if err != nil {
		return err
	}
	if m.layout == nil {
		return &format.Error{Codec: name, Path: blob.Join(at.path, at.meta), Off: -1, Err: m.fault}
	}
	for i := range m.pieces {
		if err := m.explain(ctx, b, &m.pieces[i], d); err != nil {
			return err
		}
	}
	return nil
}

// explainMeta prints a metadata file: JSON field by field, binary ones partition by partition.
func explainMeta(ctx context.Context, b blob.Bucket, file string, d *dump.Printer) error {
	data, err := readLimited(ctx, b, file)
	if err != nil {
		return err
	}
	d.Head("file %s, %d bytes: metadata of a matrix", file, len(data))
	json, base, err := unframe(data)
	if err != nil {
		parse := parseLegacy
		if blob.Base(file) == "psmeta" {
			parse = parsePSMeta
		}
		m, other := parse(data)
		if other != nil {
			d.Field(0, data[:min(len(data), 32)], "not understood: %v", err)
			return format.Wrap(name, file, errors.Join(err, other))
		}
		explainBinary(m, data, d)
		return nil
	}
	if base > 0 {
		d.Field(0, data[:base], "length of the JSON: %d bytes", len(json))
	}
	s := &scanner{b: json, base: base}
	explainObject(s, d, 0)
	if rest := data[base+int64(len(json)):]; len(rest) > 0 {
		d.Field(base+int64(len(json)), rest[:min(len(rest), 32)], "%d bytes behind the JSON, which Angel does not read", len(rest))
	}
	return format.Wrap(name, file, s.err)
}

// explainBinary prints the metadata of 1.x and of parameter servers.
func explainBinary(m *matrixMeta, data []byte, d *dump.Printer) {
	head := int64(len(data))
	if len(m.parts) > 0 {
		head = m.parts[0].place
	}
	d.Field(0, data[:min(head, 32)], "matrix %d %q, %d bytes before the first partition", m.id, m.name, head)
	for i := range m.parts {
		p := &m.parts[i]
		if i == headEntries {
			d.Gap(p.place, int64(len(data))-p.place, "%d more partitions", len(m.parts)-i)
			return
		}
		d.Field(p.place, data[p.place:min(p.place+12, int64(len(data)))],
			"partition %d: rows %v, columns %v, file %q, bytes %d to %d, %d rows saved",
			p.id, p.rows, p.cols, p.file, p.off, p.off+p.size, p.rowMetas.n)
	}
}

// meanings are what the keys of the metadata stand for.
var meanings = map[string]string{
	"matrixId":        "id of the matrix in the job that saved it",
	"matrixName":      "name of the matrix",
	"formatClassName": "format of the data files",
	"row":             "rows in memory, saved or not",
	"col":             "columns",
	"blockRow":        "rows of a partition",
	"blockCol":        "columns of a partition",
	"options":         "attributes of the matrix",
	"partMetas":       "partitions, by id",
	"partId":          "id of the partition",
	"startRow":        "its first row",
	"endRow":          "behind its last row",
	"startCol":        "its first column",
	"endCol":          "behind its last column",
	"nnz":             "elements in memory",
	"saveRowNum":      "rows saved (row formats)",
	"saveColNum":      "columns saved (column formats)",
	"saveColElemNum":  "values of a column (column formats)",
	"fileName":        "data file that holds it",
	"offset":          "where it begins in that file",
	"length":          "its bytes",
	"rowMetas":        "rows saved, by id",
	"rowId":           "id of the row",
	"elementNum":      "elements of the row in this partition",
	"saveType":        "0 dense, 1 sparse, in snapshots",
	ownKey:            "additions that Angel passes over",
	"version":         "of the additions",
	"present":         "which values of sparse rows are there, a bit each",
	"crc32c":          "checksum of the bytes of the partition, or of the JSON up to here",
	rangeStart:        "first column id",
	rangeEnd:          "behind the last column id",
}

// explainObject prints the members of an object, one a line; of long lists of partitions or rows only the first.
func explainObject(s *scanner, d *dump.Printer, depth int) {
	count, from := 0, int64(0)
	if depth > maxDepth {
		s.skip(depth)
		return
	}
	s.object(func(key []byte, off int64) {
		_, number := parseInt32(key)
		count++
		if number > 0 && count > headEntries {
			if count == headEntries+1 {
				from = off
			}
			s.skip(depth)
			return
		}
		meaning := meanings[string(key)]
		start := off - s.base
		if s.peek() == '{' {
			d.Text(off, s.b[start:s.pos+1], "%*s%s", 2*depth, "", orElse(meaning, "entry "+string(key)))
			explainObject(s, d, depth+1)
			return
		}
		at := s.pos
		s.skip(0)
		value := s.b[at:s.pos]
		if string(key) == "rowType" {
			v, _ := parseInt32(value)
			meaning = rowType(v).String()
		}
		d.Text(off, s.b[start:s.pos], "%*s%s", 2*depth, "", meaning)
	})
	if count > headEntries && from > 0 {
		d.Gap(from, s.off()-from, "%d more entries", count-headEntries)
	}
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// explain prints the first and the last records of a partition, or of each of its stretches.
func (s *stored) explain(ctx context.Context, b blob.Bucket, p *piece, d *dump.Printer) error {
	file := blob.Join(s.dir.path, p.file)
	d.Head("file %s, bytes %d to %d: partition %d, rows %v, columns %v, %d records of %s",
		file, p.off, p.off+p.size, p.id, p.rows, p.cols, p.records, s.layout.name)
	o, err := b.Open(ctx, file)
	if err != nil {
		return err
	}
	defer o.Close()
	if s.layout.csr || s.layout.loose && !s.layout.text {
		head := make([]byte, min(p.size, 64))
		if err := wire.ReadAt(o, head, p.off); err != nil {
			return format.Wrap(name, file, err)
		}
		d.Field(p.off, head, "the first of %d bytes", p.size)
		return nil
	}
	runs := p.whole(p.cols, s.layout)
	for i := range runs[:min(len(runs), headEntries)] {
		u := &runs[i]
		e := explainer{s: s, u: u, shift: p.shift, d: d}
		if i > 0 && runs[i-1].off+runs[i-1].size < u.off {
			d.Gap(runs[i-1].off+runs[i-1].size, u.off-runs[i-1].off-runs[i-1].size, "head of row %d", u.rows.at(0).id)
		}
		if u.layout.text {
			err = e.lines(o)
		} else {
			err = e.binary(o)
		}
		if err != nil {
			return format.Wrap(name, file, err)
		}
	}
	if len(runs) > headEntries {
		u := runs[headEntries]
		d.Gap(u.off, p.off+p.size-u.off, "%d more stretches of rows", len(runs)-headEntries)
	}
	return nil
}

// explainer prints records of one run.
type explainer struct {
	s     *stored
	u     *run
	shift int64
	d     *dump.Printer
}

// place is where record i lies, as far as the metadata say it: its row, and its number within the row.
func (e *explainer) place(i int64) (row int32, within int64) {
	for _, r := range e.u.rows.all() {
		if i < int64(r.n) {
			return r.id, i
		}
		i -= int64(r.n)
	}
	return -1, i
}

func (e *explainer) binary(o blob.Object) error {
	st := style{long: e.s.kind.LongKeys()}
	each := e.u.layout.fixed(st, e.u.width(), e.s.meta.DType.Size())
	shown := min(e.u.records, headRecords)
	tail := max(shown, e.u.records-tailRecords)
	if each > window {
		tail, shown = e.u.records, min(shown, 1)
	}
	for i := int64(0); i < e.u.records; i++ {
		if i == shown && tail > shown {
			e.d.Gap(e.u.off+i*each, (tail-i)*each, "%d records", tail-i)
			i = tail
			if i == e.u.records {
				break
			}
		}
		rec := make([]byte, min(each, window))
		if err := wire.ReadAt(o, rec, e.u.off+i*each); err != nil {
			return err
		}
		e.record(i, e.u.off+i*each, rec, st)
	}
	return nil
}

// record prints the fields of a binary record, of long ones those that rec has.
func (e *explainer) record(i, off int64, rec []byte, st style) {
	c := wire.NewCursor(rec, off, wire.Big)
	l := e.u.layout
	row, within := e.place(i)
	if l.rowID {
		row = c.I32("row id")
		e.d.Field(off, rec[:4], "row %d", row)
	}
	where := fmt.Sprintf("row %d, value %d", row, within)
	if l.colID {
		from := c.Off() - off
		id := int64(0)
		if st.long {
			id = c.I64("column id")
		} else {
			id = int64(c.I32("column id"))
		}
		id += e.shift
		e.d.Field(c.Off()-int64(st.idSize()), rec[from:from+int64(st.idSize())], "column %d", id)
		where = fmt.Sprintf("row %d", row)
	}
	size := e.s.meta.DType.Size()
	for k := 0; c.Len() >= size; k++ {
		if l.column {
			where = fmt.Sprintf("row %d", e.u.rows.at(k).id)
		}
		at := c.Off()
		b := c.Bytes(size, "value")
		e.d.Field(at, b, "%s: %s", where, bigEndian(e.s.meta.DType, b))
	}
}

// bigEndian is a big-endian number as text.
func bigEndian(d matrix.DType, b []byte) string {
	switch d {
	case matrix.F64:
		return bigEndianOf[float64](b)
	case matrix.F32:
		return bigEndianOf[float32](b)
	case matrix.I64:
		return bigEndianOf[int64](b)
	}
	return bigEndianOf[int32](b)
}

func bigEndianOf[T Number](b []byte) string {
	var v [1]T
	wire.Get(v[:], b, wire.Big)
	return string(AppendNumber(nil, v[0]))
}

// lines prints the first and the last lines of a text partition.
func (e *explainer) lines(o blob.Object) error {
	buf := make([]byte, min(e.u.size, 4096))
	if err := wire.ReadAt(o, buf, e.u.off); err != nil {
		return err
	}
	at, i := 0, int64(0)
	for ; i < headRecords && at < len(buf); i++ {
		at = e.line(buf, at, i, e.u.off)
	}
	if int64(at) == e.u.size {
		return nil
	}
	tail := make([]byte, min(e.u.size-int64(at), 4096))
	base := e.u.off + e.u.size - int64(len(tail))
	if err := wire.ReadAt(o, tail, base); err != nil {
		return err
	}
	first := len(tail) // back to the beginning of the lines to print
	for k := int64(0); k < min(tailRecords, e.u.records-i) && first > 0; k++ {
		for first--; first > 0 && tail[first-1] != '\n'; first-- {
		}
	}
	n := e.u.records - min(tailRecords, e.u.records-i)
	e.d.Gap(e.u.off+int64(at), base+int64(first)-e.u.off-int64(at), "%d records", n-i)
	for ; first < len(tail); n++ {
		first = e.line(tail, first, n, base)
	}
	return nil
}

// line prints line number i, which begins at b[at], and says where the next begins.
func (e *explainer) line(b []byte, at int, i, base int64) (next int) {
	end := at
	for end < len(b) && b[end] != '\n' {
		end++
	}
	next = min(end+1, len(b))
	l := e.u.layout
	meaning := "row id, column id, value"
	switch row, within := e.place(i); {
	case l.column:
		meaning = fmt.Sprintf("column id, values of %d rows", e.u.width())
	case l.rowID:
	case l.colID:
		meaning = fmt.Sprintf("row %d: column id, value", row)
	default:
		meaning = fmt.Sprintf("row %d, value %d", row, within)
	}
	e.d.Text(base+int64(at), b[at:next], "%s", meaning)
	return next
}
