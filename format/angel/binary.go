package angel

import (
	"encoding/binary"

	"thole.example/matrix"
	"thole.example/wire"
)

// fetch copies n big-endian fields of size 4 or 8, one every stride bytes of src, into dst, the memory of numbers.
func fetch(dst, src []byte, n, size, stride int) {
	if n == 0 {
		return
	}
	src = src[:(n-1)*stride+size]
	if size == 4 {
		for i, at := 0, 0; i < n; i, at = i+1, at+stride {
			binary.NativeEndian.PutUint32(dst[4*i:], binary.BigEndian.Uint32(src[at:]))
		}
		return
	}
	for i, at := 0, 0; i < n; i, at = i+1, at+stride {
		binary.NativeEndian.PutUint64(dst[8*i:], binary.BigEndian.Uint64(src[at:]))
	}
}

// spread is the way back of fetch.
func spread(dst, src []byte, n, size, stride int) {
	if size == 4 {
		for i, at := 0, 0; i < n; i, at = i+1, at+stride {
			binary.BigEndian.PutUint32(dst[at:], binary.NativeEndian.Uint32(src[4*i:]))
		}
		return
	}
	for i, at := 0, 0; i < n; i, at = i+1, at+stride {
		binary.BigEndian.PutUint64(dst[at:], binary.NativeEndian.Uint64(src[8*i:]))
	}
}

// fetchIDs copies column ids of four or eight bytes.
func fetchIDs(dst []int64, src []byte, stride int, long bool) {
	if long {
		fetch(wire.View(dst), src, len(dst), 8, stride)
		return
	}
	for i, at := 0, 0; i < len(dst); i, at = i+1, at+stride {
		dst[i] = int64(int32(binary.BigEndian.Uint32(src[at:])))
	}
}

// spreadIDs is the way back of fetchIDs.
func spreadIDs(dst []byte, src []int64, stride int, long bool) {
	if long {
		spread(dst, wire.View(src), len(src), 8, stride)
		return
	}
	for i, at := 0, 0; i < len(src); i, at = i+1, at+stride {
		binary.BigEndian.PutUint32(dst[at:], uint32(src[i]))
	}
}

// words are the numbers of four bytes that v holds, whatever their type.
func words(v []byte, n int) []uint32 {
	w, _ := wire.Numbers[uint32](v[:4*n])
	return w[:n]
}

// fetchPairs copies column ids and values of four bytes each, which lie side by side.
func fetchPairs(col []int64, val, src []byte, stride int) {
	v := words(val, len(col))
	at := 0
	for i := range v {
		x := binary.BigEndian.Uint64(src[at:])
		col[i], v[i] = int64(int32(x>>32)), uint32(x)
		at += stride
	}
}

// spreadPairs is the way back of fetchPairs.
func spreadPairs(dst []byte, col []int64, val []byte, stride int) {
	v := words(val, len(col))
	at := 0
	for i := range v {
		binary.BigEndian.PutUint64(dst[at:], uint64(uint32(col[i]))<<32|uint64(v[i]))
		at += stride
	}
}

// fetchTriples copies rows, column ids and values of four bytes each.
func fetchTriples(row []int32, col []int64, val, src []byte) {
	v := words(val, len(row))
	col = col[:len(v)]
	for i := range v {
		rec := src[12*i : 12*i+12 : 12*i+12]
		x := binary.BigEndian.Uint64(rec[4:])
		row[i], col[i], v[i] = int32(binary.BigEndian.Uint32(rec)), int64(int32(x>>32)), uint32(x)
	}
}

// spreadTriples is the way back of fetchTriples.
func spreadTriples(dst []byte, row []int32, col []int64, val []byte) {
	v := words(val, len(row))
	col = col[:len(v)]
	for i := range v {
		rec := dst[12*i : 12*i+12 : 12*i+12]
		binary.BigEndian.PutUint32(rec, uint32(row[i]))
		binary.BigEndian.PutUint64(rec[4:], uint64(uint32(col[i]))<<32|uint64(v[i]))
	}
}

// fetchBoth copies column ids and values that lie side by side.
func fetchBoth(col []int64, val, src []byte, s style, size, stride int) {
	if !s.long && size == 4 {
		fetchPairs(col, val, src, stride)
		return
	}
	fetchIDs(col, src, stride, s.long)
	fetch(val, src[s.idSize():], len(col), size, stride)
}

// spreadBoth is the way back of fetchBoth.
func spreadBoth(dst []byte, col []int64, val []byte, s style, size, stride int) {
	if !s.long && size == 4 {
		spreadPairs(dst, col, val, stride)
		return
	}
	spreadIDs(dst, col, stride, s.long)
	spread(dst[s.idSize():], val, len(col), size, stride)
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
		v = append(make([]E, 0, 2*len(v)+n), v...)
	}
	all = v[:len(v)+n]
	return all, all[len(v):]
}

func sizeOf[T Number]() int {
	return matrix.DTypeOf[T]().Size()
}
