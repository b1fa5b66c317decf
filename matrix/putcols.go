package matrix

import "fmt"

// PutCols copies the columns of src, which must be *Cols, over those of dst, which must be *Cols of the same element type
// and have every column of src; rows that dst does not have are left out.
func PutCols(dst, src Block) error {
	p, ok := src.Data.(interface {
		putCols(dst Data, at, from Rect) error
	})
	if !ok {
		return fmt.Errorf("put columns of %T: want columns", src.Data)
	}
	return p.putCols(dst.Data, dst.At, src.At)
}

func (d *Cols[T]) putCols(dst Data, at, from Rect) error {
	to, ok := dst.(*Cols[T])
	if !ok {
		return fmt.Errorf("put %v columns into %T", DTypeOf[T](), dst)
	}
	both := at.Rows.Intersect(from.Rows)
	n, rows, width := both.Len(), at.Rows.Len(), from.Rows.Len()
	t := &target[T]{at: at, cols: to}
	for k, c := range d.Idx {
		base, ok := t.base(c)
		if !ok {
			return fmt.Errorf("put: column %d is not among those of the target", c)
		}
		if n == 0 {
			continue // the places may lie far apart
		}
		at := int64(k)*width + both.Lo - from.Rows.Lo
		copy(to.Val[base : base+rows][both.Lo-t.at.Rows.Lo:], d.Val[at:at+n])
	}
	return nil
}
