package angel

import (
	"context"
	"fmt"
	"io/fs"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/wire"
)

// readMeta reads the metadata of the folder, or makes them up from the data.
func (c codec) readMeta(ctx context.Context, b blob.Bucket, d *dir, o *format.Options) (*matrixMeta, error) {
	switch {
	case d.meta == "":
		return c.guess(ctx, b, d, o)
	case len(d.metas) > 0:
		return c.readServers(ctx, b, d, o)
	}
	file := blob.Join(d.path, d.meta)
	if d.meta == "psmeta" {
		data, err := readLimited(ctx, b, file)
		if err != nil {
			return nil, err
		}
		m, err := parsePSMeta(data)
		if err == nil {
			err = c.guessServer(ctx, b, d, m, o)
		}
		return m, format.Wrap(name, file, err)
	}
	m, err := d.readJSON(ctx, b, file, o.Set[optChecksum] != "off")
	if err == nil {
		if g := c.guessNodes(ctx, b, d, m, o); g != nil {
			return g, nil
		}
	}
	return m, format.Wrap(name, file, err)
}

// readJSON reads metadata a window at a time, or those of 1.x.
func (d *dir) readJSON(ctx context.Context, b blob.Bucket, file string, sums bool) (*matrixMeta, error) {
	o, err := b.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	head := make([]byte, min(o.Size(), 5))
	if err := wire.ReadAt(o, head, 0); err != nil {
		return nil, err
	}
	base, end, err := frame(head, o.Size())
	if err != nil && d.meta == "meta" && d.legacy() {
		data, err := readLimited(ctx, b, file)
		if err != nil {
			return nil, err
		}
		return parseLegacy(data)
	}
	if err != nil {
		return nil, err
	}
	return scanMeta(&scanner{r: o, base: base, end: end}, sums)
}

func readLimited(ctx context.Context, b blob.Bucket, file string) ([]byte, error) {
	obj, err := b.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	size := obj.Size()
	obj.Close()
	if size > maxWhole {
		return nil, &format.Error{Codec: name, Path: file, Off: -1,
			Err: fmt.Errorf("%d bytes of metadata, want at most %d: %w", size, int64(maxWhole), format.ErrLimit)}
	}
	return blob.ReadAll(ctx, b, file, maxWhole)
}

// readServers puts together what the parameter servers of one job say of a matrix.
func (c codec) readServers(ctx context.Context, b blob.Bucket, d *dir, o *format.Options) (*matrixMeta, error) {
	var all *matrixMeta
	for _, file := range d.metas {
		data, err := readLimited(ctx, b, blob.Join(d.path, file))
		if err != nil {
			return nil, err
		}
		m, err := parsePSMeta(data)
		if err != nil {
			return nil, format.Wrap(name, blob.Join(d.path, file), err)
		}
		for i := range m.parts {
			m.parts[i].file = blob.Join(blob.Parent(file), m.parts[i].file)
		}
		if all == nil {
			all = m
			continue
		}
		all.parts = append(all.parts, m.parts...)
		all.rows = max(all.rows, m.rows)
	}
	err := c.guessServer(ctx, b, d, all, o)
	return all, format.Wrap(name, blob.Join(d.path, d.meta), err)
}

// open reads the metadata of every matrix at the path.
func (c codec) open(ctx context.Context, b blob.Bucket, root string, o *format.Options) (*reader, error) {
	t, err := list(ctx, b, root)
	if err != nil {
		return nil, err
	}
	if t.single != nil {
		t.dirs = []dir{*t.single}
	}
	if len(t.dirs) == 0 {
		if len(t.files) == 0 && len(t.others) == 0 {
			return nil, fmt.Errorf("%w: %w", errNoMatrix, fs.ErrNotExist)
		}
		return nil, fmt.Errorf("%w: %w", errNoMatrix, format.ErrUnknown)
	}
	r := &reader{bucket: b, foreign: t.foreign()}
	if t.dirs[0].name == "" && len(t.dirs) == 1 {
		t.files = nil
	}
	if r.files, r.notes, err = t.extras(ctx, b); err != nil {
		return nil, err
	}
	for i := range t.dirs {
		s, err := c.openMatrix(ctx, b, &t.dirs[i], o)
		if err != nil {
			return nil, err
		}
		r.stored = append(r.stored, s)
		r.metas = append(r.metas, s.meta)
		r.notes = append(r.notes, s.describeAll()...)
	}
	r.orphan = t.orphans()
	for _, o := range r.orphan {
		r.notes = append(r.notes, format.Warning(o+": data files without metadata, left out"))
	}
	r.notes = append(r.notes, t.unused(o)...)
	return r, nil
}

// unused says which options for data without metadata were given for nothing: all matrices have metadata.
func (t *tree) unused(o *format.Options) (notes []string) {
	for i := range t.dirs {
		if d := &t.dirs[i]; d.meta == "" || d.meta == "psmeta" || len(d.metas) > 0 {
			return nil
		}
	}
	for _, opt := range []string{optFormat, optRowType, optKeyWidth, optRows, optCols} {
		if o.Set[opt] != "" {
			notes = append(notes, format.Warning("option "+opt+" had no use: when reading, it is for data without metadata"))
		}
	}
	return notes
}
