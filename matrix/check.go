package matrix

import "fmt"

func (e Empty) check(Rect) error {
	if e.D.Size() == 0 {
		return fmt.Errorf("empty: unknown element type %d", uint8(e.D))
	}
	return nil
}

func (d *Dense[T]) check(at Rect) error {
	if n, ok := at.Cells(); !ok || n != int64(len(d.Val)) {
		return fmt.Errorf("dense: %d values, want %d x %d", len(d.Val), at.Rows.Len(), at.Cols.Len())
	}
	return nil
}

func (d *CSR[T]) check(at Rect) error {
	if int64(len(d.Ptr)) != at.Rows.Len()+1 {
		return fmt.Errorf("csr: %d row pointers, want %d rows plus 1", len(d.Ptr), at.Rows.Len())
	}
	if len(d.Idx) != len(d.Val) {
		return fmt.Errorf("csr: %d column ids for %d values", len(d.Idx), len(d.Val))
	}
	if d.Ptr[0] != 0 || d.Ptr[len(d.Ptr)-1] != len(d.Val) {
		return fmt.Errorf("csr: row pointers from %d to %d, want 0 to %d", d.Ptr[0], d.Ptr[len(d.Ptr)-1], len(d.Val))
	}
	for i := 1; i < len(d.Ptr); i++ {
		if d.Ptr[i] < d.Ptr[i-1] || d.Ptr[i] > len(d.Idx) {
			return fmt.Errorf("csr: row pointer %d is %d after %d", i, d.Ptr[i], d.Ptr[i-1])
		}
		if err := checkAscending(d.Idx[d.Ptr[i-1]:d.Ptr[i]], at.Cols); err != nil {
			return fmt.Errorf("csr: row %d: %w", at.Rows.Lo+int64(i)-1, err)
		}
	}
	return nil
}

func checkAscending(idx []int64, within Range) error {
	for i, c := range idx {
		if !within.Has(c) {
			return fmt.Errorf("column %d, want one in %v", c, within)
		}
		if i > 0 && c <= idx[i-1] {
			return fmt.Errorf("column %d after %d, want strictly ascending", c, idx[i-1])
		}
	}
	return nil
}

func (d *COO[T]) check(at Rect) error {
	if len(d.Row) != len(d.Val) || len(d.Col) != len(d.Val) {
		return fmt.Errorf("coo: %d rows and %d columns for %d values", len(d.Row), len(d.Col), len(d.Val))
	}
	seen := make(map[[2]int64]struct{}, len(d.Val))
	rows := at.Rows.Len()
	for i, r := range d.Row {
		c := d.Col[i]
		if r < 0 || r >= rows || !at.Cols.Has(c) {
			return fmt.Errorf("coo: cell (%d,%d), want one in %d rows and columns %v", r, c, rows, at.Cols)
		}
		key := [2]int64{r, c}
		if _, twice := seen[key]; twice {
			return fmt.Errorf("coo: cell (%d,%d) twice", r, c)
		}
		seen[key] = struct{}{}
	}
	return nil
}

func (d *Cols[T]) check(at Rect) error {
	if n, ok := Cells(at.Rows.Len(), int64(len(d.Idx))); !ok || n != int64(len(d.Val)) {
		return fmt.Errorf("cols: %d values for %d columns of %d rows", len(d.Val), len(d.Idx), at.Rows.Len())
	}
	if err := checkAscending(d.Idx, at.Cols); err != nil {
		return fmt.Errorf("cols: %w", err)
	}
	return nil
}
