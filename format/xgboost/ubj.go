package xgboost

import (
	"math"
	"strconv"

	"thole.example/wire"
)

// binaryReader reads UBJSON (draft 12): one byte says what a value is, numbers have their most significant byte first.
//
//	{ key value ... }            keys are lengths and bytes; with #N behind the brace N pairs, and no brace at the end
//	[ value ... ]                with #N N values and no bracket at the end; with $T#N N values of the type T, which is not repeated
//	S length bytes               a text; C byte: one of one letter
//	i U I l L d D                numbers: int8 uint8 int16 int32 int64 float32 float64
//	T F Z N                      true, false, null, nothing
type binaryReader struct {
	trail
	c *wire.Cursor
	b []byte
}

func newBinaryReader(b []byte) *binaryReader {
	return &binaryReader{c: wire.NewCursor(b, 0, wire.Big), b: b}
}

// numberSizes are the bytes of numbers, by their marks.
var numberSizes = map[byte]int{'i': 1, 'U': 1, 'I': 2, 'l': 4, 'L': 8, 'd': 4, 'D': 8}

func (r *binaryReader) off() int64 { return r.c.Off() }

// peek is the next mark; 0 at the end.
func (r *binaryReader) peek() byte {
	for r.err == nil && r.c.Len() > 0 {
		c := r.b[r.c.Off()]
		if c != 'N' {
			return c
		}
		r.c.Skip(1, "")
	}
	return 0
}

// take reads n bytes.
func (r *binaryReader) take(n int, what string) []byte {
	if r.err != nil {
		return nil
	}
	if n > r.c.Len() {
		r.fail(r.off(), "", "%s needs %d bytes, %d remain: %w", what, n, r.c.Len(), wire.ErrTruncated)
		return nil
	}
	return r.c.Bytes(n, what)
}

// mark takes the next mark.
func (r *binaryReader) mark() byte {
	c := r.peek()
	r.take(1, "the mark of a value")
	return c
}

// wrong says what was to come instead of the mark.
func (r *binaryReader) wrong(at int64, mark byte, want string) {
	if at == int64(len(r.b)) {
		r.fail(at, "", "the file ends, want %s", want)
		return
	}
	r.fail(at, "", "found the mark %q, want %s", mark, want)
}

func (r *binaryReader) next() byte {
	switch c := r.peek(); c {
	case '{', '[', 0:
		return c
	case 'S', 'C':
		return '"'
	case 'T', 'F':
		return 't'
	case 'Z':
		return 'n'
	default:
		return '0'
	}
}

