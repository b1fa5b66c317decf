package angel

// colIDValueText stores lines "column id,value".
var colIDValueText = layout{
	name: "ColIdValueTextRowFormat", text: true, colID: true,
	f64: pair[float64]{putColIDValueText[float64], takeColIDValueText[float64]},
	f32: pair[float32]{putColIDValueText[float32], takeColIDValueText[float32]},
	i64: pair[int64]{putColIDValueText[int64], takeColIDValueText[int64]},
	i32: pair[int32]{putColIDValueText[int32], takeColIDValueText[int32]},
}

func putColIDValueText[T Number](dst []byte, s style, r *records[T]) []byte {
	put := spellingOf[T]().put
	for k, v := range r.val {
		b, i := room(dst, 2*longest+maxSeparator)
		i = s.put(b, putInt(b, i, r.col[k]))
		i = put(b, i, v)
		b[i] = '\n'
		dst = b[:i+1]
	}
	return dst
}

func takeColIDValueText[T Number](in input, r *records[T], n int) (int, error) {
	parse := reading[T](in.style)
	b := in.lines()
	at := 0
	for ; n > 0 && at < len(b); n-- {
		col, i := in.field(b, at)
		if i == 0 {
			return at, in.bad(at, "a column id, the separator and a value")
		}
		v, w := parse(b[i:])
		next, ok := lineEnd(b, i+w)
		if w == 0 || !ok {
			return at, in.bad(at, "a column id, the separator and a value")
		}
		r.col = append(r.col, col)
		r.val = append(r.val, v)
		at = next
	}
	return at, nil
}
