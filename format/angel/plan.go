package angel

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"thole.example/format"
	"thole.example/matrix"
)

// plan says how one matrix is written.
type plan struct {
	meta    matrix.Meta
	id      int32
	kind    rowType
	layout  *layout
	style   style
	filled  bool // absent cells are written as zeros
	sums    bool
	lossy   *format.Options
	compat  string
	version int64 // of our additions; 0: none
	hash    int   // number of hash partitions; 0: range partitions
	perFile int   // partitions in a data file
	fixed   bool  // the user or the matrix says how large partitions are
	grid    grid
	direct  bool // blocks that are cells of the grid become partitions at once
}

// newPlan chooses format, row type and grid, and asks about everything that is lost.
func (c codec) newPlan(m matrix.Meta, id int, o *format.Options) (*plan, error) {
	p := &plan{meta: m.Clone(), id: int32(id), lossy: o, version: 1}
	if err := p.check(); err != nil {
		return nil, err
	}
	if v, err := strconv.ParseInt(m.Attrs[attrMatrixID], 10, 32); err == nil && v >= 0 {
		p.id = int32(v)
	}
	err := p.addSlots(o.Set[optSlots])
	if err != nil {
		return nil, err
	}
	if p.layout, err = c.chooseLayout(&p.meta, o); err != nil {
		return nil, err
	}
	if p.style.sep, err = parseSeparator(o.Set[optSeparator]); err != nil {
		return nil, err
	}
	if p.style.sep == "" {
		p.style.sep = ","
	}
	d := heldAs(m.DType)
	if !p.layout.holds(d) {
		return nil, fmt.Errorf("matrix %s: %s has no %v values: %w", m.Name, p.layout.name, d, format.ErrLossy)
	}
	p.kind = chooseRowType(&m, d)
	p.style.long = p.kind.LongKeys()
	switch p.compat = o.Set[optCompat]; {
	case p.compat == "":
	case slices.Contains(Releases(), p.compat):
		p.version = 0
	default:
		return nil, wrongOption(optCompat, p.compat, strings.Join(Releases(), " or "))
	}
	if err := p.lose(d); err != nil {
		return nil, err
	}
	p.filled = m.Layout == matrix.RowDense || !p.layout.colID
	if p.layout.snapshot && p.filled {
		p.layout = &denseSnapshot
	}
	if err := p.options(o, d); err != nil {
		return nil, err
	}
	if err := p.checkSize(); err != nil {
		return nil, err
	}
	return p, p.checkRoom(d)
}

// textCell is how many bytes a value of a line takes at least: a digit, and what separates it from the next.
const textCell = 2

// checkRoom refuses a matrix of which every cell is written, if that takes more than the file system has left.
func (p *plan) checkRoom(d matrix.DType) error {
	each := int64(d.Size())
	if p.layout.text {
		each = textCell
	}
	cells, ok := matrix.Cells(savedCount(&p.meta), p.meta.Cols)
	size, fits := matrix.Cells(cells, each)
	if !p.filled || !ok || !fits {
		return nil
	}
	return p.lossy.Need(p.meta.Name, size)
}

