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
		answer, err = b.compute(ctx, e, r)
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
func (b *called) compute(ctx context.Context, e *env, r *computed) (psf.Answer, error) {
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
	r.meta = computable(m)
	call, err := b.table.Bind(b.name, b.arg, &r.meta)
	switch {
	case err != nil:
		return nil, usageError{err}
	case (call.Merge == nil) != (b.flags.dst != "") && call.Merge != nil:
		return nil, usageError{fmt.Errorf("%s changes nothing, --dst has no use", b.name)}
	case m.ColTypes != nil:
		return nil, fmt.Errorf("matrix %s has columns of several types, want one type", m.Name)
	}
	if err := r.load(ctx, m.DType, e.progress("read "+name, "values", values([]matrix.Meta{m}))); err != nil {
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
	meta  matrix.Meta // as it is computed with
	saved matrix.DType
	shard *shard.Shard
}

// computable is the matrix as it can be a server's: without what it was trained with, and in the narrowest type that functions
// work on and that has all its values. Of u64 those below 2^63.
func computable(m matrix.Meta) matrix.Meta {
	m = m.Clone()
	m.Rule, m.Hyper, m.Init, m.Keep, m.Widths = "", nil, matrix.Init{}, matrix.Keep{}, nil
	switch m.DType {
	case matrix.F16, matrix.BF16:
		m.DType = matrix.F32
	case matrix.Bool, matrix.I8, matrix.U8, matrix.I16, matrix.U16:
		m.DType = matrix.I32
	case matrix.U32, matrix.U64:
		m.DType = matrix.I64
	}
	return m
}

// load reads the matrix, which is saved in the type.
func (r *computed) load(ctx context.Context, saved matrix.DType, p *progress) error {
	defer p.end()
	r.saved = saved
	s, err := shard.New(&r.meta, r.meta.Rect(), 0, nil)
	if err != nil {
		return err
	}
	r.shard = s
	return format.Look(ctx, r.Reader, r.meta.Name, func(b matrix.Block) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.add(b.Data.NNZ())
		wide, exact := b.Cast(r.meta.DType)
		if !exact {
			return fmt.Errorf("matrix %s: values of %v beyond those of %v, which functions work on", r.meta.Name, saved, r.meta.DType)
		}
		return s.SetBlock(wide)
	})
}

// narrowed is a block in the type that the matrix is saved in. Fractions are rounded to it; whole numbers have to fit.
func (r *computed) narrowed(b matrix.Block) (matrix.Block, error) {
	out, exact := b.Cast(r.saved)
	if !exact && !r.meta.DType.Float() {
		return out, fmt.Errorf("matrix %s: the function made values that %v does not have",
			r.meta.Name, r.saved)
	}
	return out, nil
}

// Blocks implements format.Reader.
func (r *computed) Blocks(ctx context.Context, name string, at matrix.Rect) iter.Seq2[matrix.Block, error] {
	if name != r.meta.Name {
		return r.Reader.Blocks(ctx, name, at)
	}
	return func(yield func(matrix.Block, error) bool) {
		if r.meta.Layout == matrix.RowSparse {
			b, err := r.columns(at)
			if err == nil {
				b, err = r.narrowed(b)
			}
			yield(b, err)
			return
		}
		for band := range format.Bands(at, blockCells) {
			b := matrix.NewDense(r.meta.DType, band)
			err := r.shard.ReadRect(bytesOf(b), band)
			if err == nil {
				b, err = r.narrowed(b)
			}
			if !yield(b, err) || err != nil {
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
	keys, _, err := r.shard.Stored(at.Rows, at.Cols, func(columns, _ int) []byte {
		b.Data = matrix.KindOf(r.meta.DType).Cols(make([]int64, columns), int(at.Rows.Len()))
		return bytesOf(b)
	})
	copy(b.Data.(matrix.Keyed).Keys(), keys)
	return b, err
}
