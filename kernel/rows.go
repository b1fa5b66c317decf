package kernel

// Gather copies the first size bytes of the rows to dst, one after the other; row i of the slab begins at i*stride.
// size is a multiple of 4, len(dst) is len(rows)*size.
func Gather(dst, slab []byte, stride, size int, rows []uint32) {
	checkLen(len(dst), len(rows)*size, "dst")
	if len(dst) > 0 {
		gatherOn(machine, dst, slab, stride, size, rows)
	}
}

// Scatter copies src to the first size bytes of the rows: the way back of Gather.
func Scatter(src, slab []byte, stride, size int, rows []uint32) {
	checkLen(len(src), len(rows)*size, "src")
	if size == 0 {
		return
	}
	for _, row := range rows {
		copy(slab[int(row)*stride:][:size], src)
		src = src[size:]
	}
}

func gather(dst, slab []byte, stride, size int, rows []uint32) {
	for _, row := range rows {
		copy(dst[:size], slab[int(row)*stride:])
		dst = dst[size:]
	}
}
