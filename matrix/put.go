package matrix

import "fmt"

// Put copies the stored cells of src that lie in dst over those of dst, which must be *Dense of the same element type.
// Unlike Add to zeros it keeps -0 and works on storage-only types.
func Put(dst, src Block) error {
	if dst.Data.DType() != src.Data.DType() {
		return fmt.Errorf("put %v into %v: want the same element type", src.Data.DType(), dst.Data.DType())
	}
	return src.Data.putTo(dst.Data, dst.At, src.At)
}

func denseTarget[T Stored](dst Data) (*Dense[T], error) {
	if d, ok := dst.(*Dense[T]); ok {
		return d, nil
	}
	return nil, fmt.Errorf("put into %T: want dense values", dst)
}

func (e Empty) putTo(Data, Rect, Rect) error { return nil }

func (d *Dense[T]) putTo(dst Data, at, from Rect) error {
	to, err := denseTarget[T](dst)
	if err != nil {
		return err
	}
	both := at.Intersect(from)
	n, width, stride := both.Cols.Len(), from.Cols.Len(), at.Cols.Len()
	for r := both.Rows.Lo; r < both.Rows.Hi; r++ {
		src := d.Val[(r-from.Rows.Lo)*width+both.Cols.Lo-from.Cols.Lo:][:n]
		copy(to.Val[(r-at.Rows.Lo)*stride+both.Cols.Lo-at.Cols.Lo:][:n], src)
	}
	return nil
}

func (d *CSR[T]) putTo(dst Data, at, from Rect) error {
	to, err := denseTarget[T](dst)
	if err != nil {
		return err
	}
	stride := at.Cols.Len()
	for r := range len(d.Ptr) - 1 {
		row := from.Rows.Lo + int64(r)
		if !at.Rows.Has(row) {
			continue
		}
		lo, hi := span(d.Idx[d.Ptr[r]:d.Ptr[r+1]], at.Cols)
		for i := d.Ptr[r] + lo; i < d.Ptr[r]+hi; i++ {
			to.Val[(row-at.Rows.Lo)*stride+d.Idx[i]-at.Cols.Lo] = d.Val[i]
		}
	}
	return nil
}

func (d *COO[T]) putTo(dst Data, at, from Rect) error {
	to, err := denseTarget[T](dst)
	if err != nil {
		return err
	}
	for i, r := range d.Row {
		if row := from.Rows.Lo + r; at.Rows.Has(row) && at.Cols.Has(d.Col[i]) {
			to.Val[(row-at.Rows.Lo)*at.Cols.Len()+d.Col[i]-at.Cols.Lo] = d.Val[i]
		}
	}
	return nil
}

func (d *Cols[T]) putTo(dst Data, at, from Rect) error {
	to, err := denseTarget[T](dst)
	if err != nil {
		return err
	}
	lo, hi := span(d.Idx, at.Cols)
	rows, stride := from.Rows.Len(), at.Cols.Len()
	both := at.Rows.Intersect(from.Rows)
	for k := lo; k < hi; k++ {
		for r := both.Lo; r < both.Hi; r++ {
			to.Val[(r-at.Rows.Lo)*stride+d.Idx[k]-at.Cols.Lo] = d.Val[int64(k)*rows+r-from.Rows.Lo]
		}
	}
	return nil
}
