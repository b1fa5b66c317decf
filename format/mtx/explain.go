package mtx

import (
	"bytes"
	"context"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
)

// shownLines is how many lines of values an explanation shows.
const shownLines = 16

// explain prints the file as far as it makes sense.
func explain(ctx context.Context, o blob.Object, p *dump.Printer) error {
	h, err := readHead(ctx, o)
	if !h.looks {
		return err
	}
	shown := int64(0)
	for l, lerr := range format.ReadLines(ctx, o, 0, h.size) {
		if lerr != nil {
			return lerr
		}
		off := l.Off
		for line := range bytes.Lines(l.Text) {
			line = line[:min(int64(len(line)), h.size-off)] // without a line feed that the file does not have
			behind := h.values > 0 && off >= h.values
			if behind {
				shown++
			}
			switch {
			case behind && shown > shownLines:
				p.Gap(off, h.size-off, "more lines")
				return p.Err()
			case behind && err != nil:
				return err
			case behind:
				p.Line(off, line, "%s", h.means(line))
			default:
				p.Line(off, line, "%s", h.about(off, line))
			}
			off += int64(len(line))
			if h.values == 0 && off > explainLimit {
				return err
			}
		}
	}
	if err != nil {
		return err
	}
	return p.Err()
}

// explainLimit is how many bytes of a head without an end are shown.
const explainLimit = 1 << 16

// about says what a line of the head is.
func (h *head) about(off int64, line []byte) string {
	switch {
	case off == 0:
		return h.dialect()
	case h.values > 0 && off == h.sizes[0]:
		return "size"
	case line[0] == '%' && bytes.HasPrefix(line, []byte(own)):
		return "comment of our writer"
	case line[0] == '%':
		return "comment"
	}
	return "line of the head"
}

// means says what a line behind the head is.
func (h *head) means(line []byte) string {
	switch {
	case len(bytes.TrimSpace(line)) == 0:
		return "empty"
	case h.array:
		return "value"
	case h.field.word == "pattern":
		return "row, column"
	}
	return "row, column, value"
}
