package main

import (
	"context"
	"fmt"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/tree"
)

// treesOf are the trees that a stored model is of; nil if it is none of trees.
func treesOf(ctx context.Context, r format.Reader) (*tree.Ensemble, error) {
	text := r.Files()[tree.FileName]
	if text == nil {
		return nil, nil
	}
	stored := map[string]matrix.Meta{}
	for _, m := range r.Matrices() {
		stored[m.Name] = m
	}
	return tree.Parse(text, func(name string) (matrix.Block, error) {
		m, ok := stored[name]
		if !ok {
			return matrix.Block{}, nil
		}
		b, err := wholeOf(ctx, r, m)
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return b, err
	})
}

// sparsest is how many cells there may be to each that is stored of a matrix that is read as a whole, and always.
const (
	sparsest  = 1 << 10
	fewCells  = 1 << 20
	mostCells = 1 << 34
)

// wholeOf is a matrix as one dense block. Nothing is allocated for what the matrix says of its size before so much was read.
func wholeOf(ctx context.Context, r format.Reader, m matrix.Meta) (matrix.Block, error) {
	cells, ok := matrix.Cells(m.Rows, m.Cols)
	if !ok || m.ColTypes != nil {
		return matrix.Block{}, fmt.Errorf("%d x %d of %v, want one type and a size that there is", m.Rows, m.Cols, m.DType)
	}
	var parts []matrix.Block
	has := int64(0)
	for b, err := range r.Blocks(ctx, m.Name, m.Rect()) {
		if err != nil {
			return matrix.Block{}, err
		}
		parts, has = append(parts, b), has+int64(b.Data.NNZ())
	}
	if len(parts) == 1 && has == cells && parts[0].At == m.Rect() {
		if _, ok := parts[0].Data.(matrix.Keyed); !ok {
			return parts[0], nil
		}
	}
	if cells > fewCells && cells/sparsest > has || cells > mostCells {
		return matrix.Block{}, fmt.Errorf("%d values of %d x %d are stored, want all of them", has, m.Rows, m.Cols)
	}
	whole := matrix.NewDense(m.DType, m.Rect())
	for _, b := range parts {
		if err := matrix.Put(whole, b); err != nil {
			return whole, err
		}
	}
	return whole, nil
}
