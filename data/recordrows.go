package data

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"thole.example/feature"
	"thole.example/internal/spell"
)

// rows gives the rows of a table.
func (r *RecordReader) rows(ctx context.Context, l *lineReader, s *settings, yield func(Record, error) bool) error {
	spec := s.columns().Spec
	sep := max(s.sep, spec.Sep)
	names, at, begun, commas := spec.Names, -1, false, spec.Decimal == ','
	l.commas = commas
	var outer folderCells
	var text, scratch []byte
	var cut cutter
	var err error
	for {
		if text, err = l.row(text[:0], sep); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if sep == 0 {
			sep = separatorOf(text, commas)
		}
		scratch = append(append(scratch[:0], text...), 0) // which is cut in place
		if commas && sep == ',' {
			return &Error{l.path, l.line, errCommas}
		}
		_, n, err := cut.cut(scratch, 0, sep)
		if err != nil {
			return &Error{l.path, l.line, err}
		}
		if n == 0 {
			continue
		}
		if !begun {
			begun = true
			header := names == nil
			if header {
				names = cut.texts(scratch)
			}
			outer, names = folderCellsOf(names, s.folders)
			if at, err = r.begin(outer.line(bytes.Clone(text), sep, outer.names()), names, header); err != nil {
				return &Error{l.path, l.line, err}
			}
			if header {
				continue
			}
		}
		if n != outer.width {
			return &Error{l.path, l.line, fmt.Errorf("%d cells, want %d, one for each column", n, outer.width)}
		}
		for i, want := range outer.check {
			if cell := scratch[cut.lo[i]:cut.hi[i]]; !want.agrees(cell) {
				return &Error{l.path, l.line, want.errDisagrees(cell)}
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		text = outer.line(text, sep, outer.values())
		one := Record{Text: text, Path: l.path, Line: l.line}
		if at >= outer.width {
			one.Cell = []byte(outer.added[at-outer.width].value)
		} else if at >= 0 {
			one.Cell = scratch[cut.lo[at]:cut.hi[at]]
			if number, ok := point(nil, one.Cell, false); commas && ok {
				one.Cell = number
			}
		}
		if !yield(one, nil) {
			return errStop
		}
	}
}

// texts are the cells of the line that was cut.
func (c *cutter) texts(text []byte) (all []string) {
	for i, lo := range c.lo {
		all = append(all, string(text[lo:c.hi[i]]))
	}
	return all
}

// cells gives the rows of a table that is no text, as lines of CSV.
func (r *RecordReader) cells(ctx context.Context, in Input, s *settings, yield func(Record, error) bool) (err error) {
	t, err := s.openTable(ctx, in.Name)
	if err != nil {
		return err
	}
	defer t.Close()
	r.folders.tell(s, in.Name, s.folders)
	all := readable(t)
	var names []string
	for i, name := range t.Header() {
		if _, err := t.Status(i); err == nil {
			names = append(names, name)
		} else if s.Note != nil {
			s.Note(in.Name, 0, fmt.Sprintf("%v; it is left out", err))
		}
	}
	if len(all) == 0 {
		_, err := t.Status(0)
		return &Error{in.Name, 0, err}
	}
	at, err := r.begin(AppendRow(nil, ',', names), names, true)
	if err != nil {
		return &Error{in.Name, 0, err}
	}
	one, row, size := Record{Path: in.Name}, make([]string, len(names)), in.Size
	for cells, err := range t.Blocks(ctx, all, 0, t.Rows()) {
		if err != nil {
			return &Error{in.Name, 0, err}
		}
		for k := range cells[0].Lo {
			for c := range row {
				row[c] = string(cells[c].Text[cells[c].Lo[k]:cells[c].Hi[k]])
			}
			one.Text = AppendRow(one.Text[:0], ',', row)
			if one.Line++; at >= 0 {
				one.Cell = []byte(row[at])
			}
			if !yield(one, nil) {
				return errStop
			}
		}
		now := int64(float64(in.Size) * (1 - float64(one.Line)/float64(t.Rows()))) // bytes that are left
		r.read(size - now)
		size = now
	}
	return ctx.Err()
}

// begin takes the names of the columns, and answers where the column is that was asked for; -1 if none was.
func (r *RecordReader) begin(text []byte, names []string, header bool) (int, error) {
	if header {
		if err := checkNames(names); err != nil {
			return 0, err
		}
		if r.Header == nil {
			r.Header = bytes.Clone(text)
		} else if !bytes.Equal(bytes.TrimSpace(r.Header), bytes.TrimSpace(text)) {
			return 0, fmt.Errorf("columns %s, want those of the first file, in their order: %s", quote(bytes.TrimSpace(text)),
				quote(bytes.TrimSpace(r.Header)))
		}
	}
	at := slices.Index(names, r.Column)
	switch {
	case r.Label && r.Column == "":
		if at = feature.LabelAt(names); at < 0 {
			return 0, fmt.Errorf("no column of labels, want one of %s named (--label-column NAME): %w", strings.Join(names, ", "), ErrOption)
		}
	case r.Column == "":
		return -1, nil
	case at < 0:
		return 0, fmt.Errorf("no column %q; there is %s%s: %w", r.Column, strings.Join(names, ", "), spell.Hint(r.Column, names), ErrOption)
	}
	return at, nil
}
