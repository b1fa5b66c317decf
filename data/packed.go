package data

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// windowLimit is how far back packed text of zstd may refer: what its own program takes without --long, and what it costs in memory.
const windowLimit = 128 << 20

// packing is a way in which text is packed.
type packing struct {
	name   string // of the program
	ending string // of names
	magic  string // with which it begins
	open   func(packed io.Reader) (io.Reader, error)
	pack   func(to io.Writer) (io.WriteCloser, error) // the same text gives the same bytes
}

// packings is the table of them.
func packings() []packing {
	return []packing{
		{"gzip", ".gz", "\x1f\x8b", newGzipReader, func(to io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(to), nil }},
		{"zstd", ".zst", "\x28\xb5\x2f\xfd", func(packed io.Reader) (io.Reader, error) {
			// With one decoder it decodes where it is read, and so has nothing to be closed.
			return zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(windowLimit))
		}, func(to io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(to, zstd.WithEncoderConcurrency(1)) }},
	}
}

// Unpacked is the name of an input without the ending that says how it is packed.
func Unpacked(name string) string {
	for _, p := range packings() {
		if plain, ok := strings.CutSuffix(name, p.ending); ok {
			return plain
		}
	}
	return name
}

// Compression names the program that compressed a file with this beginning, of those whose files are read as they are; "" of none.
func Compression(start []byte) string {
	for _, p := range packings() {
		if bytes.HasPrefix(start, []byte(p.magic)) {
			return p.name
		}
	}
	return ""
}

// Packer packs text that goes to a file of that name, up to its Close, which leaves the file open; nil if the name does not say how.
func Packer(name string, to io.Writer) (io.WriteCloser, error) {
	for _, p := range packings() {
		if strings.HasSuffix(name, p.ending) {
			return p.pack(to)
		}
	}
	return nil, nil
}

// unpack makes packed text a stream of text.
func (in *Input) unpack() error {
	start := make([]byte, 4)
	if in.Stream != nil {
		b := bufio.NewReader(in.Stream)
		start, _ = b.Peek(len(start)) // an error comes again when it is read
		in.Stream = b
	} else {
		n, _ := in.R.ReadAt(start[:max(0, min(in.Size, int64(len(start))))], 0)
		start = start[:n]
	}
	for _, p := range packings() {
		if !bytes.HasPrefix(start, []byte(p.magic)) {
			continue
		}
		if in.Stream == nil {
			in.Stream, in.Size = io.NewSectionReader(in.R, 0, in.Size), 0
		}
		text, err := p.open(in.Stream)
		if err != nil {
			return whyPacked(err)
		}
		in.Stream, in.packed = text, true
	}
	return nil
}

// whyPacked says what an error of packed text means.
func whyPacked(err error) error {
	switch err {
	case io.ErrUnexpectedEOF:
		return fmt.Errorf("packed text that is cut short: %w, want the whole file", err)
	case zstd.ErrWindowSizeExceeded, zstd.ErrWindowSizeTooSmall:
		return fmt.Errorf("%w: want text packed by zstd with a window of at most %d MiB: zstdcat --long=31 FILE | thole ... --data -", err,
			windowLimit>>20)
	}
	return fmt.Errorf("packed text that is damaged: %w", err)
}
