package angel

import (
	"encoding/binary"

	"thole/internal/wire"
)

// fetch copies n big-endian fields of size 4 or 8, one every stride bytes of src, into dst, the memory of numbers.
func fetch(dst, src []byte, n, size, stride int) {
	for i := range n {
		if size == 4 {
			binary.NativeEndian.PutUint32(dst[4*i:], binary.BigEndian.Uint32(src[i*stride:]))
		} else {
			binary.NativeEndian.PutUint64(dst[8*i:], binary.BigEndian.Uint64(src[i*stride:]))
		}
	}
}

// spread is the way back of fetch.
func spread(dst, src []byte, n, size, stride int) {
	for i := range n {
		if size == 4 {
			binary.BigEndian.PutUint32(dst[i*stride:], binary.NativeEndian.Uint32(src[4*i:]))
		} else {
			binary.BigEndian.PutUint64(dst[i*stride:], binary.NativeEndian.Uint64(src[8*i:]))
		}
	}
}

// fetchIDs copies column ids of four or eight bytes.
func fetchIDs(dst []int64, src []byte, stride int, long bool) {
	if long {
		fetch(wire.View(dst), src, len(dst), 8, stride)
		return
	}
	for i := range dst {
		dst[i] = int64(int32(binary.BigEndian.Uint32(src[i*stride:])))
	}
}

// spreadIDs is the way back of fetchIDs.
func spreadIDs(dst []byte, src []int64, stride int, long bool) {
	if long {
		spread(dst, wire.View(src), len(src), 8, stride)
		return
	}
	for i, id := range src {
		binary.BigEndian.PutUint32(dst[i*stride:], uint32(id))
	}
}

// idSize is the number of bytes of a column id.
func (s style) idSize() int {
	if s.long {
		return 8
	}
	return 4
}

// grow makes v longer by n elements, whose values do not matter, and gives both v and the new part.
func grow[E any](v []E, n int) (all, tail []E) {
	if cap(v)-len(v) < n {
		v = append(make([]E, 0, len(v)+n), v...)
	}
	all = v[:len(v)+n]
	return all, all[len(v):]
}

func sizeOf[T Number]() int {
	var v T
	return binary.Size(v)
}
