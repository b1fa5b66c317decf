package program

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"thole.example/blob"
	"thole.example/format"
)

// The names that Paddle's releases give the files of a model.
const (
	descName     = "__model__"  // topology, beside separate parameters or combined ones
	combinedName = "__params__" // combined parameters beside it
	descExt      = ".pdmodel"   // topology X.pdmodel
	pirExt       = ".json"      // topology X.json
	combinedExt  = ".pdiparams" // combined parameters X.pdiparams
	folderMany   = 8            // names of candidates shown in an error
)

// SeveralError says that a folder holds several topologies.
type SeveralError struct{ Files []string }

// Error implements error. It shows the paths under which the models are found.
func (e *SeveralError) Error() string {
	var paths []string
	for _, file := range e.Files[:min(len(e.Files), folderMany)] {
		paths = append(paths, strings.TrimSuffix(file, blob.Ext(file)))
	}
	text := fmt.Sprintf("%d models in one folder, want the path of one: %s", len(e.Files), strings.Join(paths, ", "))
	if n := len(e.Files) - len(paths); n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// Model is a topology and the place of its parameters.
type Model struct {
	Program *Program
	// Path is the file of the topology.
	Path string
	// Params is the combined parameter file; "" if there is none, and parameters lie in files of their own, or nowhere.
	Params string
	// Of are the files of parameters that lie in files of their own, by the name of the variable; nil otherwise.
	Of map[string]string
	// Data are the bytes of the topology. They must not be changed.
	Data []byte
}

// Load finds the topology of a path and where its parameters are. The path is the topology itself, a folder with one
// (__model__, X.pdmodel, X.json), or X where there is X.pdmodel or X.json. Nothing that looks like a topology is an error
// that wraps fs.ErrNotExist or format.ErrUnknown; a damaged one wraps format.ErrCorrupt; several in a folder are a
// *SeveralError.
func Load(ctx context.Context, b blob.Bucket, p string) (*Model, error) {
	file, err := topologyOf(ctx, b, p)
	if err != nil {
		return nil, err
	}
	return open(ctx, b, file)
}

// Beside finds the model whose combined parameters the file is: the topology X.pdmodel or X.json for X.pdiparams, else
// the topology of its folder. It is nil if there is none.
func Beside(ctx context.Context, b blob.Bucket, params string) (*Model, error) {
	stem := strings.TrimSuffix(params, blob.Ext(params))
	candidates := []string{stem + descExt, stem + pirExt, blob.Join(blob.Parent(params), descName)}
	for _, file := range candidates {
		if file == params {
			continue
		}
		if there, err := isFile(ctx, b, file); err != nil {
			return nil, err
		} else if !there {
			continue
		}
		if form, err := sniffFile(ctx, b, file); err != nil {
			return nil, err
		} else if form == "" {
			continue
		}
		m, err := open(ctx, b, file)
		if err != nil {
			return nil, err
		}
		if m.Of[blob.Base(params)] == params {
			return nil, nil // the file of one variable
		}
		m.Params, m.Of = params, nil
		return m, nil
	}
	return nil, nil
}

// Combined reports whether a file has a name that only combined parameters have: __params__, params, X.pdiparams.
func Combined(file string) bool {
	base := blob.Base(file)
	return base == combinedName || base == "params" || blob.Ext(base) == combinedExt
}

func isFile(ctx context.Context, b blob.Bucket, p string) (bool, error) {
	infos, err := b.List(ctx, p)
	return err == nil && len(infos) == 1 && infos[0].Name == p, err
}

// Resolve is the name of what a path stands for: itself, or X.pdmodel or X.json for an X at which nothing lies, as Paddle
// names models.
func Resolve(ctx context.Context, b blob.Bucket, p string) (string, error) {
	infos, err := b.List(ctx, p)
	if err != nil || len(infos) > 0 {
		return p, err
	}
	for _, file := range []string{p + descExt, p + pirExt} {
		if there, err := isFile(ctx, b, file); there || err != nil {
			return file, err
		}
	}
	return p, nil
}

// topologyOf is the file that holds the topology of a path.
func topologyOf(ctx context.Context, b blob.Bucket, p string) (string, error) {
	p, err := Resolve(ctx, b, p)
	if err != nil {
		return "", err
	}
	infos, err := b.List(ctx, p)
	switch {
	case err != nil:
		return "", err
	case len(infos) == 0:
		return "", fmt.Errorf("%s: %w", p, fs.ErrNotExist)
	case len(infos) == 1 && infos[0].Name == p:
		return p, nil
	}
	return topologyIn(ctx, b, p, infos)
}

// topologyIn is the one topology right below a folder: __model__ before all, then by its ending.
func topologyIn(ctx context.Context, b blob.Bucket, p string, infos []blob.Info) (string, error) {
	for _, ext := range []string{descName, descExt, pirExt} {
		var found []string
		for _, i := range infos {
			base := blob.Base(i.Name)
			if !blob.Within(p, i.Name) || base != ext && (ext == descName || blob.Ext(base) != ext) {
				continue
			}
			if ext == pirExt {
				if form, err := sniffFile(ctx, b, i.Name); err != nil {
					return "", err
				} else if form != FormPIR {
					continue
				}
			}
			found = append(found, i.Name)
		}
		if len(found) > 1 {
			return "", format.Wrap(name, p, &SeveralError{found})
		}
		if len(found) == 1 {
			return found[0], nil
		}
	}
	return "", fmt.Errorf("%s: %w: a folder without %s, X%s or X%s", p, format.ErrUnknown, descName, descExt, pirExt)
}

// sniffBytes is how much of a file is looked at for its form.
const sniffBytes = 64 << 10

// sniffFile is the form of topology that a file begins, "" if none.
func sniffFile(ctx context.Context, b blob.Bucket, file string) (Form, error) {
	o, err := b.Open(ctx, file)
	if err != nil {
		return "", err
	}
	defer o.Close()
	head := make([]byte, min(o.Size(), sniffBytes))
	if n, err := o.ReadAt(head, 0); n < len(head) {
		return "", err
	}
	form := Sniff(head)
	if form == "" && len(head) > 0 && head[0] == '{' && o.Size() > sniffBytes && o.Size() <= maxBytes {
		whole, err := blob.ReadAll(ctx, b, file, maxBytes)
		if err != nil {
			return "", err
		}
		form = Sniff(whole)
	}
	return form, nil
}

// open reads the topology and looks for its parameters.
func open(ctx context.Context, b blob.Bucket, file string) (*Model, error) {
	form, err := sniffFile(ctx, b, file)
	if err != nil {
		return nil, err
	}
	if form == "" {
		return nil, format.Wrap(name, file, fmt.Errorf("no topology: %w", format.ErrUnknown))
	}
	infos, err := b.List(ctx, file)
	if err != nil {
		return nil, err
	}
	if len(infos) == 1 && infos[0].Size > maxBytes {
		return nil, format.Wrap(name, file, fmt.Errorf("%d bytes, want at most %d: %w", infos[0].Size, maxBytes, format.ErrLimit))
	}
	data, err := blob.ReadAll(ctx, b, file, maxBytes)
	if err != nil {
		return nil, err
	}
	m := &Model{Path: file, Data: data}
	if m.Program, err = Decode(data); err != nil {
		return nil, format.Wrap(name, file, err)
	}
	return m, m.findParams(ctx, b)
}

// findParams looks for the parameters: X.pdiparams beside X.pdmodel, a file for every variable, __params__ or params, in
// this order.
func (m *Model) findParams(ctx context.Context, b blob.Bucket) error {
	dir := blob.Parent(m.Path)
	if ext := blob.Ext(m.Path); ext != "" {
		combined := strings.TrimSuffix(m.Path, ext) + combinedExt
		if there, err := isFile(ctx, b, combined); err != nil {
			return err
		} else if there {
			m.Params = combined
			return nil
		}
	}
	params := m.Program.Params()
	of := make(map[string]string, len(params))
	for _, v := range params {
		file, ok := fileOf(dir, v.Name)
		if !ok {
			continue
		}
		if there, err := isFile(ctx, b, file); err != nil {
			return err
		} else if there {
			of[v.Name] = file
		}
	}
	if len(params) > 0 && len(of) == len(params) {
		m.Of = of
		return nil
	}
	for _, file := range []string{combinedName, "params"} {
		file = blob.Join(dir, file)
		if there, err := isFile(ctx, b, file); err != nil {
			return err
		} else if there {
			m.Params = file
			return nil
		}
	}
	return nil
}

// fileOf is the file of a variable in a folder; ok is false for a name that leaves the folder or hides in it.
func fileOf(dir, variable string) (file string, ok bool) {
	if !fs.ValidPath(variable) || variable == "." || strings.ContainsAny(variable, "\\\x00") {
		return "", false
	}
	return blob.Join(dir, variable), true
}
