package matrix

import "sort"

// Cut is the part of b that lies in want, as a copy; its place is the intersection. Data keep their way of being held.
func (b Block) Cut(want Rect) Block {
	to := b.At.Intersect(want)
	return Block{to, b.Data.cut(b.At, to)}
}

func (e Empty) cut(_, _ Rect) Data { return e }

func (d *Dense[T]) cut(at, to Rect) Data {
	rows, cols := to.Rows.Len(), to.Cols.Len()
	out := make([]T, rows*cols)
	if len(out) == 0 {
		return &Dense[T]{out}
	}
	stride := at.Cols.Len()
	from := (to.Rows.Lo-at.Rows.Lo)*stride + to.Cols.Lo - at.Cols.Lo
	for r := range rows {
		copy(out[r*cols:(r+1)*cols], d.Val[from+r*stride:])
	}
	return &Dense[T]{out}
}

// span is the part of the ascending ids that lies within the range.
func span(idx []int64, within Range) (lo, hi int) {
	lo = sort.Search(len(idx), func(i int) bool { return idx[i] >= within.Lo })
	hi = lo + sort.Search(len(idx)-lo, func(i int) bool { return idx[lo+i] >= within.Hi })
	return lo, hi
}

func (d *CSR[T]) cut(at, to Rect) Data {
	out := &CSR[T]{Ptr: make([]int, to.Rows.Len()+1)}
	for i := range int(to.Rows.Len()) {
		from := i + int(to.Rows.Lo-at.Rows.Lo)
		row := d.Idx[d.Ptr[from]:d.Ptr[from+1]]
		lo, hi := span(row, to.Cols)
		out.Idx = append(out.Idx, row[lo:hi]...)
		out.Val = append(out.Val, d.Val[d.Ptr[from]+lo:d.Ptr[from]+hi]...)
		out.Ptr[i+1] = len(out.Idx)
	}
	return out
}

func (d *COO[T]) cut(at, to Rect) Data {
	out := &COO[T]{}
	for i, r := range d.Row {
		if to.Rows.Has(r+at.Rows.Lo) && to.Cols.Has(d.Col[i]) {
			out.Row = append(out.Row, r+at.Rows.Lo-to.Rows.Lo)
			out.Col = append(out.Col, d.Col[i])
			out.Val = append(out.Val, d.Val[i])
		}
	}
	return out
}

func (d *Cols[T]) cut(at, to Rect) Data {
	lo, hi := span(d.Idx, to.Cols)
	stride, rows := at.Rows.Len(), to.Rows.Len()
	out := &Cols[T]{append([]int64(nil), d.Idx[lo:hi]...), make([]T, int64(hi-lo)*rows)}
	if rows == 0 {
		return out // the place may begin far beyond the last row
	}
	for k := lo; k < hi; k++ {
		from := int64(k)*stride + to.Rows.Lo - at.Rows.Lo
		copy(out.Val[int64(k-lo)*rows:int64(k-lo+1)*rows], d.Val[from:])
	}
	return out
}
