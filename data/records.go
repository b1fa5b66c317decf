package data

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// Record is an example as text.
type Record struct {
	// Text is its line with the end, or of a table the lines of its row, byte for byte but for a line end where the last line has none.
	// Lines before it that are blank or a comment belong to it, but in tables, where they are left out.
	Text []byte
	Cell []byte // of the column that was asked for, or the label; nil: none was
	// Query is what follows qid: in a line that may have it; nil: it has none.
	Query []byte
	Path  string
	Line  int64 // of the last line of Text
}

// RecordReader reads examples as text.
type RecordReader struct {
	Options Options // the format, the separator and the names of columns
	Column  string  // of a table whose cells are asked for; "": none
	// Label asks for labels: of a table the cells of Column, or if that is "" of one that is called so, of others what stands first.
	Label  bool
	Header []byte // line of the names of a table, as it was read from the first file; nil: there is none

	done, total int64 // bytes
	folders     folders
}

// Read gives the examples of the files one after the other; what gzip or zstd packed is unpacked. A record is valid until the next one.
// Files are regular ones. Columns that folders name follow those of the file. Tables have to have the same first line. Nothing is parsed
// beyond the end of a record, and Column's cell.
// Rows of tables that are no text, of Parquet and Arrow, become lines of CSV. Progress is told of the bytes of all files.
func (r *RecordReader) Read(ctx context.Context, paths []string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		ins, err := inputs(ctx, r.Options.Store, paths, nil)
		r.Header, r.done, r.total, r.folders = nil, 0, 0, folders{}
		for i := range ins {
			r.total += max(0, ins[i].Size)
		}
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
	s, err := r.Options.settings(in.Name)
	if err == nil {
		s.folders, err = folderColumnsOf(in.Name)
	}
	switch {
	case err != nil:
		return err
	case s.cells:
		return r.cells(ctx, in, s, yield)
	case r.Column != "" && !s.table:
		return &Error{in.Name, 0, fmt.Errorf("column %q of lines of %s, want a table for it: %w", r.Column, s.Name, ErrOption)}
	}
	f, err := r.openText(ctx, &in)
	if err != nil {
		return err
	}
	defer f.Close()
	l := &lineReader{in: bufio.NewReaderSize(in.Stream, 1<<16), path: in.Name}
	if bom, _ := l.in.Peek(len(byteOrderMark)); string(bom) == byteOrderMark {
		_, _ = l.in.Discard(len(byteOrderMark)) // which are there
	}
	if r.folders.tell(s, in.Name, s.folders); !s.table {
		return l.lines(ctx, s, r.Label, yield)
	}
	return r.rows(ctx, l, s, yield)
}

// read tells that more bytes were read.
func (r *RecordReader) read(n int64) {
	if r.done += n; r.Options.Progress != nil {
		r.Options.Progress(r.done, r.total)
	}
}

// counted is a file whose reading is told.
type counted struct {
	file
	of *RecordReader
}

func (c counted) Read(to []byte) (int, error) {
	n, err := c.file.Read(to)
	c.of.read(int64(n))
	return n, err
}

// openText opens the file of an input and makes it a stream of text.
func (r *RecordReader) openText(ctx context.Context, in *Input) (io.Closer, error) {
	f, err := openFile(ctx, r.Options.Store, in.Name)
	if err != nil {
		return nil, err
	}
	in.Stream = counted{f, r}
	err = in.unpack()
	if err == nil {
		err = in.foreign()
	}
	if err != nil {
		return nil, errors.Join(&Error{in.Name, 0, err}, f.Close())
	}
	return f, nil
}

// lineReader reads lines with their ends.
type lineReader struct {
	commas bool // stand before fractions
	in     *bufio.Reader
	path   string
	line   int64
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

// lines gives lines, and their first words as labels.
func (l *lineReader) lines(ctx context.Context, s *settings, label bool, yield func(Record, error) bool) error {
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
		one := Record{Text: text, Path: l.path, Line: l.line}
		if s.query {
			one.Query = s.queryOf(text[from:])
		}
		if label {
			line := bytes.TrimLeft(text[from:], " \t")
			end := slices.IndexFunc(line, func(c byte) bool { return s.class[c] != 0 })
			one.Cell = line[:max(0, end)]
		}
		if !yield(one, nil) {
			return errStop
		}
		text = text[:0]
	}
}

// queryOf is what follows qid: in a line, up to its comment; nil: it has none.
func (s *settings) queryOf(line []byte) []byte {
	line, _, _ = bytes.Cut(line, []byte("#"))
	at := bytes.Index(line, []byte("qid:"))
	if at < 1 || s.class[line[at-1]] == 0 {
		return nil
	}
	id := line[at+len("qid:"):]
	if end := slices.IndexFunc(id, func(c byte) bool { return s.class[c] != 0 }); end >= 0 {
		return id[:end]
	}
	return id
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
		by := sep
		if by == 0 { // nobody said it: quotes of the names, too, may hold line ends
			by = separatorOf(text, l.commas)
		}
		if lineEnd(text, by) == len(text) {
			return text, nil
		}
	}
}
