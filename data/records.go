package data

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"

	"thole.example/internal/spell"
)

// Record is an example as text.
type Record struct {
	// Text is its line with the end, or of a table the lines of its row, byte for byte but for a line end where the last line has none.
	// Lines before it that are blank or a comment belong to it, but in tables, where they are left out.
	Text []byte
	Cell []byte // of the column that was asked for; nil: none was
	Path string
	Line int64 // of the last line of Text
}

// RecordReader reads examples as text.
type RecordReader struct {
	Options Options // the format, the separator and the names of columns
	Column  string  // of a table whose cells are asked for; ""; none
	Header  []byte  // line of the names of a table, as it was read from the first file; nil: there is none
}

// Read gives the examples of the files one after the other; what gzip packed is unpacked. A record is valid until the next one. Files are
// regular ones. Tables have to have the same first line. Nothing is parsed beyond the end of a record, and Column's cell.
func (r *RecordReader) Read(ctx context.Context, paths []string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		ins, err := inputs(paths, nil)
		r.Header = nil
		for _, in := range ins {
			if err = r.file(ctx, in, yield); err != nil {
				break
			}
		}
		if err != nil && err != errStop {
			yield(Record{}, err)
		}
	}
}

// file gives the examples of a file.
func (r *RecordReader) file(ctx context.Context, in Input, yield func(Record, error) bool) error {
	s, err := r.Options.settings(strings.TrimSuffix(in.Name, ".gz"))
	switch {
	case err != nil:
		return err
	case s.cells:
		return &Error{in.Name, 0, errNoText}
	case r.Column != "" && !s.table:
		return &Error{in.Name, 0, fmt.Errorf("column %q of lines of %s, want a table for it: %w", r.Column, s.Name, ErrOption)}
	}
	f, err := openText(&in)
	if err != nil {
		return err
	}
	defer f.Close()
	l := &lineReader{in: bufio.NewReaderSize(in.Stream, 1<<16), path: in.Name}
	if bom, _ := l.in.Peek(3); string(bom) == "\xef\xbb\xbf" {
		_, _ = l.in.Discard(3) // which are there
	}
	if !s.table {
		return l.lines(ctx, yield)
	}
	return r.rows(ctx, l, s, yield)
}

// openText opens the file of an input and makes it a stream of text.
func openText(in *Input) (io.Closer, error) {
	f, err := os.Open(in.Name)
	if err != nil {
		return nil, err
	}
	in.Stream = f
	if err := in.unpack(); err != nil {
		return nil, errors.Join(&Error{in.Name, 0, err}, f.Close())
	}
	return f, nil
}

// lineReader reads lines with their ends.
type lineReader struct {
	in   *bufio.Reader
	path string
	line int64
}

// next appends a line with its end to text. At the end of the input it answers io.EOF.
func (l *lineReader) next(text []byte) ([]byte, error) {
	from := len(text)
	for {
		some, err := l.in.ReadSlice('\n')
		switch text = append(text, some...); {
		case len(text) > LineLimit:
			return text, &Error{l.path, l.line + 1, fmt.Errorf("more than %d bytes: %w", LineLimit, ErrLimit)}
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(text) == from:
			return text, io.EOF
		case err == io.EOF:
			text = append(text, '\n')
		case err != nil:
			return text, &Error{l.path, l.line + 1, err}
		}
		l.line++
		return text, nil
	}
}

// lines gives lines.
func (l *lineReader) lines(ctx context.Context, yield func(Record, error) bool) error {
	var text []byte
	for {
		from := len(text)
		var err error
		if text, err = l.next(text); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if line := bytes.TrimSpace(text[from:]); len(line) == 0 || line[0] == '#' {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !yield(Record{Text: text, Path: l.path, Line: l.line}, nil) {
			return errStop
		}
		text = text[:0]
	}
}

// row is the lines of a row; sep 0 is found out.
func (l *lineReader) row(text []byte, sep byte) ([]byte, error) {
	first := l.line + 1
	for {
		var err error
		if text, err = l.next(text); err == io.EOF && len(text) > 0 {
			return text, &Error{l.path, first, errQuote}
		} else if err != nil {
			return text, err
		}
		if lineEnd(text, sep) == len(text) {
			return text, nil
		}
	}
}

// rows gives the rows of a table.
func (r *RecordReader) rows(ctx context.Context, l *lineReader, s *settings, yield func(Record, error) bool) error {
	spec := s.columns().Spec
	sep := max(s.sep, spec.Sep)
	names, at := spec.Names, -1
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
			sep = separatorOf(text)
		}
		scratch = append(append(scratch[:0], text...), 0) // which is cut in place
		_, n, err := cut.cut(scratch, 0, sep)
		if err != nil {
			return &Error{l.path, l.line, err}
		}
		if n == 0 {
			continue
		}
		if at == -1 {
			header := names == nil
			if header {
				names = cut.texts(scratch)
			}
			if at, err = r.begin(text, names, header); err != nil {
				return &Error{l.path, l.line, err}
			}
			if header {
				continue
			}
		}
		if n != len(names) {
			return &Error{l.path, l.line, fmt.Errorf("%d cells, want %d, one for each column", n, len(names))}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		one := Record{Text: text, Path: l.path, Line: l.line}
		if r.Column != "" {
			one.Cell = scratch[cut.lo[at]:cut.hi[at]]
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

// begin takes the names of the columns, and answers where the column is that was asked for; 0 if none was.
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
	if r.Column == "" {
		return 0, nil
	}
	at := slices.Index(names, r.Column)
	if at < 0 {
		return 0, fmt.Errorf("no column %q; there is %s%s: %w", r.Column, strings.Join(names, ", "), spell.Hint(r.Column, names), ErrOption)
	}
	return at, nil
}
