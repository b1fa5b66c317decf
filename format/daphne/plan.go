package daphne

import (
	"fmt"
	"math"

	"thole/blockio"
	"thole/format"
	"thole/matrix"
)

// plan is how one matrix will be written.
type plan struct {
	header
	from     matrix.Meta
	codes    blockio.Codes
	smallest bool
	sidecar  bool
	fill     bool // places that no block held become empty blocks
}

// maxCuts is into how many blocks a matrix may have to be cut because the sides of a block are of 32 bits. Even its
// empty blocks take room.
const maxCuts = 1 << 16

// newPlan reads the options and asks for what the format cannot hold.
func newPlan(m matrix.Meta, o format.Options) (*plan, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	p := &plan{from: m, codes: blockio.Document}
	if err := p.options(o); err != nil {
		return nil, err
	}
	if m.ColLo != 0 {
		return nil, fmt.Errorf("matrix %q: columns from %d on, the format counts them from 0: %w", m.Name, m.ColLo, format.ErrLimit)
	}
	if err := p.losses(&o); err != nil {
		return nil, err
	}
	p.header = header{data: denseMatrix, rows: m.Rows, cols: m.Cols}
	p.fill = m.Layout == matrix.RowSparse || m.Saved != nil
	types := []matrix.DType{m.DType}
	switch {
	case m.ColTypes != nil || m.Labels != nil && m.Layout == matrix.RowDense:
		p.data, p.labels = frame, m.Labels
		if types = m.ColTypes; types == nil {
			types = repeat(m.DType, m.Cols)
		}
		if p.labels == nil {
			p.labels = make([]string, m.Cols)
		}
	case m.Layout == matrix.RowSparse:
		p.data = csrMatrix
	}
	p.types = make([]matrix.DType, len(types))
	for i, t := range types {
		var err error
		if p.types[i], err = p.storedAs(t, &o); err != nil {
			return nil, err
		}
	}
	return p, p.check()
}

func (p *plan) options(o format.Options) error {
	info := codec{}.Info()
	choices := []struct {
		name string
		want [2]string
		set  func(second bool)
	}{
		{"dialect", [2]string{docName, mainName}, func(second bool) {
			if second {
				p.codes = blockio.Daphne
			}
		}},
		{"blocks", [2]string{"as-is", "smallest"}, func(second bool) { p.smallest = second }},
		{"meta", [2]string{"false", "true"}, func(second bool) { p.sidecar = second }},
	}
	for _, c := range choices {
		v := o.Get(info, c.name)
		if v != c.want[0] && v != c.want[1] {
			return fmt.Errorf("option %s is %q, want %s or %s", c.name, v, c.want[0], c.want[1])
		}
		c.set(v == c.want[1])
	}
	return nil
}

// losses asks about what has no place in the format. Foreign attributes, rules and names are not asked for.
func (p *plan) losses(o *format.Options) error {
	m := &p.from
	for _, l := range []struct {
		is   bool
		what string
	}{
		{m.Saved != nil, "absent rows become zeros"},
		{len(m.Dims) > 2, "the shape of the tensor"},
		{m.LoD != nil, "levels of detail"},
		{m.Layout == matrix.RowSparse && m.ColTypes != nil, "that a frame is sparse"},
		{m.Layout == matrix.RowSparse && m.ColTypes == nil && m.Labels != nil, "names of columns"},
	} {
		if !l.is {
			continue
		}
		if err := o.Lose("matrix %q: %s", m.Name, l.what); err != nil {
			return err
		}
	}
	format.DropFiles(o)
	return nil
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
	return as, o.Lose("matrix %q: the type %v, values become %v", p.from.Name, t, as)
}

func (p *plan) check() error {
	seen := map[string]bool{}
	for _, l := range p.labels {
		if l != "" && seen[l] {
			return fmt.Errorf("label %q comes more than once", l)
		}
		seen[l] = true
	}
	if down, across := p.rows/math.MaxUint32+1, p.cols/math.MaxUint32+1; across > maxCuts/down {
		return fmt.Errorf("matrix %q: %d x %d needs more than %d blocks of 2^32-1 rows and columns: %w",
			p.from.Name, p.rows, p.cols, maxCuts, format.ErrLimit)
	}
	if p.codes != blockio.Daphne {
		return nil
	}
	if p.data == frame {
		return fmt.Errorf("a frame cannot be written in DAPHNE's own layout, only a matrix: %w", format.ErrVersion)
	}
	if p.rows > math.MaxUint32 || p.cols > math.MaxUint32 {
		return fmt.Errorf("%d x %d in DAPHNE's own layout, want at most 2^32-1 rows and columns: %w", p.rows, p.cols, format.ErrLimit)
	}
	return nil
}

func repeat(t matrix.DType, n int64) []matrix.DType {
	types := make([]matrix.DType, n)
	for i := range types {
		types[i] = t
	}
	return types
}

// prepare gives the blocks of the file that hold b.
func (p *plan) prepare(b matrix.Block) ([]matrix.Block, error) {
	if err := b.Check(); err != nil {
		return nil, err
	}
	if !p.rect().Contains(b.At) {
		return nil, fmt.Errorf("block %v, want one within %v", b.At, p.rect())
	}
	if b.At.Empty() {
		return nil, nil
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
	for _, at := range p.pieces(b.At) {
		one := b
		if at != b.At {
			one = b.Cut(at)
		}
		t := p.colType(at.Cols.Lo)
		cast, exact := one.Cast(t)
		if !exact {
			return nil, fmt.Errorf("block %v of %v holds a value that %v does not", at, b.Data.DType(), t)
		}
		if p.smallest {
			cast = blockio.Smallest(cast, p.from.Layout)
		}
		out = append(out, cast)
	}
	return out, nil
}

// pieces cuts a place into blocks of the file: sides of at most 2^32-1, and in a frame single columns.
func (p *plan) pieces(at matrix.Rect) (out []matrix.Rect) {
	width := int64(math.MaxUint32)
	if p.data == frame {
		width = 1
	}
	for r := at.Rows.Lo; r < at.Rows.Hi; r += min(math.MaxUint32, at.Rows.Hi-r) {
		rows := matrix.Range{Lo: r, Hi: r + min(math.MaxUint32, at.Rows.Hi-r)}
		for c := at.Cols.Lo; c < at.Cols.Hi; c += min(width, at.Cols.Hi-c) {
			out = append(out, matrix.Rect{Rows: rows, Cols: matrix.Range{Lo: c, Hi: c + min(width, at.Cols.Hi-c)}})
		}
	}
	return out
}
