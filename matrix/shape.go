package matrix

import (
	"cmp"
	"slices"
)

// ToDense holds the values of b as *Dense, absent cells as zero. Dense data are returned as they are, others as a new
// slice of rows x columns, which the caller has checked to be small enough.
func (b Block) ToDense() Block { return Block{b.At, b.Data.dense(b.At)} }

// ToCSR holds the values of b as *CSR: the stored cells of sparse data (explicit zeros stay), every cell of dense data.
// CSR data are returned as they are, dense data share their values with the result. The row pointers need memory for
// every row of the place, stored or not; the caller has checked that there are few enough.
func (b Block) ToCSR() Block { return Block{b.At, b.Data.csr(b.At)} }

func (e Empty) dense(at Rect) Data {
	n, _ := at.Cells()
	return KindOf(e.D).Dense(int(n))
}

func (d *Dense[T]) dense(Rect) Data { return d }

func (d *CSR[T]) dense(at Rect) Data {
	cols := at.Cols.Len()
	out := make([]T, at.Rows.Len()*cols)
	for r := range len(d.Ptr) - 1 {
		row := out[int64(r)*cols:]
		for i := d.Ptr[r]; i < d.Ptr[r+1]; i++ {
			row[d.Idx[i]-at.Cols.Lo] = d.Val[i]
		}
	}
	return &Dense[T]{out}
}

func (d *COO[T]) dense(at Rect) Data {
	cols := at.Cols.Len()
	out := make([]T, at.Rows.Len()*cols)
	for i, r := range d.Row {
		out[r*cols+d.Col[i]-at.Cols.Lo] = d.Val[i]
	}
	return &Dense[T]{out}
}

func (d *Cols[T]) dense(at Rect) Data {
	rows, cols := at.Rows.Len(), at.Cols.Len()
	out := make([]T, rows*cols)
	for k, c := range d.Idx {
		for r := range rows {
			out[r*cols+c-at.Cols.Lo] = d.Val[int64(k)*rows+r]
		}
	}
	return &Dense[T]{out}
}

func (e Empty) csr(at Rect) Data {
	return KindOf(e.D).CSR(make([]int, at.Rows.Len()+1), nil)
}

func (d *Dense[T]) csr(at Rect) Data {
	rows, cols := int(at.Rows.Len()), int(at.Cols.Len())
	out := &CSR[T]{make([]int, rows+1), make([]int64, rows*cols), d.Val}
	for r := range rows {
		for c := range cols {
			out.Idx[r*cols+c] = at.Cols.Lo + int64(c)
		}
		out.Ptr[r+1] = (r + 1) * cols
	}
	return out
}

func (d *CSR[T]) csr(Rect) Data { return d }

func (d *COO[T]) csr(at Rect) Data {
	order := d.order()
	out := &CSR[T]{make([]int, at.Rows.Len()+1), make([]int64, len(order)), make([]T, len(order))}
	for i, o := range order {
		out.Idx[i], out.Val[i] = d.Col[o], d.Val[o]
		out.Ptr[d.Row[o]+1]++
	}
	for r := 1; r < len(out.Ptr); r++ {
		out.Ptr[r] += out.Ptr[r-1]
	}
	return out
}

// order is the numbers of the cells, rows ascending and columns ascending within a row.
func (d *COO[T]) order() []int {
	order := make([]int, len(d.Row))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if c := cmp.Compare(d.Row[a], d.Row[b]); c != 0 {
			return c
		}
		return cmp.Compare(d.Col[a], d.Col[b])
	})
	return order
}

func (d *Cols[T]) csr(at Rect) Data {
	rows, n := int(at.Rows.Len()), len(d.Idx)
	out := &CSR[T]{make([]int, rows+1), make([]int64, rows*n), make([]T, rows*n)}
	for r := range rows {
		copy(out.Idx[r*n:], d.Idx)
		for k := range n {
			out.Val[r*n+k] = d.Val[k*rows+r]
		}
		out.Ptr[r+1] = (r + 1) * n
	}
	return out
}
