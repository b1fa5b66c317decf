package trees

import (
	"context"
	"fmt"
	"iter"
	"maps"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/tree"
)

// reader shows an ensemble as matrices.
type reader struct {
	e      *tree.Ensemble
	metas  []matrix.Meta
	blocks []matrix.Block
	files  map[string][]byte
	notes  []string
}

// NewReader shows an ensemble as a stored model, with files beside it (nil: none) and its trees.json.
func NewReader(e *tree.Ensemble, beside map[string][]byte) (format.Reader, error) {
	return newReader(e, beside, nil)
}

func newReader(e *tree.Ensemble, beside map[string][]byte, notes []string) (*reader, error) {
	text, err := e.JSON()
	if err != nil {
		return nil, err
	}
	r := &reader{e: e, files: map[string][]byte{}, notes: notes}
	maps.Copy(r.files, beside)
	r.files[tree.FileName] = text
	r.metas, r.blocks = e.Matrices()
	return r, nil
}

// Matrices implements format.Reader.
func (r *reader) Matrices() []matrix.Meta { return r.metas }

// Blocks implements format.Reader.
func (r *reader) Blocks(ctx context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		for i, m := range r.metas {
			if m.Name != name {
				continue
			}
			err := ctx.Err()
			if at := r.blocks[i].At.Intersect(want); err == nil && !at.Empty() {
				yield(r.blocks[i].Cut(at).Clone(), nil) // whose owner may change it
			} else if err != nil {
				yield(matrix.Block{}, err)
			}
			return
		}
		yield(matrix.Block{}, fmt.Errorf("matrix %q: %w", name, format.ErrMatrix))
	}
}

// Notes implements format.Reader.
func (r *reader) Notes() []string { return r.notes }

// Verify implements format.Verifier.
func (r *reader) Verify(context.Context) ([]string, error) { return format.Problems(r.notes), nil }

// Files implements format.Reader.
func (r *reader) Files() map[string][]byte { return r.files }

// Close implements format.Reader.
func (r *reader) Close() error { return nil }

// Read is the ensemble that a reader of any format holds. It fails with format.ErrMatrix if trees.json is not beside the matrices.
func Read(ctx context.Context, r format.Reader) (*tree.Ensemble, error) {
	if own, ok := r.(*reader); ok {
		return own.e, nil
	}
	text, ok := r.Files()[tree.FileName]
	if !ok {
		return nil, fmt.Errorf("no model of trees: there is no file %s beside the matrices: %w", tree.FileName, format.ErrMatrix)
	}
	return tree.Parse(text, func(name string) (matrix.Block, error) {
		for _, m := range r.Matrices() {
			if m.Name == name {
				return whole(&m, r.Blocks(ctx, name, m.Rect()))
			}
		}
		return matrix.Block{}, nil
	})
}

// absentLimit is how many cells a matrix has at most of which not all are stored, as they are 0: memory for others is as large as the file.
const absentLimit = 1 << 22

// whole puts the blocks of a matrix together.
func whole(m *matrix.Meta, blocks iter.Seq2[matrix.Block, error]) (matrix.Block, error) {
	var all []matrix.Block
	cells, stored := int64(0), int64(0)
	for b, err := range blocks {
		if err != nil {
			return matrix.Block{}, err
		}
		n, _ := b.At.Cells() // also where nothing is stored, as all are 0
		all, cells, stored = append(all, b), cells+n, stored+int64(b.Data.NNZ())
	}
	if want, ok := m.Rect().Cells(); !ok || cells != want {
		return matrix.Block{}, fmt.Errorf("matrix %q: %d cells, want all %d x %d: %w", m.Name, cells, m.Rows, m.Cols, format.ErrCorrupt)
	}
	if stored < cells && cells > absentLimit {
		return matrix.Block{}, fmt.Errorf("matrix %q: %d of %d cells are stored, want all of more than %d: %w", m.Name, stored, cells,
			absentLimit, format.ErrLimit)
	}
	if len(all) == 1 {
		return all[0].ToDense(), nil
	}
	joined := matrix.NewDense(m.DType, m.Rect())
	for _, b := range all {
		if err := matrix.Put(joined, b); err != nil {
			return joined, fmt.Errorf("matrix %q: %w", m.Name, err)
		}
	}
	return joined, nil
}
