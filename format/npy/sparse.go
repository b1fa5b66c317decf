package npy

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// sparseParts are the members of an archive by scipy.sparse.save_npz, in addition to format, shape and data.
var sparseParts = map[string][]string{
	"csr": {"indices", "indptr"}, "csc": {"indices", "indptr"}, "bsr": {"indices", "indptr"}, "coo": {"row", "col"}, "dia": {"offsets"},
}

const (
	formatPart, shapePart, dataPart = "format", "shape", "data"
	// isArrayPart says which of SciPy's classes the matrix has.
	isArrayPart = "_is_array"
	// coordinatesPart has the indices of an array that has not two dimensions, in place of row and col.
	coordinatesPart = "coords"

	textLimit     = 4 << 10  // bytes of a member that has the name of a sparse format
	sparseInflate = 64 << 20 // bytes held of deflated members of a sparse matrix; more if it is 16 times what they are deflated to
	sparseCells   = 1 << 20  // stored cells of a block
)

// sparse is a sparse matrix as scipy.sparse.save_npz writes it.
type sparse struct {
	kind       string
	parts      map[string]*member
	rows, cols int64
	dtype      matrix.DType

	once  sync.Once
	cells cellBlocks
	err   error
}

// cellBlocks yields the stored cells within a place.
type cellBlocks interface {
	blocks(ctx context.Context, want matrix.Rect) iter.Seq2[matrix.Block, error]
}

// newSparse finds the members of a sparse matrix among the arrays; nil if there is none.
func newSparse(kind string, arrays map[string]*member) (*sparse, error) {
	names, known := sparseParts[kind]
	if !known || arrays[shapePart] == nil || arrays[dataPart] == nil {
		return nil, nil
	}
	if m := arrays[coordinatesPart]; m != nil && kind == "coo" {
		return nil, m.at(&wire.At{Err: fmt.Errorf("a sparse array of one dimension, or of more than two, want a matrix: reshape it before "+
			"save_npz: %w", format.ErrVersion)})
	}
	s := &sparse{kind: kind, parts: map[string]*member{}}
	for _, part := range append([]string{shapePart, dataPart}, names...) {
		m := arrays[part]
		if m == nil {
			return nil, &wire.At{Err: fmt.Errorf("a sparse matrix of the format %s without a member %s%s", kind, part, ending)}
		}
		s.parts[part] = m
	}
	if m := arrays[isArrayPart]; m != nil {
		s.parts[isArrayPart] = m
	}
	total, packed := int64(0), int64(0)
	for _, m := range s.parts {
		if m.file.Method != zip.Store {
			total, packed = total+int64(m.file.UncompressedSize64), packed+int64(m.file.CompressedSize64)
		}
		if total > max(sparseInflate, 16*min(packed, 1<<58)) {
			return nil, &wire.At{Off: m.off, Err: fmt.Errorf("a sparse matrix of %d bytes deflated to %d, want at most %d: %w", total, packed,
				max(sparseInflate, 16*packed), format.ErrLimit)}
		}
	}
	data := s.parts[dataPart]
	if s.dtype = data.head.DType; data.head.fields != nil || data.head.Origin != "" || s.dtype == matrix.F16 {
		return nil, data.at(&wire.At{Err: fmt.Errorf("a sparse matrix of %s, want f4, f8, integers or b1: %w", data.head.typeName(),
			format.ErrVersion)})
	}
	shape, err := s.whole(shapePart)
	if err != nil {
		return nil, err
	}
	if len(shape) != 2 || shape[0] < 0 || shape[1] < 0 {
		return nil, s.parts[shapePart].at(&wire.At{Err: fmt.Errorf("a sparse matrix of the shape %v, want two sizes of 0 or more: %w", shape,
			format.ErrVersion)})
	}
	s.rows, s.cols = shape[0], shape[1]
	return s, nil
}

