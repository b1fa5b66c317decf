package npy

import (
	"context"
	"fmt"
	"io"
	"iter"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// reader reads one array.
type reader struct {
	obj  blob.Object
	path string
	head head
	m    matrix.Meta
}

// Matrices implements format.Reader.
func (r *reader) Matrices() []matrix.Meta { return []matrix.Meta{r.m} }

// Notes implements format.Reader.
func (r *reader) Notes() []string { return r.head.notes() }

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
		for b, err := range r.head.blocks(ctx, r.obj, want) {
			if !yield(b, format.Wrap(name, r.path, err)) {
				return
			}
		}
	}
}

// blocks reads the values within want from the file that the head is of.
func (h *head) blocks(ctx context.Context, file io.ReaderAt, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	slab := h.slab()
	if h.fortran {
		turned := format.Fortran{Slab: slab, Dims: h.shape, Pair: h.Pair()}
		return turned.Blocks(ctx, file, want)
	}
	return slab.Blocks(ctx, file, want)
}

// View implements format.Viewer: values in Fortran order and records are no block as they lie.
func (r *reader) View(ctx context.Context, matrixName string, look func(matrix.Block) error) (ok bool, err error) {
	if matrixName != r.m.Name {
		return false, format.Wrap(name, r.path, fmt.Errorf("matrix %q: %w", matrixName, format.ErrMatrix))
	}
	slab := r.head.slab()
	if r.head.fortran && !format.Flat(r.head.shape) {
		return false, nil
	}
	ok, err = slab.View(ctx, r.obj, look)
	return ok, format.Wrap(name, r.path, err)
}
