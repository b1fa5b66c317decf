package matrix

import "math"

// Prune is b without the values of magnitude below the limit: they become zero in dense data and are dropped from
// sparse data, from selected columns where a whole column is below. n is how many values that were not zero went. Values
// of storage-only types are compared as the numbers they stand for; NaN stays.
func (b Block) Prune(below float64) (pruned Block, n int) {
	d, n := b.Data.prune(b.At, below)
	return Block{b.At, d}, n
}

func (e Empty) prune(Rect, float64) (Data, int) { return e, 0 }

func (d *Dense[T]) prune(_ Rect, below float64) (Data, int) {
	val, n := zeroSmall(d.Val, below)
	return &Dense[T]{val}, n
}

// zeroSmall copies the values with the small ones as zero, and counts those that were not zero before.
func zeroSmall[T Stored](val []T, below float64) ([]T, int) {
	out, wide, n := make([]T, len(val)), widen[T](), 0
	for i, v := range val {
		if f := wide(v); math.Abs(f) < below {
			if f != 0 {
				n++
			}
			continue
		}
		out[i] = v
	}
	return out, n
}

func (d *CSR[T]) prune(_ Rect, below float64) (Data, int) {
	out, wide, n := &CSR[T]{Ptr: make([]int, len(d.Ptr))}, widen[T](), 0
	for r := range len(d.Ptr) - 1 {
		for i := d.Ptr[r]; i < d.Ptr[r+1]; i++ {
			if f := wide(d.Val[i]); math.Abs(f) < below {
				if f != 0 {
					n++
				}
				continue
			}
			out.Idx, out.Val = append(out.Idx, d.Idx[i]), append(out.Val, d.Val[i])
		}
		out.Ptr[r+1] = len(out.Idx)
	}
	return out, n
}

func (d *COO[T]) prune(at Rect, below float64) (Data, int) { return d.csr(at).prune(at, below) }

func (d *Cols[T]) prune(at Rect, below float64) (Data, int) {
	rows := int(at.Rows.Len())
	val, n := zeroSmall(d.Val, below)
	out := &Cols[T]{}
	var zero T
	for k, c := range d.Idx {
		for _, v := range val[k*rows : (k+1)*rows] {
			if v != zero {
				out.Idx = append(out.Idx, c)
				out.Val = append(out.Val, val[k*rows:(k+1)*rows]...)
				break
			}
		}
	}
	return out, n
}
