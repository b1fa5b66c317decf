package angel

// valueText stores a value a line: column ids follow from the partition's first column.
var valueText = layout{
	name: "ValueTextRowFormat", text: true,
	f64: pair[float64]{putValueText[float64], takeValueText[float64]},
	f32: pair[float32]{putValueText[float32], takeValueText[float32]},
	i64: pair[int64]{putValueText[int64], takeValueText[int64]},
	i32: pair[int32]{putValueText[int32], takeValueText[int32]},
}

func putValueText[T Number](dst []byte, _ style, r *records[T]) []byte {
	put := spellingOf[T]().put
	for _, v := range r.val {
		b, i := room(dst, longest)
		i = put(b, i, v)
		b[i] = '\n'
		dst = b[:i+1]
	}
	return dst
}

func takeValueText[T Number](in input, r *records[T], n int) (int, error) {
	parse := reading[T](in.style)
	b := in.lines()
	at := 0
	for ; n > 0 && at < len(b); n-- {
		v, w := parse(b[at:])
		next, ok := lineEnd(b, at+w)
		if w == 0 || !ok {
			return at, in.bad(at, "a value")
		}
		r.val = append(r.val, v)
		at = next
	}
	return at, nil
}
