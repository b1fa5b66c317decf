package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"thole.example/blob"
	"thole.example/feature"
	"thole.example/format"
)

// pythonModule is a Python module next to an ONNX file that makes its inputs from raw rows.
type pythonModule struct {
	to   *sink
	text []byte
}

// python makes the module of a model of a table from the companion files of the model. It is nil if the model is not of a table, or to is a
// stream.
func (x *exporting) python(e *env, to *sink, files map[string][]byte, o feature.PythonOptions, p *progress) (*pythonModule, error) {
	src := files[feature.FileName]
	if src == nil || to.streams() {
		return nil, nil
	}
	t, err := feature.Parse(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", feature.FileName, err)
	}
	o.Model = blob.Base(to.file)
	o.Module = moduleName(o.Model)
	text, err := t.Python(o)
	if errors.Is(err, feature.ErrSpec) {
		p.line("no Python module for raw rows: %v", err)
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if multi := multiColumns(t); o.ByPlace && len(multi) > 0 {
		p.line("the network takes one value for each field: rows with several categories in %s cannot be fed", strings.Join(multi, ", "))
	}
	s, err := e.sink(strings.TrimSuffix(to.file, o.Model)+o.Module+".py", x.force)
	return &pythonModule{s, text}, err
}

// dropOld removes the module of a model that was replaced by one without a module.
func (m *pythonModule) dropOld(ctx context.Context, e *env, to *sink) error {
	if m != nil || to.streams() || to.over == blob.Nothing {
		return nil
	}
	model := blob.Base(to.file)
	at := inBucket(strings.TrimSuffix(to.file, model) + moduleName(model) + ".py")
	text, err := blob.ReadAll(ctx, e.paths, at, format.FileLimit(at))
	if err != nil || !feature.IsPython(text, model) {
		return nil // the file does not exist, or is not a module of this model
	}
	return e.paths.Remove(ctx, at)
}

// multiColumns are the names of the columns whose cells hold several categories.
func multiColumns(t *feature.Transform) (names []string) {
	for _, c := range t.Columns {
		if c.Kind == feature.Multi {
			names = append(names, escaped(c.Name))
		}
	}
	return names
}

// moduleName is the name under which Python imports the module of an ONNX file.
func moduleName(file string) string {
	if strings.EqualFold(blob.Ext(file), onnxEnding) {
		file = file[:len(file)-len(onnxEnding)]
	}
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (oddInModule(byte(r))) || r >= 0x80 {
			return '_'
		}
		return r
	}, file)
	if name == "" || name[0]-'0' <= 9 {
		name = "_" + name
	}
	return name + "_onnx"
}

func oddInModule(c byte) bool { return (c|0x20)-'a' >= 26 && c-'0' > 9 && c != '_' }

// write adds the module, if there is one, to the files that are committed together.
func (m *pythonModule) write(ctx context.Context, files *together) error {
	if m == nil {
		return nil
	}
	return files.fill(ctx, m.to, func(w io.Writer) error {
		_, err := w.Write(m.text)
		return err
	})
}

// report says where the module is.
func (m *pythonModule) report(p *progress) {
	if m != nil {
		p.line("%s makes the inputs from raw rows, in Python", m.to.path)
	}
}
