package data

import (
	"bufio"
	"compress/gzip"
	"io"
)

// gzipReader unpacks one or more members. As gzip does, it skips zero bytes after the last one, with which tapes and block devices
// fill up.
type gzipReader struct {
	in     *bufio.Reader
	member *gzip.Reader
	ended  error // what to answer from now on
}

func newGzipReader(packed io.Reader) (io.Reader, error) {
	g := &gzipReader{in: bufio.NewReader(packed)}
	member, err := gzip.NewReader(g.in)
	if err != nil {
		return nil, err
	}
	member.Multistream(false) // so that it reads no byte after the member
	g.member = member
	return g, nil
}

// Read implements io.Reader.
func (g *gzipReader) Read(to []byte) (int, error) {
	for g.ended == nil {
		n, err := g.member.Read(to)
		if err == io.EOF {
			err = g.next()
		}
		if g.ended = err; n > 0 || len(to) == 0 {
			return n, nil
		}
	}
	return 0, g.ended
}

// next opens the next member. The error is io.EOF at the end of the input.
func (g *gzipReader) next() error {
	begin, err := g.in.Peek(1)
	if err != nil {
		return err
	}
	if begin[0] == 0 {
		return g.zeros()
	}
	if err := g.member.Reset(g.in); err != nil {
		return err
	}
	g.member.Multistream(false)
	return nil
}

// zeros reads to the end, where nothing but zero bytes may be.
func (g *gzipReader) zeros() error {
	for {
		switch b, err := g.in.ReadByte(); {
		case err != nil:
			return err
		case b != 0:
			return gzip.ErrHeader
		}
	}
}
