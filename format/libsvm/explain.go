package libsvm

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// sniffLen is how much of a file is looked at to tell whether it is of this format.
const sniffLen = 64 << 10

// sniff claims files with the endings of the format that are text, and others whose first lines are examples, one of
// them with an index:value.
func sniff(o blob.Object, file string) (string, error) {
	start := make([]byte, min(sniffLen, o.Size()), min(sniffLen, o.Size())+1+format.LinesPad)
	if err := wire.ReadAt(o, start, 0); err != nil {
		return "", err
	}
	if bytes.ContainsFunc(start, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' }) {
		return "", nil
	}
	ext := strings.ToLower(blob.Ext(file))
	named := ext == ".libsvm" || ext == ".svm" || ext == ".svmlight"
	whole := o.Size() <= sniffLen
	if !whole {
		start = start[:bytes.LastIndexByte(start, '\n')+1]
	}
	if whole && (len(start) == 0 || start[len(start)-1] != '\n') {
		start = append(start, '\n')
	}
	if len(start) == 0 && !named {
		return "", nil // a line longer than that
	}
	lines := format.Lines{Text: start}
	first := firstToken(lines)
	labelled := bytes.IndexByte(first, ':') < 0
	s := shape{labelled: labelled, limit: 1<<63 - 1, label: matrix.F64, features: matrix.F64}
	p := s.parse(lines)
	switch {
	case named && p.err != nil:
		return "not readable", nil // Open says why
	case !named && (p.err != nil || len(p.idx) == 0):
		return "", nil
	case labelled:
		return "labels and features", nil
	}
	return "features", nil
}

// firstToken is the first token of the first row; nil if there is none.
func firstToken(l format.Lines) []byte {
	text := l.Text[:len(l.Text)+format.LinesPad]
	for i := 0; i < len(l.Text); i += bytes.IndexByte(text[i:], '\n') + 1 {
		if i = gap(text, i); !ends(text[i]) {
			return token(text, i)
		}
	}
	return nil
}

const shownLines = 8 // of the file, in an explanation

// Explain implements format.Codec.
func (codec) Explain(ctx context.Context, b blob.Bucket, file string, p *dump.Printer) error {
	return format.Wrap(name, file, explain(ctx, b, file, p))
}

func explain(ctx context.Context, b blob.Bucket, file string, p *dump.Printer) error {
	obj, err := b.Open(ctx, file)
	if err != nil {
		return err
	}
	defer obj.Close()
	format.ExplainSidecar(ctx, b, file, p)
	r := &reader{obj: obj, path: file, set: settings{base: -1, meta: true}}
	r.features.Name = pathName(file)
	err = r.open(ctx, b)
	p.Head("features: %d x %d %v, indices from %d", r.features.Rows, r.features.Cols, r.shape.features, r.shape.base)
	for l, lerr := range format.ReadLines(ctx, obj, 0, obj.Size()) {
		if lerr != nil {
			return lerr
		}
		explainLines(p, l, format.NewLineIndex(obj, obj.Size(), format.LineMark{}, '#'), obj.Size())
		break
	}
	if err != nil {
		return err
	}
	for _, err := range r.Blocks(ctx, r.features.Name, r.features.Rect()) {
		if err != nil {
			return err
		}
	}
	return p.Err()
}

// explainLines prints the first lines with what they are.
func explainLines(p *dump.Printer, l format.Lines, x *format.LineIndex, size int64) {
	off, row, text := l.Off, 0, l.Text
	for range shownLines {
		if len(text) == 0 {
			break
		}
		n := bytes.IndexByte(text, '\n') + 1
		line := text[:n]
		meaning := "no example"
		if !x.Blank(line) {
			meaning = fmt.Sprintf("row %d: %d features", row, bytes.Count(line, []byte(":")))
			row++
		}
		p.Line(off, line, "%s", meaning)
		off, text = off+int64(n), text[n:]
	}
	if off < size {
		p.Gap(off, size-off, "more lines")
	}
}
