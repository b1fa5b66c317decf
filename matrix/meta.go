package matrix

import (
	"fmt"
	"maps"
	"slices"
)

// Layout says what a cell without a stored value means.
type Layout uint8

const (
	// RowDense matrices have a value in every cell of every stored row.
	RowDense Layout = iota
	// RowSparse matrices store some cells; the others are absent and read as zero.
	RowSparse
)

// String is "dense" or "sparse".
func (l Layout) String() string {
	if l == RowSparse {
		return "sparse"
	}
	return "dense"
}

// Meta describes a matrix: what is known without looking at a value. A Meta is a value; its maps and slices are
// shared by copies and must not be changed after it was handed over (use Clone).
type Meta struct {
	Name       string
	Rows, Cols int64 // number of rows and columns
	ColLo      int64 // the first column, when ids do not start at 0 (hashed or negative keys)

	BlockRows, BlockCols int64 // partition size; 0: the partitioner or writer chooses

	DType  DType
	Layout Layout

	Rule  string             // update rule that pushed gradients go through; "": they are added
	Hyper map[string]float64 // settings of the rule
	Init  Init               // values of cells before the first push
	Keep  Keep               `json:",omitzero"` // which columns are made, and which go again

	// Widths are the ranges of columns that store fewer rows than the matrix has, ascending; nil: all columns store all rows.
	Widths []Width `json:",omitempty"`

	// Storage is the type in which servers keep values of F32: F16, BF16 or I8, with a scale for each column. To whoever reads or
	// writes them they are of DType. Invalid: they are kept as that, too.
	Storage DType `json:",omitzero"`

	Labels   []string // names of columns (frames); nil if none
	ColTypes []DType  // element type of each column (frames of mixed type); nil if all are DType
	Saved    []Range  // rows that are stored, ascending; nil: all. The others are absent, which is not zero
	Stored   int64    // how many cells of a sparse matrix are stored, where that is known without the values; else 0
	Dims     []int64  // tensor shape when it is not Rows x Cols; the matrix is its first dimension x the rest
	LoD      [][]int64
	Attrs    map[string]string // foreign metadata kept for a faithful round trip

	// Origin names the element type that the values had where it is none of ours: fp8_e4m3fn and fp8_e5m2, of which DType
	// holds every value, complex64 and complex128, whose real and imaginary parts are the last dimension. "": they are DType.
	Origin string
	// ColOrigins name what the values of single columns stand for where their DType does not say it, in Arrow's words:
	// date32[day], time64[us], timestamp[us], timestamp[ns, tz=UTC], duration[s]. "" is a plain number; nil: all are.
	ColOrigins []string

	// Unnamed says that Name is stored nowhere: it was made from the name of the file, or from the order of the matrices.
	Unnamed bool
}

// Init says which values the cells of a new matrix have. They are functions of (Seed, matrix name, row, column) and so
// the same on any number of servers.
type Init struct {
	Kind  string  // "": zero; "normal": mean 0, deviation Scale; "uniform": in [-Scale, Scale); "positive": in [0, Scale); "constant": Scale
	Scale float64 // deviation, half width or value
	Seed  uint64
	// Values are constants of the columns, in place of Scale: one for each column of a dense matrix whose columns count from 0.
	Values []float64 `json:",omitempty"`
}

// Rect is the place of the whole matrix.
func (m *Meta) Rect() Rect { return At(0, m.Rows, m.ColLo, m.ColLo+m.Cols) }

// Clone is a copy that shares nothing with m.
func (m *Meta) Clone() Meta {
	c := *m
	c.Hyper = maps.Clone(m.Hyper)
	c.Attrs = maps.Clone(m.Attrs)
	c.Labels = slices.Clone(m.Labels)
	c.ColTypes = slices.Clone(m.ColTypes)
	c.ColOrigins = slices.Clone(m.ColOrigins)
	c.Saved = slices.Clone(m.Saved)
	c.Widths = slices.Clone(m.Widths)
	c.Dims = slices.Clone(m.Dims)
	c.LoD = slices.Clone(m.LoD)
	for i := range c.LoD {
		c.LoD[i] = slices.Clone(c.LoD[i])
	}
	return c
}

// SavedRows are the ranges of rows that are stored: Saved, or all rows if it is nil.
func (m *Meta) SavedRows() []Range {
	if m.Saved != nil {
		return m.Saved
	}
	return []Range{{0, m.Rows}}
}

// ColType is the element type of column c.
func (m *Meta) ColType(c int64) DType {
	if i := c - m.ColLo; m.ColTypes != nil && i >= 0 && i < int64(len(m.ColTypes)) {
		return m.ColTypes[i]
	}
	return m.DType
}

// Full reports whether every cell is known to be stored, sparse as the layout may be.
func (m *Meta) Full() bool {
	cells, ok := Cells(m.Rows, m.Cols)
	return ok && cells > 0 && m.Stored == cells
}

