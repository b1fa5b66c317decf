package csv

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// reader reads one table.
type reader struct {
	obj   blob.Object
	path  string
	wish  wish
	m     matrix.Meta
	side  *format.Sidecar
	form  dialect
	index *format.LineIndex
	notes []string
}

// open finds out all about the file but its values.
func (r *reader) open(ctx context.Context, b blob.Bucket) (err error) {
	if r.wish.meta {
		if r.side, err = format.ReadSidecar(ctx, b, r.path); err != nil {
			return err
		}
	}
	if r.form, err = head(ctx, r.obj, &r.wish, r.side); err != nil {
		return located(err)
	}
	r.index = format.NewLineIndex(r.obj, r.obj.Size(), format.LineMark{Off: r.form.start, Line: r.form.line}, 0)
	if r.side == nil {
		err = r.infer(ctx)
	} else {
		err = r.fill()
	}
	if err != nil {
		return err
	}
	if r.wish.dtype != matrix.Invalid {
		r.m.DType, r.m.ColTypes = r.wish.dtype, nil
	}
	r.notes = append([]string{r.form.String()}, r.notes...)
	return nil
}

// head looks at the begin of the file, as far as its first lines with text.
func head(ctx context.Context, o blob.Object, w *wish, side *format.Sidecar) (d dialect, err error) {
	d.sep = ','
	line := int64(0)
	for l, err := range format.ReadLines(ctx, o, 0, o.Size()) {
		if err != nil {
			return d, err
		}
		d, err = detect(l, w, side)
		d.line += line
		if err != nil || d.width > 0 {
			return d, err
		}
		line = d.line
	}
	return d, nil
}

// fill takes the description from the sidecar.
func (r *reader) fill() error {
	if err := r.side.Fill(&r.m); err != nil {
		return fmt.Errorf("file %s%s: %w", r.path, format.SidecarExt, err)
	}
	r.notes = append(r.notes, "with "+format.SidecarExt)
	if r.form.width > 0 && int64(r.form.width) != r.m.Cols {
		return located(&cellError{0, r.form.line + 1, 0, fmt.Errorf("%d cells, want %d as %s says", r.form.width, r.m.Cols, format.SidecarExt)})
	}
	if r.m.Labels == nil && r.form.labels != nil && (r.side.Thole == nil || !r.side.Thole.Made) {
		r.m.Labels = r.form.labels
	}
	return nil
}

// infer looks through the whole file.
func (r *reader) infer(ctx context.Context) error {
	kinds, rows, err := scan(ctx, r.obj, r.index, r.form.sep, r.form.width, r.form.labels != nil, r.wish.empty)
	if err != nil {
		return err
	}
	r.m.Rows, r.m.Cols = rows, int64(r.form.width)
	r.m.Labels = r.form.labels
	types := make([]matrix.DType, len(kinds))
	mixed := false
	for i, k := range kinds {
		d, exact := k.dtype()
		if !exact && r.wish.dtype == matrix.Invalid {
			r.notes = append(r.notes, format.Warning(r.rounded(i, k)))
		}
		types[i] = d
		mixed = mixed || d != types[0]
	}
	r.m.DType = matrix.F64
	switch {
	case mixed:
		r.m.ColTypes = types
	case len(types) > 0 && r.m.Rows > 0:
		r.m.DType = types[0]
	}
	r.notes = append(r.notes, "no "+format.SidecarExt+", types from the cells")
	return nil
}

// rounded says why cells of a column are not exact.
func (r *reader) rounded(column int, k kind) string {
	where, why := fmt.Sprintf("column %d: ", column+1), "whole numbers beyond 64 bits"
	if r.form.labels == nil {
		where = "one type for all cells: "
	}
	if k&fraction != 0 {
		why = "whole numbers beyond 2^53 beside fractions"
	}
	return where + why + ", rounded to f64; columns keep types of their own with a header or a .meta"
}

