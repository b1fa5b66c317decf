package csv

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/wire"
)

// located gives an error the byte that package format looks for.
func located(err error) error {
	if e := (*cellError)(nil); errors.As(err, &e) {
		return &wire.At{Off: e.off, Err: e}
	}
	return err
}

// sniffLen is how much of a file is looked at to tell whether it is a table.
const sniffLen = 64 << 10

// sniff claims files with the endings of tables that begin with text, and others whose first lines all have the same
// number of cells, two or more, and only numbers below the first.
func sniff(ctx context.Context, b blob.Bucket, o blob.Object, file string) (string, error) {
	start := make([]byte, min(sniffLen, o.Size()))
	if err := wire.ReadAt(o, start, 0); err != nil {
		return "", err
	}
	for _, w := range wideMarks {
		if bytes.HasPrefix(start, w.mark) {
			start = narrow(start[2:], w.order)
		}
	}
	if bytes.ContainsFunc(start, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' }) {
		return "", nil
	}
	ext := strings.ToLower(blob.Ext(file))
	named := ext == ".csv" || ext == ".tsv"
	side, err := format.ReadSidecar(ctx, b, file)
	if err != nil {
		if named {
			return "not readable", nil // Open says why
		}
		return "", nil
	}
	w := settings{meta: true}
	if len(start) == sniffLen && !named {
		start = start[:bytes.LastIndexByte(start, '\n')+1]
	}
	text := append(append(start, '\n'), make([]byte, format.LinesPad)...)
	d, err := detect(format.Lines{Text: text[:len(start)+1]}, &w, side)
	switch {
	case named && err != nil:
		return "not readable", nil
	case named:
		return d.String(), nil
	case err != nil || d.width < 2:
		return "", nil
	}
	return plausible(text[:len(start)+1], &d), nil
}

// plausible is the dialect if every line below the header is cells of numbers, as many as in the first.
func plausible(text []byte, d *dialect) string {
	text = text[d.start:]
	rows := 0
	for len(text) > 0 {
		n := bytes.IndexByte(text, '\n') + 1
		line := text[:n]
		text = text[n:]
		if void(line) {
			continue
		}
		row := dialect{sep: d.sep, decimal: d.decimal}
		if row.readFirst(line, &settings{}, nil) != nil || row.width != d.width || row.labels != nil {
			return ""
		}
		rows++
	}
	if rows == 0 {
		return ""
	}
	return d.String()
}
