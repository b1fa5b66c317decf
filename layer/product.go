package layer

// The products of the sparse features with the weights, both ways. Weights are either whole, row-major with the columns
// counted from the first, or columns by their place among those looked up, each with its values for all outputs.

func (l *input) forwardAll(w []float32) {
	x, lo, cols := l.x, l.weight.ColLo, int(l.weight.Cols)
	for i := range l.out.Rows {
		from, to := x.Ptr[i], x.Ptr[i+1]
		idx, val := x.Idx[from:to], x.Val[from:to]
		for o, s := range l.out.Row(i) {
			row := w[o*cols : (o+1)*cols]
			for k, c := range idx {
				s += row[c-lo] * val[k]
			}
			l.out.Val[i*l.out.Cols+o] = s
		}
	}
}

func (l *input) backwardAll(dw []float32) {
	x, lo, cols := l.x, l.weight.ColLo, int(l.weight.Cols)
	for i := range l.out.Rows {
		from, to := x.Ptr[i], x.Ptr[i+1]
		idx, val := x.Idx[from:to], x.Val[from:to]
		for o, d := range l.delta[i*l.out.Cols : (i+1)*l.out.Cols] {
			if d == 0 {
				continue
			}
			row := dw[o*cols : (o+1)*cols]
			for k, c := range idx {
				row[c-lo] += val[k] * d
			}
		}
	}
}

func (l *input) forwardCols(w []float32) {
	x, n, base := l.x, l.out.Cols, l.x.Ptr[0]
	for i := range l.out.Rows {
		from, to := x.Ptr[i], x.Ptr[i+1]
		at, val := l.at[from-base:to-base], x.Val[from:to]
		if n == 1 {
			s := l.out.Val[i]
			for k, v := range val {
				s += w[at[k]] * v
			}
			l.out.Val[i] = s
			continue
		}
		out := l.out.Row(i)
		for k, v := range val {
			for o, u := range w[int(at[k])*n:][:n] {
				out[o] += u * v
			}
		}
	}
}

func (l *input) backwardCols(dw []float32) {
	x, n, base := l.x, l.out.Cols, l.x.Ptr[0]
	for i := range l.out.Rows {
		from, to := x.Ptr[i], x.Ptr[i+1]
		at, val := l.at[from-base:to-base], x.Val[from:to]
		delta := l.delta[i*n : (i+1)*n]
		for k, v := range val {
			to := dw[int(at[k])*n:][:n]
			for o, d := range delta {
				to[o] += v * d
			}
		}
	}
}
