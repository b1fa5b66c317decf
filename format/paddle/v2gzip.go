package paddle

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"thole.example/format"
	"thole.example/wire"
)

// v2Gzip is a v2Tar that was compressed by gzip, as the tools of its time did with most. It is unpacked into memory; places
// in errors and explanations are those of the archive within.
var v2Gzip = layout{name: "v2tar.gz", like: likeGzip, walk: walkGzip}

// An archive is unpacked up to so many bytes, and so many for each byte that it has.
const unpackedBytes, unpackedRatio = 64 << 20, 16

func likeGzip(head []byte, _ int64) bool {
	return len(head) > 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8
}

func walkGzip(l *listing) {
	s := l.scan
	data, err := unpack(s.r, s.size)
	if err != nil {
		s.err = err
		return
	}
	l.head("unpacked: %d bytes of %d", len(data), s.size)
	s.r, s.size = bytes.NewReader(data), int64(len(data))
	l.note("unpacked: %d bytes in memory", s.size)
	walkTar(l)
}

// unpack gives what a gzip file holds, if it begins as an archive does.
func unpack(r io.ReaderAt, size int64) ([]byte, error) {
	in := io.NewSectionReader(r, 0, size)
	fail := func(err error) ([]byte, error) {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = wire.ErrTruncated
		}
		at, _ := in.Seek(0, io.SeekCurrent)
		return nil, &wire.At{Off: at, Err: fmt.Errorf("gzip: %w", err)}
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return fail(err)
	}
	defer z.Close()
	head := make([]byte, tarBlock)
	if _, err := io.ReadFull(z, head); err != nil {
		return fail(err)
	}
	if !likeTar(head, size) {
		return nil, &wire.At{Off: 0, Err: fmt.Errorf("a gzip file without an archive in it: %w", format.ErrVersion)}
	}
	limit := unpackedBytes + unpackedRatio*size
	out := bytes.NewBuffer(head)
	if _, err := io.CopyN(out, z, limit-tarBlock+1); err == nil {
		err = fmt.Errorf("more than %d bytes in a gzip file of %d, unpack it first: %w", limit, size, format.ErrLimit)
		return nil, &wire.At{Off: 0, Err: err}
	} else if !errors.Is(err, io.EOF) {
		return fail(err)
	}
	return out.Bytes(), nil
}