// addSlots declares rows behind those of the matrix that are not saved: groups of as many rows each, where Angel's jobs keep
// the state of an optimizer. A matrix that has rows that are not saved stays as it is.
func (p *plan) addSlots(v string) error {
	if v == "" || p.meta.Saved != nil {
		return nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	rows, fits := matrix.Cells(p.meta.Rows, n+1)
	if err != nil || n < 0 || n > math.MaxInt32 || !fits || rows > math.MaxInt32 {
		return wrongOption(optSlots, v, "a number from 0 on, with which there are at most 2147483647 rows")
	}
	if n > 0 && p.meta.Rows > 0 {
		if p.meta.BlockRows >= p.meta.Rows {
			p.meta.BlockRows = 0 // all of them, then as now
		}
		p.meta.Saved = []matrix.Range{{Hi: p.meta.Rows}}
		if p.meta.Shaped() {
			p.lossy.Drop(format.Shapes, p.meta.Name, "the shape %v: %d rows for an optimizer's state follow its own", p.meta.Dims,
				rows-p.meta.Rows)
		} else {
			p.lossy.Drop(format.Shapes, p.meta.Name, "that it has %d rows: %d rows for an optimizer's state follow them", p.meta.Rows,
				rows-p.meta.Rows)
		}
		p.meta.Rows, p.meta.Dims = rows, nil
	}
	return nil
}

// own reports whether our additions are written.
func (p *plan) own() bool { return p.version > 0 }

// options takes the options about partitions and versions.
func (p *plan) options(o *format.Options, d matrix.DType) error {
	p.sums = p.own() && o.Set[optChecksum] != "off"
	size := map[string]int64{optBlockRows: 0, optBlockCols: 0, optPartitions: 5, optPerFile: 1}
	for name := range size {
		if v := o.Set[name]; v != "" {
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil || n < 1 {
				return wrongOption(name, v, "a number from 1 on")
			}
			size[name] = n
		}
	}
	p.perFile = int(min(size[optPerFile], maxCells))
	if p.layout.snapshot {
		p.perFile = 1
	}
	rows, cols := p.meta.BlockRows, p.meta.BlockCols
	if size[optBlockRows] > 0 {
		rows = size[optBlockRows]
	}
	if size[optBlockCols] > 0 {
		cols = size[optBlockCols]
	}
	switch v := o.Set[optPartition]; v {
	case "", "range":
	case "column":
		if rows = 0; size[optBlockRows] > 0 {
			return wrongOption(optBlockRows, o.Set[optBlockRows], "none with column partitions, which have all rows")
		}
	case "hash":
		if p.filled || p.layout.column {
			return fmt.Errorf("matrix %s: hash partitions of %s: Angel has them only of sparse rows in row formats with column ids: %w",
				p.meta.Name, p.layout.name, format.ErrLossy)
		}
		p.hash = int(min(size[optPartitions], maxCells))
		rows, cols = 0, 0
	default:
		return wrongOption(optPartition, v, "range, column or hash")
	}
	if p.oneBand() && rows > 0 && rows < p.meta.Rows {
		if size[optBlockRows] > 0 {
			return wrongOption(optBlockRows, o.Set[optBlockRows], fmt.Sprintf(
				"none in a column format if some rows are not saved (%s), since Angel does not load partitions without saved rows", optSlots))
		}
		rows = 0
	}
	p.fixed = rows > 0 || cols > 0
	return p.cut(d, rows, cols, o.Set[optPartition] == "column")
}

// check reports what no folder of Angel can be.
func (p *plan) check() error {
	m := &p.meta
	if err := m.Check(); err != nil {
		return err
	}
	if m.Rows > math.MaxInt32 {
		return fmt.Errorf("matrix %q: %d rows, want at most %d: %w", m.Name, m.Rows, math.MaxInt32, format.ErrLimit)
	}
	if !fs.ValidPath(m.Name) || m.Name == "." || strings.ContainsAny(m.Name, "\\\x00") || hidden(m.Name) {
		return fmt.Errorf("matrix name %q cannot be the name of a folder", m.Name)
	}
	for _, e := range strings.Split(m.Name, "/") {
		if slices.Contains(metaNames, e) {
			return fmt.Errorf("matrix name %q is the name of a metadata file", m.Name)
		}
	}
	return nil
}

// lose asks whether what Angel has no place for may be dropped.
func (p *plan) lose(held matrix.DType) error {
	m := &p.meta
	if p.layout.column && m.Rows > 0 && m.Cols > 0 && savedCount(m) == 0 {
		return fmt.Errorf("matrix %s: %s of no saved row, which Angel does not load (a row format holds it): %w",
			m.Name, p.layout.name, format.ErrLossy)
	}
	invalid := func(s string) bool { return !utf8.ValidString(s) }
	if m.Layout == matrix.RowSparse && !p.layout.colID {
		if err := format.LoseAbsent(m, p.lossy); err != nil {
			return fmt.Errorf("%s stores every cell: %w", p.layout.name, err)
		}
	}
	for _, l := range []struct {
		is   bool
		of   format.Aspect
		what string
	}{
		{held != m.DType, format.Types, fmt.Sprintf("element type %v is stored as %v", m.DType, held)},
		{slices.ContainsFunc(m.Labels, invalid), format.Labels, "bytes of labels that are not UTF-8"},
		{!p.own() && m.Labels != nil, format.Labels, "labels of columns are not stored"},
		{slices.ContainsFunc(m.ColTypes, func(d matrix.DType) bool { return d != m.DType }), format.Types,
			"element types of single columns are not stored"},
		{!p.own() && m.Shaped(), format.Shapes, fmt.Sprintf("the shape %v is stored as %d x %d", m.Dims, m.Rows, m.Cols)},
		{!p.own() && m.LoD != nil, format.Sequences, "sequence offsets are not stored"},
		{!p.own() && m.Origin != "", format.Meanings, fmt.Sprintf("element type %s, stored as %v", m.Origin, m.DType)},
		{!p.own() && slices.ContainsFunc(m.ColOrigins, func(o string) bool { return o != "" }), format.Meanings,
			"what the numbers of columns stand for"},
		{m.Layout == matrix.RowSparse && p.layout.column && !p.own() && savedCount(m) > 1, format.Absence,
			"absent cells of stored columns become zeros"},
	} {
		if !l.is {
			continue
		}
		if err := p.lossy.Lose(l.of, m.Name, "%s", l.what); err != nil {
			return err
		}
	}
	return nil
}

// oneBand reports whether every partition has all rows: Angel does not load partitions of column formats without saved rows.
func (p *plan) oneBand() bool { return p.layout.column && p.meta.Saved != nil }

// cut finds the grid of partitions: of a given size, or one partition, or ranges of limited size: of columns, or of rows if
// that would list too many rows. all says that partitions have all rows.
func (p *plan) cut(d matrix.DType, rows, cols int64, all bool) error {
	m := &p.meta
	whole := m.Rect()
	all = all || p.oneBand()
	if rows <= 0 {
		rows = m.Rows
		if p.layout.column && !all {
			rows = min(rows, recordBytes/int64(d.Size()))
		}
	}
	if p.layout.column && rows*int64(d.Size()) > recordBytes {
		return fmt.Errorf("matrix %s: records of %s with %d rows of %d bytes, want at most %d bytes (%s=%d, or a row format): %w",
			m.Name, p.layout.name, rows, d.Size(), recordBytes, optBlockRows, recordBytes/d.Size(), format.ErrLimit)
	}
	if cols <= 0 {
		cols = m.Cols
	}
	if !p.fixed && p.filled && m.Rows > 0 && m.Cols > 0 {
		cells := int64(partitionBytes / d.Size())
		if across := (m.Cols-1)/max(1, cells/rows) + 1; all || savedCount(m) <= manyEntries/across {
			cols = min(cols, max(1, cells/rows))
		} else {
			rows = min(rows, max(1, cells/m.Cols))
			cols = min(cols, cells)
		}
	}
	if p.grid, p.direct = newGrid(whole, rows, cols); !p.direct {
		if p.fixed {
			p.fixed = false
			return p.cut(d, 0, 0, all)
		}
		p.grid, _ = newGrid(whole, rows, m.Cols)
	}
	return nil
}

// chooseLayout finds the format: the option for all, the option for the kind of layer, the one the matrix was read
// from, the usual one.
func (c codec) chooseLayout(m *matrix.Meta, o *format.Options) (*layout, error) {
	key := layerOption(m)
	for _, v := range []string{o.Set[optFormat], o.Set[key]} {
		if v == "" {
			continue
		}
		l, err := c.find(v)
		if err == nil && l.readOnly() {
			return nil, fmt.Errorf("%s is only read: %w", l.name, format.ErrVersion)
		}
		return l, err
	}
	if l, err := c.find(m.Attrs[attrFormat]); err == nil && !l.readOnly() && (l.colID || m.Layout == matrix.RowDense) {
		return l, nil
	}
	if key == optSimpleInput && savedCount(m) != 1 {
		key = optFC // the row boundaries of the usual format would stand in the metadata only
	}
	return c.find(o.Get(c.Info(), key))
}

// layerOption is the option that chooses the format of the matrix's kind of layer, which the matrix says, or else
// its name and shape.
func layerOption(m *matrix.Meta) string {
	switch m.Attrs[attrLayer] {
	case "simpleinput":
		return optSimpleInput
	case "embedding":
		return optEmbedding
	case "fc":
		return optFC
	}
	switch {
	case strings.HasSuffix(m.Name, "_embedding"), isEmbedding(m.Attrs[attrFormat]):
		return optEmbedding
	case savedCount(m) == 1:
		return optSimpleInput
	}
	return optFC
}

func savedCount(m *matrix.Meta) int64 { return rowSet(m.SavedRows()).len() }

// describe is the metadata without its partitions.
func (p *plan) describe() *matrixMeta {
	m := &p.meta
	options := maps.Clone(m.Attrs)
	if options == nil {
		options = map[string]string{}
	}
	for _, own := range []string{attrRowType, attrFormat, attrMatrixID} {
		delete(options, own)
	}
	options[rangeStart] = strconv.FormatInt(m.ColLo, 10)
	options[rangeEnd] = strconv.FormatInt(m.ColLo+m.Cols, 10)
	d := &matrixMeta{
		id: p.id, name: m.Name, class: p.layout.className(), rowType: p.kind, rows: int32(m.Rows), cols: m.Cols,
		blockRow: int32(p.grid.row), blockCol: p.grid.col, options: options, version: p.version, sum: metaSum{has: p.sums},
	}
	if p.own() {
		d.own = ownOf(m)
	}
	if p.hash > 0 {
		d.blockRow, d.blockCol = -1, -1
	}
	return d
}

// metaName is the name of the metadata file.
func (p *plan) metaName() string {
	if p.compat == "angel-3.1" {
		return "meta"
	}
	return "_meta"
}

// raw is how blocks are kept until Commit that are no partitions: binary, with ids of eight bytes unless all cells are
// there.
func (p *plan) raw() *plan {
	r := *p
	r.layout, r.version, r.sums = &valueBinary, 1, true
	base := p.kind - p.kind%storages
	if r.kind = base; !p.filled {
		r.layout, r.kind = &colIDValueBinary, base+5
	}
	r.style = style{long: r.kind.LongKeys()}
	return &r
}