// whole reads a member of whole numbers.
func (s *sparse) whole(part string) ([]int64, error) {
	m := s.parts[part]
	b, err := m.all()
	if err != nil {
		return nil, err
	}
	if d := b.Data.DType(); d.Float() || d == matrix.Bool {
		return nil, m.at(&wire.At{Err: fmt.Errorf("%v values of member %s%s, want whole numbers", d, part, ending)})
	}
	b, exact := b.Cast(matrix.I64)
	if !exact {
		return nil, m.at(&wire.At{Err: fmt.Errorf("a number in member %s%s beyond 64 bits", part, ending)})
	}
	return b.Data.(*matrix.Dense[int64]).Val, nil
}

// all reads the values of an array, in C order.
func (m *member) all() (matrix.Block, error) {
	rows, cols := m.head.size()
	whole := matrix.NewDense(m.head.DType, matrix.At(0, rows, 0, cols))
	open := m.open
	if m.file.Method != zip.Store && m.head.fortran {
		open = m.inflate
	}
	o, err := open()
	if err != nil {
		return whole, err
	}
	defer o.Close()
	for b, err := range m.head.blocks(context.Background(), o, whole.At) {
		if err == nil {
			err = matrix.Put(whole, b)
		}
		if err != nil {
			return whole, m.at(err)
		}
	}
	if f, ok := o.(*forward); ok {
		return whole, m.at(f.end())
	}
	return whole, m.sum(context.Background(), o)
}

func (s *sparse) meta(name string) matrix.Meta {
	return matrix.Meta{Name: name, Unnamed: true, Rows: s.rows, Cols: s.cols, DType: s.dtype, Layout: matrix.RowSparse}
}

// blocks reads the members when the first block is asked for.
func (s *sparse) blocks(ctx context.Context, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	s.once.Do(func() { s.cells, s.err = s.load() })
	if s.err != nil {
		return func(yield func(matrix.Block, error) bool) { yield(matrix.Block{}, s.err) }
	}
	return s.cells.blocks(ctx, want)
}

func (s *sparse) load() (cellBlocks, error) {
	data, err := s.parts[dataPart].all()
	if err != nil {
		return nil, err
	}
	switch d := data.Data.(type) {
	case *matrix.Dense[float64]:
		return cellsOf(s, d.Val)
	case *matrix.Dense[float32]:
		return cellsOf(s, d.Val)
	case *matrix.Dense[int64]:
		return cellsOf(s, d.Val)
	case *matrix.Dense[int32]:
		return cellsOf(s, d.Val)
	case *matrix.Dense[int16]:
		return cellsOf(s, d.Val)
	case *matrix.Dense[int8]:
		return cellsOf(s, d.Val)
	case *matrix.Dense[uint64]:
		return cellsOf(s, d.Val)
	case *matrix.Dense[uint32]:
		return cellsOf(s, d.Val)
	case *matrix.Dense[uint16]:
		return cellsOf(s, d.Val)
	case *matrix.Dense[uint8]:
		return cellsOf(s, d.Val)
	}
	wide, _ := data.Cast(matrix.U8) // truth values
	return cellsOf(s, wide.Data.(*matrix.Dense[uint8]).Val)
}

// storedCell is one stored cell.
type storedCell[T matrix.Elem] struct {
	row, col int64
	val      T
}

// storedCells are the stored cells in the order of rows and columns.
type storedCells[T matrix.Elem] struct {
	s   *sparse
	all []storedCell[T]
}

// cellsOf finds the place of each value, and adds the values of one cell as SciPy does.
func cellsOf[T matrix.Elem](s *sparse, values []T) (cellBlocks, error) {
	c := &storedCells[T]{s: s}
	place := map[string]func([]T) error{"csr": c.compressed, "csc": c.compressed, "bsr": c.compressed,
		"coo": c.coordinates, "dia": c.diagonals}
	if err := place[s.kind](values); err != nil {
		return nil, err
	}
	order := func(a, b storedCell[T]) int { return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.col, b.col)) }
	if !slices.IsSortedFunc(c.all, order) {
		slices.SortStableFunc(c.all, order)
	}
	n := 0
	for _, one := range c.all {
		if n == 0 || order(c.all[n-1], one) != 0 {
			c.all[n] = one
			n++
			continue
		}
		last := &c.all[n-1]
		if s.dtype == matrix.Bool {
			if one.val != 0 {
				last.val = 1
			}
			continue
		}
		sum := last.val + one.val
		if !s.dtype.Float() && (one.val >= 0) != (sum >= last.val) {
			return nil, s.fault(dataPart, "values of the cell (%d, %d) whose sum %v does not hold", one.row, one.col, s.dtype)
		}
		last.val = sum
	}
	c.all = c.all[:n]
	return c, nil
}

