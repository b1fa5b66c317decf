package data

import (
	"bytes"
	"context"
	"fmt"
	"io"
)

const (
	// LineLimit is the longest line in bytes.
	LineLimit = 64 << 20
	// chunkLen is how much is read and parsed at once. Lines that do not fit make a chunk longer.
	chunkLen = 1 << 20
)

// Input is text to be read: an *os.File, a blob.Object, a bytes.Reader. ReadAt is called by one goroutine at a time.
type Input struct {
	Name string // for errors
	R    io.ReaderAt
	Size int64
	// Stream, if not nil, is read to its end in place of R and Size: a pipe, standard input.
	Stream io.Reader

	packed bool // it was, and Stream is the text
	file   bool // of the operating system, opened by who reads it; a size below 0: not a regular one
}

// feeder cuts an input into chunks at line ends.
type feeder struct {
	in    Input
	off   int64  // of the next byte to read
	carry []byte // the beginning of a line that was read already
	limit int    // longest line
	step  int    // bytes to read at once
	end   bool   // all was read
	begun bool
	sheet *sheet // of a table, whose cells may have line ends in quotes
}

// feed fills free chunks and passes them on, in the order of the input, until its end, an error (the last chunk has
// it), or the end of ctx. The two channels that it closes hold all chunks there are, so sending never blocks.
func (f *feeder) feed(ctx context.Context, free <-chan *chunk, work, order chan<- *chunk) {
	defer close(work)
	defer close(order)
	for more := true; more; {
		select {
		case <-ctx.Done():
			return
		case c := <-free:
			c.reset()
			c.first, f.begun = !f.begun, true
			more = f.fill(c)
			order <- c
			work <- c
		}
	}
}

// fill reads the next whole lines into c and reports whether there are more.
func (f *feeder) fill(c *chunk) (more bool) {
	f.end = f.end || f.in.Stream == nil && f.in.Size == 0
	text := append(c.text[:0], f.carry...)
	f.carry = f.carry[:0]
	cut, least := 0, 1 // after the last line end, and where that is at least
	if f.sheet != nil && c.first {
		least = f.sheet.begin
	}
	for step := f.step; cut < least && !f.end; step *= 2 {
		if len(text) > f.limit {
			c.err, c.lines = fmt.Errorf("line of more than %d bytes: %w", f.limit, ErrLimit), 1
			return false
		}
		from := len(text)
		var err error
		if text, err = f.more(text, step); err != nil {
			c.err, c.lines = f.in.why(err), 1+int64(bytes.Count(text, []byte("\n")))
			return false
		}
		if from == 0 && f.off == int64(len(text)) {
			text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
		}
		if f.sheet != nil {
			cut = lineEnd(text, f.sheet.sep)
			continue
		}
		cut = from + bytes.LastIndexByte(text[min(from, len(text)):], '\n') + 1
		if cut == from {
			cut = 0
		}
	}
	if f.end {
		cut = len(text)
		if cut > 0 && text[cut-1] != '\n' {
			text, cut = append(text, '\n'), cut+1
		}
	}
	f.carry = append(f.carry, text[cut:]...)
	c.text = append(text[:cut], make([]byte, pad)...)
	c.len, c.end = cut, f.off-int64(len(f.carry))
	return !f.end
}

// more appends up to n bytes of the input to the text, and notes its end.
func (f *feeder) more(text []byte, n int) ([]byte, error) {
	from := len(text)
	if f.in.Stream == nil {
		n = int(min(int64(n), f.in.Size-f.off))
	}
	text = append(text, make([]byte, n)...) // the compiler extends in place
	if f.in.Stream != nil {
		got, err := 0, error(nil)
		for got < n && err == nil { // not io.ReadFull, whose error of a short stream is that of a packed one cut short
			var more int
			more, err = f.in.Stream.Read(text[from+got:])
			got += more
		}
		if err == io.EOF {
			f.end, err = true, nil
		}
		f.off += int64(got)
		return text[:from+got], err
	}
	got, err := f.in.R.ReadAt(text[from:], f.off)
	if got < n {
		return text, errShort(err, f.off+int64(got), f.in.Size)
	}
	f.off += int64(n)
	f.end = f.off == f.in.Size
	return text, nil
}

// why says what an error of reading means.
func (in *Input) why(err error) error {
	if in.packed {
		return whyPacked(err)
	}
	return err
}

func errShort(err error, at, size int64) error {
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read to byte %d of %d: %w", at, size, err)
}
