package angel

import "thole.example/wire"

// valueBinary stores value, value, … and nothing else: column ids follow from the partition's first column.
var valueBinary = layout{
	name: "ValueBinaryRowFormat",
	f64:  pair[float64]{putValueBinary[float64], takeValueBinary[float64]},
	f32:  pair[float32]{putValueBinary[float32], takeValueBinary[float32]},
	i64:  pair[int64]{putValueBinary[int64], takeValueBinary[int64]},
	i32:  pair[int32]{putValueBinary[int32], takeValueBinary[int32]},
}

func putValueBinary[T Number](dst []byte, _ style, r *records[T]) []byte {
	dst, out := grow(dst, len(r.val)*sizeOf[T]())
	wire.Put(out, r.val, wire.Big)
	return dst
}

func takeValueBinary[T Number](in input, r *records[T], n int) (int, error) {
	size := sizeOf[T]()
	n = min(n, len(in.b)/size)
	var val []T
	r.val, val = grow(r.val, n)
	wire.Get(val, in.b[:n*size], wire.Big)
	return n * size, nil
}