func (s *sparse) fault(part, text string, args ...any) error {
	return s.parts[part].at(&wire.At{Off: s.parts[part].head.values, Err: fmt.Errorf(text, args...)})
}

// compressed reads rows (csr), columns (csc) or rows of blocks (bsr) behind each other.
func (c *storedCells[T]) compressed(values []T) error {
	s := c.s
	starts, err := s.whole("indptr")
	if err != nil {
		return err
	}
	indices, err := s.whole("indices")
	if err != nil {
		return err
	}
	high, wide := int64(1), int64(1) // of a block
	major, minor := s.rows, s.cols
	switch s.kind {
	case "csc":
		major, minor = s.cols, s.rows
	case "bsr":
		dims := s.parts[dataPart].head.shape
		if len(dims) != 3 || dims[1] < 1 || dims[2] < 1 || s.rows%dims[1] != 0 || s.cols%dims[2] != 0 {
			return s.fault(dataPart, "blocks of the shape %v in a matrix of %d x %d", dims, s.rows, s.cols)
		}
		high, wide = dims[1], dims[2]
		major, minor = s.rows/high, s.cols/wide
	}
	if int64(len(starts))-1 != major {
		return s.fault("indptr", "%d numbers, want %d", len(starts), major+1)
	}
	n := starts[major]
	if starts[0] != 0 || n < 0 || n > int64(len(indices)) || n > int64(len(values))/(high*wide) {
		return s.fault("indptr", "ends %d and %d, want 0 and at most the %d indices and %d values", starts[0], n, len(indices), len(values))
	}
	c.all = make([]storedCell[T], 0, n*high*wide)
	for r := range major {
		if starts[r+1] < starts[r] || starts[r+1] > n {
			return s.fault("indptr", "number %d is %d behind %d, want ascending numbers", r+1, starts[r+1], starts[r])
		}
		for i := starts[r]; i < starts[r+1]; i++ {
			k := indices[i]
			if k < 0 || k >= minor {
				return s.fault("indices", "index %d is %d, want 0 to %d", i, k, minor-1)
			}
			switch s.kind {
			case "csr":
				c.all = append(c.all, storedCell[T]{r, k, values[i]})
			case "csc":
				c.all = append(c.all, storedCell[T]{k, r, values[i]})
			default:
				for at, v := range values[i*high*wide : (i+1)*high*wide] {
					c.all = append(c.all, storedCell[T]{r*high + int64(at)/wide, k*wide + int64(at)%wide, v})
				}
			}
		}
	}
	return nil
}

func (c *storedCells[T]) coordinates(values []T) error {
	s := c.s
	rows, err := s.whole("row")
	if err != nil {
		return err
	}
	cols, err := s.whole("col")
	if err != nil {
		return err
	}
	if len(rows) != len(values) || len(cols) != len(values) {
		return s.fault(dataPart, "%d values in %d rows and %d columns, want as many of each", len(values), len(rows), len(cols))
	}
	c.all = make([]storedCell[T], len(values))
	for i, v := range values {
		if rows[i] < 0 || rows[i] >= s.rows {
			return s.fault("row", "number %d is %d, want 0 to %d", i, rows[i], s.rows-1)
		}
		if cols[i] < 0 || cols[i] >= s.cols {
			return s.fault("col", "number %d is %d, want 0 to %d", i, cols[i], s.cols-1)
		}
		c.all[i] = storedCell[T]{rows[i], cols[i], v}
	}
	return nil
}

