package matrix

// Cast converts every value to the element type. exact is false if some value changed (a fraction cut, a range left, a
// digit lost; -0 and the NaN-ness of a number count, the payload of a NaN does not). Values out of an integer's range
// become its nearest bound, fractions are cut, NaN becomes 0; floats are rounded to nearest, ties to even. Data of the
// type already are returned as they are; others share their ids, but not their values, with the result.
func (b Block) Cast(to DType) (c Block, exact bool) {
	if b.Data.DType() == to {
		return b, true
	}
	d, exact := b.Data.cast(to)
	return Block{b.At, d}, exact
}

func (e Empty) cast(to DType) (Data, bool) { return Empty{to}, true }

func (d *Dense[T]) cast(to DType) (Data, bool) {
	out := KindOf(to).Dense(len(d.Val))
	return out, convert(out.Values(), d.Val)
}

func (d *CSR[T]) cast(to DType) (Data, bool) {
	out := KindOf(to).CSR(d.Ptr, d.Idx)
	return out, convert(out.Values(), d.Val)
}

func (d *COO[T]) cast(to DType) (Data, bool) {
	out := KindOf(to).COO(d.Row, d.Col)
	return out, convert(out.Values(), d.Val)
}

func (d *Cols[T]) cast(to DType) (Data, bool) {
	rows := 1
	if len(d.Idx) > 0 {
		rows = len(d.Val) / len(d.Idx)
	}
	out := KindOf(to).Cols(d.Idx, rows)
	return out, convert(out.Values(), d.Val)
}
