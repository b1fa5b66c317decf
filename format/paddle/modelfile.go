package paddle

import (
	"context"
	"errors"
	"fmt"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/program"
)

// modelFile is the profile of a topology file (X.pdmodel, X.json, __model__) that has its parameters beside it: the same
// matrices as its folder.
type modelFile struct{}

// maxDamaged is the size up to which a damaged topology is explained.
const maxDamaged = 16 << 20

// Name implements profile.
func (modelFile) Name() string { return "model" }

// topology loads the file at the path; program.ErrUnknown and the like for what is none.
func (modelFile) topology(ctx context.Context, b blob.Bucket, file string) (*program.Model, error) {
	infos, err := b.List(ctx, file)
	if err != nil || len(infos) != 1 || infos[0].Name != file {
		return nil, fmt.Errorf("%s: no file: %w", file, format.ErrUnknown)
	}
	return program.Load(ctx, b, file)
}

// Looks implements profile.
func (p modelFile) Looks(ctx context.Context, b blob.Bucket, file string) bool {
	_, err := p.topology(ctx, b, file)
	return err == nil || errors.Is(err, format.ErrCorrupt) || errors.Is(err, format.ErrLimit)
}

// Sniff implements profile.
func (p modelFile) Sniff(ctx context.Context, b blob.Bucket, file string) (string, error) {
	m, err := p.topology(ctx, b, file)
	if err != nil {
		return "", nil // Open says what is wrong
	}
	l, err := listModel(ctx, b, m)
	if err != nil {
		return "", nil
	}
	return modelDialect(m, l), nil
}

// Open implements profile.
func (p modelFile) Open(ctx context.Context, b blob.Bucket, file string, _ format.Options) (format.Reader, error) {
	m, err := p.topology(ctx, b, file)
	if err != nil {
		return nil, err
	}
	l, err := listModel(ctx, b, m)
	if err == nil {
		err = l.refused
	}
	if err != nil {
		return nil, err
	}
	l.notes = append([]string{modelDialect(m, l)}, l.notes...)
	base := blob.Base(m.Path)
	if ext := blob.Ext(base); ext != ".pdmodel" && ext != ".json" {
		base = topologyFile // by which a folder's topology is found
	}
	files := map[string][]byte{base: m.Data}
	return modelReader{listReader: &listReader{l: l, path: file}, files: files}, nil
}

// Explain implements profile: the topology field by field, and the parameters. A damaged topology is printed as far as it
// makes sense.
func (p modelFile) Explain(ctx context.Context, b blob.Bucket, file string, out *dump.Printer) error {
	m, err := p.topology(ctx, b, file)
	if err != nil {
		if data, unread := blob.ReadAll(ctx, b, file, maxDamaged); unread == nil {
			_ = program.Explain(data, out) // err says what is wrong
		}
		return err
	}
	out.Head("file %s: topology, %s, %s", file, m.Program.Form, m.Program.VersionText())
	if err := program.Explain(m.Data, out); err != nil {
		return err
	}
	files := []string{m.Params}
	if m.Params == "" {
		files = nil
		for _, v := range m.Program.Params() {
			files = append(files, m.Of[v.Name])
		}
	}
	for _, one := range files {
		out.Head("file %s", one)
		if err := explainFile(ctx, b, one, true, out); err != nil {
			return format.Wrap(name, one, err)
		}
	}
	return out.Err()
}

// explainTopology prints a file of a folder if it is a topology.
func explainTopology(ctx context.Context, b blob.Bucket, file string, out *dump.Printer) error {
	m, err := program.Load(ctx, b, file)
	if errors.Is(err, format.ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	out.Head("file %s: topology, %s, %s", file, m.Program.Form, m.Program.VersionText())
	return program.Explain(m.Data, out)
}

// Create implements profile.
func (modelFile) Create(context.Context, blob.Bucket, string, []matrix.Meta, format.Options) (format.Writer, error) {
	return nil, fmt.Errorf("layout model is only read, combined writes such a one: %w", format.ErrOption)
}
