package npy

import (
	"archive/zip"
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"maps"
	"slices"
	"sync"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// zipReader reads the arrays of an archive.
type zipReader struct {
	archive
	obj     blob.Object
	path    string
	checked sync.Map // members whose checksum was right
}

// Matrices implements format.Reader.
func (r *zipReader) Matrices() []matrix.Meta { return r.ms }

// Notes implements format.Reader.
func (r *zipReader) Notes() []string { return append([]string{r.dialect()}, r.notes...) }

// Files implements format.Reader. Members whose names no file can have are left out.
func (r *zipReader) Files() map[string][]byte {
	files := map[string][]byte{}
	for file, data := range r.files {
		if format.PlainName(file) {
			files[file] = data
		}
	}
	return files
}

// Close implements format.Reader.
func (r *zipReader) Close() error { return r.obj.Close() }

// Blocks implements format.Reader. A walk over the whole matrix also compares the member's checksum.
func (r *zipReader) Blocks(ctx context.Context, matrixName string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		i := slices.IndexFunc(r.ms, func(m matrix.Meta) bool { return m.Name == matrixName })
		if i < 0 {
			yield(matrix.Block{}, format.Wrap(zipName, r.path, fmt.Errorf("matrix %q: %w", matrixName, format.ErrMatrix)))
			return
		}
		if i == len(r.members) {
			for b, err := range r.sparse.blocks(ctx, want) {
				if !yield(b, format.Wrap(zipName, r.path, err)) || err != nil {
					return
				}
			}
			return
		}
		m := r.members[i]
		o, err := r.source(ctx, m, want.Contains(r.ms[i].Rect()))
		if err != nil {
			yield(matrix.Block{}, format.Wrap(zipName, r.path, err))
			return
		}
		defer o.Close()
		for b, err := range m.head.blocks(ctx, o, want) {
			if !yield(b, format.Wrap(zipName, r.path, m.at(err))) || err != nil {
				return
			}
		}
		if f, ok := o.(*forward); ok && want.Contains(r.ms[i].Rect()) {
			if err := f.end(); err != nil {
				yield(matrix.Block{}, format.Wrap(zipName, r.path, m.at(err)))
			}
		}
	}
}

// source is the member to read values from; whole says that all of them will be.
func (r *zipReader) source(ctx context.Context, m *member, whole bool) (blob.Object, error) {
	if m.file.Method == zip.Deflate && m.head.fortran {
		return m.inflate()
	}
	o, err := m.open()
	if err != nil || m.file.Method == zip.Deflate || !whole {
		return o, err
	}
	if _, ok := r.checked.Load(m); ok {
		return o, nil
	}
	if err := m.sum(ctx, o); err != nil {
		return nil, err
	}
	r.checked.Store(m, true)
	return o, nil
}

// sum compares the checksum of a stored member with its bytes.
func (m *member) sum(ctx context.Context, o blob.Object) error {
	if m.file.Method != zip.Store {
		return nil
	}
	sum := crc32.NewIEEE()
	if err := copySum(ctx, sum, o, o.Size()); err != nil {
		return m.at(err)
	}
	if got := sum.Sum32(); got != m.file.CRC32 {
		return &wire.At{Off: m.off, Err: fmt.Errorf("member %q has checksum %08x, want %08x", m.file.Name, got, m.file.CRC32)}
	}
	return nil
}

// copySum writes the first n bytes of o to sum.
func copySum(ctx context.Context, sum io.Writer, o io.ReaderAt, n int64) error {
	buf := make([]byte, min(n, 1<<20))
	for off := int64(0); off < n; off += int64(len(buf)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		some := buf[:min(int64(len(buf)), n-off)]
		if err := wire.ReadAt(o, some, off); err != nil {
			return err
		}
		sum.Write(some) // a hash takes everything
	}
	return nil
}

// explainArchive prints the members as the files that they are.
func explainArchive(ctx context.Context, o blob.Object, p *dump.Printer) error {
	a, err := readArchive(ctx, o, true)
	all := a.members
	if a.sparse != nil {
		all = slices.AppendSeq(slices.Clone(all), maps.Values(a.sparse.parts))
		slices.SortFunc(all, func(a, b *member) int { return cmp.Compare(a.off, b.off) })
	}
	for _, m := range all {
		how := "stored"
		if m.file.Method == zip.Deflate {
			how = "deflated"
		}
		p.Head("member %q, %s from byte %d on, checksum %08x; places are counted within it", m.file.Name, how, m.off, m.file.CRC32)
		one, err := m.open()
		if err != nil {
			return err
		}
		err = explain(one, p)
		one.Close()
		if err != nil {
			return m.at(err)
		}
	}
	if err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(a.files)) {
		p.Head("member %q, %d bytes, no array", file, len(a.files[file]))
	}
	return p.Err()
}
