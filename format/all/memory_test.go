package all

import (
	"context"
	"iter"

	"thole.example/matrix"
)

// memory reads a sample as if it had been stored.
type memory struct{ s sample }

func (r memory) Matrices() []matrix.Meta { return r.s.metas() }

func (r memory) Blocks(_ context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		for _, b := range r.s.named() {
			if b.name == name && !b.At.Intersect(want).Empty() && !yield(b.Cut(want), nil) {
				return
			}
		}
	}
}

func (r memory) Notes() []string { return nil }

func (r memory) Files() map[string][]byte { return r.s.files }

func (r memory) Close() error { return nil }
