package format

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/matrix"
)

// Folder lends a codec that holds one matrix in one file a folder of such files: name plus ending each, all visible at
// once. Several matrices, or a path that ends in a slash, become a folder; one matrix becomes a file. Small files that
// belong to the matrices (Options.Files) lie beside them in the folder.
func Folder(c Codec) Codec { return folder{c} }

type folder struct{ Codec }

// members are the files of the codec's ending right below the path; none if the path is a file.
func (f folder) members(ctx context.Context, b blob.Bucket, p string) ([]string, error) {
	infos, err := b.List(ctx, p)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, i := range infos {
		if blob.Within(p, i.Name) && strings.EqualFold(blob.Ext(i.Name), f.Info().Ext) {
			files = append(files, i.Name)
		}
	}
	return files, nil
}

func (f folder) Sniff(ctx context.Context, b blob.Bucket, p string) (string, error) {
	files, err := f.members(ctx, b, p)
	if err != nil {
		return "", err
	}
	if len(files) == 0 {
		if infos, err := b.List(ctx, p); err != nil || len(infos) != 1 || infos[0].Name != p {
			return "", err
		}
		return f.Codec.Sniff(ctx, b, p)
	}
	dialect := ""
	for _, file := range files {
		if dialect, err = f.Codec.Sniff(ctx, b, file); err != nil || dialect == "" {
			return "", err
		}
	}
	return fmt.Sprintf("folder of %d: %s", len(files), dialect), nil
}

func (f folder) Open(ctx context.Context, b blob.Bucket, p string, o Options) (Reader, error) {
	files, err := f.members(ctx, b, p)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return f.Codec.Open(ctx, b, p, o)
	}
	r := &folderReader{}
	for _, file := range files {
		if err := r.add(ctx, f.Codec, b, file, o); err != nil {
			r.Close()
			return nil, Wrap(f.Info().Name, file, err)
		}
	}
	if r.files, r.foreign, r.notes, err = beside(ctx, b, p, f.Info().Ext); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// OpenTable implements TableOpener, if the codec does.
func (f folder) OpenTable(ctx context.Context, b blob.Bucket, p string, o Options) (Table, error) {
	return OpenTable(ctx, f.Codec, b, p, o)
}

// beside reads the files right below the path that hold no matrix and are not the sidecar of one. Foreign are those that are deeper or too
// long.
func beside(ctx context.Context, b blob.Bucket, p, ext string) (files map[string][]byte, foreign, notes []string, err error) {
	infos, err := b.List(ctx, p)
	for _, i := range infos {
		of, sidecar := strings.CutSuffix(i.Name, SidecarExt)
		if !blob.Within(p, i.Name) {
			rel, _ := blob.Rel(p, i.Name)
			foreign = append(foreign, rel)
			continue
		}
		if strings.EqualFold(blob.Ext(i.Name), ext) || sidecar && strings.EqualFold(blob.Ext(of), ext) {
			continue
		}
		name := blob.Base(i.Name)
		if why := TooLong(name, i.Size); why != "" {
			foreign = append(foreign, name)
			notes = append(notes, fmt.Sprintf("file %s left out: %s", i.Name, why))
			continue
		}
		data, err := blob.ReadAll(ctx, b, i.Name, FileLimit(name))
		if err != nil {
			return nil, nil, nil, err
		}
		if files == nil {
			files = map[string][]byte{}
		}
		files[name] = data
	}
	return files, foreign, notes, err
}

func (f folder) Explain(ctx context.Context, b blob.Bucket, p string, d *dump.Printer) error {
	files, err := f.members(ctx, b, p)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return f.Codec.Explain(ctx, b, p, d)
	}
	for _, file := range files {
		d.Head("file %s", file)
		if err := f.Codec.Explain(ctx, b, file, d); err != nil {
			return Wrap(f.Info().Name, file, err)
		}
	}
	return nil
}

func (f folder) Create(ctx context.Context, b blob.Bucket, p string, ms []matrix.Meta, o Options) (Writer, error) {
	if len(ms) == 1 && !strings.HasSuffix(p, "/") {
		return f.Codec.Create(ctx, b, p, ms, o)
	}
	if err := f.checkNames(ms, o.Files); err != nil {
		return nil, err
	}
	w := &folderWriter{stage: NewStage(b, strings.TrimSuffix(p, "/"), o.Stage), of: map[string]Writer{}, files: o.Files, info: f.Info()}
	o.Files = nil // they are the folder's, not the single file's
	for _, m := range ms {
		one, err := f.Codec.Create(ctx, b, w.file(m.Name), []matrix.Meta{m}, o)
		if err != nil {
			w.Abort(ctx)
			return nil, w.told(m.Name, err)
		}
		w.of[m.Name] = one
		w.order = append(w.order, m.Name)
	}
	return w, nil
}

