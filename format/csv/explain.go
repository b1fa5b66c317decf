package csv

import (
	"bytes"
	"context"
	"fmt"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
)

const shownLines = 8 // of the file, in an explanation

// Explain implements format.Codec.
func (codec) Explain(ctx context.Context, b blob.Bucket, file string, p *dump.Printer) error {
	return format.Wrap(name, file, explainFile(ctx, b, file, p))
}

func explainFile(ctx context.Context, b blob.Bucket, file string, p *dump.Printer) error {
	obj, err := b.Open(ctx, file)
	if err != nil {
		return err
	}
	defer obj.Close()
	format.ExplainSidecar(ctx, b, file, p)
	r := &reader{obj: obj, path: file, set: settings{meta: true}}
	err = r.open(ctx, b)
	p.Head("table: %d x %d %v, %s", r.m.Rows, r.m.Cols, r.m.DType, &r.form)
	obj = r.obj
	for l, lerr := range format.ReadLines(ctx, obj, 0, obj.Size()) {
		if lerr != nil {
			return lerr
		}
		explainLines(p, l, &r.form, obj.Size())
		break
	}
	if err != nil {
		return err
	}
	for _, err := range r.Blocks(ctx, r.m.Name, matrix.At(0, r.m.Rows, 0, r.m.Cols)) {
		if err != nil {
			return err
		}
	}
	return p.Err()
}

// explainLines prints the first lines with what they are.
func explainLines(p *dump.Printer, l format.Lines, d *dialect, size int64) {
	off, row, text := l.Off, 0, l.Text
	if bytes.HasPrefix(text, bom) {
		p.Field(off, bom, "byte order mark")
		off, text = off+int64(len(bom)), text[len(bom):]
	}
	for range shownLines {
		if len(text) == 0 {
			break
		}
		n := bytes.IndexByte(text, '\n') + 1
		line := text[:n]
		meaning := "blank"
		switch {
		case void(line):
			if len(bytes.TrimSpace(line)) > 0 {
				meaning = "comment"
			}
		case d.labels != nil && off < d.start:
			meaning = fmt.Sprintf("%d labels", count(line, d.sep))
		default:
			meaning = fmt.Sprintf("row %d: %d cells", row, count(line, d.sep))
			row++
		}
		p.Line(off, line, "%s", meaning)
		off, text = off+int64(n), text[n:]
	}
	if off < size {
		p.Gap(off, size-off, "more lines")
	}
}
