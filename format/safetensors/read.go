package safetensors

import (
	"context"
	"fmt"
	"iter"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// reader reads the tensors of one file.
type reader struct {
	obj  blob.Object
	path string
	head head
	ms   []matrix.Meta
	of   map[string]int // the tensor of a name
}

func newReader(obj blob.Object, path string, h head) *reader {
	r := &reader{obj: obj, path: path, head: h, ms: make([]matrix.Meta, len(h.tensors)), of: make(map[string]int, len(h.tensors))}
	for i, t := range h.tensors {
		m := matrix.Meta{Name: t.name, DType: t.element.Held(), Origin: t.element.Origin, Dims: t.element.Shape(t.shape)}
		m.Rows, m.Cols, _ = matrix.Shape(m.Dims) // parse has checked it
		r.ms[i], r.of[t.name] = m, i
	}
	return r
}

// Matrices implements format.Reader.
func (r *reader) Matrices() []matrix.Meta { return r.ms }

// Notes implements format.Reader.
func (r *reader) Notes() []string {
	notes := []string{r.head.dialect()}
	if n := len(r.head.text); n%alignment != 0 {
		notes = append(notes, fmt.Sprintf("header of %d bytes: values are not aligned and are copied to be seen", n))
	}
	return append(notes, format.OriginNotes(r.ms)...)
}

// Files implements format.Reader.
func (r *reader) Files() map[string][]byte { return filesOf(r.head.metadata) }

// Close implements format.Reader.
func (r *reader) Close() error { return r.obj.Close() }

// slab is where the values of a matrix are.
func (r *reader) slab(matrixName string) (format.ElementSlab, error) {
	i, ok := r.of[matrixName]
	if !ok {
		return format.ElementSlab{}, format.Wrap(name, r.path, fmt.Errorf("matrix %q: %w", matrixName, format.ErrMatrix))
	}
	t := &r.head.tensors[i]
	slab := format.Slab{At: r.ms[i].Rect(), DType: t.element.DType, Order: wire.Little, Off: r.head.values + t.begin}
	return format.ElementSlab{Slab: slab, Origin: t.element.Origin}, nil
}

// Blocks implements format.Reader.
func (r *reader) Blocks(ctx context.Context, matrixName string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		slab, err := r.slab(matrixName)
		if err != nil {
			yield(matrix.Block{}, err)
			return
		}
		for b, err := range slab.Blocks(ctx, r.obj, want) {
			if !yield(b, format.Wrap(name, r.path, err)) {
				return
			}
		}
	}
}

// View implements format.Viewer.
func (r *reader) View(ctx context.Context, matrixName string, look func(matrix.Block) error) (ok bool, err error) {
	slab, err := r.slab(matrixName)
	if err != nil {
		return false, err
	}
	ok, err = slab.View(ctx, r.obj, look)
	return ok, format.Wrap(name, r.path, err)
}
