package mtx

import (
	"context"
	"fmt"
	"iter"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// source reads the values behind a head.
type source interface {
	// blocks is format.Reader.Blocks of the matrix, with errors that are *wire.At.
	blocks(ctx context.Context, o blob.Object, want matrix.Rect) iter.Seq2[matrix.Block, error]
}

func newSource(h *head) source {
	switch {
	case h.field.dtype == matrix.I8:
		return sourceOf[int8](h)
	case h.dtype == matrix.F64:
		return sourceOf[float64](h)
	case h.dtype.Float():
		return sourceOf[float32](h)
	case h.dtype == matrix.U64:
		return sourceOf[uint64](h)
	}
	return sourceOf[int64](h)
}

func sourceOf[T value](h *head) source {
	if h.array {
		return &array[T]{h}
	}
	return &table[T]{h: h, limit: heldEntries}
}

// reader reads one matrix.
type reader struct {
	obj  blob.Object
	path string
	head head
	m    matrix.Meta
	from source
}

// count is how many cells are stored, where there may be as many as the matrix has and the file is small enough to be held;
// else 0. What is wrong with the file is said when it is read.
func (r *reader) count(ctx context.Context) int64 {
	cells, ok := matrix.Cells(r.head.rows, r.head.width())
	if n := r.head.entries(); !ok || n < cells || n > heldEntries {
		return 0
	}
	n := int64(0)
	for b, err := range r.from.blocks(ctx, r.obj, r.m.Rect()) {
		if err != nil {
			return 0
		}
		n += int64(b.Data.NNZ())
	}
	return n
}

// Matrices implements format.Reader.
func (r *reader) Matrices() []matrix.Meta { return []matrix.Meta{r.m} }

// Notes implements format.Reader.
func (r *reader) Notes() []string {
	notes := []string{r.head.dialect()}
	if r.head.note != "" {
		notes = append(notes, r.head.note)
	}
	return notes
}

// Files implements format.Reader.
func (r *reader) Files() map[string][]byte { return nil }

// Close implements format.Reader.
func (r *reader) Close() error { return r.obj.Close() }

// Blocks implements format.Reader.
func (r *reader) Blocks(ctx context.Context, matrixName string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		if matrixName != r.m.Name {
			yield(matrix.Block{}, format.Wrap(name, r.path, fmt.Errorf("matrix %q: %w", matrixName, format.ErrMatrix)))
			return
		}
		for b, err := range r.from.blocks(ctx, r.obj, want) {
			if !yield(b, format.Wrap(name, r.path, err)) {
				return
			}
		}
	}
}
