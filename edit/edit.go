// Package edit sees stored models changed: renamed, sliced, pruned, put together, averaged. Every edit is a
// format.Reader over other readers, so that format.Convert writes its result in any format, a block at a time.
package edit

import (
	"context"
	"fmt"
	"iter"

	"thole.example/format"
	"thole.example/matrix"
)

// view is a reader whose matrices are made from those of others.
type view struct {
	of     []format.Reader
	ms     []matrix.Meta
	blocks func(ctx context.Context, i int, want matrix.Rect) iter.Seq2[matrix.Block, error]
}

// Matrices implements format.Reader.
func (v *view) Matrices() []matrix.Meta { return v.ms }

// Blocks implements format.Reader.
func (v *view) Blocks(ctx context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	for i, m := range v.ms {
		if m.Name == name {
			return v.blocks(ctx, i, want)
		}
	}
	return fail(fmt.Errorf("matrix %q: %w", name, format.ErrMatrix))
}

func fail(err error) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) { yield(matrix.Block{}, err) }
}

// Notes implements format.Reader.
func (v *view) Notes() []string {
	var notes []string
	for _, r := range v.of {
		notes = append(notes, r.Notes()...)
	}
	return notes
}

// Files implements format.Reader: those of the first reader that has each.
func (v *view) Files() map[string][]byte {
	files := map[string][]byte{}
	for _, r := range v.of {
		for name, data := range r.Files() {
			if files[name] == nil {
				files[name] = data
			}
		}
	}
	return files
}

// Close implements format.Reader.
func (v *view) Close() error {
	var first error
	for _, r := range v.of {
		if err := r.Close(); first == nil {
			first = err
		}
	}
	return first
}

// each is a walk over the blocks of another one, each changed on its way.
func each(blocks iter.Seq2[matrix.Block, error], change func(matrix.Block) matrix.Block) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		for b, err := range blocks {
			if err == nil {
				b = change(b)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// Only keeps the named matrices, in that order.
func Only(r format.Reader, names []string) (format.Reader, error) {
	v := &view{of: []format.Reader{r}}
	for _, name := range names {
		m, err := format.Find(r, name)
		if err != nil {
			return nil, err
		}
		v.ms = append(v.ms, m)
	}
	v.blocks = func(ctx context.Context, i int, want matrix.Rect) iter.Seq2[matrix.Block, error] {
		return r.Blocks(ctx, v.ms[i].Name, want)
	}
	return v, nil
}

// Rename gives matrices other names: to[old] is the new one. Others keep theirs. A name that does not exist, or that
// two matrices would have, is an error.
func Rename(r format.Reader, to map[string]string) (format.Reader, error) {
	v := &view{of: []format.Reader{r}}
	taken := map[string]bool{}
	for _, m := range r.Matrices() {
		if name, ok := to[m.Name]; ok {
			m.Name, m.Unnamed = name, false
		}
		if taken[m.Name] {
			return nil, fmt.Errorf("edit: two matrices would be named %q", m.Name)
		}
		taken[m.Name] = true
		v.ms = append(v.ms, m)
	}
	for old := range to {
		if _, err := format.Find(r, old); err != nil {
			return nil, err
		}
	}
	v.blocks = func(ctx context.Context, i int, want matrix.Rect) iter.Seq2[matrix.Block, error] {
		return r.Blocks(ctx, r.Matrices()[i].Name, want)
	}
	return v, nil
}

// Prune leaves out values of magnitude below the limit (see matrix.Block.Prune). gone is told how many of each block
// that were not zero went; nil is allowed.
func Prune(r format.Reader, below float64, gone func(n int)) format.Reader {
	v := &view{of: []format.Reader{r}, ms: r.Matrices()}
	v.blocks = func(ctx context.Context, i int, want matrix.Rect) iter.Seq2[matrix.Block, error] {
		return each(r.Blocks(ctx, v.ms[i].Name, want), func(b matrix.Block) matrix.Block {
			b, n := b.Prune(below)
			if gone != nil {
				gone(n)
			}
			return b
		})
	}
	return v
}

// Merge puts the matrices of several readers side by side. Two of one name are an error.
func Merge(rs ...format.Reader) (format.Reader, error) {
	v := &view{of: rs}
	var owner []format.Reader
	taken := map[string]bool{}
	for _, r := range rs {
		for _, m := range r.Matrices() {
			if taken[m.Name] {
				return nil, fmt.Errorf("edit: two models have a matrix %q (rename one first)", m.Name)
			}
			taken[m.Name] = true
			v.ms, owner = append(v.ms, m), append(owner, r)
		}
	}
	v.blocks = func(ctx context.Context, i int, want matrix.Rect) iter.Seq2[matrix.Block, error] {
		return owner[i].Blocks(ctx, v.ms[i].Name, want)
	}
	return v, nil
}