// Shaped reports whether the tensor has another shape than Rows x Cols.
func (m *Meta) Shaped() bool { return m.Dims != nil && !slices.Equal(m.Dims, []int64{m.Rows, m.Cols}) }

// Label is the name of column c for people: its label, or its number.
func (m *Meta) Label(c int64) string {
	if i := c - m.ColLo; i >= 0 && i < int64(len(m.Labels)) && m.Labels[i] != "" {
		return m.Labels[i]
	}
	return fmt.Sprintf("column %d", c)
}

// Check reports the first contradiction in m: sizes below zero, an unknown type, ranges outside the matrix, a shape
// that does not multiply to the size.
func (m *Meta) Check() error {
	switch {
	case m.Rows < 0 || m.Cols < 0:
		return fmt.Errorf("matrix %q: size %d x %d, want none below 0", m.Name, m.Rows, m.Cols)
	case m.ColLo+m.Cols < m.ColLo:
		return fmt.Errorf("matrix %q: columns from %d on, %d of them: beyond int64", m.Name, m.ColLo, m.Cols)
	case m.Stored < 0:
		return fmt.Errorf("matrix %q: %d stored cells, want none below 0", m.Name, m.Stored)
	case m.BlockRows < 0 || m.BlockCols < 0:
		return fmt.Errorf("matrix %q: blocks of %d x %d, want none below 0", m.Name, m.BlockRows, m.BlockCols)
	case m.DType.Size() == 0:
		return fmt.Errorf("matrix %q: unknown element type %d", m.Name, uint8(m.DType))
	case m.Labels != nil && int64(len(m.Labels)) != m.Cols:
		return fmt.Errorf("matrix %q: %d labels, want %d, one for each column", m.Name, len(m.Labels), m.Cols)
	case m.ColTypes != nil && int64(len(m.ColTypes)) != m.Cols:
		return fmt.Errorf("matrix %q: %d column types, want %d, one for each column", m.Name, len(m.ColTypes), m.Cols)
	case m.ColOrigins != nil && int64(len(m.ColOrigins)) != m.Cols:
		return fmt.Errorf("matrix %q: meanings of %d columns, want %d, one for each column", m.Name, len(m.ColOrigins), m.Cols)
	}
	for i, d := range m.ColTypes {
		if d.Size() == 0 {
			return fmt.Errorf("matrix %q: column %d: unknown element type %d", m.Name, i, uint8(d))
		}
	}
	last := int64(0)
	for _, r := range m.Saved {
		if r.Lo < last || r.Hi <= r.Lo || r.Hi > m.Rows {
			return fmt.Errorf("matrix %q: saved rows %v, want ascending ranges within [0,%d)", m.Name, r, m.Rows)
		}
		last = r.Hi
	}
	if err := m.Keep.Check(); err != nil {
		return fmt.Errorf("matrix %q: %w", m.Name, err)
	}
	if err := m.checkWidths(); err != nil {
		return err
	}
	return m.checkDims()
}

func (m *Meta) checkDims() error {
	if m.Dims == nil {
		return nil
	}
	rows, cols, err := Shape(m.Dims)
	if err != nil {
		return fmt.Errorf("matrix %q: %w", m.Name, err)
	}
	if rows != m.Rows || cols != m.Cols {
		return fmt.Errorf("matrix %q: shape %v is %d x %d, want %d x %d", m.Name, m.Dims, rows, cols, m.Rows, m.Cols)
	}
	return nil
}

// Shape is how a tensor is seen as a matrix: rank 0 as 1 x 1, rank 1 as one row, higher ranks as the first dimension
// by the product of the rest. It fails on a negative dimension and on a product beyond int64.
func Shape(dims []int64) (rows, cols int64, err error) {
	rows, cols = 1, 1
	rest := dims
	if len(dims) > 1 {
		rows, rest = dims[0], dims[1:]
	}
	if i := slices.IndexFunc(dims, func(d int64) bool { return d < 0 }); i >= 0 {
		return 0, 0, fmt.Errorf("shape %v: dimension %d, want none below 0", dims, dims[i])
	}
	if slices.Contains(rest, 0) {
		return rows, 0, nil // however large the others are
	}
	ok := true
	for _, d := range rest {
		if cols, ok = Cells(cols, d); !ok {
			break
		}
	}
	if _, fits := Cells(rows, cols); !ok || !fits {
		return 0, 0, fmt.Errorf("shape %v: 2^63 elements or more", dims)
	}
	return rows, cols, nil
}

// CountRows are the rows at which a push by key brings shows and clicks of columns, where those are counted (Keep.Counts): two after those
// of the matrix, which no pull has.
func (m *Meta) CountRows() Range { return Range{Lo: m.Rows, Hi: m.Rows + 2} }
