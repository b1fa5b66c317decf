package pack

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/internal/zipfile"
	"thole.example/wire"
)

// headLen is how much of a file tells whether it is a packed one: the header of the manifest, with its name.
const headLen = zipfile.LocalLen + len(Name)

// isFile tells whether an object begins as a packed file does.
func isFile(o blob.Object) bool {
	head := make([]byte, headLen)
	return o.Size() >= int64(headLen) && wire.ReadAt(o, head, 0) == nil && string(head[:4]) == zipfile.Magic &&
		string(head[zipfile.LocalLen:]) == Name && head[26] == byte(len(Name)) && head[27] == 0
}

// Inside shows a packed file at the path as the folder that was packed, in a bucket that for the rest is b; nothing can
// be written to it. If there is no packed file at the path, the result is b itself. A packed file that is not exactly
// what Write makes of its manifest is an error that wraps format.ErrCorrupt.
func Inside(ctx context.Context, b blob.Bucket, path string) (blob.Bucket, error) {
	infos, err := b.List(ctx, path)
	if err != nil || len(infos) != 1 || infos[0].Name != path {
		return b, nil // a folder, or nothing: whoever opens it says so
	}
	o, err := b.Open(ctx, path)
	if err != nil {
		return b, nil
	}
	defer o.Close()
	if !isFile(o) {
		return b, nil
	}
	all, err := walk(o)
	if err != nil {
		return nil, format.Wrap(codec, path, err)
	}
	return &inside{b, path, all}, nil
}

// walk reads the manifest and holds everything that is not a file to what it has to be.
func walk(o blob.Object) ([]zipfile.Member, error) {
	head := make([]byte, zipfile.LocalLen)
	if err := wire.ReadAt(o, head, 0); err != nil {
		return nil, err
	}
	first := zipfile.Member{Name: Name, Size: int64(binary.LittleEndian.Uint32(head[18:]))}
	begin := int64(len(first.Local()))
	if first.Size > maxManifest || begin+first.Size > o.Size() {
		return nil, &wire.At{Off: 18, Err: fmt.Errorf("manifest of %d bytes, want at most %d, and %d remain: %w",
			first.Size, maxManifest, o.Size()-begin, wire.ErrTruncated)}
	}
	data := make([]byte, first.Size)
	if err := wire.ReadAt(o, data, begin); err != nil {
		return nil, err
	}
	m, err := parse(data)
	if err != nil {
		return nil, &wire.At{Off: begin, Err: err}
	}
	all, end := plan(m, first.Size)
	if end > o.Size() {
		return nil, &wire.At{Off: o.Size(), Err: fmt.Errorf("files of the manifest end at byte %d: %w", end, wire.ErrTruncated)}
	}
	for i := range all {
		if err := wire.ReadAt(o, head, all[i].At); err != nil {
			return nil, err
		}
		all[i].Sum = binary.LittleEndian.Uint32(head[zipfile.SumAt:])
	}
	return all, compare(o, frame(all, end))
}

// compare holds the bytes of the spans, the last of which ends the object, to what they should be.
func compare(o blob.Object, spans []format.Span) error {
	last := spans[len(spans)-1]
	if end := last.Off + int64(len(last.Bytes)); o.Size() != end {
		return &wire.At{Off: min(end, o.Size()), Err: fmt.Errorf("%d bytes, want %d", o.Size(), end)}
	}
	for _, s := range spans {
		got := make([]byte, len(s.Bytes))
		if err := wire.ReadAt(o, got, s.Off); err != nil {
			return err
		}
		if !bytes.Equal(got, s.Bytes) {
			i := 0
			for got[i] == s.Bytes[i] {
				i++
			}
			err := fmt.Errorf("byte %#02x between the files, want %#02x, as the manifest has it", got[i], s.Bytes[i])
			return &wire.At{Off: s.Off + int64(i), Err: err}
		}
	}
	return nil
}

// inside is a bucket in which a packed file is a folder.
type inside struct {
	blob.Bucket
	path string
	all  []zipfile.Member
}

// Open implements blob.Bucket.
func (b *inside) Open(ctx context.Context, name string) (blob.Object, error) {
	file, ok := strings.CutPrefix(name, b.path+"/")
	if !ok {
		return b.Bucket.Open(ctx, name)
	}
	for i := range b.all {
		if b.all[i].Name != file {
			continue
		}
		o, err := b.Bucket.Open(ctx, b.path)
		if err != nil {
			return nil, err
		}
		if end := b.all[i].Data + b.all[i].Size; o.Size() < end {
			o.Close()
			return nil, format.Corrupt(codec, b.path, o.Size(), "the file became shorter, want %d bytes at least", end)
		}
		return &section{io.NewSectionReader(o, b.all[i].Data, b.all[i].Size), o, b.all[i]}, nil
	}
	return b.Bucket.Open(ctx, name) // which says that it is not there
}

// List implements blob.Bucket.
func (b *inside) List(ctx context.Context, tree string) (infos []blob.Info, err error) {
	if tree != b.path && !strings.HasPrefix(tree, b.path+"/") {
		return b.Bucket.List(ctx, tree)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i := range b.all {
		name := b.path + "/" + b.all[i].Name
		if name == tree || strings.HasPrefix(name, tree+"/") {
			infos = append(infos, blob.Info{Name: name, Size: b.all[i].Size})
		}
	}
	return infos, nil
}

// section is a file within the packed one.
type section struct {
	*io.SectionReader
	whole blob.Object
	m     zipfile.Member
}

// Close implements io.Closer.
func (s *section) Close() error { return s.whole.Close() }

// Map implements blob.Mapped.
func (s *section) Map(look func(data []byte) error) error {
	whole, ok := s.whole.(blob.Mapped)
	if !ok {
		return errors.ErrUnsupported
	}
	return whole.Map(func(data []byte) error { return look(data[s.m.Data : s.m.Data+s.m.Size]) })
}
