package pack

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/internal/zipfile"
	"thole.example/wire"
)

// headLen is how much of a file shows whether it is a packed one: the header of the manifest, with its name.
const headLen = zipfile.LocalLen + len(Name)

// isFile reports whether an object begins as a packed file does.
func isFile(o blob.Object) (bool, error) {
	head := make([]byte, headLen)
	if o.Size() < int64(headLen) {
		return false, nil
	}
	err := wire.ReadAt(o, head, 0)
	return err == nil && string(head[:4]) == zipfile.Magic && string(head[zipfile.LocalLen:]) == Name && head[26] == byte(len(Name)) &&
		head[27] == 0, err
}

// Inside shows a packed file at the path as the folder that was packed, in a bucket that for the rest is b; nothing can
// be written to it. If there is no packed file at the path, the result is b itself. The file may be what Write makes or the
// same files as another zip program packed them. One of ours that is not exactly what Write makes of its manifest is an
// error that wraps format.ErrCorrupt.
func Inside(ctx context.Context, b blob.Bucket, path string) (blob.Bucket, error) {
	infos, err := b.List(ctx, path)
	if err != nil || len(infos) != 1 || infos[0].Name != path {
		return b, nil // a folder, or nothing: whoever opens it says so
	}
	o, err := b.Open(ctx, path)
	if errors.Is(err, blob.ErrChanged) {
		return nil, err
	}
	if err != nil {
		return b, nil
	}
	defer o.Close()
	all, err := members(o)
	switch {
	case err != nil:
		return nil, format.Wrap(codec, path, err)
	case all == nil:
		return b, nil
	}
	return &inside{b, path, all}, nil
}

// isZip reports whether an object begins and ends as an archive does. The end is looked for in the last bytes, and only of what
// begins as one: everything that is opened comes by here.
func isZip(o blob.Object) (bool, error) {
	var head [len(zipfile.Magic)]byte
	if o.Size() < int64(len(head)) {
		return false, nil
	}
	if err := wire.ReadAt(o, head[:], 0); err != nil || string(head[:]) != zipfile.Magic {
		return false, err
	}
	tail := make([]byte, min(o.Size(), 1<<16+22))
	err := wire.ReadAt(o, tail, o.Size()-int64(len(tail)))
	return bytes.Contains(tail, []byte("PK\x05\x06")), err
}

// members are the files of a packed file; none if it is something else.
func members(o blob.Object) ([]member, error) {
	begins, err := isFile(o)
	if err != nil {
		return nil, err
	}
	if !begins {
		if archive, err := isZip(o); err != nil || !archive {
			return nil, err
		}
	}
	z, err := zip.NewReader(o, o.Size())
	if err != nil {
		if begins || errors.Is(err, blob.ErrChanged) {
			return nil, at(o.Size(), err)
		}
		return nil, nil // of which others know more
	}
	i := slices.IndexFunc(z.File, func(f *zip.File) bool { return f.Name == Name })
	if i < 0 {
		if begins {
			return nil, at(0, fmt.Errorf("%s is not in the directory", Name))
		}
		return nil, nil
	}
	data, err := inflate(z.File[i], o, maxManifest)
	if err != nil {
		return nil, err
	}
	if !begins && (!json.Valid(data) || !ours(data)) {
		return nil, nil
	}
	m, err := parse(data)
	if err != nil {
		return nil, at(0, err)
	}
	all, end := plan(m, int64(len(data)))
	sums := map[string]uint32{}
	for _, f := range z.File {
		sums[f.Name] = f.CRC32
	}
	for k := range all {
		all[k].Sum = sums[all[k].Name]
	}
	same, err := compare(o, frame(all, end))
	switch {
	case err == nil:
		written := make([]member, len(all))
		for k := range all {
			written[k].Member = all[k]
		}
		return written, nil
	case same.directory || same.headers && len(z.File) == len(all):
		return nil, err // so much of it is ours that the rest was
	}
	return foreign(z, o.Size())
}

// sameness says what of an archive is as Write makes it: all headers before the files, and the directory behind them.
type sameness struct{ headers, directory bool }

// compare holds the bytes of the spans, the last of which ends the object, to what they should be.
func compare(o blob.Object, spans []format.Span) (same sameness, err error) {
	same = sameness{true, true}
	last := spans[len(spans)-1]
	if end := last.Off + int64(len(last.Bytes)); o.Size() != end {
		same.directory = false
		err = &wire.At{Off: min(end, o.Size()), Err: fmt.Errorf("%d bytes, want %d", o.Size(), end)}
	}
	for k, s := range spans {
		got := make([]byte, len(s.Bytes))
		if s.Off+int64(len(got)) > o.Size() {
			clear(got)
		} else if bad := wire.ReadAt(o, got, s.Off); bad != nil {
			return sameness{}, bad
		}
		if bytes.Equal(got, s.Bytes) {
			continue
		}
		if k == len(spans)-1 {
			same.directory = false
		} else {
			same.headers = false
		}
		if i := differ(got, s.Bytes); err == nil {
			text := fmt.Errorf("byte %#02x between the files, want %#02x, as the manifest has it", got[i], s.Bytes[i])
			err = &wire.At{Off: s.Off + int64(i), Err: text}
		}
	}
	return same, err
}

// differ is the first byte in which two texts of one length differ; they do.
func differ(a, b []byte) (i int) {
	for a[i] == b[i] {
		i++
	}
	return i
}

// inside is a bucket in which a packed file is a folder.
type inside struct {
	blob.Bucket
	path string
	all  []member
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
		if end := b.all[i].end(); o.Size() < end {
			o.Close()
			return nil, format.Corrupt(codec, b.path, o.Size(), "the file became shorter, want %d bytes at least", end)
		}
		one, err := b.all[i].open(o)
		if err != nil {
			return nil, format.Wrap(codec, b.path, err)
		}
		return one, nil
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
