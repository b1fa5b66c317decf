package matrix

// Keyed is data that names its columns one by one: *CSR, *COO and *Cols.
type Keyed interface {
	Data
	// Keys are the column ids as stored, not a copy: in rows of CSR and in COO a column can come several times.
	Keys() []int64
}

// Keys implements Keyed.
func (d *CSR[T]) Keys() []int64  { return d.Idx }
func (d *COO[T]) Keys() []int64  { return d.Col }
func (d *Cols[T]) Keys() []int64 { return d.Idx }

// Rowed is data whose cells stand row by row: *CSR.
type Rowed interface {
	Keyed
	// Ends are where the cells of row i begin (i) and end (i+1), not a copy.
	Ends() []int
}

// Ends implements Rowed.
func (d *CSR[T]) Ends() []int { return d.Ptr }

// Pick is the stored cells of b whose column keep answers true to. Columns stay columns, everything else becomes CSR.
func (b Block) Pick(keep func(col int64) bool) Block {
	if p, ok := b.Data.(picker); ok {
		return Block{b.At, p.pick(b.At, keep)}
	}
	return Block{b.At, b.ToCSR().Data.(picker).pick(b.At, keep)}
}

type picker interface {
	pick(at Rect, keep func(col int64) bool) Data
}

func (d *CSR[T]) pick(_ Rect, keep func(col int64) bool) Data {
	out := &CSR[T]{Ptr: make([]int, len(d.Ptr))}
	for r := range len(d.Ptr) - 1 {
		for i := d.Ptr[r]; i < d.Ptr[r+1]; i++ {
			if keep(d.Idx[i]) {
				out.Idx = append(out.Idx, d.Idx[i])
				out.Val = append(out.Val, d.Val[i])
			}
		}
		out.Ptr[r+1] = len(out.Idx)
	}
	return out
}

func (d *Cols[T]) pick(at Rect, keep func(col int64) bool) Data {
	rows := int(at.Rows.Len())
	out := &Cols[T]{}
	for k, c := range d.Idx {
		if keep(c) {
			out.Idx = append(out.Idx, c)
			out.Val = append(out.Val, d.Val[k*rows:(k+1)*rows]...)
		}
	}
	return out
}
