package arrow

import (
	"encoding/binary"
	"fmt"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/matrix"
	"thole.example/wire"
)

const (
	shownBatches = 4
	shownBytes   = 64 // of a buffer that is shown as a whole
	shownFirst   = 16 // bytes of one that is not
)

// explain prints every byte: messages as fields of their flatbuffers, the bodies as buffers of columns, the footer.
func explain(o blob.Object, p *dump.Printer) error {
	e := explainer{o: o, p: p, end: o.Size()}
	start := make([]byte, min(o.Size(), startLen))
	if err := wire.ReadAt(o, start, 0); err != nil {
		return err
	}
	off, footer := int64(0), int64(-1)
	if len(start) == startLen && string(start[:len(magic)]) == magic {
		p.Field(0, start[:len(magic)], "magic")
		p.Field(int64(len(magic)), start[len(magic):], "padding")
		off, footer = startLen, e.footer()
	}
	if footer >= 0 {
		off = e.bare(off, footer)
	}
	err := e.messages(off)
	if footer < 0 {
		if err == nil {
			_, err = readSource(o, settings{skip: true, open: true}) // says what is wrong with the tail
		}
	} else if tail := e.tail(footer); err == nil {
		err = tail
	}
	if err != nil {
		return err
	}
	return p.Err()
}

type explainer struct {
	o   blob.Object
	p   *dump.Printer
	s   *schema
	end int64 // of the messages
}

// footer is where the footer begins; -1 if the file does not end as one should.
func (e *explainer) footer() int64 {
	var tail [tailLen]byte
	size := e.o.Size()
	if size < startLen+tailLen || wire.ReadAt(e.o, tail[:], size-tailLen) != nil || string(tail[4:]) != magic {
		return -1
	}
	n := int64(int32(binary.LittleEndian.Uint32(tail[:])))
	if n < 0 || n > size-tailLen-startLen {
		return -1
	}
	e.end = size - tailLen - n
	return e.end
}

// bare prints a schema without a frame, if there is one, and gives what is behind it.
func (e *explainer) bare(off, footer int64) int64 {
	if m, err := readMessage(e.o, off, footer); err == nil && !m.end && m.kind == kindSchema {
		return off
	}
	raw := make([]byte, min(e.o.Size()-tailLen-footer, metaLimit))
	if wire.ReadAt(e.o, raw, footer) != nil {
		return off
	}
	root := newFlat(raw, footer).root()
	m := bareSchema(e.o, off, firstBatch(root.longs(3, 24), root.longs(2, 24), footer))
	if m == nil || e.message(m) != nil {
		return off
	}
	return m.next()
}

// tail prints the footer and what is behind it.
func (e *explainer) tail(off int64) error {
	raw := make([]byte, min(e.o.Size()-tailLen-off, metaLimit))
	if err := wire.ReadAt(e.o, raw, off); err != nil {
		return err
	}
	e.p.Head("footer")
	err := explainFlat(e.p, newFlat(raw, off), footerSpec)
	var tail [tailLen]byte
	if err := wire.ReadAt(e.o, tail[:], e.o.Size()-tailLen); err != nil {
		return err
	}
	e.p.Field(e.o.Size()-tailLen, tail[:4], "length of the footer: %d", binary.LittleEndian.Uint32(tail[:]))
	e.p.Field(e.o.Size()-tailLen+4, tail[4:], "magic")
	return err
}

// messages prints the messages from off on.
func (e *explainer) messages(off int64) error {
	for batches := 0; off < e.end; {
		m, err := readMessage(e.o, off, e.end)
		if err != nil {
			return err
		}
		if m.kind == kindBatch {
			batches++
		}
		if batches > shownBatches && !m.end {
			e.p.Gap(off, m.next()-off, "%s", kindName(m.kind))
			off = m.next()
			continue
		}
		if err := e.message(&m); err != nil {
			return err
		}
		off = m.next()
		if m.end {
			if off < e.end {
				e.p.Gap(off, e.end-off, "behind the end")
			}
			return nil
		}
	}
	return nil
}

func (e *explainer) message(m *message) error {
	frame := make([]byte, m.prefix)
	if err := wire.ReadAt(e.o, frame, m.off); err != nil {
		return err
	}
	if m.end {
		e.p.Field(m.off, frame, "end of the stream")
		return nil
	}
	e.p.Head("message: %s", kindName(m.kind))
	if len(frame) == 8 {
		e.p.Field(m.off, frame[:4], "a message goes on")
	}
	if len(frame) == 0 {
		e.p.Head("without a frame")
	} else {
		e.p.Field(m.off+m.prefix-4, frame[len(frame)-4:], "its length: %d", m.body-m.off-m.prefix)
	}
	if err := explainFlat(e.p, newFlat(m.flat.b, m.flat.base), messageSpec); err != nil {
		return err
	}
	if m.kind == kindSchema {
		s, err := readSchema(m.head, m.version, true)
		if err != nil {
			return &wire.At{Off: m.off, Err: err}
		}
		e.s = s
	}
	if m.kind != kindBatch || e.s == nil {
		if m.size > 0 {
			e.p.Gap(m.body, m.size, "body of a %s", kindName(m.kind))
		}
		return nil
	}
	b, _, err := newBatch(m, e.s, 0)
	if err != nil {
		return &wire.At{Off: m.off, Err: err}
	}
	return e.body(m, b)
}

// body prints the buffers of a record batch.
func (e *explainer) body(m *message, b *batch) error {
	e.p.Head("body: %d rows", b.rows.Len())
	end := m.body
	for i := range e.s.fields {
		f := &e.s.fields[i]
		for k := f.buffer; k < f.buffer+f.buffers; k++ {
			off, size := b.buffer(k)
			if size == 0 {
				continue
			}
			e.pad(end, off)
			end = off + size
			if err := e.buffer(off, size, fmt.Sprintf("column %d (%q): %s", i, f.name, meaning(f, b, k))); err != nil {
				return err
			}
		}
	}
	e.pad(end, m.next())
	return nil
}

// meaning says what a buffer of the column is.
func meaning(f *field, b *batch, k int) string {
	text := ""
	switch {
	case f.raw == matrix.Invalid:
		text = fmt.Sprintf("buffer %d of %s", k-f.buffer, f.text)
	case k == f.values():
		text = fmt.Sprintf("values of %s", f.text)
	case k == f.buffer:
		text = fmt.Sprintf("which rows are there, %d are not", b.nulls(f.node))
	default:
		text = fmt.Sprintf("which numbers are there, %d are not", b.nulls(f.node+1))
	}
	if b.packing != plain {
		text += ", " + packings[b.packing] + " behind the length"
	}
	return text
}

func (e *explainer) buffer(off, size int64, what string) error {
	some := size
	if size > shownBytes {
		some = shownFirst
	}
	raw := make([]byte, some)
	if err := wire.ReadAt(e.o, raw, off); err != nil {
		return err
	}
	e.p.Field(off, raw, "%s", what)
	if some < size {
		e.p.Gap(off+some, size-some, "the rest of %d bytes", size)
	}
	return nil
}

// pad prints what is between two buffers.
func (e *explainer) pad(from, to int64) {
	if from < to {
		e.p.Gap(from, to-from, "padding")
	}
}
