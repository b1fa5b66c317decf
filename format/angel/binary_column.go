package angel

import (
	"math"

	"thole.example/wire"
)

// binaryColumn stores column id, value of the first saved row, value of the second, …, column id, …
var binaryColumn = layout{
	name: "BinaryColumnFormat", colID: true, column: true,
	f64: pair[float64]{putBinaryColumn[float64], takeBinaryColumn[float64]},
	f32: pair[float32]{putBinaryColumn[float32], takeBinaryColumn[float32]},
	i64: pair[int64]{putBinaryColumn[int64], takeBinaryColumn[int64]},
	i32: pair[int32]{putBinaryColumn[int32], takeBinaryColumn[int32]},
}

func putBinaryColumn[T Number](dst []byte, s style, r *records[T]) []byte {
	key := s.idSize()
	body := r.width * sizeOf[T]()
	if len(r.col) == 0 {
		return dst
	}
	dst, out := grow(dst, len(r.col)*(key+body))
	spreadIDs(out, r.col, key+body, s.long)
	for k := range r.col {
		wire.Put(out[k*(key+body)+key:][:body], r.val[k*r.width:(k+1)*r.width], wire.Big)
	}
	return dst
}

func takeBinaryColumn[T Number](in input, r *records[T], n int) (int, error) {
	key := in.idSize()
	if r.width > (math.MaxInt-key)/sizeOf[T]() {
		return 0, nil
	}
	body := r.width * sizeOf[T]()
	n = min(n, len(in.b)/(key+body))
	if n == 0 {
		return 0, nil
	}
	var col []int64
	var val []T
	r.col, col = grow(r.col, n)
	r.val, val = grow(r.val, n*r.width)
	fetchIDs(col, in.b, key+body, in.long)
	for k := range n {
		wire.Get(val[k*r.width:(k+1)*r.width], in.b[k*(key+body)+key:][:body], wire.Big)
	}
	return n * (key + body), nil
}