// length reads a count of values of at least so many bytes each, which must remain.
func (r *binaryReader) length(size int, what string) int {
	at := r.off()
	n := r.numberOf(r.mark(), at)
	if r.err == nil && (n != math.Trunc(n) || n < 0 || n*float64(size) > float64(r.c.Len())) {
		r.fail(at, "", "%s is %v, of %d bytes or more each, and %d bytes remain", what, n, size, r.c.Len())
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

// counted reads what may stand behind a bracket: the type of all values, 0 for none, and their number, -1 for none.
func (r *binaryReader) counted() (of byte, n int) {
	at := r.off()
	if r.peek() == '$' {
		r.take(1, "")
		if of = r.mark(); numberSizes[of] == 0 {
			r.fail(at, "", "a list of values of the type %q, want one of numbers", of)
		}
		if r.peek() != '#' {
			r.fail(at, "", "a list of one type without a number of values")
		}
	}
	if r.peek() != '#' {
		return of, -1
	}
	r.take(1, "")
	return of, r.length(max(1, numberSizes[of]), "the number of values")
}

func (r *binaryReader) object(member func(string)) {
	at := r.off()
	if c := r.mark(); c != '{' {
		r.wrong(at, c, "an object")
		return
	}
	if !r.enter(at) {
		return
	}
	defer r.leave()
	_, n := r.counted()
	for i := 0; r.err == nil && i != n; i++ {
		if n < 0 && r.peek() == '}' {
			r.take(1, "")
			return
		}
		r.member(string(r.take(r.length(1, "the length of a key"), "a key")), member)
	}
}

// list calls element with the mark of each value, or 0 if it stands before the value.
func (r *binaryReader) list(element func(i int, of byte)) {
	at := r.off()
	if c := r.mark(); c != '[' {
		r.wrong(at, c, "a list")
		return
	}
	if !r.enter(at) {
		return
	}
	defer r.leave()
	of, n := r.counted()
	for i := 0; r.err == nil && i != n; i++ {
		if n < 0 && r.peek() == ']' {
			r.take(1, "")
			return
		}
		element(i, of)
	}
}

func (r *binaryReader) array(element func(int)) {
	r.list(func(i int, of byte) {
		if of != 0 {
			r.fail(r.off(), "", "found numbers of the type %q, want values that each say what they are", of)
			return
		}
		r.element(i, element)
	})
}

func (r *binaryReader) text() string {
	at := r.off()
	switch c := r.mark(); c {
	case 'S':
		return string(r.take(r.length(1, "the length of a text"), "a text"))
	case 'C':
		return string(r.take(1, "a letter"))
	default:
		r.wrong(at, c, "a text")
		return ""
	}
}

// numberOf reads a number whose mark, which began at the byte, is read already.
func (r *binaryReader) numberOf(mark byte, at int64) float64 {
	switch mark {
	case 'd':
		return float64(math.Float32frombits(r.u32()))
	case 'D':
		return math.Float64frombits(r.u64())
	}
	return float64(r.wholeOf(mark, at))
}

// wholeOf is numberOf for whole numbers.
func (r *binaryReader) wholeOf(mark byte, at int64) int64 {
	switch mark {
	case 'i':
		return int64(int8(r.u8()))
	case 'U':
		return int64(r.u8())
	case 'I':
		if b := r.take(2, "a number"); b != nil {
			return int64(int16(wire.Big.Uint16(b)))
		}
	case 'l':
		return int64(int32(r.u32()))
	case 'L':
		return int64(r.u64())
	case 'd', 'D':
		v := r.numberOf(mark, at)
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			r.fail(at, "", "found %v, want a whole number", v)
		}
		return int64(v)
	default:
		r.wrong(at, mark, "a number")
	}
	return 0
}

func (r *binaryReader) u8() uint8 {
	if b := r.take(1, "a number"); b != nil {
		return b[0]
	}
	return 0
}

func (r *binaryReader) u32() uint32 {
	if b := r.take(4, "a number"); b != nil {
		return wire.Big.Uint32(b)
	}
	return 0
}

func (r *binaryReader) u64() uint64 {
	if b := r.take(8, "a number"); b != nil {
		return wire.Big.Uint64(b)
	}
	return 0
}

// elementMark is the mark of an element of a list.
func (r *binaryReader) elementMark(of byte) byte {
	if of == 0 {
		return r.mark()
	}
	return of
}

func (r *binaryReader) number() float64 {
	at := r.off()
	switch c := r.mark(); c {
	case 'T':
		return 1
	case 'F':
		return 0
	default:
		return r.numberOf(c, at)
	}
}

func (r *binaryReader) flags(to []int64) []int64 {
	r.list(func(i int, of byte) {
		at := r.off()
		switch c := r.elementMark(of); c {
		case 'T':
			to = append(to, 1)
		case 'F':
			to = append(to, 0)
		default:
			v := r.wholeOf(c, at)
			if r.err == nil && v != 0 && v != 1 {
				r.path = append(r.path, inList(i)...)
				r.fail(at, "", "found %d, want 0 or 1", v)
			}
			to = append(to, v)
		}
	})
	return to
}

func (r *binaryReader) floats(to []float32) []float32 {
	r.list(func(i int, of byte) {
		at := r.off()
		to = append(to, float32(r.numberOf(r.elementMark(of), at)))
	})
	return to
}

func (r *binaryReader) doubles(to []float64) []float64 {
	r.list(func(i int, of byte) {
		at := r.off()
		to = append(to, r.numberOf(r.elementMark(of), at))
	})
	return to
}

func (r *binaryReader) wholes(to []int64) []int64 {
	r.list(func(i int, of byte) {
		at := r.off()
		to = append(to, r.wholeOf(r.elementMark(of), at))
	})
	return to
}

func (r *binaryReader) spellings(to []string) []string {
	r.list(func(i int, of byte) {
		at := r.off()
		switch mark := r.elementMark(of); mark {
		case 'd', 'D':
			to = append(to, strconv.FormatFloat(r.numberOf(mark, at), 'g', -1, 64))
		default:
			to = append(to, strconv.FormatInt(r.wholeOf(mark, at), 10))
		}
	})
	return to
}

func (r *binaryReader) skip() {
	switch at := r.off(); r.next() {
	case '{':
		r.object(func(string) { r.skip() })
	case '[':
		r.list(func(_ int, of byte) {
			if of == 0 {
				r.skip()
			} else {
				r.take(numberSizes[of], "a number")
			}
		})
	case '"':
		r.text()
	case 'n':
		r.mark()
	case 't':
		r.mark()
	default:
		r.numberOf(r.mark(), at)
	}
}

func (r *binaryReader) end() {
	if r.peek() != 0 {
		r.fail(r.off(), "", "%d bytes after the end of the model", r.c.Len())
	}
}
