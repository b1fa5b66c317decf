package safetensors

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

const (
	headerLimit = 100_000_000 // bytes, the library's own limit
	tensorLimit = 1 << 20     // tensors in a file
	rankLimit   = 255         // dimensions of a tensor
	alignment   = 8           // bytes, of the first value
	lengthLen   = 8           // bytes, of the header's length
	metadataKey = "__metadata__"
)

// tensor is one entry of the header.
type tensor struct {
	name       string
	element    format.Element
	shape      []int64
	begin, end int64  // of the values, counted from the first one of the file
	text       [2]int // where the entry stands in the header
}

// head is what stands before the values.
type head struct {
	looks    bool // the file begins like one of the format
	text     []byte
	tensors  []tensor // by place
	metadata map[string]string
	metaText [2]int // where the entry of the metadata stands in text
	values   int64  // byte of the first value
}

// readHead reads and checks everything before the values, and that these fill the rest of the file.
func readHead(o blob.Object) (h head, err error) {
	start := make([]byte, min(lengthLen+1, o.Size()))
	if err := wire.ReadAt(o, start, 0); err != nil {
		return h, err
	}
	c := wire.NewCursor(start, 0, wire.Little)
	n := c.U64("header length")
	first := c.U8("header")
	switch left := o.Size() - lengthLen; {
	case c.Err() != nil:
	case n > headerLimit:
		c.FailAt(0, "header of %d bytes, want at most %d: %w", n, headerLimit, format.ErrLimit)
	case first != '{':
		c.FailAt(lengthLen, "header begins with %#02x, want '{'", first)
	case n > uint64(left):
		h.looks = true
		c.FailAt(0, "header of %d bytes, %d remain: %w", n, left, wire.ErrTruncated)
	}
	if c.Err() != nil {
		return h, c.Err()
	}
	h.text = make([]byte, n)
	if err := wire.ReadAt(o, h.text, lengthLen); err != nil {
		return h, err
	}
	h.values = lengthLen + int64(n)
	if err := h.parse(); err != nil {
		return h, err
	}
	h.looks = true
	return h, h.cover(o.Size())
}

// parse reads the JSON.
func (h *head) parse() error {
	if bad := invalid(h.text); bad < len(h.text) {
		return &wire.At{Off: lengthLen + int64(bad), Err: fmt.Errorf("%#02x, want UTF-8", h.text[bad])}
	}
	p := &parser{src: h.text, base: lengthLen}
	seen := map[string]struct{}{}
	p.object(func(key string, at int) {
		h.looks = true
		if _, twice := seen[key]; twice {
			p.failAt(at, "key %.40q twice", key)
		}
		seen[key] = struct{}{}
		if key == metadataKey {
			h.metadata = p.metadata()
			h.metaText = [2]int{at, p.pos}
			return
		}
		if len(h.tensors) == tensorLimit {
			p.fail("more than %d tensors: %w", tensorLimit, format.ErrLimit)
			return
		}
		h.tensors = append(h.tensors, p.tensor(key, at))
	})
	if p.space(); p.pos < len(p.src) {
		p.fail("%q behind the header, want spaces", p.rest())
	}
	return p.err
}

