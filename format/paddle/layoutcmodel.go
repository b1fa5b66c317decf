package paddle

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"strings"

	"thole/blob"
	"thole/format"
	"thole/internal/wire"
	"thole/matrix"
	"thole/program"
)

// maxFile is the largest file beside parameters that is kept with them, in bytes.
const maxFile = 16 << 20

// sniffModel says what a folder holds: a topology of a known name and its parameters, or nothing but streams.
func sniffModel(ctx context.Context, b blob.Bucket, dir string) (string, error) {
	m, err := program.Load(ctx, b, dir)
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
		how = "combined in " + path.Base(m.Params)
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
	return modelReader{&listReader{l: l, path: m.Path}, nil}, nil
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
	r := modelReader{&listReader{l: l, path: dir}, map[string][]byte{}}
	return r, r.beside(ctx, b, dir, m)
}

// listModel walks over the parameters of a model.
func listModel(ctx context.Context, b blob.Bucket, m *program.Model) (*listing, error) {
	vars := params(m.Program)
	switch {
	case m.Params != "":
		l, err := listLazy(ctx, b, m.Params, vars)
		return l, format.Wrap(name, m.Params, err)
	case m.Of == nil && len(vars) > 0:
		return nil, fmt.Errorf("%d variables of %s, but neither a file for each nor a combined one beside it: %w",
			len(vars), m.Path, format.ErrCorrupt)
	}
	all := &listing{scan: &scan{}, named: map[string]int{}}
	for i := range vars {
		if err := all.join(ctx, b, m.Of[vars[i].Name], vars[i:i+1]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// listFiles walks over a folder of which every file is one stream.
func listFiles(ctx context.Context, b blob.Bucket, dir string) (*listing, error) {
	infos, err := b.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	all := &listing{scan: &scan{}, named: map[string]int{}}
	for _, i := range infos { // some, or there were no folder
		if !(streams{}).Looks(ctx, b, i.Name) {
			return nil, fmt.Errorf("%s: %w", i.Name, format.ErrUnknown)
		}
		one := program.Var{Name: strings.TrimPrefix(i.Name, dir+"/")}
		if err := all.join(ctx, b, i.Name, []program.Var{one}); err != nil {
			return all, err
		}
	}
	return all, nil
}

// join adds what another file holds.
func (l *listing) join(ctx context.Context, b blob.Bucket, file string, vars []program.Var) error {
	one, err := listLazy(ctx, b, file, vars)
	if err != nil {
		return format.Wrap(name, file, err)
	}
	if l.refused == nil {
		l.refused = one.refused
	}
	for _, t := range one.tensors {
		l.named[t.meta.Name] = len(l.tensors)
		l.tensors = append(l.tensors, t)
	}
	return nil
}

// listLazy walks over a file of streams that is opened again whenever values are read: a model may have more files than
// a process may hold open.
func listLazy(ctx context.Context, b blob.Bucket, file string, vars []program.Var) (*listing, error) {
	obj, err := b.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer obj.Close()
	l := &listing{scan: &scan{r: obj, size: obj.Size(), order: wire.Little}, named: map[string]int{}, file: path.Base(file)}
	for _, r := range walkStreams(l, vars) {
		slab := r.slab(l.scan)
		if i, ok := l.named[r.name]; ok {
			l.tensors[i].blocks = func(ctx context.Context, want matrix.Rect) iter.Seq2[matrix.Block, error] {
				return lazyBlocks(ctx, b, file, slab, want)
			}
			l.tensors[i].view = func(ctx context.Context, look func(matrix.Block) error) (bool, error) {
				obj, err := b.Open(ctx, file)
				if err != nil {
					return false, err
				}
				defer obj.Close()
				return viewSlab(obj, slab)(ctx, look)
			}
		}
	}
	return l, l.scan.err
}

// lazyBlocks opens the file for the time of the walk.
func lazyBlocks(ctx context.Context, b blob.Bucket, file string, slab tensorSlab, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		obj, err := b.Open(ctx, file)
		if err != nil {
			yield(matrix.Block{}, format.Wrap(name, file, err))
			return
		}
		defer obj.Close()
		for blk, err := range slab.Blocks(ctx, obj, want) {
			if !yield(blk, format.Wrap(name, file, err)) {
				return
			}
		}
	}
}

// modelReader reads tensors that lie in several files.
type modelReader struct {
	*listReader
	files map[string][]byte
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
	held := map[string]bool{m.Params: true}
	for _, file := range m.Of {
		held[file] = true
	}
	for _, i := range infos {
		if held[i.Name] || path.Dir(i.Name) != dir || i.Size > maxFile {
			continue
		}
		data, err := blob.ReadAll(ctx, b, i.Name, maxFile)
		if err != nil {
			return err
		}
		r.files[path.Base(i.Name)] = data
	}
	return nil
}
