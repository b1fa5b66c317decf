package pack

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"iter"
	"slices"

	"thole.example/blob"
	"thole.example/format"
)

// Source is a file to pack: its name in the pack, and the object of the bucket that it is.
type Source struct{ Name, Object string }

// sums are what is computed of the bytes of a file.
type sums struct {
	sha hash.Hash
	crc hash.Hash32
}

func newSums() sums { return sums{sha256.New(), crc32.NewIEEE()} }

// Write implements io.Writer.
func (s sums) Write(p []byte) (int, error) {
	s.crc.Write(p)
	return s.sha.Write(p)
}

func (s sums) hex() string { return hex.EncodeToString(s.sha.Sum(nil)) }

// Write packs files of the bucket b to the path of another: as a folder, or as one file. The manifest is m with the files
// that there are. The target becomes visible whole or not at all, and only where over is what lies at the path.
func Write(ctx context.Context, b blob.Bucket, from []Source, m Manifest, to blob.Bucket, path string, over blob.State,
	oneFile bool) (*Manifest, error) {
	m.Pack, m.Files = version, nil
	from = slices.SortedFunc(slices.Values(from), func(a, b Source) int { return cmp.Compare(a.Name, b.Name) })
	var crcs []uint32
	for one, err := range format.Ahead(hashes(ctx, b, from)) {
		if err != nil {
			return nil, err
		}
		m.Files, crcs = append(m.Files, one.file), append(crcs, one.crc)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	data, err := m.encode()
	if err != nil {
		return nil, err
	}
	if len(data) > maxManifest {
		return nil, fmt.Errorf("pack: manifest of %d bytes, want at most %d: %w", len(data), maxManifest, format.ErrLimit)
	}
	w := writer{ctx, b, from, &m, data, crcs, over}
	if oneFile {
		return &m, w.file(to, path)
	}
	return &m, w.folder(to, path)
}

// hashed is a file with its sums.
type hashed struct {
	file   File
	crc    uint32
	damage error // of Verify: why the file has no sums
}

// hashes are jobs that compute the sums of the files.
func hashes(ctx context.Context, b blob.Bucket, from []Source) iter.Seq[func() (hashed, error)] {
	return func(yield func(func() (hashed, error)) bool) {
		for _, f := range from {
			if !yield(func() (hashed, error) {
				s := newSums()
				n, err := each(ctx, b, f.Object, func(p []byte, _ int64) error {
					_, err := s.Write(p)
					return err
				})
				return hashed{file: File{f.Name, n, s.hex()}, crc: s.crc.Sum32()}, err
			}) {
				return
			}
		}
	}
}

// chunk is how many bytes are read at a time.
const chunk = 1 << 20

// each calls do with the bytes of an object, one piece after the other, and gives its size.
func each(ctx context.Context, b blob.Bucket, name string, do func(p []byte, off int64) error) (int64, error) {
	o, err := b.Open(ctx, name)
	if err != nil {
		return 0, err
	}
	defer o.Close()
	buf := make([]byte, min(chunk, o.Size()))
	for off := int64(0); off < o.Size(); off += chunk {
		p := buf[:min(chunk, o.Size()-off)]
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if n, err := o.ReadAt(p, off); n < len(p) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, fmt.Errorf("%s: %d of %d bytes: %w", name, off+int64(n), o.Size(), err)
		}
		if err := do(p, off); err != nil {
			return 0, err
		}
	}
	return o.Size(), nil
}

// writer writes the files that the manifest describes.
type writer struct {
	ctx  context.Context
	b    blob.Bucket
	from []Source
	m    *Manifest
	data []byte // of the manifest
	crcs []uint32
	over blob.State // what may be replaced
}

// copy writes the i-th file from byte base on, and checks that it is still the one whose sums were computed.
func (w *writer) copy(i int, out io.WriterAt, base int64) error {
	s, want := newSums(), w.m.Files[i]
	n, err := each(w.ctx, w.b, w.from[i].Object, func(p []byte, off int64) error {
		if off+int64(len(p)) > want.Size {
			return fmt.Errorf("pack: %s: more than the %d bytes that it has", want.Name, want.Size)
		}
		s.Write(p)
		_, err := out.WriteAt(p, base+off)
		return err
	})
	if err == nil && (n != want.Size || s.hex() != want.SHA256) {
		err = fmt.Errorf("pack: %s: its bytes are not those that its SHA-256 was computed of: %w", want.Name, format.ErrCorrupt)
	}
	return err
}

// file writes one file.
func (w *writer) file(to blob.Bucket, path string) error {
	all, end := plan(w.m, int64(len(w.data)))
	all[0].Sum = crc32.ChecksumIEEE(w.data)
	for i, sum := range w.crcs {
		all[i+1].Sum = sum
	}
	out, err := blob.CreateOver(w.ctx, to, path, w.over)
	if err != nil {
		return err
	}
	defer out.Abort()
	for _, s := range frame(all, end) {
		if _, err := out.WriteAt(s.Bytes, s.Off); err != nil {
			return err
		}
	}
	if _, err := out.WriteAt(w.data, all[0].Data); err != nil {
		return err
	}
	for i := range w.from {
		if err := w.copy(i, out, all[i+1].Data); err != nil {
			return err
		}
	}
	return out.Commit()
}

// folder writes a folder.
func (w *writer) folder(to blob.Bucket, path string) error {
	stage := format.NewStage(to, path, "")
	stage.Over = w.over
	defer stage.Abort(context.WithoutCancel(w.ctx))
	for i, f := range w.from {
		out, err := to.Create(w.ctx, stage.Name(f.Name))
		if err != nil {
			return err
		}
		if err := w.copy(i, out, 0); err != nil {
			out.Abort()
			return err
		}
		if err := out.Commit(); err != nil {
			return err
		}
	}
	if err := blob.WriteAll(w.ctx, to, stage.Name(Name), w.data); err != nil {
		return err
	}
	return stage.Publish(w.ctx, "")
}
