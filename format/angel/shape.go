package angel

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// Options of the metadata that say which columns there are.
const (
	rangeStart = "feature.index.range.start"
	rangeEnd   = "feature.index.range.end"
)

// stored is a matrix whose metadata agree with themselves and with the sizes of the data files.
type stored struct {
	dir    *dir
	meta   matrix.Meta
	kind   rowType
	layout *layout // nil if the format is not known
	fault  error   // why the values cannot be read, if layout is nil
	pieces []piece // in the order of their ids
	ranged bool    // partitions have columns of their own; else ids are spread by hash
	sep    string  // "": found in each partition
	packed bool    // sparse rows without column ids are read as the first columns
	comma  bool    // numbers have a comma before the fraction
	raw    bool    // ids are shown as they are stored, cells may come twice
	sums   bool    // compare checksums
	limit  int64   // bytes of fields in a block
	notes  []string

	unordered bool // rows are not listed in the order of the data
	bucketed  bool // rows of some partition lie in the order of a hash table
}

// openMatrix reads and checks the metadata of one folder.
func (c codec) openMatrix(ctx context.Context, b blob.Bucket, d *dir, o *format.Options) (*stored, error) {
	s := &stored{dir: d, packed: o.Set[optPacked] == "accept", sums: o.Set[optChecksum] != "off", limit: maxBlock}
	if err := s.options(o); err != nil {
		return nil, err
	}
	m, err := c.readMeta(ctx, b, d, o)
	if err != nil {
		return nil, err
	}
	s.kind, s.unordered = m.rowType, m.unordered
	file := blob.Join(d.path, d.meta)
	if err := checkRowType(m.rowType); err != nil && m.fault == nil {
		return nil, format.Wrap(name, file, err)
	}
	if s.layout, s.fault = c.findStored(m); s.fault != nil {
		s.layout = nil
		s.notes = append(s.notes, format.Warning("its values cannot be read: "+s.fault.Error()))
	} else if s.layout.framed && !s.layout.snapshot {
		if err := s.frames(ctx, b, m); err != nil {
			return nil, format.Wrap(name, file, err)
		}
	}
	if err := s.shape(m, o.Set[optRepair] == "off"); err != nil {
		return nil, format.Wrap(name, file, err)
	}
	if s.layout != nil {
		if err := s.arrange(ctx, b, m); err != nil {
			return nil, err
		}
	}
	s.describe(m)
	if s.layout == nil {
		return s, nil
	}
	if s.meta.Cols < 0 {
		if err := s.findColumns(ctx, b); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// options takes those that say how data are read.
func (s *stored) options(o *format.Options) (err error) {
	if s.sep, err = parseSeparator(o.Set[optSeparator]); err != nil {
		return err
	}
	switch v := o.Set[optDecimal]; v {
	case "", "point":
	case "comma":
		s.comma = true
	default:
		return fmt.Errorf("option %s=%q, want point or comma: %w", optDecimal, v, format.ErrOption)
	}
	return nil
}

// findStored finds the format that the metadata name, and refuses what it cannot hold.
func (c codec) findStored(m *matrixMeta) (*layout, error) {
	switch {
	case m.fault != nil:
		return nil, m.fault
	case m.rowType.Object():
		return nil, fmt.Errorf("%v: values are Java objects%s, written by %s: %w",
			m.rowType, ofClass(m.options[valueClass]), m.class, format.ErrVersion)
	case m.origin == fromLegacy:
		return &legacy, nil
	}
	l, err := c.find(m.class)
	if err == nil && l.csr && elementOf(m.rowType) != matrix.I32 {
		return nil, fmt.Errorf("%s of %v, want int values: %w", l.name, m.rowType, format.ErrVersion)
	}
	if err == nil && !l.holds(elementOf(m.rowType)) {
		return nil, fmt.Errorf("%s has no %v values: %w", m.class, elementOf(m.rowType), format.ErrVersion)
	}
	return l, err
}

// valueClass is the option that names the class of the values of T_ANY rows.
const valueClass = "matrix.value.type.classname"

func ofClass(class string) string {
	if class == "" {
		return ""
	}
	return " of class " + class
}

// shape finds the size of the matrix and checks that the partitions fill it.
func (s *stored) shape(m *matrixMeta, unrepaired bool) error {
	s.ranged = m.blockCol > 0 || !allZero(m.parts)
	cols, known := m.columns(s.ranged)
	if s.ranged && s.layout != nil {
		if unrepaired && s.layout.colID && !s.layout.framed && allZero(m.parts) && len(m.parts) > 0 {
			s.ranged, s.raw = false, !s.layout.column
			s.notes = append(s.notes, format.Warning("column ids are as 3.2.0 stores them, counted from the first column of each partition"))
		} else {
			s.notes = append(s.notes, repair(m, s.layout, cols, known)...)
		}
	}
	attrs := maps.Clone(m.options)
	attrs[attrRowType] = m.rowType.String()
	attrs[attrFormat] = m.class
	attrs[attrMatrixID] = strconv.Itoa(int(m.id))
	s.meta = matrix.Meta{
		Name: s.dir.name, Rows: int64(m.rows), ColLo: cols.Lo, Cols: cols.Hi - cols.Lo,
		BlockRows: max(0, int64(m.blockRow)), BlockCols: max(0, m.blockCol),
		DType: elementOf(m.rowType), Layout: m.rowType.Layout(), Attrs: attrs,
	}
	if m.rowType.Object() {
		s.meta.Origin = m.rowType.String()
	}
	if !known || s.meta.Cols < 0 {
		s.meta.ColLo, s.meta.Cols = 0, -1
	}
	if s.meta.Name == "" {
		s.meta.Name = cmp.Or(m.name, blob.Base(s.dir.path))
	}
	s.meta.Saved = savedRows(m)
	listed := rowSet(s.meta.SavedRows())
	m.own.apply(&s.meta)
	if saved := rowSet(s.meta.SavedRows()); !saved.contains(listed) {
		return &wire.At{Off: 0, Err: fmt.Errorf("rows %v are listed, of saved rows %v", listed, saved)}
	}
	if s.layout == nil {
		s.meta.Cols = max(0, s.meta.Cols)
		return s.meta.Check()
	}
	var err error
	if s.pieces, err = checkParts(m, s.layout, s.ranged); err != nil {
		return err
	}
	notes, err := checkFiles(s.dir, s.layout, s.pieces)
	s.notes = append(s.notes, notes...)
	if err != nil || s.meta.Cols < 0 {
		return err
	}
	return s.checkCover()
}

// checkCover reports partitions that overlap, and cells of a dense matrix that none has.
func (s *stored) checkCover() error {
	if err := s.meta.Check(); err != nil {
		return &wire.At{Off: 0, Err: err}
	}
	if s.ranged {
		places := make([]matrix.Rect, len(s.pieces))
		for i := range s.pieces {
			places[i] = matrix.Rect{Rows: s.pieces[i].rows, Cols: s.pieces[i].cols}
		}
		if i, j, twice := overlap(places); twice {
			return s.pieces[j].at("%v overlaps partition %d, %v", places[j], s.pieces[i].id, places[i])
		}
	}
	rows, stored, sure := int64(0), int64(0), true
	for i := range s.pieces {
		stored += s.pieces[i].values
		sure = sure && s.pieces[i].present == nil
	}
	if s.meta.Layout == matrix.RowSparse || s.raw {
		if sure && s.meta.Layout == matrix.RowSparse {
			s.meta.Stored = stored
		}
		return nil
	}
	for _, r := range s.meta.SavedRows() {
		rows += r.Len()
	}
	if want, ok := matrix.Cells(rows, s.meta.Cols); !ok || stored != want {
		return &wire.At{Off: 0, Err: fmt.Errorf("partitions hold %d values of %d dense rows of %d columns", stored, rows, s.meta.Cols)}
	}
	return nil
}

// columns is the range of column ids, as far as the metadata say it.
func (m *matrixMeta) columns(ranged bool) (cols matrix.Range, known bool) {
	lo, errLo := strconv.ParseInt(m.options[rangeStart], 10, 64)
	hi, errHi := strconv.ParseInt(m.options[rangeEnd], 10, 64)
	said := errLo == nil && errHi == nil && hi > lo && hi-lo > 0
	if said {
		cols = matrix.Range{Lo: lo, Hi: hi}
	}
	first := !said
	for _, p := range m.parts {
		switch {
		case !ranged || p.cols.Lo >= p.cols.Hi:
		case first:
			cols, first = p.cols, false
		default:
			cols = matrix.Range{Lo: min(cols.Lo, p.cols.Lo), Hi: max(cols.Hi, p.cols.Hi)}
		}
	}
	if first && m.cols >= 0 {
		cols, first = matrix.Range{Hi: m.cols}, false
	}
	return cols, !first
}

// savedRows are the rows that some partition lists; nil if that is every row.
func savedRows(m *matrixMeta) []matrix.Range {
	var listed []matrix.Range
	for i := range m.parts {
		for _, r := range m.parts[i].rowMetas.all() {
			if k := len(listed) - 1; k >= 0 && listed[k].Hi == int64(r.id) {
				listed[k].Hi++
			} else if r.id >= 0 {
				listed = append(listed, matrix.Range{Lo: int64(r.id), Hi: int64(r.id) + 1})
			}
		}
	}
	slices.SortFunc(listed, func(a, b matrix.Range) int { return compare(a.Lo, b.Lo) })
	saved := []matrix.Range{}
	for _, r := range listed {
		r.Hi = min(r.Hi, int64(m.rows))
		switch k := len(saved) - 1; {
		case r.Lo >= r.Hi:
		case k >= 0 && r.Lo <= saved[k].Hi:
			saved[k].Hi = max(saved[k].Hi, r.Hi)
		default:
			saved = append(saved, r)
		}
	}
	if len(saved) == 1 && saved[0] == (matrix.Range{Hi: int64(m.rows)}) || m.rows == 0 {
		return nil
	}
	return saved
}
