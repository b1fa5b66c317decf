package angel

import "fmt"

// textColumn stores lines "column id,value of the first saved row,value of the second,…".
var textColumn = layout{
	name: "TextColumnFormat", text: true, colID: true, column: true,
	f64: pair[float64]{putTextColumn[float64], takeTextColumn[float64]},
	f32: pair[float32]{putTextColumn[float32], takeTextColumn[float32]},
	i64: pair[int64]{putTextColumn[int64], takeTextColumn[int64]},
	i32: pair[int32]{putTextColumn[int32], takeTextColumn[int32]},
}

func putTextColumn[T Number](dst []byte, s style, r *records[T]) []byte {
	put := spellingOf[T]().put
	for k, col := range r.col {
		dst = appendInt(dst, col)
		for _, v := range r.val[k*r.width : (k+1)*r.width] {
			b, i := room(dst, longest+maxSeparator)
			dst = b[:put(b, s.put(b, i), v)]
		}
		dst = append(dst, '\n')
	}
	return dst
}

func takeTextColumn[T Number](in input, r *records[T], n int) (int, error) {
	parse := reading[T](in.style)
	b := in.lines()
	at := 0
	for ; n > 0 && at < len(b); n-- {
		col, i := parseInt(b[at:])
		if i == 0 {
			return at, in.bad(at, "a column id")
		}
		i += at
		for range r.width {
			if i = in.behind(b, i); i == 0 {
				return at, in.bad(at, fmt.Sprintf("a column id and %d values with separators between them", r.width))
			}
			v, w := parse(b[i:])
			if w == 0 {
				return at, in.bad(at, fmt.Sprintf("a column id and %d values", r.width))
			}
			r.val = append(r.val, v)
			i += w
		}
		next, ok := lineEnd(b, i)
		if !ok {
			return at, in.bad(at, fmt.Sprintf("a column id and %d values", r.width))
		}
		r.col = append(r.col, col)
		at = next
	}
	return at, nil
}
