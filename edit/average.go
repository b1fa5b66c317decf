package edit

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"thole.example/format"
	"thole.example/matrix"
)

// Average is the weighted mean of models: every matrix of the first one, cell by cell over all of them, in float64. The
// models must have the same matrices with the same sizes and element types. weights are divided by their sum; nil
// weighs all alike. A cell that a sparse model does not store counts as zero. Sparse matrices are held in memory, one
// at a time. Of models of one matrix each the names need not be the same, since many formats take it from the file.
func Average(rs []format.Reader, weights []float64) (format.Reader, error) {
	if len(rs) == 0 || weights != nil && len(weights) != len(rs) {
		return nil, fmt.Errorf("edit: %d weights for %d models", len(weights), len(rs))
	}
	shares, err := normal(weights, len(rs))
	if err != nil {
		return nil, err
	}
	if rs, err = alike(rs); err != nil {
		return nil, err
	}
	v := &view{of: rs, ms: rs[0].Matrices()}
	for _, m := range v.ms {
		for _, r := range rs[1:] {
			n, err := format.Find(r, m.Name)
			if err != nil {
				return nil, err
			}
			if n.Rect() != m.Rect() || n.DType != m.DType || n.Layout != m.Layout {
				return nil, fmt.Errorf("edit: matrix %s is %v of %v %v and %v of %v %v, want the same", m.Name,
					m.Rect(), m.Layout, m.DType, n.Rect(), n.Layout, n.DType)
			}
			if i := differ(m.ColOrigins, n.ColOrigins); i >= 0 {
				return nil, fmt.Errorf("edit: matrix %s: %s does not stand for the same in all models, want the same dates, times or plain numbers",
					m.Name, m.Label(m.ColLo+int64(i)))
			}
		}
		if m.DType.StorageOnly() {
			return nil, fmt.Errorf("edit: matrix %s holds %v, of which there is no mean", m.Name, m.DType)
		}
	}
	v.blocks = func(ctx context.Context, i int, want matrix.Rect) iter.Seq2[matrix.Block, error] {
		a := averaging{ctx, rs, shares, v.ms[i]}
		if v.ms[i].Layout == matrix.RowSparse {
			return a.sparse(want)
		}
		return a.dense(want)
	}
	return v, nil
}

// differ is the first column that stands for something else in the other, -1 if none does; nil are plain numbers.
func differ(a, b []string) int {
	at := func(all []string, i int) string {
		if i < len(all) {
			return all[i]
		}
		return ""
	}
	for i := range max(len(a), len(b)) {
		if at(a, i) != at(b, i) {
			return i
		}
	}
	return -1
}

// alike gives the only matrix of every model the name that it has in the first, if each has only one.
func alike(rs []format.Reader) ([]format.Reader, error) {
	for _, r := range rs {
		if len(r.Matrices()) != 1 {
			return rs, nil
		}
	}
	rs = slices.Clone(rs)
	first := rs[0].Matrices()[0].Name
	for i, r := range rs {
		var err error
		if old := r.Matrices()[0].Name; old == first {
			continue
		} else if rs[i], err = Rename(r, map[string]string{old: first}); err != nil {
			return nil, err
		}
	}
	return rs, nil
}

// normal divides the weights by their sum.
func normal(weights []float64, n int) ([]float64, error) {
	shares := make([]float64, n)
	sum := 0.0
	for i := range shares {
		shares[i] = 1
		if weights != nil {
			shares[i] = weights[i]
		}
		if !(shares[i] >= 0) {
			return nil, fmt.Errorf("edit: weight %v, want none below 0", shares[i])
		}
		sum += shares[i]
	}
	if sum == 0 {
		return nil, fmt.Errorf("edit: all weights are 0")
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares, nil
}

type averaging struct {
	ctx    context.Context
	rs     []format.Reader
	shares []float64
	m      matrix.Meta
}

// dense adds all models up in the places of the first one's blocks.
func (a averaging) dense(want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		for b, err := range a.rs[0].Blocks(a.ctx, a.m.Name, want) {
			if err == nil {
				b, err = a.sum(b.At)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

func (a averaging) sum(at matrix.Rect) (matrix.Block, error) {
	acc := matrix.NewDense(matrix.F64, at)
	for i, r := range a.rs {
		for b, err := range r.Blocks(a.ctx, a.m.Name, at) {
			if err != nil {
				return acc, err
			}
			if err := matrix.Add(acc, a.part(b, i)); err != nil {
				return acc, err
			}
		}
	}
	out, _ := acc.Cast(a.m.DType)
	return out, nil
}

// part is the block's share of the mean, as a new block of float64.
func (a averaging) part(b matrix.Block, i int) matrix.Block {
	wide, _ := b.Clone().Cast(matrix.F64)
	wide.Scale(a.shares[i])
	return wide
}

// sparse brings the stored cells of all models into order and adds up those of one place.
func (a averaging) sparse(want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		var cells []entry
		for i, r := range a.rs {
			mine, err := entries(a.ctx, each(r.Blocks(a.ctx, a.m.Name, want), func(b matrix.Block) matrix.Block { return a.part(b, i) }))
			if err != nil {
				yield(matrix.Block{}, err)
				return
			}
			cells = append(cells, mine...)
		}
		slices.SortStableFunc(cells, inOrder)
		at := want.Intersect(a.m.Rect())
		out := &matrix.CSR[float64]{Ptr: make([]int, at.Rows.Len()+1)}
		for i, c := range cells {
			if n := len(out.Idx); i > 0 && cells[i-1].row == c.row && cells[i-1].col == c.col {
				out.Val[n-1] += c.val
				continue
			}
			out.Idx, out.Val = append(out.Idx, c.col), append(out.Val, c.val)
			out.Ptr[c.row-at.Rows.Lo+1]++
		}
		for r := 1; r < len(out.Ptr); r++ {
			out.Ptr[r] += out.Ptr[r-1]
		}
		b, _ := matrix.Block{At: at, Data: out}.Cast(a.m.DType)
		yield(b, nil)
	}
}
