package paddle

import (
	"context"
	"errors"
	"fmt"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/pack"
	"thole.example/program"
)

// sniffModel says what a folder holds: a topology of a known name and its parameters, or nothing but streams.
func sniffModel(ctx context.Context, b blob.Bucket, dir string) (string, error) {
	m, err := program.Load(ctx, b, dir)
	if several := (*program.SeveralError)(nil); errors.As(err, &several) {
		return fmt.Sprintf("%d models", len(several.Files)), nil // Open says how to name one
	}
	if err != nil {
		return sniffFiles(ctx, b, dir)
	}
	l, err := listModel(ctx, b, m)
	if err != nil {
		return "", nil // Open says what is wrong
	}
	return modelDialect(m, l), nil
}

func modelDialect(m *program.Model, l *listing) string {
	how := "a file for each variable"
	if m.Params != "" {
		how = "combined in " + blob.Base(m.Params)
	}
	return fmt.Sprintf("model folder: %s, %s; %s, %s", m.Program.Form, m.Program.VersionText(), streamsDialect(l), how)
}

// sniffFiles is for folders without a topology.
func sniffFiles(ctx context.Context, b blob.Bucket, dir string) (string, error) {
	l, err := listFiles(ctx, b, dir)
	if err != nil || len(l.tensors) == 0 {
		return "", nil
	}
	return "folder without topology: " + streamsDialect(l), nil
}

// OpenParams opens the parameters of a model, by the names of its topology. Their shapes and types must be those that it
// says. Errors are as those of Codec.Open.
func OpenParams(ctx context.Context, b blob.Bucket, m *program.Model) (format.Reader, error) {
	l, err := listModel(ctx, b, m)
	if err == nil {
		err = l.refused
	}
	if err != nil {
		return nil, format.Wrap(name, m.Path, err)
	}
	r := modelReader{listReader: &listReader{l: l, path: m.Path}}
	if r.packed, err = readPacked(ctx, b, blob.Parent(m.Path), m); err != nil {
		return nil, err
	}
	if r.packed != nil {
		l.notes = append(l.notes, r.packed.notes()...)
	}
	return r, nil
}

// openModel opens a folder.
func openModel(ctx context.Context, b blob.Bucket, dir string) (format.Reader, error) {
	var l *listing
	dialect := ""
	m, err := program.Load(ctx, b, dir)
	if err == nil {
		if l, err = listModel(ctx, b, m); err == nil {
			dialect = modelDialect(m, l)
		}
	} else if errors.Is(err, format.ErrUnknown) {
		files, wrong := listFiles(ctx, b, dir)
		if wrong == nil {
			l, dialect = files, "folder without topology: "+streamsDialect(files)
		}
		if !errors.Is(wrong, format.ErrUnknown) {
			err = wrong
		}
	}
	if err == nil {
		err = l.refused
	}
	if err != nil {
		return nil, err
	}
	l.notes = append([]string{dialect}, l.notes...)
	r := modelReader{listReader: &listReader{l: l, path: dir}, files: map[string][]byte{}}
	if r.packed, err = readPacked(ctx, b, dir, m); err != nil {
		return nil, err
	}
	if r.packed != nil {
		l.notes = append(l.notes, r.packed.notes()...)
	}
	return r, r.beside(ctx, b, dir, m)
}

// listModel walks over the parameters of a model.
func listModel(ctx context.Context, b blob.Bucket, m *program.Model) (*listing, error) {
	vars := params(m.Program)
	switch {
	case m.Params != "":
		l, err := listCombined(ctx, b, m.Params, vars)
		return l, format.Wrap(name, m.Params, err)
	case m.Of == nil && len(vars) > 0:
		return nil, fmt.Errorf("%d variables of %s, but neither a file for each nor a combined one beside it: %w",
			len(vars), m.Path, format.ErrCorrupt)
	}
	all := &listing{scan: &scan{}, named: map[string]int{}}
	for i := range vars {
		if err := all.join(ctx, b, m.Of[vars[i].Name], vars[i].Name, &vars[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// listCombined walks over a combined file.
func listCombined(ctx context.Context, b blob.Bucket, file string, vars []program.Var) (*listing, error) {
	obj, err := newReopening(ctx, b, file)
	if err != nil {
		return nil, err
	}
	defer obj.release()
	l := newListing(obj, file, nil)
	walkStreams(l, vars)
	return l, l.scan.err
}

// modelReader reads tensors that lie in several files.
type modelReader struct {
	*listReader
	files  map[string][]byte
	packed *packed // nil: no manifest
}

// Verify implements format.Verifier.
func (r modelReader) Verify(ctx context.Context) ([]string, error) {
	if r.packed == nil {
		return nil, nil
	}
	return r.packed.verify(ctx)
}

// Close implements format.Reader.
func (modelReader) Close() error { return nil }

// Files implements format.Reader.
func (r modelReader) Files() map[string][]byte { return r.files }

// beside keeps the small files of the folder that hold no parameters, the topology among them.
func (r modelReader) beside(ctx context.Context, b blob.Bucket, dir string, m *program.Model) error {
	infos, err := b.List(ctx, dir)
	if err != nil || m == nil {
		return err
	}
	if !m.Program.Declares() { // which says no more than the matrices
		r.files[blob.Base(m.Path)] = m.Data
	}
	held := map[string]bool{m.Path: true, m.Params: true}
	for _, file := range m.Of {
		held[file] = true
	}
	for _, i := range infos {
		if r.packed != nil && blob.Base(i.Name) == pack.Name {
			continue // it is of these files, and of no copy in another form
		}
		if held[i.Name] || !blob.Within(dir, i.Name) {
			continue
		}
		if why := format.TooLong(blob.Base(i.Name), i.Size); why != "" {
			r.l.note("file %s left out: %s", i.Name, why)
			continue
		}
		data, err := blob.ReadAll(ctx, b, i.Name, format.FileLimit(blob.Base(i.Name)))
		if err != nil {
			return err
		}
		r.files[blob.Base(i.Name)] = data
	}
	return nil
}
