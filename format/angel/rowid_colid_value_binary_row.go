package angel

import "thole.example/wire"

// rowIDColIDValueBinary stores row id, column id, value, row id, column id, value, …
var rowIDColIDValueBinary = layout{
	name: "RowIdColIdValueBinaryRowFormat", rowID: true, colID: true,
	f64: pair[float64]{putRowIDColIDValueBinary[float64], takeRowIDColIDValueBinary[float64]},
	f32: pair[float32]{putRowIDColIDValueBinary[float32], takeRowIDColIDValueBinary[float32]},
	i64: pair[int64]{putRowIDColIDValueBinary[int64], takeRowIDColIDValueBinary[int64]},
	i32: pair[int32]{putRowIDColIDValueBinary[int32], takeRowIDColIDValueBinary[int32]},
}

func putRowIDColIDValueBinary[T Number](dst []byte, s style, r *records[T]) []byte {
	n, key, size := len(r.val), s.idSize(), sizeOf[T]()
	if n == 0 {
		return dst
	}
	stride := 4 + key + size
	dst, out := grow(dst, n*stride)
	if !s.long && size == 4 {
		spreadTriples(out, r.row, r.col, wire.View(r.val))
		return dst
	}
	spread(out, wire.View(r.row), n, 4, stride)
	spreadBoth(out[4:], r.col, wire.View(r.val), s, size, stride)
	return dst
}

func takeRowIDColIDValueBinary[T Number](in input, r *records[T], n int) (int, error) {
	key, size := in.idSize(), sizeOf[T]()
	stride := 4 + key + size
	n = min(n, len(in.b)/stride)
	if n == 0 {
		return 0, nil
	}
	var row []int32
	var col []int64
	var val []T
	r.row, row = grow(r.row, n)
	r.col, col = grow(r.col, n)
	r.val, val = grow(r.val, n)
	if !in.long && size == 4 {
		fetchTriples(row, col, wire.View(val), in.b)
		return n * stride, nil
	}
	fetch(wire.View(row), in.b, n, 4, stride)
	fetchBoth(col, wire.View(val), in.b[4:], in.style, size, stride)
	return n * stride, nil
}
