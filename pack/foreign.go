package pack

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/internal/zipfile"
	"thole.example/wire"
)

// maxInflated is the largest deflated file of an archive that another program wrote: it is held in memory while it is open.
const maxInflated = 256 << 20

// member is a file of an archive.
type member struct {
	zipfile.Member
	deflated *zip.File // nil: it lies as it is
}

// end is the byte behind what is stored of it.
func (m *member) end() int64 {
	if m.deflated != nil {
		return m.Data + int64(m.deflated.CompressedSize64)
	}
	return m.Data + m.Size
}

// open is the member as a file of its own, in the archive o.
func (m *member) open(o blob.Object) (blob.Object, error) {
	if m.deflated == nil {
		return &section{io.NewSectionReader(o, m.Data, m.Size), o, m.Member}, nil
	}
	data, err := inflate(m.deflated, o, maxInflated)
	return memory{bytes.NewReader(data)}, errors.Join(err, o.Close())
}

// memory is a file that was inflated.
type memory struct{ *bytes.Reader }

// Close implements io.Closer.
func (memory) Close() error { return nil }

// inflate reads a file of an archive, which f only describes, and compares its checksum.
func inflate(f *zip.File, o blob.Object, limit int64) ([]byte, error) {
	z, err := zip.NewReader(o, o.Size())
	if err != nil {
		return nil, at(o.Size(), err)
	}
	i := slices.IndexFunc(z.File, func(one *zip.File) bool { return one.Name == f.Name })
	if i < 0 || f.UncompressedSize64 > uint64(limit) {
		return nil, fmt.Errorf("file %q of %d bytes, want at most %d where it is deflated (a zip tool unpacks it): %w",
			f.Name, f.UncompressedSize64, limit, format.ErrLimit)
	}
	in, err := z.File[i].Open()
	if err != nil {
		return nil, at(o.Size(), fmt.Errorf("file %q: %w", f.Name, err))
	}
	defer in.Close()
	var data bytes.Buffer // as long as it inflates, whatever the directory says
	n, err := io.Copy(&data, io.LimitReader(in, int64(f.UncompressedSize64)+1))
	if err == nil && uint64(n) != f.UncompressedSize64 {
		err = fmt.Errorf("%d bytes, want %d", n, f.UncompressedSize64)
	}
	if err != nil {
		return nil, at(o.Size(), fmt.Errorf("file %q: %w", f.Name, err))
	}
	return data.Bytes(), nil
}

// at makes an error of the zip reader one of the archive.
func at(off int64, err error) error {
	if errors.Is(err, zip.ErrAlgorithm) {
		err = fmt.Errorf("%w: %w", err, format.ErrVersion)
	}
	return &wire.At{Off: off, Err: err}
}

// foreign are the files of an archive as its directory has them, each where its local header ends: as any program may write
// them, stored or deflated, with whatever fields beside. No two may share bytes.
func foreign(z *zip.Reader, size int64) (all []member, err error) {
	var names tree
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") && f.UncompressedSize64 == 0 {
			continue // a folder
		}
		m := member{Member: zipfile.Member{Name: f.Name, Size: int64(f.UncompressedSize64), Sum: f.CRC32}}
		if m.Data, err = f.DataOffset(); err != nil {
			return nil, at(size, fmt.Errorf("file %.80q: %w", f.Name, err))
		}
		wrong := func(text string, args ...any) ([]member, error) {
			return nil, &wire.At{Off: m.Data, Err: fmt.Errorf("file %.80q: "+text, append([]any{f.Name}, args...)...)}
		}
		if f.Name != Name {
			err = names.add(f.Name)
		}
		switch {
		case err != nil:
			return wrong("%w", err)
		case slices.ContainsFunc(all, func(o member) bool { return f.Name == Name && o.Name == Name }):
			return wrong("twice")
		case f.Flags&1 != 0:
			return wrong("encrypted: %w", format.ErrVersion)
		case f.Method != zip.Store && f.Method != zip.Deflate:
			return wrong("method %d, want stored or deflated: %w", f.Method, format.ErrVersion)
		case max(f.CompressedSize64, f.UncompressedSize64) > math.MaxInt64 || int64(f.CompressedSize64) > size-m.Data:
			return wrong("%d bytes, %d remain: %w", f.CompressedSize64, size-m.Data, wire.ErrTruncated)
		case f.Method == zip.Store && f.CompressedSize64 != f.UncompressedSize64:
			return wrong("%d bytes stored as %d", f.UncompressedSize64, f.CompressedSize64)
		case f.Method == zip.Deflate:
			m.deflated = f
		}
		all = append(all, m)
	}
	byPlace := slices.SortedFunc(slices.Values(all), func(a, b member) int { return cmp.Compare(a.Data, b.Data) })
	for i := 1; i < len(byPlace); i++ {
		if a, b := byPlace[i-1], byPlace[i]; a.end() > b.Data-zipfile.LocalLen {
			return nil, &wire.At{Off: b.Data, Err: fmt.Errorf("file %.80q begins within %.80q", b.Name, a.Name)}
		}
	}
	return all, nil
}
