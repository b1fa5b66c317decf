package safetensors

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// planned is a matrix as a tensor.
type planned struct {
	*matrix.Meta
	tensor
}

// plan decides the header, the types and the places of the values, and asks for what is lost.
func plan(ms []matrix.Meta, o *format.Options) (f format.SlabFile, stored map[string]format.Element, err error) {
	if len(ms) > tensorLimit {
		return f, nil, fmt.Errorf("%d matrices, want at most %d: %w", len(ms), tensorLimit, format.ErrLimit)
	}
	order, stored := make([]planned, len(ms)), map[string]format.Element{}
	for i := range ms {
		if err := check(&ms[i], o); err != nil {
			return f, nil, err
		}
		t, err := choose(&ms[i], o)
		if err != nil {
			return f, nil, err
		}
		order[i], stored[t.name] = planned{&ms[i], t}, t.element
	}
	slices.SortFunc(order, func(a, b planned) int {
		if c := cmp.Compare(rankOf(a.element), rankOf(b.element)); c != 0 {
			return c
		}
		return cmp.Compare(a.name, b.name)
	})
	text := []byte{'{'}
	all, err := metadataOf(o)
	if err != nil {
		return f, nil, err
	}
	if len(all) > 0 {
		text = append(appendText(text, metadataKey), ':')
		text = append(appendMetadata(text, all), ',')
	}
	end := int64(0)
	for _, m := range order {
		t := m.tensor
		t.begin = end
		if end, err = format.PlaceSlab(m.Meta, t.element.DType, end); err != nil {
			return f, nil, err
		}
		t.end = end
		text = append(t.append(text), ',')
		f.Slabs = append(f.Slabs, t.element.Target(m.Meta, format.Slab{Order: wire.Little, Off: t.begin}))
	}
	text = append(bytes.TrimSuffix(text, []byte{','}), '}')
	text = append(text, bytes.Repeat([]byte{' '}, -len(text)&(alignment-1))...)
	if len(text) > headerLimit {
		return f, nil, fmt.Errorf("header of %d bytes, want at most %d: %w", len(text), headerLimit, format.ErrLimit)
	}
	start := append(wire.AppendU64(nil, wire.Little, uint64(len(text))), text...)
	for i := range f.Slabs {
		f.Slabs[i].Off += int64(len(start))
	}
	f.Known = []format.Span{{Bytes: start}}
	f.Size = end + int64(len(start))
	return f, stored, nil
}

// check asks for what one matrix loses.
func check(m *matrix.Meta, o *format.Options) error {
	if err := m.Check(); err != nil {
		return err
	}
	if m.Name == metadataKey || !utf8.ValidString(m.Name) {
		return fmt.Errorf("matrix %q: want a name in UTF-8 other than %s: %w", m.Name, metadataKey, format.ErrLimit)
	}
	if err := format.LoseToDense(m, o); err != nil {
		return err
	}
	if len(m.LoD) > 0 {
		if err := o.Lose(format.Sequences, m.Name, "sequences (LoD)"); err != nil {
			return err
		}
	}
	return nil
}

// choose decides type and shape of the tensor: those that the values come from, if the matrix still holds such values.
func choose(m *matrix.Meta, o *format.Options) (tensor, error) {
	t := tensor{name: m.Name, element: format.Element{DType: m.DType}, shape: m.Dims}
	for _, c := range types {
		if shape, ok := c.element.Of(m, m.Dims); ok {
			t.element, t.shape = c.element, shape
		}
	}
	if t.element.Origin == "" && slices.Contains(origins(), m.Origin) {
		err := o.Lose(format.Meanings, m.Name, "element type %s, whose form the matrix has no more; stored as %v", m.Origin, m.DType)
		if err != nil {
			return t, err
		}
	}
	n := len(t.shape)
	if n > rankLimit {
		if err := o.Lose(format.Shapes, m.Name, "shape of %d dimensions, of which %d fit", n, rankLimit); err != nil {
			return t, err
		}
	}
	if m.Dims == nil || n > rankLimit {
		t.shape = []int64{m.Rows, m.Cols}
		if t.element.Pair() {
			t.shape[1] /= 2
		}
	}
	return t, nil
}

// append writes the entry of a tensor.
func (t *tensor) append(text []byte) []byte {
	text = appendText(text, t.name)
	text = fmt.Appendf(text, `:{"dtype":"%s","shape":[`, types[rankOf(t.element)].text)
	for i, n := range t.shape {
		if i > 0 {
			text = append(text, ',')
		}
		text = fmt.Append(text, n)
	}
	return fmt.Appendf(text, `],"data_offsets":[%d,%d]}`, t.begin, t.end)
}

// appendMetadata writes the entries by key.
func appendMetadata(text []byte, all map[string]string) []byte {
	text = append(text, '{')
	for i, key := range slices.Sorted(maps.Keys(all)) {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(appendText(text, key), ':')
		text = appendText(text, all[key])
	}
	return append(text, '}')
}
