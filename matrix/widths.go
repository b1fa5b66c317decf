package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
)

// Width says that the columns of a range of a sparse matrix store the first Rows rows of it alone. Their cells in the other rows are 0:
// gradients and increments for these are left out, and other values are refused.
type Width struct {
	Cols Range
	Rows int64
}

const (
	// WidthsLimit is how many ranges of columns Meta.Widths has at most.
	WidthsLimit = 1 << 16
	// WidthKinds is how many numbers of rows the columns of a matrix have at most: servers keep a table for each.
	WidthKinds = 16
)

// RowsOf is how many rows a column stores: those of its range in Widths, or all.
func (m *Meta) RowsOf(col int64) int64 {
	i := sort.Search(len(m.Widths), func(i int) bool { return m.Widths[i].Cols.Hi > col })
	if i < len(m.Widths) && m.Widths[i].Cols.Lo <= col {
		return m.Widths[i].Rows
	}
	return m.Rows
}

// CommonRows are the rows that all columns store.
func (m *Meta) CommonRows() Range {
	rows := Range{Hi: m.Rows}
	for _, w := range m.Widths {
		rows.Hi = min(rows.Hi, w.Rows)
	}
	return rows
}

// WidthKind is the columns of a matrix that store a number of rows.
type WidthKind struct {
	Rows int64
	Cols uint64 // how many columns there can be
}

// WidthKinds are the numbers of rows that columns of the matrix store, the highest first. There is always one.
func (m *Meta) WidthKinds() []WidthKind {
	kinds, rest := []WidthKind(nil), uint64(m.Cols)
	add := func(rows int64, cols uint64) {
		i := slices.IndexFunc(kinds, func(k WidthKind) bool { return k.Rows == rows })
		if i < 0 {
			i, kinds = len(kinds), append(kinds, WidthKind{Rows: rows})
		}
		kinds[i].Cols += cols
	}
	for _, w := range m.Widths {
		n := uint64(w.Cols.Len())
		add(w.Rows, n)
		rest -= n
	}
	if rest > 0 || len(kinds) == 0 {
		add(m.Rows, rest)
	}
	slices.SortFunc(kinds, func(a, b WidthKind) int { return cmp.Compare(b.Rows, a.Rows) })
	return kinds
}

func (m *Meta) checkWidths() error {
	if len(m.Widths) == 0 {
		return nil
	}
	if m.Layout != RowSparse {
		return fmt.Errorf("matrix %q: columns of several widths in a dense matrix, want a sparse one", m.Name)
	}
	if n := len(m.Widths); n > WidthsLimit {
		return fmt.Errorf("matrix %q: widths of %d ranges of columns, want at most %d", m.Name, n, WidthsLimit)
	}
	all := m.Rect().Cols
	last := all.Lo
	var rows []int64 // different ones, as many as may be: WidthKinds looks through all of them for each range
	for _, w := range m.Widths {
		switch {
		case w.Cols.Lo < last || w.Cols.Hi <= w.Cols.Lo || w.Cols.Hi > all.Hi:
			return fmt.Errorf("matrix %q: width of columns %v, want ascending ranges within %v", m.Name, w.Cols, all)
		case w.Rows < 1 || w.Rows > m.Rows:
			return fmt.Errorf("matrix %q: columns %v of %d rows, want 1 to %d", m.Name, w.Cols, w.Rows, m.Rows)
		}
		last = w.Cols.Hi
		if !slices.Contains(rows, w.Rows) {
			rows = append(rows, w.Rows)
		}
		if len(rows) > WidthKinds {
			break
		}
	}
	if len(rows) > WidthKinds || len(m.WidthKinds()) > WidthKinds {
		return fmt.Errorf("matrix %q: columns of more than %d different widths", m.Name, WidthKinds)
	}
	return nil
}
