package angel

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// reader is an open model folder. It holds no file open between walks.
type reader struct {
	bucket  blob.Bucket
	stored  []*stored
	metas   []matrix.Meta
	notes   []string
	files   map[string][]byte
	orphan  []string // folders of data files whose metadata are missing, beside others that have theirs
	foreign []string // what is below the path and not part of the model
}

func (r *reader) Matrices() []matrix.Meta  { return r.metas }
func (r *reader) Notes() []string          { return r.notes }
func (r *reader) Files() map[string][]byte { return r.files }
func (r *reader) Close() error             { return nil }

// Foreign implements format.Enclosing.
func (r *reader) Foreign() []string { return r.foreign }

// Extent implements format.Measurer.
func (r *reader) Extent(matrixName string) (x format.Extent, ok bool) {
	for _, s := range r.stored {
		if s.meta.Name != matrixName {
			continue
		}
		x = format.Extent{Pieces: len(s.pieces), Kind: "partitions"}
		for _, size := range s.dir.sizes {
			x.Bytes += size
		}
		return x, true
	}
	return x, false
}

func (r *reader) Blocks(ctx context.Context, matrixName string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		err := r.find(matrixName, func(s *stored) error {
			return s.blocks(ctx, r.bucket, want, func(b matrix.Block) bool { return yield(b, nil) })
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(matrix.Block{}, err)
		}
	}
}

func (r *reader) find(matrixName string, f func(*stored) error) error {
	for _, s := range r.stored {
		if s.meta.Name == matrixName {
			return f(s)
		}
	}
	return fmt.Errorf("matrix %q: %w", matrixName, format.ErrMatrix)
}

// blocks walks over the partitions that intersect want.
func (s *stored) blocks(ctx context.Context, b blob.Bucket, want matrix.Rect, yield func(matrix.Block) bool) error {
	if s.layout == nil {
		return &format.Error{Codec: name, Path: s.dir.path, Off: -1, Err: s.fault}
	}
	want = want.Intersect(s.meta.Rect())
	switch s.meta.DType {
	case matrix.F64:
		return blocksOf[float64](ctx, b, s, want, yield)
	case matrix.F32:
		return blocksOf[float32](ctx, b, s, want, yield)
	case matrix.I64:
		return blocksOf[int64](ctx, b, s, want, yield)
	}
	return blocksOf[int32](ctx, b, s, want, yield)
}

func blocksOf[T Number](ctx context.Context, b blob.Bucket, s *stored, want matrix.Rect, yield func(matrix.Block) bool) error {
	w := newWalk[T](ctx, b, s, want)
	w.yield = yield
	if !s.ranged && !s.raw {
		return w.scatter()
	}
	whole := want == s.meta.Rect()
	for i := range s.pieces {
		p := &s.pieces[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		if !whole && s.ranged && (matrix.Rect{Rows: p.rows, Cols: p.cols}).Intersect(want).Empty() {
			continue
		}
		if err := w.piece(p); err != nil {
			return err
		}
	}
	return nil
}
