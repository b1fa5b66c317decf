package kernel

// settleOn reports whether it brought the rows up to date in place. There is a row at least, and a weight in it.
func settleOn(on level, l *Lag[float32]) bool {
	if l.Idle.Form != Fades && l.Idle.Form != Couples {
		return readOn(on, l, l.Slab, l.Rows, 0, l.Dim, l.Stride)
	}
	if on == plain {
		return false
	}
	stride, n := 4*l.Stride, len(l.Rows)
	if l.Idle.Form == Fades {
		slots := &l.Slab[l.Dim]
		scaleRowsAVX2(slots, slots, stride, stride, l.Dim*l.Slots, &l.Rows[0], &l.Rows[0], &l.Drifts[0].VV, n)
	} else {
		coupleRowsAVX2(&l.Slab[0], &l.Slab[0], stride, stride, l.Dim, &l.Rows[0], &l.Rows[0], &l.Drifts[0].WW, n, 4*l.Dim)
	}
	return true
}

// readOn reports whether it copied n weights of each row, at least one, from one on, up to date: those of the i-th go to
// dst[at[i]*apart:].
func readOn(on level, l *Lag[float32], dst []float32, at []uint32, from, n, apart int) bool {
	if on == plain {
		return false
	}
	into, slab, rows, drifts := &dst[0], &l.Slab[from], &l.Rows[0], &l.Drifts[0].WW
	apart, stride, count, slot := 4*apart, 4*l.Stride, len(at), 4*l.Dim
	switch l.Idle.Form {
	case Scales:
		scaleRowsAVX2(into, slab, apart, stride, n, &at[0], rows, drifts, count)
	case Shrinks:
		shrinkRowsAVX2(into, slab, apart, stride, n, &at[0], rows, drifts, count)
	case Divides:
		divideRowsAVX2(into, slab, apart, stride, n, &at[0], rows, drifts, count, slot, float32(l.Idle.Eps))
	case Couples:
		sumRowsAVX2(into, slab, apart, stride, n, &at[0], rows, drifts, count, slot)
	default:
		return false
	}
	return true
}

// The functions in assembly have at least one row, and one number in it. Rows go to multiples of dstStride, by at, and come from
// multiples of stride, by rows, both in bytes; drifts is the number to scale by in the first of them, or all of it; slot is how
// many bytes after a weight its slot is.

//go:noescape
func scaleRowsAVX2(dst, slab *float32, dstStride, stride, n int, at, rows *uint32, drifts *float64, count int)

//go:noescape
func shrinkRowsAVX2(dst, slab *float32, dstStride, stride, n int, at, rows *uint32, drifts *float64, count int)

//go:noescape
func divideRowsAVX2(dst, slab *float32, dstStride, stride, n int, at, rows *uint32, drifts *float64, count, slot int, eps float32)

//go:noescape
func sumRowsAVX2(dst, slab *float32, dstStride, stride, n int, at, rows *uint32, drifts *float64, count, slot int)

//go:noescape
func coupleRowsAVX2(dst, slab *float32, dstStride, stride, n int, at, rows *uint32, drifts *float64, count, slot int)