// Matrices implements format.Reader.
func (r *reader) Matrices() []matrix.Meta { return []matrix.Meta{r.m} }

// Notes implements format.Reader.
func (r *reader) Notes() []string {
	warnings := format.Warnings(r.notes)
	facts := slices.DeleteFunc(slices.Clone(r.notes), func(n string) bool { return slices.Contains(warnings, n) })
	return append([]string{strings.Join(facts, "; ")}, warnings...)
}

// Files implements format.Reader.
func (r *reader) Files() map[string][]byte { return nil }

// Close implements format.Reader.
func (r *reader) Close() error { return r.obj.Close() }

// Blocks implements format.Reader. Rows from the middle of the file are found by counting lines, once.
func (r *reader) Blocks(ctx context.Context, matrixName string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		if matrixName != r.m.Name {
			yield(matrix.Block{}, format.Wrap(name, r.path, fmt.Errorf("matrix %q: %w", matrixName, format.ErrMatrix)))
			return
		}
		if err := r.walk(ctx, want, func(b matrix.Block) bool { return yield(b, nil) }); err != nil && err != errStop {
			yield(matrix.Block{}, format.Wrap(name, r.path, err))
		}
	}
}

// errStop ends a walk without being an error.
var errStop = errors.New("stop")

// walk reads from the begin of want to its end, or to the end of the file if want reaches the last row.
func (r *reader) walk(ctx context.Context, want matrix.Rect, emit func(matrix.Block) bool) error {
	toEnd := want.Rows.Hi >= r.m.Rows
	want = want.Intersect(r.m.Rect())
	if !toEnd && want.Empty() || r.m.Cols == 0 { // Open has seen that a table without columns has no cell
		return nil
	}
	at, err := r.index.Seek(ctx, want.Rows.Lo)
	if err != nil {
		return err
	}
	s := shape{sep: r.form.sep, lanes: format.Lanes(&r.m), empty: r.wish.empty}
	for p, err := range format.ParseLines(ctx, r.obj, at.Off, r.obj.Size(), s.parse) {
		if err != nil {
			return err
		}
		if at.Row+p.rows > r.m.Rows {
			return located(&cellError{p.end, at.Line + p.lines, 0, fmt.Errorf("more than %d rows", r.m.Rows)})
		}
		if p.err != nil {
			p.err.line += at.Line
			return r.explain(p.err)
		}
		if p.open && r.side != nil && r.side.Thole != nil {
			return located(&cellError{p.end, at.Line + p.lines, 0, errors.New("the last line has no end: cut off?")})
		}
		if err := emitPiece(&s, &p, at.Row, want, emit); err != nil {
			return err
		}
		at = format.LineMark{Off: p.end, Row: at.Row + p.rows, Line: at.Line + p.lines}
		if !toEnd && at.Row >= want.Rows.Hi {
			return nil
		}
	}
	if at.Row != r.m.Rows {
		return located(&cellError{at.Off, at.Line, 0, fmt.Errorf("the file ends after %d rows, want %d", at.Row, r.m.Rows)})
	}
	return nil
}

// emitPiece passes on what a piece has of want.
func emitPiece(s *shape, p *piece, row int64, want matrix.Rect, emit func(matrix.Block) bool) error {
	for i, d := range p.lanes {
		b := matrix.Block{At: matrix.Rect{Rows: matrix.Range{Lo: row, Hi: row + p.rows}, Cols: s.lanes[i].Cols}, Data: d}
		if both := b.At.Intersect(want); both != b.At {
			b = b.Cut(both)
		}
		if !b.At.Empty() && !emit(b) {
			return errStop
		}
	}
	return nil
}

// explain adds the label of the column to an error.
func (r *reader) explain(e *cellError) error {
	if i := e.col - 1; i >= 0 && i < len(r.m.Labels) && r.m.Labels[i] != "" {
		e.err = fmt.Errorf("%s: %w", quote([]byte(r.m.Labels[i])), e.err)
	}
	return located(e)
}
