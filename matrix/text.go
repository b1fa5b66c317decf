package matrix

import "strconv"

// EachText calls emit for every stored value of b, rows ascending and columns ascending within a row (COO data are
// sorted first), with the shortest decimal text that reads back to the same value (for half floats: the same float32).
// The text is valid until the next
// call. The first error of emit ends the walk and is returned.
func (b Block) EachText(emit func(row, col int64, value []byte) error) error {
	return b.Data.text(b.At, emit)
}

func (e Empty) text(Rect, func(int64, int64, []byte) error) error { return nil }

func (d *Dense[T]) text(at Rect, emit func(int64, int64, []byte) error) error {
	if len(d.Val) == 0 {
		return nil // rows without columns, of which there can be any number
	}
	format := formatter[T]()
	var buf []byte
	i := 0
	for r := at.Rows.Lo; r < at.Rows.Hi; r++ {
		for c := at.Cols.Lo; c < at.Cols.Hi; c++ {
			buf = format(buf[:0], d.Val[i])
			if err := emit(r, c, buf); err != nil {
				return err
			}
			i++
		}
	}
	return nil
}

func (d *CSR[T]) text(at Rect, emit func(int64, int64, []byte) error) error {
	format := formatter[T]()
	var buf []byte
	for r := range len(d.Ptr) - 1 {
		for i := d.Ptr[r]; i < d.Ptr[r+1]; i++ {
			buf = format(buf[:0], d.Val[i])
			if err := emit(at.Rows.Lo+int64(r), d.Idx[i], buf); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *COO[T]) text(at Rect, emit func(int64, int64, []byte) error) error {
	format := formatter[T]()
	var buf []byte
	for _, i := range d.order() {
		buf = format(buf[:0], d.Val[i])
		if err := emit(at.Rows.Lo+d.Row[i], d.Col[i], buf); err != nil {
			return err
		}
	}
	return nil
}

func (d *Cols[T]) text(at Rect, emit func(int64, int64, []byte) error) error {
	if len(d.Val) == 0 {
		return nil
	}
	format := formatter[T]()
	var buf []byte
	rows := at.Rows.Len()
	for r := range rows {
		for k, c := range d.Idx {
			buf = format(buf[:0], d.Val[int64(k)*rows+r])
			if err := emit(at.Rows.Lo+r, c, buf); err != nil {
				return err
			}
		}
	}
	return nil
}

// formatter is the shortest round-trip spelling of the values of one type.
func formatter[T Stored]() func([]byte, T) []byte {
	switch DTypeOf[T]() {
	case F64:
		return func(dst []byte, v T) []byte { return strconv.AppendFloat(dst, float64(v), 'g', -1, 64) }
	case F32:
		return func(dst []byte, v T) []byte { return strconv.AppendFloat(dst, float64(v), 'g', -1, 32) }
	case F16, BF16:
		wide := widen[T]()
		return func(dst []byte, v T) []byte { return strconv.AppendFloat(dst, wide(v), 'g', -1, 32) }
	case U64:
		return func(dst []byte, v T) []byte { return strconv.AppendUint(dst, uint64(v), 10) }
	}
	return func(dst []byte, v T) []byte { return strconv.AppendInt(dst, int64(v), 10) }
}
