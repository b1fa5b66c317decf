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
	set   settings
	m     matrix.Meta
	side  *format.Sidecar
	form  dialect
	index *format.LineIndex
	notes []string
}

// open finds out all about the file but its values.
func (r *reader) open(ctx context.Context, b blob.Bucket) (err error) {
	if r.set.meta {
		if r.side, err = format.ReadSidecar(ctx, b, r.path); err != nil {
			return err
		}
	}
	if r.set.empty == emptyAuto {
		if r.set.empty = emptyNaN; r.side != nil {
			r.set.empty = emptyError
		}
	}
	if r.obj, err = r.decoded(ctx); err != nil {
		return err
	}
	if r.form, err = head(ctx, r.obj, &r.set, r.side); err != nil {
		return located(err)
	}
	r.index = format.NewLineIndex(r.obj, r.obj.Size(), format.LineMark{Off: r.form.start, Line: r.form.line}, comment)
	if r.side == nil {
		err = r.infer(ctx)
	} else {
		err = r.fill()
	}
	if err != nil {
		return err
	}
	if r.set.dtype != matrix.Invalid {
		r.m.DType, r.m.ColTypes = r.set.dtype, nil
	}
	r.notes = append([]string{r.form.String()}, r.notes...)
	return nil
}

// head looks at the begin of the file, as far as its first lines with text.
func head(ctx context.Context, o blob.Object, w *settings, side *format.Sidecar) (d dialect, err error) {
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

// infer looks through the whole file and chooses the types: one for all columns if it holds all cells and the columns have
// no names, else one for each.
func (r *reader) infer(ctx context.Context) error {
	kinds, rows, err := scan(ctx, r.obj, r.index, &r.form, r.set.empty)
	if err != nil {
		return err
	}
	r.m.Rows, r.m.Cols = rows, int64(r.form.width)
	r.m.Labels, r.m.DType = r.form.labels, matrix.F64
	r.notes = append(r.notes, "no "+format.SidecarExt+", types from the cells")
	r.noteAbsent(kinds)
	if r.set.dtype != matrix.Invalid || rows == 0 {
		return nil
	}
	all, types, mixed := kind(0), make([]matrix.DType, len(kinds)), false
	for i, k := range kinds {
		if types[i], err = r.columnType(i, k); err != nil {
			return located(err)
		}
		all |= k.kind
		mixed = mixed || types[i] != types[0]
	}
	common, exact := all.dtype()
	switch {
	case len(types) == 0:
	case !mixed:
		r.m.DType = types[0]
	case r.form.labels == nil && exact:
		r.m.DType = common
	case r.form.labels == nil && r.set.round && all&truth == 0:
		r.m.DType = matrix.F64
	default:
		r.m.ColTypes = types
		if r.form.labels == nil {
			r.notes = append(r.notes, "columns have types of their own, because no type holds all cells")
		}
	}
	return nil
}

// columnType is the type of a column. It fails where none holds all cells, unless whole numbers may be rounded.
func (r *reader) columnType(i int, k columnKind) (matrix.DType, error) {
	d, exact := k.dtype()
	switch {
	case exact:
	case k.kind&truth != 0:
		err := fmt.Errorf("cell %q in a column with other cells than true and false, want one kind (0 and 1 are numbers)", k.truth.token)
		return d, r.labelled(&cellError{k.truth.off, k.truth.line, i + 1, err})
	case r.set.round:
		r.notes = append(r.notes, format.Warning(fmt.Sprintf("column %d: whole numbers such as %s are rounded to f64", i+1, k.inexact.token)))
	default:
		beside := "whole numbers beyond 64 bits"
		if k.kind&(fraction|absent) != 0 {
			beside = "cells that are no whole numbers"
		}
		err := fmt.Errorf("whole number %s, which f64 does not hold, in a column with %s (the option inexact=round takes the nearest)",
			k.inexact.token, beside)
		return d, r.labelled(&cellError{k.inexact.off, k.inexact.line, i + 1, err})
	}
	return d, nil
}

// noteAbsent says which columns have cells without a value.
func (r *reader) noteAbsent(kinds []columnKind) {
	var in []string
	for i, k := range kinds {
		if k.kind&absent != 0 {
			in = append(in, r.m.Label(int64(i)))
		}
	}
	if len(in) > 3 {
		in = append(in[:3], fmt.Sprintf("and %d columns more", len(in)-3))
	}
	if in != nil {
		r.notes = append(r.notes, format.Warning("cells without a value (empty, NA, null) are nan: "+strings.Join(in, ", ")))
	}
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
	s := shape{sep: r.form.sep, decimal: r.form.decimal, lanes: format.Lanes(&r.m), empty: r.set.empty}
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

// explain adds the label of the column to an error, and its place.
func (r *reader) explain(e *cellError) error { return located(r.labelled(e)) }

func (r *reader) labelled(e *cellError) *cellError {
	if i := e.col - 1; i >= 0 && i < len(r.m.Labels) && r.m.Labels[i] != "" {
		e.err = fmt.Errorf("%s: %w", quote([]byte(r.m.Labels[i])), e.err)
	}
	return e
}
