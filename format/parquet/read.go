package parquet

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/parquet-go/parquet-go/compress/zstd"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// blockBytes is about how many bytes of values a block has.
const blockBytes = 16 << 20

// reader reads one table.
type reader struct {
	obj    blob.Object
	path   string
	footer *footer
	nulls  nulls
	m      matrix.Meta
	zstd   zstd.Codec
}

// Matrices implements format.Reader.
func (r *reader) Matrices() []matrix.Meta { return []matrix.Meta{r.m} }

// Notes implements format.Reader.
func (r *reader) Notes() []string {
	notes := []string{r.footer.String()}
	if r.footer.CreatedBy != "" {
		notes[0] += fmt.Sprintf(", made by %q", r.footer.CreatedBy)
	}
	var times []string
	for _, c := range r.footer.columns {
		if c.time {
			times = append(times, c.name)
		}
	}
	if times != nil {
		notes = append(notes, "dates and times as whole numbers: "+strings.Join(times, ", "))
	}
	return notes
}

// Files implements format.Reader.
func (r *reader) Files() map[string][]byte { return nil }

// Extent implements format.Measurer.
func (r *reader) Extent(string) (format.Extent, bool) {
	return format.Extent{Pieces: len(r.footer.groups), Kind: "row groups", Bytes: r.obj.Size()}, true
}

// Close implements format.Reader.
func (r *reader) Close() error { return r.obj.Close() }

// Blocks implements format.Reader. A block is the rows of one row group by some columns of one type.
func (r *reader) Blocks(ctx context.Context, matrixName string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		if matrixName != r.m.Name {
			yield(matrix.Block{}, format.Wrap(name, r.path, fmt.Errorf("matrix %q: %w", matrixName, format.ErrMatrix)))
			return
		}
		emit := func(b matrix.Block) error {
			if !yield(b, nil) {
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

func (r *reader) walk(ctx context.Context, want matrix.Rect, emit func(matrix.Block) error) error {
	lanes := format.Lanes(&r.m)
	for i := range r.footer.groups {
		g := &r.footer.groups[i]
		for _, l := range lanes {
			at := matrix.Rect{Rows: g.rows, Cols: l.Cols}.Intersect(want)
			if at.Empty() {
				continue
			}
			if err := r.lane(ctx, g, &l, at, emit); err != nil {
				return err
			}
		}
	}
	return nil
}

// lane reads columns of one type, as many at a time as make a block.
func (r *reader) lane(ctx context.Context, g *group, l *format.Lane, at matrix.Rect, emit func(matrix.Block) error) error {
	size := int64(l.DType.Size())
	width := blockBytes / size / at.Rows.Len()
	if width == 0 {
		return r.tall(ctx, g, l, at, emit)
	}
	for lo := at.Cols.Lo; lo < at.Cols.Hi; lo += width {
		place := matrix.Rect{Rows: at.Rows, Cols: matrix.Range{Lo: lo, Hi: min(at.Cols.Hi, lo+width)}}
		b := matrix.NewDense(l.DType, place)
		for c := place.Cols.Lo; c < place.Cols.Hi; c++ {
			if err := r.column(ctx, g, l, at.Rows, c, func(one matrix.Block) error { return matrix.Put(b, one) }); err != nil {
				return err
			}
		}
		if err := emit(b); err != nil {
			return err
		}
	}
	return nil
}

// tall reads columns that are longer than a block, page by page.
func (r *reader) tall(ctx context.Context, g *group, l *format.Lane, at matrix.Rect, emit func(matrix.Block) error) error {
	for c := at.Cols.Lo; c < at.Cols.Hi; c++ {
		cut := func(one matrix.Block) error {
			if both := one.At.Intersect(at); both != one.At {
				one = one.Cut(both)
			}
			return emit(one)
		}
		if err := r.column(ctx, g, l, at.Rows, c, cut); err != nil {
			return err
		}
	}
	return nil
}

// column reads the pages of a column that have some of the rows.
func (r *reader) column(ctx context.Context, g *group, l *format.Lane, rows matrix.Range, col int64, use func(matrix.Block) error) error {
	c := chunk{r: r.obj, col: &r.footer.columns[col], meta: &g.chunks[col], rows: g.rows.Len(), nulls: r.nulls, zstd: &r.zstd}
	want := matrix.Range{Lo: rows.Lo - g.rows.Lo, Hi: rows.Hi - g.rows.Lo}
	return c.pages(want, func(first int64, d matrix.Data) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		lo := g.rows.Lo + first
		b := matrix.Block{At: matrix.At(lo, lo+int64(d.NNZ()), col, col+1), Data: d}
		cast, exact := b.Cast(l.DType)
		if !exact {
			return fmt.Errorf("column %q: a value that %v does not hold", c.col.name, l.DType)
		}
		return use(cast)
	})
}
