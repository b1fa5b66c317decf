package daphne

import (
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"sync"
	"unicode/utf8"

	"thole.example/blockio"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// plan is how one matrix will be written.
type plan struct {
	header
	settings
	from  matrix.Meta
	names []string // of the columns, for the sidecar
	fill  bool     // places that no block held become empty blocks
}

// maxCuts is into how many blocks a matrix may have to be cut because the sides of a block are of 32 bits. Even its
// empty blocks take room.
const maxCuts = 1 << 16

// newPlan reads the options and asks for what the format cannot hold.
func newPlan(m matrix.Meta, o format.Options) (*plan, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	p := &plan{from: m}
	var err error
	if p.settings, err = newSettings(&o); err != nil {
		return nil, err
	}
	p.sidecar = p.sidecar || p.auto && besides(&m)
	if err := p.losses(&o); err != nil {
		return nil, err
	}
	m = p.from // without what is lost
	p.header = header{data: denseMatrix, rows: m.Rows, cols: m.Cols}
	p.fill = m.Layout == matrix.RowSparse || m.Saved != nil
	types := []matrix.DType{m.DType}
	switch {
	case m.ColTypes != nil || m.Labels != nil && m.Layout == matrix.RowDense:
		p.data, p.names = frame, m.Labels
		if types = m.ColTypes; types == nil {
			types = slices.Repeat([]matrix.DType{m.DType}, int(m.Cols))
		}
		p.labels = make([]string, m.Cols) // DAPHNE itself reads no other than empty ones without harm
		if m.Labels != nil && p.dialect != mainName {
			p.labels = m.Labels
		}
	case m.Layout == matrix.RowSparse:
		p.data, p.names = csrMatrix, m.Labels
	}
	p.types = make([]matrix.DType, len(types))
	for i, t := range types {
		if p.types[i], err = p.storedAs(t, &o); err != nil {
			return nil, err
		}
	}
	return p, p.check()
}

// losses asks about what has no place in the format. Foreign attributes, rules and names are not asked for.
func (p *plan) losses(o *format.Options) error {
	m := &p.from
	for _, l := range []struct {
		is   bool
		of   format.Aspect
		what string
	}{
		{m.Saved != nil, format.Absence, "absent rows become zeros"},
		{m.LoD != nil, format.Sequences, "levels of detail"},
		{m.Layout == matrix.RowSparse && m.ColTypes != nil, format.Absence, "that a frame is sparse"},
		{slices.ContainsFunc(m.Labels, notText), format.Labels, "labels that are not UTF-8"},
		{!p.sidecar && m.Shaped(), format.Shapes, fmt.Sprintf("the shape %v (FILE.meta keeps it)", m.Dims)},
		{!p.sidecar && m.ColLo != 0, format.Places, "columns are counted from 0 (FILE.meta keeps where they begin)"},
		{!p.sidecar && m.Layout == matrix.RowSparse && m.Labels != nil, format.Labels, "names of columns (FILE.meta keeps them)"},
		{!p.sidecar && p.dialect == mainName && m.Labels != nil && m.Layout == matrix.RowDense, format.Labels,
			"names of columns (FILE.meta keeps them)"},
	} {
		if !l.is {
			continue
		}
		if err := o.Lose(l.of, m.Name, "%s", l.what); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(m.Labels, notText) {
		m.Labels = slices.Clone(m.Labels)
		for i, l := range m.Labels {
			if notText(l) {
				m.Labels[i] = ""
			}
		}
	}
	return format.LoseFiles(o)
}

// notText tells of a label that a reader refuses.
func notText(label string) bool { return !utf8.ValidString(label) }

// besides reports whether a file has no place for what FILE.meta can say: the shape, the first column, names of sparse columns.
func besides(m *matrix.Meta) bool {
	return m.Shaped() || m.ColLo != 0 || m.Layout == matrix.RowSparse && m.Labels != nil
}

// storedAs is the type that holds every value of t and has a code.
func (p *plan) storedAs(t matrix.DType, o *format.Options) (matrix.DType, error) {
	if _, ok := p.codes.Code(t); ok {
		return t, nil
	}
	as, ok := map[matrix.DType]matrix.DType{
		matrix.F16: matrix.F32, matrix.BF16: matrix.F32, matrix.Bool: matrix.U8, matrix.I16: matrix.I32, matrix.U16: matrix.U32,
	}[t]
	if !ok {
		return t, fmt.Errorf("values of %v have no code", t)
	}
	return as, o.Lose(format.Types, p.from.Name, "the type %v, values become %v", t, as)
}

func (p *plan) check() error {
	seen := map[string]bool{}
	for _, l := range p.names {
		if l != "" && seen[l] {
			return fmt.Errorf("label %q comes more than once", l)
		}
		seen[l] = true
	}
	for i, l := range p.labels {
		if len(l) > math.MaxUint16 {
			return fmt.Errorf("label of column %d: %d bytes, want at most %d: %w", i, len(l), math.MaxUint16, format.ErrLimit)
		}
	}
	if p.sidecar && p.names != nil {
		if err := format.NewSidecar(&p.from).Check(); err != nil {
			return fmt.Errorf("labels of %d columns: %w", len(p.names), err)
		}
	}
	if down, across := p.rows/math.MaxUint32+1, p.cols/math.MaxUint32+1; across > maxCuts/down {
		return fmt.Errorf("matrix %q: %d x %d needs more than %d blocks of 2^32-1 rows and columns: %w",
			p.from.Name, p.rows, p.cols, maxCuts, format.ErrLimit)
	}
	if err := p.checkGrid(); err != nil {
		return err
	}
	if p.dialect == mainName && (p.rows > math.MaxUint32 || p.cols > math.MaxUint32) {
		return fmt.Errorf("%d x %d in DAPHNE's own layout, want at most 2^32-1 rows and columns: %w", p.rows, p.cols, format.ErrLimit)
	}
	return nil
}

const (
	maxGrid   = 1 << 20 // blocks of a grid, which are kept in mind until all are there
	maxMerged = 1 << 30 // bytes of a dense block that is put together
)

// checkGrid refuses blocks that are too many, or too large to be put together in memory.
func (p *plan) checkGrid() error {
	if !p.grid() || p.rect().Empty() {
		return nil
	}
	tall, broad := min(p.tall, p.rows), min(p.broad, p.cols)
	if p.data == frame {
		broad = 1
	}
	if down, across := (p.rows-1)/tall+1, (p.cols-1)/broad+1; across > maxGrid/down {
		return fmt.Errorf("matrix %q: %d x %d blocks of %d x %d, want at most %d in all: %w",
			p.from.Name, down, across, tall, broad, maxGrid, format.ErrLimit)
	}
	if cells, ok := matrix.Cells(tall, broad); p.from.Layout == matrix.RowDense && (!ok || cells > maxMerged/8) {
		return fmt.Errorf("matrix %q: blocks of %d x %d, want at most %d cells in a dense one: %w",
			p.from.Name, tall, broad, maxMerged/8, format.ErrLimit)
	}
	return nil
}

// prepare gives the blocks of the file that hold b.
func (p *plan) prepare(b matrix.Block) ([]matrix.Block, error) {
	if err := b.Check(); err != nil {
		return nil, err
	}
	if !p.from.Rect().Contains(b.At) {
		return nil, fmt.Errorf("block %v, want one within %v", b.At, p.from.Rect())
	}
	if b.At.Empty() {
		return nil, nil
	}
	if p.from.ColLo != 0 {
		b = b.Shift(0, -p.from.ColLo)
	}
	kind, err := blockio.Encoder{}.Head(b)
	if err != nil {
		return nil, err
	}
	switch cells, _ := b.At.Cells(); {
	case kind.Kind == blockio.Cols && int64(b.Data.NNZ()) == cells:
		b = b.ToDense()
	case kind.Kind == blockio.Cols, kind.Kind == blockio.COO && kind.N > math.MaxUint32:
		b = b.ToCSR()
	case kind.Kind == blockio.COO:
		b = blockio.Sorted(b)
	}
	var out []matrix.Block
	for one, err := range format.Ahead(p.cut(b)) {
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// cut gives jobs that make the blocks of the file that hold b.
func (p *plan) cut(b matrix.Block) iter.Seq[func() (matrix.Block, error)] {
	places := p.pieces(b.At)
	columns := p.data == frame && len(places) > 1 && kindOf(b) == blockio.Dense && len(places) == int(b.At.Cols.Len())
	if columns {
		turned := split(b)
		return p.jobs(places, func(i int) matrix.Block { return turned[i] })
	}
	return p.jobs(places, func(i int) matrix.Block {
		if places[i] == b.At {
			return b
		}
		return b.Cut(places[i])
	})
}

func (p *plan) jobs(places []matrix.Rect, piece func(i int) matrix.Block) iter.Seq[func() (matrix.Block, error)] {
	return func(yield func(func() (matrix.Block, error)) bool) {
		for i, at := range places {
			if !yield(func() (matrix.Block, error) {
				one := piece(i)
				t := p.colType(at.Cols.Lo)
				cast, exact := one.Cast(t)
				if !exact {
					return one, fmt.Errorf("block %v of %v holds a value that %v does not", at, one.Data.DType(), t)
				}
				return p.shape(cast), nil
			}) {
				return
			}
		}
	}
}

func kindOf(b matrix.Block) blockio.Kind {
	h, _ := blockio.Encoder{}.Head(b) // b has been checked
	return h.Kind
}

// splitRows is how many rows are split at a time, so that they stay in the processor's cache for all columns.
const splitRows = 1 << 10

// splitBytes is how much a goroutine splits at least.
const splitBytes = 1 << 20

// split copies the columns of a dense block to blocks of their own, with all processors.
func split(b matrix.Block) []matrix.Block {
	cols, rows := int(b.At.Cols.Len()), int(b.At.Rows.Len())
	src, size := wire.ViewAny(b.Data.Values())
	out, dst := make([]matrix.Block, cols), make([][]byte, cols)
	for c := range out {
		lo := b.At.Cols.Lo + int64(c)
		out[c] = matrix.NewDense(b.Data.DType(), matrix.Rect{Rows: b.At.Rows, Cols: matrix.Range{Lo: lo, Hi: lo + 1}})
		dst[c], _ = wire.ViewAny(out[c].Data.Values())
	}
	var wait sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), 1+len(src)/splitBytes)
	for n := range workers {
		wait.Go(func() {
			for row := n * splitRows; row < rows; row += workers * splitRows {
				end := min(rows, row+splitRows)
				for c := range out {
					column(dst[c][row*size:end*size], src[(row*cols+c)*size:], size, cols*size)
				}
			}
		})
	}
	wait.Wait()
	return out
}

// shape holds a block of the file as it will be stored.
func (p *plan) shape(b matrix.Block) matrix.Block {
	if p.dialect == mainName {
		return b // only waits to become a part of the one block
	}
	if p.narrow {
		b = p.codes.Narrow(b)
	}
	if p.planned {
		b = blockio.Smallest(b, p.from.Layout)
	}
	return b
}

// pieces cuts a place into blocks of the file: where the grid has its lines, sides of at most 2^32-1, and in a frame single
// columns.
func (p *plan) pieces(at matrix.Rect) (out []matrix.Rect) {
	width := p.broad
	if p.data == frame {
		width = 1
	}
	for rows := range cuts(at.Rows, p.tall) {
		for cols := range cuts(at.Cols, width) {
			out = append(out, matrix.Rect{Rows: rows, Cols: cols})
		}
	}
	return out
}

// cuts cuts a range at the multiples of step and into pieces of at most 2^32-1.
func cuts(r matrix.Range, step int64) iter.Seq[matrix.Range] {
	return func(yield func(matrix.Range) bool) {
		for lo := r.Lo; lo < r.Hi; {
			n := min(step-lo%step, math.MaxUint32, r.Hi-lo)
			if !yield(matrix.Range{Lo: lo, Hi: lo + n}) {
				return
			}
			lo += n
		}
	}
}
