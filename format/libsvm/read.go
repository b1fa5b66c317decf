package libsvm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// reader reads one file.
type reader struct {
	obj      blob.Object
	path     string
	set      settings
	side     *format.Sidecar
	ownLabel bool // the labels are a matrix
	labels   matrix.Meta
	features matrix.Meta
	shape    shape
	cells    int64 // -1: not known
	rows     int64 // of the file
	index    *format.LineIndex
	notes    []string
}

// The names of the matrices where nothing says another.
const (
	labelsName   = "labels"
	featuresName = "features"
)

// open finds out all about the file but its values.
func (r *reader) open(ctx context.Context, b blob.Bucket) (err error) {
	if r.set.meta {
		if r.side, err = format.ReadSidecar(ctx, b, r.path); err != nil {
			return err
		}
	}
	r.shape = shape{base: 1, limit: math.MaxInt64, label: matrix.F64, features: matrix.F64}
	start := int64(0)
	if r.shape.labelled, start, err = begin(ctx, r.obj); err != nil {
		return err
	}
	r.index = format.NewLineIndex(r.obj, r.obj.Size(), format.LineMark{Off: start}, '#')
	r.features.Layout, r.cells, r.ownLabel = matrix.RowSparse, -1, r.shape.labelled
	if r.ownLabel {
		r.features.Name = featuresName
	}
	r.labels = matrix.Meta{Name: labelsName, Unnamed: true, Cols: 1}
	if r.side != nil {
		if err := r.fill(); err != nil {
			return fmt.Errorf("file %s%s: %w", r.path, format.SidecarExt, err)
		}
	}
	if r.set.base >= 0 {
		r.shape.base = r.set.base
	}
	if r.set.dtype != matrix.Invalid {
		r.shape.label, r.shape.features = r.set.dtype, r.set.dtype
	}
	if r.side == nil {
		if err := r.scan(ctx); err != nil {
			return err
		}
	}
	r.features.Stored = max(0, r.cells)
	r.labels.Rows, r.labels.DType, r.features.DType = r.features.Rows, r.shape.label, r.shape.features
	return nil
}

// begin finds the first row and reports whether it has a label. An empty file has.
func begin(ctx context.Context, o blob.Object) (labelled bool, start int64, err error) {
	bom := []byte("\xef\xbb\xbf")
	for l, err := range format.ReadLines(ctx, o, 0, o.Size()) {
		if err != nil {
			return false, 0, err
		}
		text := l.Text[:len(l.Text)+format.LinesPad]
		i := 0
		if l.Off == 0 && bytes.HasPrefix(text, bom) {
			i, start = len(bom), int64(len(bom))
		}
		for i < len(l.Text) {
			if i = gap(text, i); !ends(text[i]) {
				t := token(text, i)
				return bytes.IndexByte(t, ':') < 0, start, nil
			}
			i += bytes.IndexByte(text[i:], '\n') + 1
		}
	}
	return true, start, nil
}

// fill takes the description from the sidecar.
func (r *reader) fill() error {
	if err := r.side.Fill(&r.features); err != nil {
		return err
	}
	if r.features.ColTypes != nil || r.features.Labels != nil {
		return fmt.Errorf("a schema, want one valueType: %w", format.ErrCorrupt)
	}
	r.shape.features, r.shape.label = r.features.DType, r.features.DType
	r.rows, r.shape.limit = r.features.Rows, r.features.Cols
	if n := r.side.NumNonZeros; n != nil && *n >= 0 {
		r.cells = *n
	}
	own := r.side.Thole
	if own == nil {
		return nil
	}
	if own.Zero {
		r.shape.base = 0
	}
	r.ownLabel = own.Labels != ""
	if r.ownLabel && !r.shape.labelled {
		return fmt.Errorf("labels of type %s, but the lines have none: %w", own.Labels, format.ErrCorrupt)
	}
	if !r.ownLabel && r.features.Cols == 0 {
		r.rows = 0 // we write no line then
	}
	if !r.ownLabel {
		r.features.Name = pathName(r.path)
		return nil
	}
	if len(own.Names) == 2 && own.Names[0] != own.Names[1] {
		r.labels.Name, r.features.Name = own.Names[0], own.Names[1]
	}
	var err error
	r.shape.label, err = format.SidecarDType("", own.Labels)
	return err
}

// scan reads the whole file to count rows and columns.
func (r *reader) scan(ctx context.Context) error {
	at, top := r.index.First(), int64(-1)
	r.cells = 0
	for p, err := range format.ParseLines(ctx, r.obj, at.Off, r.obj.Size(), r.shape.parse) {
		if err == nil {
			err = r.check(&p, at)
		}
		if err != nil {
			return err
		}
		if p.query > 0 && r.notes == nil {
			r.notes = []string{fmt.Sprintf("line %d: qid is left out: rows are not grouped by query", at.Line+p.query)}
		}
		at = r.index.Add(p.end, p.rows, p.lines)
		top = max(top, p.top)
		r.cells += int64(len(p.idx))
	}
	r.features.Rows, r.features.Cols, r.rows = at.Row, top+1, at.Row
	return nil
}

