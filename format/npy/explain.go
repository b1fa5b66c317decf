package npy

import (
	"fmt"
	"strings"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/matrix"
	"thole.example/wire"
)

// shownValues is how many bytes of values an explanation shows.
const shownValues = 64

// explain prints the file as far as it makes sense.
func explain(o blob.Object, p *dump.Printer) error {
	h, err := readHead(o)
	if h.textOff > 0 {
		start := make([]byte, min(h.textOff, o.Size()))
		if err := wire.ReadAt(o, start, 0); err != nil {
			return err
		}
		p.Head("header")
		n := len(magic)
		p.Field(0, start[:n], "magic")
		p.Field(int64(n), start[n:n+2], "version %d.%d", start[n], start[n+1])
		p.Field(int64(n)+2, start[n+2:], "length of the header: %d", len(h.text))
	}
	text := strings.TrimRight(string(h.text), " \n")
	if len(h.text) > 0 {
		p.Text(h.textOff, []byte(text), "dictionary")
		p.Gap(h.textOff+int64(len(text)), int64(len(h.text)-len(text)), "spaces and a line feed")
	}
	if err != nil {
		return err
	}
	return values(o, &h, p)
}

// values prints the first values and says how many bytes are left out.
func values(o blob.Object, h *head, p *dump.Printer) error {
	if h.fields != nil {
		return records(o, h, p)
	}
	p.Head("values: %s, shape %s", h.descr, shapeText(h.shape))
	size := int64(h.DType.Size())
	total := o.Size() - h.values
	n := min(shownValues, total)
	for off := int64(0); off < n; off += 8 {
		some := min(8, n-off)
		raw := make([]byte, some)
		if err := wire.ReadAt(o, raw, h.values+off); err != nil {
			return err
		}
		b := matrix.NewDense(h.DType, matrix.At(0, 1, 0, some/size))
		mem, _ := wire.ViewAny(b.Data.Values())
		copy(mem, raw)
		wire.Swap(mem, int(size), h.order)
		var words []string
		if err := b.EachText(func(_, _ int64, v []byte) error {
			words = append(words, string(v))
			return nil
		}); err != nil {
			return err
		}
		p.Field(h.values+off, raw, "%s", fmt.Sprintf("from value %d: %s", off/size, strings.Join(words, ", ")))
	}
	if rest := total - n; rest > 0 {
		p.Gap(h.values+n, rest, "more values")
	}
	return p.Err()
}

// shownFields is how many fields of records an explanation shows.
const shownFields = 16

// records prints the fields of the first records, and says how many bytes are left out.
func records(o blob.Object, h *head, p *dump.Printer) error {
	slab := h.slab()
	p.Head("records: %d bytes each, shape %s", h.record.Size, shapeText(h.shape))
	next := h.values
	for i := range slab.At.Rows.Hi * slab.At.Cols.Hi {
		if i == shownFields {
			break
		}
		row, col := i/slab.At.Cols.Hi, i%slab.At.Cols.Hi
		f := h.record.Fields[col]
		at := h.values + row*h.record.Size + f.Off
		if at > next {
			p.Gap(next, at-next, "a gap")
		}
		raw := make([]byte, f.DType.Size())
		if err := wire.ReadAt(o, raw, at); err != nil {
			return err
		}
		next = at + int64(len(raw))
		b := matrix.NewDense(f.DType, matrix.At(0, 1, 0, 1))
		mem, size := wire.ViewAny(b.Data.Values())
		copy(mem, raw)
		wire.Swap(mem, size, f.Order)
		label := madeName(int(col))
		if h.labels != nil {
			label = h.labels[col]
		}
		if err := b.EachText(func(_, _ int64, v []byte) error {
			p.Field(at, raw, "row %d, %.40q: %s", row, label, v)
			return nil
		}); err != nil {
			return err
		}
	}
	if rest := o.Size() - next; rest > 0 {
		p.Gap(next, rest, "more records")
	}
	return p.Err()
}
