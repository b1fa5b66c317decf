package main

import (
	"context"
	"iter"

	"thole.example/format"
	"thole.example/matrix"
)

// watched is a reader whose walks are counted.
type watched struct {
	format.Reader
	seen func(n int) // stored values
}

// Blocks implements format.Reader.
func (w watched) Blocks(ctx context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		for b, err := range w.Reader.Blocks(ctx, name, want) {
			if err == nil {
				w.seen(b.Data.NNZ())
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// View implements format.Viewer: ok is false if the reader is none.
func (w watched) View(ctx context.Context, name string, look func(matrix.Block) error) (ok bool, err error) {
	v, can := w.Reader.(format.Viewer)
	if !can {
		return false, nil
	}
	return v.View(ctx, name, func(b matrix.Block) error {
		w.seen(b.Data.NNZ())
		return look(b)
	})
}
