package format

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"runtime"
	"sync"

	"thole.example/wire"
)

const (
	// MaxLine is the longest line of a text file, in bytes.
	MaxLine = 64 << 20
	// linesLen is how much text is read and parsed at once; a longer line makes it longer.
	linesLen = 1 << 20
	// LinesPad is how many zero bytes stand behind the text of Lines, for readers that look at several bytes at once.
	LinesPad = 16
)

// Lines is a piece of a text file that consists of whole lines.
type Lines struct {
	Off int64 // the byte of the file at which it begins
	// Text ends with a line feed, be it in the file or not. LinesPad zero bytes follow within its capacity.
	Text []byte
	// Open tells that the file ends without a line feed, which Text has.
	Open bool
}

// End is the byte of the file behind the lines.
func (l *Lines) End() int64 {
	if l.Open {
		return l.Off + int64(len(l.Text)) - 1
	}
	return l.Off + int64(len(l.Text))
}

// ReadLines cuts the bytes from off to size into pieces of whole lines. A piece is valid until the next one.
func ReadLines(ctx context.Context, r io.ReaderAt, off, size int64) iter.Seq2[Lines, error] {
	return func(yield func(Lines, error) bool) {
		c := lineCutter{r: r, off: off, size: size, step: linesLen}
		for c.off < c.size {
			l, err := Lines{}, ctx.Err()
			if err == nil {
				l, err = c.next(nil)
			}
			if !yield(l, err) || err != nil {
				return
			}
			c.free = l.Text
		}
	}
}

// ParseLines is ReadLines with every piece parsed, on all processors; the results come in the order of the file. parse
// must not keep the text. When the walk ends, so have its goroutines.
func ParseLines[T any](ctx context.Context, r io.ReaderAt, off, size int64, parse func(Lines) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer stop()
		parsers := int(min(int64(runtime.GOMAXPROCS(0)), 1+(size-off)/linesLen))
		order, free := make(chan chan parsed[T], parsers), make(chan []byte, parsers+2)
		wg.Go(func() {
			defer close(order)
			c := lineCutter{r: r, off: off, size: size, step: linesLen}
			for c.off < c.size && ctx.Err() == nil {
				done := make(chan parsed[T], 1)
				select {
				case <-ctx.Done():
					return
				case order <- done:
				}
				var buf []byte
				select {
				case buf = <-free:
				default:
				}
				l, err := c.next(buf)
				if err != nil {
					done <- parsed[T]{err: err}
					return
				}
				wg.Go(func() {
					done <- parsed[T]{value: parse(l)}
					select {
					case free <- l.Text:
					default:
					}
				})
			}
		})
		for done := range order {
			p := <-done
			if p.err == nil {
				p.err = ctx.Err()
			}
			if !yield(p.value, p.err) || p.err != nil {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			var none T
			yield(none, err)
		}
	}
}

type parsed[T any] struct {
	value T
	err   error
}

// lineCutter reads a file from off on.
type lineCutter struct {
	r         io.ReaderAt
	off, size int64
	step      int
	free      []byte // to be used again
}

// next reads whole lines into buf, or into free if it is nil. There are some: off is below size.
func (c *lineCutter) next(buf []byte) (Lines, error) {
	if buf == nil {
		buf = c.free
	}
	buf = buf[:0]
	for step := c.step; ; step *= 2 {
		from := len(buf)
		n := int(min(int64(step), c.size-c.off-int64(from), int64(MaxLine+1-from)))
		if cap(buf) < from+n+1+LinesPad {
			buf = append(make([]byte, 0, max(from+n, c.step)+1+LinesPad), buf...)
		}
		buf = buf[:from+n]
		if err := wire.ReadAt(c.r, buf[from:], c.off+int64(from)); err != nil {
			return Lines{}, err
		}
		l := Lines{Off: c.off, Text: buf}
		if cut := from + bytes.LastIndexByte(buf[from:], '\n') + 1; cut > from {
			l.Text = buf[:cut]
		} else if len(buf) > MaxLine {
			return Lines{}, &wire.At{Off: c.off, Err: fmt.Errorf("line of more than %d bytes: %w", MaxLine, ErrLimit)}
		} else if c.off+int64(len(buf)) == c.size {
			l.Text = append(buf, '\n')
			l.Open = true
		} else {
			continue
		}
		clear(l.Text[len(l.Text) : len(l.Text)+LinesPad])
		c.off = l.End()
		return l, nil
	}
}
