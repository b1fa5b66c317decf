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
	notes = append(notes, format.ColOriginNotes(&r.m)...)
	for i := range r.footer.columns {
		if c := &r.footer.columns[i]; c.said != "" {
			notes = append(notes, fmt.Sprintf("column %q: %s", c.name, c.said))
		}
	}
	if len(r.footer.others) > 0 {
		notes = append(notes, format.Warning("columns left out: "+strings.Join(r.footer.others, ", ")))
	}
	if r.footer.doubt != "" {
		notes = append(notes, r.footer.doubt)
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
	var cursors []*cursor
	for i := range r.footer.groups {
		g := &r.footer.groups[i]
		at := matrix.Rect{Rows: g.rows, Cols: r.m.Rect().Cols}.Intersect(want)
		for !at.Empty() {
			s := r.strip(g, at)
			for len(cursors) < int(s.at.Cols.Len()) {
				cursors = append(cursors, &cursor{r: r.obj, nulls: r.nulls, zstd: &r.zstd})
			}
			if err := s.read(ctx, cursors, emit); err != nil {
				return err
			}
			at.Cols.Lo = s.at.Cols.Hi
		}
	}
	return nil
}