// diagonals reads diagonals: value j of the one at offset k is in column j and row j-k. Zeros in them stand for absent cells.
func (c *storedCells[T]) diagonals(values []T) error {
	s := c.s
	offsets, err := s.whole("offsets")
	if err != nil {
		return err
	}
	length := int64(0)
	if len(offsets) > 0 {
		length = int64(len(values)) / int64(len(offsets))
	}
	if length*int64(len(offsets)) != int64(len(values)) {
		return s.fault(dataPart, "%d values in %d diagonals", len(values), len(offsets))
	}
	for i, off := range offsets {
		if slices.Contains(offsets[:i], off) {
			return s.fault("offsets", "offset %d twice", off)
		}
		if off <= -s.rows || off >= s.cols {
			continue // outside of the matrix
		}
		line := values[int64(i)*length:][:length]
		for j := max(0, off); j < min(length, s.cols); j++ {
			if r := j - off; r < s.rows && line[j] != 0 {
				c.all = append(c.all, storedCell[T]{r, j, line[j]})
			}
		}
	}
	return nil
}

// blocks implements cellBlocks: some rows each, without those at the edges that have no cells.
func (c *storedCells[T]) blocks(ctx context.Context, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		want := want.Intersect(matrix.At(0, c.s.rows, 0, c.s.cols))
		from := sort.Search(len(c.all), func(i int) bool { return c.all[i].row >= want.Rows.Lo })
		end := sort.Search(len(c.all), func(i int) bool { return c.all[i].row >= want.Rows.Hi })
		for from < end {
			if err := ctx.Err(); err != nil {
				yield(matrix.Block{}, err)
				return
			}
			to := min(end, from+sparseCells)
			if to < end && c.all[from].row != c.all[to].row { // whole rows, unless one is longer than a block
				for c.all[to-1].row == c.all[to].row {
					to--
				}
			}
			b := c.block(c.all[from:to], want.Cols)
			if c.all[from].row == c.all[to-1].row { // maybe a part of a row
				b.At.Cols = want.Cols.Intersect(matrix.Range{Lo: c.all[from].col, Hi: c.all[to-1].col + 1})
			}
			if b.Data.NNZ() > 0 && !yield(b, nil) {
				return
			}
			from = to
		}
	}
}

func (c *storedCells[T]) block(some []storedCell[T], cols matrix.Range) matrix.Block {
	first, last := some[0].row, some[len(some)-1].row
	d := &matrix.COO[T]{}
	for _, one := range some {
		if cols.Has(one.col) {
			d.Row, d.Col, d.Val = append(d.Row, one.row-first), append(d.Col, one.col), append(d.Val, one.val)
		}
	}
	b := matrix.Block{At: matrix.Rect{Rows: matrix.Range{Lo: first, Hi: last + 1}, Cols: cols}, Data: d}
	if last-first <= 16*int64(len(some))+1<<10 {
		b = b.ToCSR()
	}
	b, _ = b.Cast(c.s.dtype)
	return b
}

var textType = regexp.MustCompile(`^[<>|=]?([SU])([0-9]{1,3})$`)

// textOf is the text of a member that is an array of one text.
func textOf(m *member) (string, bool) {
	size := int64(m.file.UncompressedSize64)
	if size > textLimit {
		return "", false
	}
	o, err := m.open()
	if err != nil {
		return "", false
	}
	defer o.Close()
	raw := make([]byte, size)
	if wire.ReadAt(o, raw, 0) != nil {
		return "", false
	}
	var h head
	if h.read(bytes.NewReader(raw), size) != nil {
		return "", false
	}
	c := wire.NewCursor(h.text, h.textOff, wire.Little)
	d := parseDict(c, c.Bytes(len(h.text), "header"), h.version)
	kind := textType.FindStringSubmatch(d.descr)
	if c.Err() != nil || kind == nil || len(d.shape) != 0 {
		return "", false
	}
	n, _ := strconv.Atoi(kind[2])
	value := raw[h.values:]
	if kind[1] == "U" { // characters of four bytes, ASCII where we know the text
		if len(value) != 4*n {
			return "", false
		}
		return strings.ReplaceAll(string(value), "\x00", ""), true
	}
	return strings.TrimRight(string(value), "\x00"), len(value) == n
}
