// Package dump prints bytes together with their meaning, one field a line:
//
//	00000012  0a                       value type 10 (f64)
//	00000013  00 00 00 00 00 00 00 00  row index 0
//
// It serves the command explain, the annotated golden files of the tests and the worked examples of the documents.
package dump

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// rowBytes is how many bytes stand on one line.
const rowBytes = 8

// Printer writes an annotated dump. The first error of the writer is kept and ends the output; ask Err at the end.
type Printer struct {
	w   io.Writer
	err error
}

// New prints to w.
func New(w io.Writer) *Printer { return &Printer{w: w} }

// Err is the first error of the writer.
func (p *Printer) Err() error { return p.err }

func (p *Printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// Head prints a line that names what follows: a file, a header, a record.
func (p *Printer) Head(format string, args ...any) { p.printf("# "+format+"\n", args...) }

// Field prints bytes that begin at off, and their meaning behind the first line of them.
func (p *Printer) Field(off int64, b []byte, format string, args ...any) {
	meaning := fmt.Sprintf(format, args...)
	for i := 0; i == 0 || i < len(b); i += rowBytes {
		row := b[i:min(i+rowBytes, len(b))]
		hex := strings.TrimSuffix(fmt.Sprintf("% x", row), " ")
		p.printf("%s\n", strings.TrimRight(fmt.Sprintf("%08x  %-*s  %s", off+int64(i), rowBytes*3-1, hex, meaning), " "))
		meaning = ""
	}
}

// Text prints a line of a text file with its place and meaning.
func (p *Printer) Text(off int64, line []byte, format string, args ...any) {
	p.printf("%s\n", strings.TrimRight(fmt.Sprintf("%08x  %-23q  %s", off, line, fmt.Sprintf(format, args...)), " "))
}

// lineBytes is how many bytes of a line of text Line shows.
const lineBytes = 120

// Line prints a line of a text file without its end: of a long one how it begins, and how many bytes follow.
func (p *Printer) Line(off int64, line []byte, format string, args ...any) {
	line = bytes.TrimRight(line, "\r\n")
	n := min(len(line), lineBytes)
	p.Text(off, line[:n], format, args...)
	if n < len(line) {
		p.Gap(off+int64(n), int64(len(line)-n), "more of the line")
	}
}

// Gap says that n bytes from off on are left out, and what they are.
func (p *Printer) Gap(off, n int64, format string, args ...any) {
	p.printf("%08x  … %d bytes: %s\n", off, n, fmt.Sprintf(format, args...))
}
