package paddle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/program"
)

// Files that a model folder gets if nothing else is said.
const (
	topologyFile = "__model__"
	combinedFile = "__params__"
)

// release is the version in topologies that we make only to give names: 1.8.5, the last with files of these names.
const release = 1_008_005

// written is a variable of a folder as its topology has to describe it.
type written struct {
	program.Var
	rows int64 // of which so many are stored; below 0: all
}

// keepTopology decides about the topology of a folder with the variables, and gives the name of its combined file. The
// topology among the small files stays if its parameters are these variables. Where there is none, one is made that declares
// them, if they are combined or if other files lie beside theirs: a folder without topology holds nothing else.
func (w *bundle) keepTopology(ctx context.Context, vars []written, combined bool, o *format.Options) (params string, err error) {
	vars = slices.SortedFunc(slices.Values(vars), func(a, b written) int { return cmp.Compare(a.Name, b.Name) })
	for i := range vars[1:] {
		if vars[i].Name == vars[i+1].Name {
			return "", fmt.Errorf("matrix name %q twice, want each once", vars[i].Name)
		}
	}
	w.files = maps.Clone(w.files)
	topology, err := w.keptTopology(ctx, vars, o)
	if err != nil {
		return "", err
	}
	params = combinedOf(topology)
	for _, file := range slices.Sorted(maps.Keys(w.files)) {
		why := ""
		switch long := format.TooLong(file, int64(len(w.files[file]))); {
		case file == topology:
		case combined && file == params:
			why = "it has the name of the parameters"
		case long != "":
			why = long
		}
		if why == "" {
			continue
		}
		if err := o.Lose(format.Files, "", "file %s: %s", file, why); err != nil {
			return "", err
		}
		delete(w.files, file)
	}
	if topology == "" && (combined || len(w.files) > 0) {
		topology = topologyFile
		if err := w.declare(vars); err != nil {
			return "", err
		}
	}
	return params, w.readable(ctx, vars, topology, params, combined)
}

// keptTopology is the name of the topology that stays; "" if there is none. A topology of other parameters is a loss.
func (w *bundle) keptTopology(ctx context.Context, vars []written, o *format.Options) (string, error) {
	m, err := w.load(ctx, nil)
	several := (*program.SeveralError)(nil)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &several):
		err = o.Lose(format.Files, "", "%d topologies, of which the folder of a model can have one", len(several.Files))
	case err == nil:
		topology := blob.Base(m.Path)
		what := otherParams(m.Program.Params(), vars)
		if what == "" {
			return topology, nil
		}
		err = o.Lose(format.Files, "", "the topology %s, which %s", topology, what)
	case w.files[topologyFile] == nil && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, format.ErrUnknown)):
		return "", nil
	default:
		err = o.Lose(format.Files, "", "the topology: %v", err)
	}
	for file := range w.files {
		if file == topologyFile || blob.Ext(file) == ".pdmodel" || program.Sniff(w.files[file]) != "" {
			delete(w.files, file)
		}
	}
	return "", err
}

// combinedOf is the combined file beside a topology, as Paddle names it.
func combinedOf(topology string) string {
	if ext := blob.Ext(topology); ext != "" {
		return strings.TrimSuffix(topology, ext) + ".pdiparams"
	}
	return combinedFile
}

// otherParams says in what the parameters of a topology are not the variables to write; "" in nothing. Both are sorted.
func otherParams(said []program.Var, vars []written) string {
	if len(said) != len(vars) {
		return fmt.Sprintf("has %d parameters, not the %d matrices to write", len(said), len(vars))
	}
	for i := range said {
		s, v := &said[i], &vars[i]
		if s.Name != v.Name {
			return fmt.Sprintf("has a parameter %q and no %q", s.Name, v.Name)
		}
		if rows := program.VarType_SELECTED_ROWS; s.Typed && s.Kind != v.Kind && (s.Kind == rows || v.Kind == rows) {
			return fmt.Sprintf("says that parameter %q is of kind %v, not %v", s.Name, s.Kind, v.Kind)
		}
		if what := misfit(s, int64(v.Elem), v.Dims, v.rows); what != "" {
			return fmt.Sprintf("says other things of parameter %q: it has %s", s.Name, what)
		}
	}
	return ""
}

// declare adds a topology that says of the variables that they are parameters, and does nothing.
func (w *bundle) declare(vars []written) error {
	all := make([]program.Var, len(vars))
	for i := range vars {
		all[i] = vars[i].Var
	}
	p, err := program.Declare(all, release)
	if err != nil {
		return err
	}
	data, err := p.Encode()
	if err != nil {
		return err
	}
	if w.files == nil {
		w.files = map[string][]byte{}
	}
	w.files[topologyFile] = data
	return nil
}

// load finds the topology of a folder of the small files and of empty files of these names, as a reader does.
func (w *bundle) load(ctx context.Context, empty []string) (*program.Model, error) {
	const dir = "model"
	b := &blob.Mem{}
	for file, data := range w.files {
		if err := blob.WriteAll(ctx, b, blob.Join(dir, file), data); err != nil {
			return nil, err
		}
	}
	for _, file := range empty {
		if err := blob.WriteAll(ctx, b, blob.Join(dir, file), nil); err != nil {
			return nil, err
		}
	}
	return program.Load(ctx, b, dir)
}

// readable checks that a reader of the folder will find topology and parameters where they are.
func (w *bundle) readable(ctx context.Context, vars []written, topology, params string, combined bool) error {
	files := []string{params}
	if !combined {
		files = files[:0]
		for _, v := range vars {
			files = append(files, v.Name)
		}
	}
	m, err := w.load(ctx, files)
	switch {
	case topology == "" && errors.Is(err, format.ErrUnknown):
		return nil
	case err != nil:
		return fmt.Errorf("the folder could not be read: %w", err)
	case topology == "" || blob.Base(m.Path) != topology || combined != (m.Params != "") || combined && blob.Base(m.Params) != params:
		return fmt.Errorf("the folder could not be read: %s and %s would be its topology and parameters, want %s and %s",
			blob.Base(m.Path), blob.Base(m.Params), topology, params)
	}
	return nil
}