// checkNames checks that every matrix and file can have a file of its own.
func (f folder) checkNames(ms []matrix.Meta, files map[string][]byte) error {
	if len(ms) == 0 {
		return fmt.Errorf("no matrix to write: %w", ErrMatrix)
	}
	seen := map[string]bool{}
	for _, m := range ms {
		if !PlainName(m.Name) {
			return fmt.Errorf("matrix name %q cannot be a file name", m.Name)
		}
		if seen[m.Name] {
			return fmt.Errorf("matrix name %q twice, want each once", m.Name)
		}
		seen[m.Name] = true
	}
	for name := range files {
		if !PlainName(name) || strings.EqualFold(blob.Ext(name), f.Info().Ext) {
			return fmt.Errorf("file %q cannot lie beside the matrices", name)
		}
	}
	return nil
}

// PlainName reports whether a name is one element of a path, and neither hidden nor temporary.
func PlainName(name string) bool {
	return name != "" && !strings.ContainsAny(name, "/\\\x00") && !strings.HasPrefix(name, ".") &&
		!strings.HasPrefix(name, "_tmp.")
}

type folderReader struct {
	ms    []matrix.Meta
	inner []string // names that the files' own readers use
	of    []Reader
	notes []string
	files map[string][]byte

	foreign []string // what is below the path and not part of the model
}

// add opens one file of the folder.
func (r *folderReader) add(ctx context.Context, c Codec, b blob.Bucket, file string, o Options) error {
	one, err := c.Open(ctx, b, file, o)
	if err != nil {
		return err
	}
	r.of = append(r.of, one)
	ms := one.Matrices()
	if len(ms) != 1 {
		return fmt.Errorf("%d matrices, want one in each file of a folder: %w", len(ms), ErrCorrupt)
	}
	m := ms[0]
	r.inner = append(r.inner, m.Name)
	m.Name, m.Unnamed = blob.Stem(file), false // the file keeps it
	for _, other := range r.ms {
		if other.Name == m.Name {
			return fmt.Errorf("a second file for matrix %q: %w", m.Name, ErrCorrupt)
		}
	}
	r.ms = append(r.ms, m)
	return nil
}

func (r *folderReader) Matrices() []matrix.Meta { return r.ms }

func (r *folderReader) Blocks(ctx context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	for i, m := range r.ms {
		if m.Name == name {
			return r.of[i].Blocks(ctx, r.inner[i], want)
		}
	}
	return func(yield func(matrix.Block, error) bool) {
		yield(matrix.Block{}, fmt.Errorf("matrix %q: %w", name, ErrMatrix))
	}
}

func (r *folderReader) Notes() []string {
	notes := slices.Clone(r.notes)
	for i, one := range r.of {
		for _, n := range one.Notes() {
			notes = append(notes, Named(r.ms[i].Name, n))
		}
	}
	return notes
}

func (r *folderReader) Files() map[string][]byte { return r.files }

// Foreign implements Enclosing.
func (r *folderReader) Foreign() []string { return r.foreign }

func (r *folderReader) Close() error {
	var first error
	for _, one := range r.of {
		if err := one.Close(); first == nil {
			first = err
		}
	}
	return first
}

// folderWriter writes each matrix through the codec into the stage and then publishes the stage.
type folderWriter struct {
	info  Info // of the codec
	stage *Stage
	order []string
	of    map[string]Writer
	files map[string][]byte
}

// file is where a matrix is written.
func (w *folderWriter) file(matrix string) string { return w.stage.Name(matrix + w.info.Ext) }

// told makes an error of a matrix speak of the file that was to become visible, not of the stage.
func (w *folderWriter) told(matrix string, err error) error {
	return w.stage.Final("", Wrap(w.info.Name, w.file(matrix), err))
}

// A folder's Part is the matrix name, a zero byte, and the Part of the codec.
func (w *folderWriter) Put(ctx context.Context, name string, b matrix.Block) (Part, error) {
	one, ok := w.of[name]
	if !ok {
		return nil, fmt.Errorf("matrix %q: %w", name, ErrMatrix)
	}
	p, err := one.Put(ctx, name, b)
	return append(append(Part(name), 0), p...), w.told(name, err)
}

func (w *folderWriter) Commit(ctx context.Context, parts []Part) error {
	of := map[string][]Part{}
	for _, p := range parts {
		name, rest, _ := strings.Cut(string(p), "\x00")
		if _, ok := w.of[name]; !ok {
			return fmt.Errorf("part of matrix %q: %w", name, ErrMatrix)
		}
		of[name] = append(of[name], Part(rest))
	}
	for _, name := range w.order {
		if err := w.of[name].Commit(ctx, of[name]); err != nil {
			return w.told(name, err)
		}
	}
	for name, data := range w.files {
		if err := blob.WriteAll(ctx, w.stage.Bucket, w.stage.Name(name), data); err != nil {
			return err
		}
	}
	return w.stage.Publish(ctx, "")
}

func (w *folderWriter) Abort(ctx context.Context) {
	for _, one := range w.of {
		one.Abort(ctx)
	}
	w.stage.Abort(ctx)
}
