package safetensors

import (
	"strings"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/matrix"
	"thole.example/wire"
)

// shownValues is how many bytes of the values of a tensor an explanation shows.
const shownValues = 32

// explain prints the file as far as it makes sense.
func explain(o blob.Object, p *dump.Printer) error {
	h, err := readHead(o)
	if h.values == 0 {
		return err
	}
	start := make([]byte, lengthLen)
	if err := wire.ReadAt(o, start, 0); err != nil {
		return err
	}
	p.Head("header")
	p.Field(0, start, "length of the header: %d", len(h.text))
	if h.metadata != nil {
		p.Text(lengthLen+int64(h.metaText[0]), h.text[h.metaText[0]:h.metaText[1]], "metadata: %d entries", len(h.metadata))
	}
	for i := range h.tensors {
		t := &h.tensors[i]
		p.Text(lengthLen+int64(t.text[0]), h.text[t.text[0]:t.text[1]], "tensor %q", t.name)
	}
	if err != nil {
		return err
	}
	for i := range h.tensors {
		if err := h.tensors[i].explain(o, h.values, p); err != nil {
			return err
		}
	}
	return p.Err()
}

// explain prints the first values and says how many bytes are left out.
func (t *tensor) explain(o blob.Object, values int64, p *dump.Printer) error {
	p.Head("tensor %q: %v, shape %v", t.name, t.element, t.shape)
	size, off := int64(t.element.DType.Size()), values+t.begin
	first := func(at int64) int64 { // value that begins there
		if t.element.Pair() {
			return at / size / 2
		}
		return at / size
	}
	n := min(shownValues, t.end-t.begin)
	for at := int64(0); at < n; at += 8 {
		raw := make([]byte, min(8, n-at))
		if err := wire.ReadAt(o, raw, off+at); err != nil {
			return err
		}
		words, err := t.words(raw)
		if err != nil {
			return err
		}
		p.Field(off+at, raw, "from value %d: %s", first(at), strings.Join(words, ", "))
	}
	if rest := t.end - t.begin - n; rest > 0 {
		p.Gap(off+n, rest, "more values")
	}
	return p.Err()
}

// words are the values of the bytes, real and imaginary parts in brackets.
func (t *tensor) words(raw []byte) (words []string, err error) {
	size := t.element.DType.Size()
	b := matrix.NewDense(t.element.DType, matrix.At(0, 1, 0, int64(len(raw)/size)))
	mem, _ := wire.ViewAny(b.Data.Values())
	copy(mem, raw)
	wire.Swap(mem, size, wire.Little)
	if t.element.Eight() {
		wide := make([]matrix.Float16, len(raw))
		for i, v := range raw {
			wide[i] = t.element.Widen()[v]
		}
		b.Data = &matrix.Dense[matrix.Float16]{Val: wide}
	}
	if err := b.EachText(func(_, _ int64, v []byte) error {
		words = append(words, string(v))
		return nil
	}); err != nil {
		return nil, err
	}
	if !t.element.Pair() {
		return words, nil
	}
	for i := range len(words) / 2 {
		words[i] = "(" + words[2*i] + ", " + words[2*i+1] + ")"
	}
	return words[:len(words)/2], nil
}
