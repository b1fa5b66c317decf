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
