package matrix

import "fmt"

// Add adds src to dst where they overlap. dst must be *Dense, or *Cols with every column that src has where they
// overlap; both must have the same element type, one that arithmetic works on. Integers wrap around. After an error
// a part of src may have been added.
func Add(dst, src Block) error {
	if dst.Data.DType() != src.Data.DType() {
		return fmt.Errorf("add %v to %v: want the same element type", src.Data.DType(), dst.Data.DType())
	}
	if dst.Data.DType().StorageOnly() {
		return fmt.Errorf("add: %v can be stored but not added", dst.Data.DType())
	}
	return src.Data.addTo(dst.Data, dst.At, src.At)
}

// target finds, for one column after the other, the values of dst: the cell of row r (counted from the place's first
// row) is val[base+r*stride]. Ids are asked for in ascending order where dst is Cols.
type target[T Stored] struct {
	val    []T
	at     Rect
	cols   *Cols[T]
	stride int64
	next   int
}

func newTarget[T Stored](dst Data, at Rect) (*target[T], error) {
	switch d := dst.(type) {
	case *Dense[T]:
		return &target[T]{val: d.Val, at: at, stride: at.Cols.Len()}, nil
	case *Cols[T]:
		return &target[T]{val: d.Val, at: at, cols: d, stride: 1}, nil
	}
	return nil, fmt.Errorf("add to %T: want dense values or columns", dst)
}

func (t *target[T]) base(col int64) (int64, bool) {
	if !t.at.Cols.Has(col) {
		return 0, false
	}
	if t.cols == nil {
		return col - t.at.Cols.Lo, true
	}
	idx := t.cols.Idx
	if t.next < len(idx) && idx[t.next] == col {
		t.next++
		return int64(t.next-1) * t.at.Rows.Len(), true
	}
	lo, hi := span(idx, Range{col, col + 1})
	t.next = hi
	return int64(lo) * t.at.Rows.Len(), hi > lo
}

// put adds v to the cell of row r, counted from from.Rows.Lo, if dst has it.
func (t *target[T]) put(row, col int64, v T) error {
	if !t.at.Rows.Has(row) || !t.at.Cols.Has(col) {
		return nil
	}
	base, ok := t.base(col)
	if !ok {
		return fmt.Errorf("add: column %d is not among those of the sum", col)
	}
	t.val[base+(row-t.at.Rows.Lo)*t.stride] += v
	return nil
}

func (e Empty) addTo(Data, Rect, Rect) error { return nil }

func (d *Dense[T]) addTo(dst Data, at, from Rect) error {
	t, err := newTarget[T](dst, at)
	if err != nil {
		return err
	}
	both := at.Intersect(from)
	if both.Empty() {
		return nil
	}
	cols, n := from.Cols.Len(), both.Cols.Len()
	for r := both.Rows.Lo; r < both.Rows.Hi; r++ {
		src := d.Val[(r-from.Rows.Lo)*cols+both.Cols.Lo-from.Cols.Lo:][:n]
		if t.cols == nil {
			into := t.val[(r-at.Rows.Lo)*t.stride+both.Cols.Lo-at.Cols.Lo:][:n]
			for i, v := range src {
				into[i] += v
			}
			continue
		}
		t.next = 0
		for i, v := range src {
			if err := t.put(r, both.Cols.Lo+int64(i), v); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *CSR[T]) addTo(dst Data, at, from Rect) error {
	t, err := newTarget[T](dst, at)
	if err != nil {
		return err
	}
	for i := range len(d.Ptr) - 1 {
		row := from.Rows.Lo + int64(i)
		t.next = 0
		for k := d.Ptr[i]; k < d.Ptr[i+1]; k++ {
			if err := t.put(row, d.Idx[k], d.Val[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *COO[T]) addTo(dst Data, at, from Rect) error {
	t, err := newTarget[T](dst, at)
	if err != nil {
		return err
	}
	for i, r := range d.Row {
		if err := t.put(from.Rows.Lo+r, d.Col[i], d.Val[i]); err != nil {
			return err
		}
	}
	return nil
}

func (d *Cols[T]) addTo(dst Data, at, from Rect) error {
	t, err := newTarget[T](dst, at)
	if err != nil {
		return err
	}
	rows := from.Rows.Len()
	both := at.Rows.Intersect(from.Rows)
	if both.Len() == 0 {
		return nil
	}
	for k, c := range d.Idx {
		if !at.Cols.Has(c) {
			continue
		}
		base, ok := t.base(c)
		if !ok {
			return fmt.Errorf("add: column %d is not among those of the sum", c)
		}
		src := d.Val[int64(k)*rows:]
		for r := both.Lo; r < both.Hi; r++ {
			t.val[base+(r-at.Rows.Lo)*t.stride] += src[r-from.Rows.Lo]
		}
	}
	return nil
}
