package pack

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"thole.example/blob"
	"thole.example/format"
)

// Verify compares the files of a packed folder, or of a file that Inside shows as one, with the manifest: that all are
// there and no other, their sizes, and their SHA-256. Files that cannot be read because they are damaged are problems, too. problems are
// what is wrong, one each; err is what kept it from looking. dir is the folder.
func (m *Manifest) Verify(ctx context.Context, b blob.Bucket, dir string) (problems []string, err error) {
	infos, err := b.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for _, i := range infos {
		sizes[strings.TrimPrefix(i.Name, dir+"/")] = i.Size
	}
	wrong := func(text string, args ...any) { problems = append(problems, fmt.Sprintf(text, args...)) }
	var from []Source
	var files []File
	for _, f := range m.Files {
		size, ok := sizes[f.Name]
		delete(sizes, f.Name)
		switch {
		case !ok:
			wrong("file %s of the manifest is missing", f.Name)
		case size != f.Size:
			wrong("file %s has %d bytes, want %d, as the manifest says", f.Name, size, f.Size)
		default:
			from, files = append(from, Source{f.Name, blob.Join(dir, f.Name)}), append(files, f)
		}
	}
	delete(sizes, Name)
	for _, i := range infos {
		name := strings.TrimPrefix(i.Name, dir+"/")
		if _, left := sizes[name]; left {
			wrong("file %s is not in the manifest", name)
		}
	}
	i := 0
	for one, err := range format.Ahead(tolerant(hashes(ctx, b, from))) {
		switch {
		case err != nil:
			return problems, err
		case one.damage != nil:
			wrong("file %s: %v", files[i].Name, one.damage)
			i++
			continue
		}
		if one.file.SHA256 != files[i].SHA256 {
			wrong("file %s has the SHA-256 %s, want %s, as the manifest says", files[i].Name, one.file.SHA256, files[i].SHA256)
		}
		if at, ok := b.(*inside); ok && one.crc != at.sumOf(files[i].Name) {
			wrong("file %s has the CRC32 %08x, want %08x, as the archive says", files[i].Name, one.crc, at.sumOf(files[i].Name))
		}
		i++
	}
	return problems, nil
}

// tolerant makes damage of a file, such as compressed data that cannot be expanded, a result, so that the other files are verified too.
func tolerant(jobs iter.Seq[func() (hashed, error)]) iter.Seq[func() (hashed, error)] {
	return func(yield func(func() (hashed, error)) bool) {
		for job := range jobs {
			if !yield(func() (hashed, error) {
				one, err := job()
				if errors.Is(err, format.ErrCorrupt) {
					one.damage, err = err, nil
				}
				return one, err
			}) {
				return
			}
		}
	}
}

// sumOf is the CRC32 that the archive has of a file.
func (b *inside) sumOf(name string) uint32 {
	for i := range b.all {
		if b.all[i].Name == name {
			return b.all[i].Sum
		}
	}
	return 0
}

// Unpack writes a packed model as a packed folder: all files, each compared with the manifest, and the manifest itself.
// The folder becomes visible whole or not at all, and only where over is what lies there. b is what Inside gave for the path from.
func Unpack(ctx context.Context, b blob.Bucket, from string, to blob.Bucket, dir string, over blob.State) (*Manifest, error) {
	m, err := Read(ctx, b, from)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, fmt.Errorf("nothing packed, no %s, want what thole pack made: %w", Name, format.ErrUnknown)
	}
	problems, err := m.Verify(ctx, b, from)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s: %s: %w", from, strings.Join(problems, "; "), format.ErrCorrupt)
	}
	var files []Source
	for _, f := range m.Files {
		files = append(files, Source{f.Name, blob.Join(from, f.Name)})
	}
	data, err := blob.ReadAll(ctx, b, blob.Join(from, Name), maxManifest)
	if err != nil {
		return nil, err
	}
	w := writer{ctx, b, files, m, data, nil, over}
	return m, w.folder(to, dir)
}
