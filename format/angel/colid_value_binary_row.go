package angel

import "thole.example/wire"

// colIDValueBinary stores column id, value, column id, value, …
var colIDValueBinary = layout{
	name: "ColIdValueBinaryRowFormat", colID: true,
	f64: pair[float64]{putColIDValueBinary[float64], takeColIDValueBinary[float64]},
	f32: pair[float32]{putColIDValueBinary[float32], takeColIDValueBinary[float32]},
	i64: pair[int64]{putColIDValueBinary[int64], takeColIDValueBinary[int64]},
	i32: pair[int32]{putColIDValueBinary[int32], takeColIDValueBinary[int32]},
}

func putColIDValueBinary[T Number](dst []byte, s style, r *records[T]) []byte {
	key, size := s.idSize(), sizeOf[T]()
	if len(r.val) == 0 {
		return dst
	}
	dst, out := grow(dst, len(r.val)*(key+size))
	spreadBoth(out, r.col, wire.View(r.val), s, size, key+size)
	return dst
}

func takeColIDValueBinary[T Number](in input, r *records[T], n int) (int, error) {
	key, size := in.idSize(), sizeOf[T]()
	n = min(n, len(in.b)/(key+size))
	if n == 0 {
		return 0, nil
	}
	var col []int64
	var val []T
	r.col, col = grow(r.col, n)
	r.val, val = grow(r.val, n)
	fetchBoth(col, wire.View(val), in.b, in.style, size, key+size)
	return n * (key + size), nil
}
