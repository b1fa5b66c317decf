package angel

// rowIDColIDValueText stores lines "row id,column id,value". Angel cuts doubles to six decimals here; every digit is
// written nevertheless, which Angel reads.
var rowIDColIDValueText = layout{
	name: "RowIdColIdValueTextRowFormat", text: true, rowID: true, colID: true,
	f64: pair[float64]{putRowIDColIDValueText[float64], takeRowIDColIDValueText[float64]},
	f32: pair[float32]{putRowIDColIDValueText[float32], takeRowIDColIDValueText[float32]},
	i64: pair[int64]{putRowIDColIDValueText[int64], takeRowIDColIDValueText[int64]},
	i32: pair[int32]{putRowIDColIDValueText[int32], takeRowIDColIDValueText[int32]},
}

func putRowIDColIDValueText[T Number](dst []byte, s style, r *records[T]) []byte {
	put := spellingOf[T]().put
	var head [longest + maxSeparator]byte // row and separator, of as many records as follow each other
	row, n := ^r.first(), 0
	for k, v := range r.val {
		if r.row[k] != row {
			row = r.row[k]
			n = s.put(head[:], putInt(head[:], 0, row))
		}
		b, i := room(dst, 3*longest+2*maxSeparator)
		copyShort(b[i:], &head, n)
		i = s.put(b, putInt(b, i+n, r.col[k]))
		i = put(b, i, v)
		b[i] = '\n'
		dst = b[:i+1]
	}
	return dst
}

// copyShort copies the first n bytes of head; the bytes behind them may change too.
func copyShort(dst []byte, head *[longest + maxSeparator]byte, n int) {
	if n > 8 {
		copy(dst, head[:n])
		return
	}
	*(*[8]byte)(dst) = [8]byte(head[:8])
}

func takeRowIDColIDValueText[T Number](in input, r *records[T], n int) (int, error) {
	const want = "a row id, a column id and a value with separators between them"
	parse := reading[T](in.style)
	b := in.lines()
	at := 0
	for ; n > 0 && at < len(b); n-- {
		row, i := in.field(b, at)
		if i == 0 || row != int64(int32(row)) {
			return at, in.bad(at, want)
		}
		col, i := in.field(b, i)
		if i == 0 {
			return at, in.bad(at, want)
		}
		v, w := parse(b[i:])
		next, ok := lineEnd(b, i+w)
		if w == 0 || !ok {
			return at, in.bad(at, want)
		}
		r.row = append(r.row, int32(row))
		r.col = append(r.col, col)
		r.val = append(r.val, v)
		at = next
	}
	return at, nil
}
