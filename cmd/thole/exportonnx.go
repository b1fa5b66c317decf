package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"thole.example/algo"
	"thole.example/format"
	"thole.example/graph"
	"thole.example/program/export"
	"thole.example/program/onnx"
)

// onnxEnding is the ending of paths where ONNX is written unless something else is said.
const onnxEnding = ".onnx"

// target is what is written, by --to or the ending of the path.
func (x *exporting) target(dst string) (onnx bool, err error) {
	switch x.to {
	case "":
		onnx = strings.HasSuffix(dst, onnxEnding)
	case "onnx":
		onnx = true
	case "paddle":
	default:
		return false, usageError{fmt.Errorf("--to %s, want paddle or onnx", x.to)}
	}
	switch {
	case onnx && x.laidOut:
		err = usageError{fmt.Errorf("--layout is of Paddle's files, and %s is one file of ONNX; leave one of them out, or say --to paddle", dst)}
	case !onnx && x.apart:
		err = usageError{fmt.Errorf("--external-data is of ONNX; say --to onnx, or name a file that ends in %s", onnxEnding)}
	}
	return onnx, err
}

// onnxNames are the names of inputs that people who have fed other models of ONNX expect.
var onnxNames = map[string]string{"vals": "values"}

// writeONNX writes the network as a file of ONNX, and a file with its values beside it where they are too many for one.
func (x *exporting) writeONNX(ctx context.Context, e *env, to *sink, m *export.Model, file *graph.File, p *progress) error {
	o := onnx.Options{Names: onnxNames, Rows: m.Rows, Keys: m.Keys, Meta: onnxMeta(m, file)}
	if m.Sparse {
		o.IDs, o.Values = "ids", "vals"
	}
	model, err := onnx.New(m.Program, o)
	if err != nil {
		return err
	}
	params, err := m.Reader("")
	if err != nil {
		return err
	}
	var data *sink
	if n := model.Size(); x.apart || n > onnx.Limit {
		if data, err = x.beside(e, to, n); err != nil {
			return err
		}
		if err := data.fill(ctx, func(w *writing) error { return model.WriteData(ctx, w, params, p.add) }); err != nil {
			return err
		}
	}
	err = to.fill(ctx, func(w *writing) error { return model.Write(ctx, w, params, p.add) })
	if err != nil && data != nil {
		_ = os.Remove(data.file) // of no use without the model; err says what is wrong
	}
	if err != nil {
		return err
	}
	for _, note := range m.Notes {
		p.line("%s", note)
	}
	if data != nil {
		p.line("the values are in %s, which has to stay beside %s", data.path, to.path)
	}
	p.line("%s: inputs %s; outputs %s", to.path, strings.Join(model.Inputs(), ", "), strings.Join(model.Outputs(), ", "))
	return nil
}

// beside is the file for the values beside the model, and the model says that they are there.
func (x *exporting) beside(e *env, to *sink, n int64) (*sink, error) {
	why := fmt.Sprintf("the model has %s, and readers of ONNX take 2 GiB in one file", format.Bytes(n))
	if x.apart {
		why = "--external-data"
	}
	switch _, err := os.Lstat(to.file); {
	case to.streams():
		return nil, usageError{fmt.Errorf("%s: the values go to a file beside the model, and %s is a stream: want a path", why, to.path)}
	case err == nil:
		return nil, fmt.Errorf("%s: the values go to %s beside %s, and two files cannot be replaced at once: remove them first, or name "+
			"another path", why, to.path+onnx.DataEnding, to.path)
	}
	return e.sink(to.path+onnx.DataEnding, false)
}

// fill makes the file with what write writes, whole or not at all.
func (s *sink) fill(ctx context.Context, write func(w *writing) error) error {
	w, err := s.create(ctx)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := write(w); err != nil {
		return err
	}
	return w.Commit()
}

// onnxMeta is what the file says for people.
func onnxMeta(m *export.Model, file *graph.File) [][2]string {
	name, ids := algo.NameOf(file), "columns of features, counted from 0; others count as missing"
	if name == "" {
		name = "network"
	}
	switch {
	case m.Keys != nil:
		ids = "keys of features; others count as missing"
	case !m.Sparse:
		ids = "x has a column for each feature"
	}
	all := [][2]string{{"thole.algorithm", name}, {"thole.task", string(algo.TaskOf(file))}, {"thole.loss", m.Loss}, {"thole.ids", ids}}
	if c := file.Data.Classes; len(c) > 0 {
		text, _ := json.Marshal(c) // finite: ParseJSON takes no others
		all = append(all, [2]string{"thole.classes", string(text)})
	}
	if n := file.Data.Hash; n > 0 {
		all = append(all, [2]string{"thole.hash", strconv.FormatInt(n, 10)})
	}
	if f := file.Data.Fields; f != nil {
		all = append(all, [2]string{"thole.fields", f.String()})
	}
	return all
}
