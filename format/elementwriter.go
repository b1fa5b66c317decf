package format

import (
	"context"

	"thole.example/blob"
	"thole.example/matrix"
)

// Target describes the writing of the matrix as a dense slab of elements of this type. s.DType is set to how they are
// stored. NewElementWriter writes it.
func (e Element) Target(m *matrix.Meta, s Slab) Target {
	s.DType = e.DType
	t := NewTarget(m, s)
	if e.Eight() {
		t.From = e.DType // the writer makes it so
	}
	return t
}

// NewElementWriter is NewSlabWriter for a file in which the matrices named have these element types.
func NewElementWriter(ctx context.Context, b blob.Bucket, path string, o Options, f SlabFile, of map[string]Element) (Writer, error) {
	n := elementWriter{byteOf: map[string]map[matrix.Float16]uint8{}}
	for name, e := range of {
		if e.Eight() {
			back := map[matrix.Float16]uint8{}
			for bits, v := range e.Widen() {
				back[v] = uint8(bits)
			}
			n.byteOf[name] = back
		}
	}
	w, err := NewSlabWriter(ctx, b, path, o, f)
	if err != nil || len(n.byteOf) == 0 {
		return w, err
	}
	n.Writer = w
	return n, nil
}

// elementWriter is a writer of matrices of which some are stored as 8-bit floats.
type elementWriter struct {
	Writer
	byteOf map[string]map[matrix.Float16]uint8 // by matrix
}

// Put implements Writer.
func (n elementWriter) Put(ctx context.Context, matrixName string, b matrix.Block) (Part, error) {
	if back, ok := n.byteOf[matrixName]; ok {
		var err error
		if b, err = narrowed(matrixName, back, b); err != nil {
			return nil, err
		}
	}
	return n.Writer.Put(ctx, matrixName, b)
}