// check gives the error of a piece its place.
func (r *reader) check(p *piece, at format.LineMark) error {
	e := p.err
	if e == nil && p.open && r.side != nil && r.side.Thole != nil {
		e = &lineError{p.end, p.lines, errors.New("the last line has no end: cut off?")}
	}
	if e == nil {
		return nil
	}
	return &wire.At{Off: e.off, Err: &lineError{e.off, e.line + at.Line, e.err}}
}

// Matrices implements format.Reader.
func (r *reader) Matrices() []matrix.Meta {
	if r.ownLabel {
		return []matrix.Meta{r.labels, r.features}
	}
	return []matrix.Meta{r.features}
}

// Notes implements format.Reader.
func (r *reader) Notes() []string {
	what := "features"
	if r.ownLabel {
		what = "labels and features"
	}
	note := fmt.Sprintf("%s, indices from %d", what, r.shape.base)
	if r.side == nil {
		note += ", no " + format.SidecarExt
	}
	return append([]string{note}, r.notes...)
}

// Files implements format.Reader.
func (r *reader) Files() map[string][]byte { return nil }

// Close implements format.Reader.
func (r *reader) Close() error { return r.obj.Close() }

// Blocks implements format.Reader. A walk over either matrix reads and checks all of the lines that it needs.
func (r *reader) Blocks(ctx context.Context, matrixName string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		i := slices.IndexFunc(r.Matrices(), func(m matrix.Meta) bool { return m.Name == matrixName })
		if i < 0 {
			yield(matrix.Block{}, format.Wrap(name, r.path, fmt.Errorf("matrix %q: %w", matrixName, format.ErrMatrix)))
			return
		}
		m := r.Matrices()[i]
		make := func(p *piece) matrix.Data { return p.val.csr(p.ptr, p.idx) }
		if r.ownLabel && i == 0 {
			make = func(p *piece) matrix.Data { return p.label.dense() }
		}
		emit := func(p *piece, row int64) error {
			b := matrix.Block{At: matrix.Rect{Rows: matrix.Range{Lo: row, Hi: row + p.rows}, Cols: m.Rect().Cols}, Data: make(p)}
			if both := b.At.Intersect(want); both != b.At {
				b = b.Cut(both)
			}
			if !b.At.Empty() && !yield(b, nil) {
				return errStop
			}
			return nil
		}
		if err := r.walk(ctx, want, emit); err != nil && err != errStop {
			yield(matrix.Block{}, format.Wrap(name, r.path, err))
		}
	}
}

// errStop ends a walk without being an error.
var errStop = errors.New("stop")

// walk reads from the begin of want to its end, or to the end of the file if want reaches the last row.
func (r *reader) walk(ctx context.Context, want matrix.Rect, emit func(p *piece, row int64) error) error {
	toEnd := want.Rows.Hi >= r.features.Rows
	rows := want.Rows.Intersect(matrix.Range{Hi: r.rows})
	if !toEnd && rows.Len() == 0 {
		return nil
	}
	at, err := r.index.Seek(ctx, rows.Lo)
	if err != nil {
		return err
	}
	cells, all := int64(0), toEnd && at == r.index.First()
	for p, err := range format.ParseLines(ctx, r.obj, at.Off, r.obj.Size(), r.shape.parse) {
		if err == nil {
			err = r.check(&p, at)
		}
		if err != nil {
			return err
		}
		if at.Row+p.rows > r.rows {
			return &wire.At{Off: p.end, Err: fmt.Errorf("more than %d rows: %w", r.rows, format.ErrCorrupt)}
		}
		if err := emit(&p, at.Row); err != nil {
			return err
		}
		cells += int64(len(p.idx))
		at = format.LineMark{Off: p.end, Row: at.Row + p.rows, Line: at.Line + p.lines}
		if !toEnd && at.Row >= rows.Hi {
			return nil
		}
	}
	if at.Row != r.rows {
		return &wire.At{Off: at.Off, Err: fmt.Errorf("the file ends after %d rows, want %d: %w", at.Row, r.rows, format.ErrCorrupt)}
	}
	if all && r.cells >= 0 && cells != r.cells {
		return &wire.At{Off: at.Off, Err: fmt.Errorf("%d values, want %d as %s says: %w", cells, r.cells, format.SidecarExt, format.ErrCorrupt)}
	}
	return nil
}
