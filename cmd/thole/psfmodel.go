package main

import (
	"context"
	"fmt"
	"iter"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/shard"
)

// onModel runs the function on a matrix of a saved model: as one partition, in memory.
func (b *called) onModel(ctx context.Context, e *env, path string) error {
	f := b.flags
	p, err := f.locate(ctx, e, path)
	if err != nil {
		return err
	}
	var answer psf.Answer
	change := func(rs []format.Reader) (format.Reader, error) {
		r := &computed{Reader: rs[0]}
		answer, err = b.compute(ctx, r)
		return r, err
	}
	if f.dst != "" {
		o := &output{to: f.to, out: f.out, maxDense: f.maxDense, lossy: f.lossy, force: f.force, asJSON: f.asJSON, keeps: true}
		return o.save(ctx, e, []*place{p}, f.dst, change)
	}
	r, err := p.read(ctx, e)
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := change([]format.Reader{r}); err != nil {
		return err
	}
	if answer == nil {
		return usageError{fmt.Errorf("%s changes the matrix: want --dst, where the changed model goes", b.name)}
	}
	return f.show(e.out, b.name, answer)
}

// compute loads the matrix and runs the function.
func (b *called) compute(ctx context.Context, r *computed) (psf.Answer, error) {
	var names []string
	for _, m := range r.Matrices() {
		names = append(names, m.Name)
	}
	name, err := b.flags.matrixOf(names)
	if err != nil {
		return nil, err
	}
	m, err := format.Find(r.Reader, name)
	if err != nil {
		return nil, err
	}
	call, err := b.table.Bind(b.name, b.arg, &m)
	switch {
	case err != nil:
		return nil, usageError{err}
	case (call.Merge == nil) != (b.flags.dst != "") && call.Merge != nil:
		return nil, usageError{fmt.Errorf("%s changes nothing, --dst has no use", b.name)}
	case m.ColTypes != nil:
		return nil, fmt.Errorf("matrix %s has columns of several types, want one type", m.Name)
	}
	if err := r.load(ctx, m); err != nil {
		return nil, err
	}
	part, err := call.Part(r.shard.View(0))
	if err != nil || call.Merge == nil {
		return nil, err
	}
	return call.Merge([][]byte{part})
}

// computed is a model one of whose matrices a function works on.
type computed struct {
	format.Reader
	meta  matrix.Meta
	shard *shard.Shard
}

// load reads the matrix.
func (r *computed) load(ctx context.Context, m matrix.Meta) error {
	r.meta = m.Clone()
	r.meta.Rule, r.meta.Hyper, r.meta.Init, r.meta.Keep = "", nil, matrix.Init{}, matrix.Keep{} // as it was trained
	s, err := shard.New(&r.meta, r.meta.Rect(), 0, nil)
	if err != nil {
		return err
	}
	r.shard = s
	return format.Look(ctx, r.Reader, m.Name, func(b matrix.Block) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return s.SetBlock(b)
	})
}

// Blocks implements format.Reader.
func (r *computed) Blocks(ctx context.Context, name string, at matrix.Rect) iter.Seq2[matrix.Block, error] {
	if name != r.meta.Name {
		return r.Reader.Blocks(ctx, name, at)
	}
	return func(yield func(matrix.Block, error) bool) {
		if r.meta.Layout == matrix.RowSparse {
			yield(r.columns(at))
			return
		}
		for band := range format.Bands(at, blockCells) {
			b := matrix.NewDense(r.meta.DType, band)
			if err := r.shard.ReadRect(bytesOf(b), band); !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// blockCells is how many cells a block of a dense matrix has.
const blockCells = 1 << 20

// columns is the stored columns within the rectangle.
func (r *computed) columns(at matrix.Rect) (matrix.Block, error) {
	if r.shard.Absent() != nil {
		return matrix.Block{}, fmt.Errorf("matrix %s: cells that are not stored are not 0 now, which the format cannot say; "+
			"stored=true leaves them alone", r.meta.Name)
	}
	b := matrix.Block{At: at}
	keys, _ := r.shard.Stored(at.Rows, at.Cols, func(columns, _ int) []byte {
		b.Data = matrix.KindOf(r.meta.DType).Cols(make([]int64, columns), int(at.Rows.Len()))
		return bytesOf(b)
	})
	copy(b.Data.(matrix.Keyed).Keys(), keys)
	return b, nil
}
