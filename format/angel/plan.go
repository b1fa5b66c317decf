package angel

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"thole/format"
	"thole/matrix"
)

// plan says how one matrix is written.
type plan struct {
	meta   matrix.Meta
	id     int32
	kind   rowType
	layout *layout
	style  style
	filled bool // absent cells are written as zeros
	sums   bool
	lossy  *format.Options
	fixed  bool // the user or the matrix says how large partitions are
	grid   grid
	direct bool // blocks that are cells of the grid become partitions at once
}

// newPlan chooses format, row type and grid, and asks about everything that is lost.
func newPlan(m matrix.Meta, id int, o *format.Options) (*plan, error) {
	p := &plan{meta: m.Clone(), id: int32(id), lossy: o, sums: o.Set[optChecksum] != "off"}
	if err := p.check(); err != nil {
		return nil, err
	}
	if v, err := strconv.ParseInt(m.Attrs[attrMatrixID], 10, 32); err == nil && v >= 0 {
		p.id = int32(v)
	}
	var err error
	if p.layout, err = chooseLayout(&m, o); err != nil {
		return nil, err
	}
	if p.style.sep, err = parseSeparator(o.Set[optSeparator]); err != nil {
		return nil, err
	}
	if p.style.sep == "" {
		p.style.sep = ","
	}
	d := heldAs(m.DType)
	p.kind = chooseRowType(&m, d)
	p.style.long = p.kind.long()
	if err := p.lose(d); err != nil {
		return nil, err
	}
	p.filled = m.Layout == matrix.RowDense || !p.layout.colID
	p.fixed = m.BlockRows > 0 || m.BlockCols > 0
	p.cut(d)
	return p, nil
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
	var lost []string
	if held != m.DType {
		lost = append(lost, fmt.Sprintf("element type %v is stored as %v", m.DType, held))
	}
	if m.Labels != nil {
		lost = append(lost, "labels of columns are not stored")
	}
	if slices.ContainsFunc(m.ColTypes, func(d matrix.DType) bool { return d != m.DType }) {
		lost = append(lost, "element types of single columns are not stored")
	}
	if len(m.Dims) > 2 {
		lost = append(lost, fmt.Sprintf("the shape %v is stored as %d x %d", m.Dims, m.Rows, m.Cols))
	}
	if m.LoD != nil {
		lost = append(lost, "sequence offsets are not stored")
	}
	if m.Layout == matrix.RowSparse && !p.layout.colID {
		lost = append(lost, p.layout.name+" stores every cell, absent ones as zero")
	}
	for _, what := range lost {
		if err := p.lossy.Lose("matrix %s: %s", m.Name, what); err != nil {
			return err
		}
	}
	return nil
}

// cut finds the grid of partitions: the matrix's own, or one partition, or column ranges of limited size.
func (p *plan) cut(d matrix.DType) {
	m := &p.meta
	whole := m.Rect()
	rows, cols := m.BlockRows, m.BlockCols
	if rows <= 0 {
		rows = m.Rows
	}
	if cols <= 0 {
		cols = m.Cols
	}
	if !p.fixed && p.filled && m.Rows > 0 {
		cols = min(cols, max(1, partitionBytes/int64(d.Size())/m.Rows))
	}
	if p.grid, p.direct = newGrid(whole, rows, cols); !p.direct {
		p.fixed = false
		p.grid, _ = newGrid(whole, m.Rows, m.Cols)
	}
}

// chooseLayout finds the format: the option for all, the option for the kind of layer, the one the matrix was read
// from, the usual one.
func chooseLayout(m *matrix.Meta, o *format.Options) (*layout, error) {
	if v := o.Set[optFormat]; v != "" {
		return findLayout(v)
	}
	key := layerOption(m)
	if v := o.Set[key]; v != "" {
		return findLayout(v)
	}
	if l, err := findLayout(m.Attrs[attrFormat]); err == nil && (l.colID || m.Layout == matrix.RowDense) {
		return l, nil
	}
	info := codec{}.Info()
	if key == optSimpleInput && savedCount(m) != 1 {
		key = optFC // the row boundaries of the usual format would stand in the metadata only
	}
	return findLayout(o.Get(info, key))
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
	case strings.HasSuffix(m.Name, "_embedding"):
		return optEmbedding
	case savedCount(m) == 1:
		return optSimpleInput
	}
	return optFC
}

func savedCount(m *matrix.Meta) int64 {
	n := int64(0)
	for _, r := range m.SavedRows() {
		n += r.Len()
	}
	return n
}

// savedIn lists the saved rows within a range.
func savedIn(m *matrix.Meta, within matrix.Range) []int64 {
	var rows []int64
	for _, s := range m.SavedRows() {
		s = s.Intersect(within)
		for r := s.Lo; r < s.Hi; r++ {
			rows = append(rows, r)
		}
	}
	return rows
}

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
	return &matrixMeta{
		id: p.id, name: m.Name, class: p.layout.className(), rowType: p.kind, rows: int32(m.Rows), cols: m.Cols,
		blockRow: int32(p.grid.row), blockCol: p.grid.col, options: options,
	}
}
