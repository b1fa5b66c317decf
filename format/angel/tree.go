package angel

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"thole/blob"
	"thole/format"
	"thole/internal/wire"
)

// Limits of the small files that lie beside the matrices.
const (
	maxFile  = 1 << 20
	maxFiles = 16 << 20
)

// tree is what lies at a path, sorted into matrix folders and other files.
type tree struct {
	path   string
	dirs   []dir
	files  []blob.Info // right below the path and of no matrix
	others int         // deeper files of no matrix
}

// dir is the folder of a matrix.
type dir struct {
	name  string // below the path; "" if the path is the folder
	path  string
	meta  string // name of the metadata file: _meta, meta or psmeta
	sizes map[string]int64
}

// metaNames are the names that a metadata file can have; the first found counts.
var metaNames = []string{"_meta", "meta", "psmeta"}

// list sorts the files at the path. Side files of file systems and unfinished saves are left out.
func list(ctx context.Context, b blob.Bucket, root string) (*tree, error) {
	infos, err := b.List(ctx, root)
	if err != nil {
		return nil, err
	}
	t := &tree{path: root}
	of := map[string]*dir{}
	var rest []blob.Info
	for _, i := range infos {
		rel := strings.TrimPrefix(i.Name, root+"/")
		if i.Name == root || hidden(rel) {
			continue
		}
		rest = append(rest, i)
		folder, file := path.Split(rel)
		if slices.Contains(metaNames, file) {
			of[folder] = &dir{name: strings.TrimSuffix(folder, "/"), path: path.Join(root, folder), sizes: map[string]int64{}}
		}
	}
	for _, i := range rest {
		folder, file := path.Split(strings.TrimPrefix(i.Name, root+"/"))
		switch d := of[folder]; {
		case d != nil:
			d.sizes[file] = i.Size
		case folder == "":
			t.files = append(t.files, i)
		default:
			t.others++
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(of)) {
		d := of[folder]
		for _, n := range slices.Backward(metaNames) {
			if _, ok := d.sizes[n]; ok {
				d.meta = n
			}
		}
		t.dirs = append(t.dirs, *d)
	}
	return t, nil
}

// hidden tells whether a name is of no interest: side files (.0.crc), files and folders that are being written.
func hidden(rel string) bool {
	for _, e := range strings.Split(rel, "/") {
		if strings.HasPrefix(e, ".") || strings.HasPrefix(e, "_tmp.") || strings.HasPrefix(e, "_final.") {
			return true
		}
	}
	return false
}

// sniff says what the first metadata file shows.
func (t *tree) sniff(ctx context.Context, b blob.Bucket) (string, error) {
	if len(t.dirs) == 0 {
		return "", nil
	}
	d := &t.dirs[0]
	version := map[string]string{"_meta": "Angel 3.2 or later", "meta": "Angel 2.0 to 3.1"}[d.meta]
	o, err := b.Open(ctx, path.Join(d.path, d.meta))
	if err != nil {
		return "", err
	}
	defer o.Close()
	head := make([]byte, min(o.Size(), 4096))
	if err := wire.ReadAt(o, head, 0); err != nil {
		return "", err
	}
	object := func(at int) bool { return len(head) > at && head[at] == '{' } // a byte of the length before it may be one too
	switch {
	case d.meta == "psmeta" && d.numbered():
		version = "snapshot without metadata file"
	case (object(0) || object(4)) && bytes.Contains(head, []byte(`"formatClassName"`)):
	case d.meta == "meta" && d.legacy():
		version = "Angel 1.x"
	default:
		return "", nil
	}
	return fmt.Sprintf("%s, %d matrices", version, len(t.dirs)), nil
}

// legacy tells whether the data files have the names of Angel 1.x.
func (d *dir) legacy() bool {
	for n := range d.sizes {
		if strings.HasPrefix(n, "ParameterServer_") {
			return true
		}
	}
	return false
}

// numbered tells whether there is a data file named by a partition.
func (d *dir) numbered() bool {
	for n := range d.sizes {
		if _, w := parseInt32([]byte(n)); w == len(n) {
			return true
		}
	}
	return false
}

// extras reads the small files right below the path.
func (t *tree) extras(ctx context.Context, b blob.Bucket) (files map[string][]byte, notes []string, err error) {
	total := int64(0)
	for _, i := range t.files {
		base := path.Base(i.Name)
		if i.Size > maxFile || total+i.Size > maxFiles {
			notes = append(notes, fmt.Sprintf("%s: %d bytes, not taken as a file beside the matrices", base, i.Size))
			continue
		}
		total += i.Size
		data, err := blob.ReadAll(ctx, b, i.Name, maxFile)
		if err != nil {
			return nil, nil, err
		}
		if files == nil {
			files = map[string][]byte{}
		}
		files[base] = data
	}
	if t.others > 0 {
		notes = append(notes, fmt.Sprintf("%d files in folders without metadata", t.others))
	}
	return files, notes, nil
}

// readMeta reads the metadata file of the folder.
func (d *dir) readMeta(ctx context.Context, b blob.Bucket) (*matrixMeta, error) {
	file := path.Join(d.path, d.meta)
	switch {
	case d.meta == "psmeta":
		return nil, &format.Error{Codec: name, Path: file, Off: -1, Err: fmt.Errorf("snapshot without metadata file: %w", format.ErrVersion)}
	case d.sizes[d.meta] > maxMeta:
		return nil, &format.Error{Codec: name, Path: file, Off: -1,
			Err: fmt.Errorf("%d bytes of metadata, want at most %d: %w", d.sizes[d.meta], int64(maxMeta), format.ErrLimit)}
	}
	data, err := blob.ReadAll(ctx, b, file, maxMeta)
	if err != nil {
		return nil, err
	}
	m, err := parseMeta(data)
	if err != nil && d.legacy() {
		err = fmt.Errorf("model of Angel 1.x: %w", format.ErrVersion)
	}
	return m, format.Wrap(name, file, err)
}

// open reads the metadata of every matrix at the path.
func open(ctx context.Context, b blob.Bucket, root string, o *format.Options) (*reader, error) {
	t, err := list(ctx, b, root)
	if err != nil {
		return nil, err
	}
	if len(t.dirs) == 0 {
		if len(t.files) == 0 && t.others == 0 {
			return nil, fmt.Errorf("%w: %w", errNoMatrix, fs.ErrNotExist)
		}
		return nil, fmt.Errorf("%w: %w", errNoMatrix, format.ErrUnknown)
	}
	r := &reader{bucket: b}
	if t.dirs[0].name == "" && len(t.dirs) == 1 {
		t.files = nil
	}
	if r.files, r.notes, err = t.extras(ctx, b); err != nil {
		return nil, err
	}
	for i := range t.dirs {
		s, err := openMatrix(ctx, b, &t.dirs[i], o)
		if err != nil {
			return nil, err
		}
		r.stored = append(r.stored, s)
		r.metas = append(r.metas, s.meta)
		for _, n := range s.notes {
			r.notes = append(r.notes, s.meta.Name+": "+n)
		}
	}
	return r, nil
}