// invalid is the place of the first byte that is not UTF-8.
func invalid(text []byte) int {
	if utf8.Valid(text) {
		return len(text)
	}
	at := 0
	for {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
}

func (p *parser) metadata() map[string]string {
	all := map[string]string{}
	p.object(func(key string, at int) {
		if _, twice := all[key]; twice {
			p.failAt(at, "metadata %.40q twice", key)
		}
		all[key] = p.text()
	})
	return all
}

// tensor reads the value of one entry.
func (p *parser) tensor(name string, from int) (t tensor) {
	t.name, t.text[0] = name, from
	seen := map[string]bool{}
	p.object(func(key string, at int) {
		if seen[key] {
			p.failAt(at, "key %.40q of tensor %.40q twice", key, name)
		}
		seen[key] = true
		switch key {
		case "dtype":
			var err error
			if t.element, err = parseType(p.text()); err != nil {
				p.failAt(at, "tensor %.40q: %w", name, err)
			}
		case "shape":
			t.shape = p.shape()
		case "data_offsets":
			t.begin, t.end = p.offsets()
		default:
			p.failAt(at, "key %.40q of tensor %.40q, want dtype, shape and data_offsets", key, name)
		}
	})
	t.text[1] = p.pos
	for _, key := range []string{"dtype", "shape", "data_offsets"} {
		if !seen[key] {
			p.fail("no key %q of tensor %.40q", key, name)
		}
	}
	if p.err == nil {
		p.size(&t)
	}
	return t
}

func (p *parser) shape() []int64 {
	sizes := []int64{}
	p.list('[', ']', func() {
		if len(sizes) == rankLimit {
			p.fail("more than %d dimensions: %w", rankLimit, format.ErrLimit)
			return
		}
		sizes = append(sizes, p.whole())
	})
	return sizes
}

func (p *parser) offsets() (begin, end int64) {
	p.want('[')
	begin = p.whole()
	p.want(',')
	end = p.whole()
	p.want(']')
	return begin, end
}

// size checks that the offsets hold as many bytes as type and shape say.
func (p *parser) size(t *tensor) {
	rows, cols, err := matrix.Shape(t.element.Shape(t.shape))
	if err != nil {
		p.failAt(t.text[0], "tensor %.40q: %w", t.name, err)
		return
	}
	cells, _ := matrix.Cells(rows, cols) // Shape has checked it
	want, ok := matrix.Cells(cells, int64(t.element.DType.Size()))
	switch {
	case !ok:
		p.failAt(t.text[0], "tensor %.40q: shape %v of %v is 2^63 bytes or more", t.name, t.shape, t.element)
	case t.end < t.begin || t.end-t.begin != want:
		p.failAt(t.text[0], "tensor %.40q: offsets %d to %d, want %d bytes for shape %v of %v", t.name, t.begin, t.end,
			want, t.shape, t.element)
	}
}

// cover sorts the tensors by place and checks that they lie behind each other to the end of the file.
func (h *head) cover(size int64) error {
	slices.SortStableFunc(h.tensors, func(a, b tensor) int {
		if c := cmp.Compare(a.begin, b.begin); c != 0 {
			return c
		}
		return cmp.Compare(a.end, b.end)
	})
	next := int64(0)
	for i := range h.tensors {
		t := &h.tensors[i]
		if t.begin != next {
			what := "a gap before it"
			if t.begin < next {
				what = "it overlaps another"
			}
			return &wire.At{Off: lengthLen + int64(t.text[0]), Err: fmt.Errorf("tensor %.40q begins at %d, want %d: %s",
				t.name, t.begin, next, what)}
		}
		next = t.end
	}
	switch have := size - h.values; {
	case next > have:
		return &wire.At{Off: size, Err: fmt.Errorf("values need %d bytes, %d remain: %w", next, have, wire.ErrTruncated)}
	case next < have:
		return &wire.At{Off: h.values + next, Err: fmt.Errorf("%d bytes that belong to no tensor", have-next)}
	}
	return nil
}

// code is the library's name of an element type.
type code struct {
	text    string
	element format.Element
}

// types are those of the library that a matrix holds, in the order in which it writes them.
var types = [...]code{
	{"U64", format.Element{DType: matrix.U64}},
	{"I64", format.Element{DType: matrix.I64}},
	{"F64", format.Element{DType: matrix.F64}},
	{"C64", format.Element{DType: matrix.F32, Origin: format.Complex64}},
	{"F32", format.Element{DType: matrix.F32}},
	{"U32", format.Element{DType: matrix.U32}},
	{"I32", format.Element{DType: matrix.I32}},
	{"BF16", format.Element{DType: matrix.BF16}},
	{"F16", format.Element{DType: matrix.F16}},
	{"U16", format.Element{DType: matrix.U16}},
	{"I16", format.Element{DType: matrix.I16}},
	{"F8_E5M2FNUZ", format.Element{DType: matrix.U8, Origin: format.Float8E5M2Z}},
	{"F8_E4M3FNUZ", format.Element{DType: matrix.U8, Origin: format.Float8E4M3Z}},
	{"F8_E4M3", format.Element{DType: matrix.U8, Origin: format.Float8E4M3}},
	{"F8_E5M2", format.Element{DType: matrix.U8, Origin: format.Float8E5M2}},
	{"I8", format.Element{DType: matrix.I8}},
	{"U8", format.Element{DType: matrix.U8}},
	{"BOOL", format.Element{DType: matrix.Bool}},
}

// refused are the types of the library that a matrix does not hold: powers of two without a fraction, and those of less
// than a byte.
var refused = []string{"F8_E8M0", "F6_E2M3", "F6_E3M2", "F4"}

func parseType(text string) (format.Element, error) {
	for _, c := range types {
		if c.text == text {
			return c.element, nil
		}
	}
	if slices.Contains(refused, text) {
		return format.Element{}, fmt.Errorf("type %s, which has no place in a matrix: %w", text, format.ErrVersion)
	}
	return format.Element{}, fmt.Errorf("type %.40q, want one such as F32: %w", text, format.ErrVersion)
}

// origins are the names of the element types that are none of ours.
func origins() (names []string) {
	for _, c := range types {
		if c.element.Origin != "" {
			names = append(names, c.element.Origin)
		}
	}
	return names
}

// rankOf is the place of the type in the order of writing.
func rankOf(e format.Element) int {
	return slices.IndexFunc(types[:], func(c code) bool { return c.element == e })
}
