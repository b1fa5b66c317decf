package matrix

// Shift moves b by rows and columns: the place, and the column ids of data that name them. Slices are shared with b
// where nothing in them changes.
func (b Block) Shift(rows, cols int64) Block {
	at := Rect{Range{b.At.Rows.Lo + rows, b.At.Rows.Hi + rows}, Range{b.At.Cols.Lo + cols, b.At.Cols.Hi + cols}}
	if s, ok := b.Data.(shifter); ok && cols != 0 {
		return Block{at, s.shift(cols)}
	}
	return Block{at, b.Data}
}

type shifter interface{ shift(by int64) Data }

func moved(idx []int64, by int64) []int64 {
	out := make([]int64, len(idx))
	for i, c := range idx {
		out[i] = c + by
	}
	return out
}

func (d *CSR[T]) shift(by int64) Data  { return &CSR[T]{d.Ptr, moved(d.Idx, by), d.Val} }
func (d *COO[T]) shift(by int64) Data  { return &COO[T]{d.Row, moved(d.Col, by), d.Val} }
func (d *Cols[T]) shift(by int64) Data { return &Cols[T]{moved(d.Idx, by), d.Val} }
