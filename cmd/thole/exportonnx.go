package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"thole.example/algo"
	"thole.example/blob"
	"thole.example/feature"
	"thole.example/format"
	"thole.example/graph"
	"thole.example/program/export"
	"thole.example/program/onnx"
)

// writeONNX writes a program as a file of ONNX, and one with its parameters beside it where they are too many for one.
func (x *exporting) writeONNX(ctx context.Context, e *env, to *sink, m *export.Model, params format.Reader, beside map[string][]byte,
	meta map[string]string, p *progress) error {
	model, err := onnx.New(m.Program, params, onnx.Options{Meta: meta, Rows: m.Rows, Keys: m.Keys})
	if err != nil {
		return err
	}
	o := feature.PythonOptions{Feed: feature.FeedDense}
	if m.Rows > 0 || m.Keys != nil {
		o.Feed, o.ByPlace = feature.FeedSparse, fixedWidth(model)
	}
	module, err := x.python(e, to, beside, o, p)
	if err != nil {
		return err
	}
	var both together
	defer both.Abort()
	var data *sink
	if n := model.Size(); x.external || n > onnx.Limit {
		if data, err = x.beside(e, to, n); err != nil {
			return err
		}
		model.Apart(blob.Base(data.file)) // it is looked for in the folder of the model
		if err := both.fill(ctx, data, func(w io.Writer) error { return model.WriteData(ctx, w, p.add) }); err != nil {
			return err
		}
	}
	if err := both.fill(ctx, to, func(w io.Writer) error { return model.Write(ctx, w, p.add) }); err != nil {
		return err
	}
	if err := module.write(ctx, &both); err != nil {
		return err
	}
	if err := both.Commit(); err != nil {
		return err
	}
	if err := module.dropOld(ctx, e, to); err != nil {
		return err
	}
	for _, note := range m.Notes {
		p.line("%s", note)
	}
	if data != nil {
		p.line("the parameters are in %s, which has to stay beside %s", data.path, to.path)
	}
	p.line("%s: %s", to.path, portsText(model))
	module.report(p)
	return nil
}

// portsText says what a model is fed and gives.
func portsText(m *onnx.Model) string {
	texts := func(all []onnx.Value) string {
		var list []string
		for _, v := range all {
			list = append(list, v.String())
		}
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("inputs %s; outputs %s", texts(m.Inputs), texts(m.Outputs))
}

// beside is the file for the parameters of a model of n bytes.
func (x *exporting) beside(e *env, to *sink, n int64) (*sink, error) {
	why := fmt.Sprintf("the model has %s, and readers of ONNX take 2 GiB in one file", format.Bytes(n))
	if x.external {
		why = "--external-data"
	}
	if to.streams() {
		return nil, usageError{fmt.Errorf("%s: the parameters go to a file beside the model, and %s is a stream: name a path", why, to.path)}
	}
	if _, err := os.Lstat(to.file); err == nil {
		return nil, fmt.Errorf("%s: the parameters go to %s beside %s, and two files cannot be replaced at once: remove them first, or "+
			"name another path", why, to.path+onnx.DataEnding, to.path)
	}
	return e.sink(to.file+onnx.DataEnding, x.force)
}

// fixedWidth reports whether the network takes the same number of values for each row: their places are their fields.
func fixedWidth(m *onnx.Model) bool {
	return slices.ContainsFunc(m.Inputs, func(v onnx.Value) bool { return len(v.Dims) == 2 && v.Dims[1] > 0 })
}

// onnxMeta is what the file says for people, and how rows of a table become ids and values where the model is of one.
func onnxMeta(m *export.Model, file *graph.File, beside map[string][]byte) map[string]string {
	name, fed := algo.NameOf(file), "ids: columns of features, counted from 0; others count as missing. vals: their values"
	if name == "" {
		name = "network"
	}
	switch {
	case m.Keys != nil:
		fed = "ids: columns or keys of features, as in training; others count as missing. vals: their values"
	case m.Rows == 0:
		fed = "x: a value for each column"
	}
	if len(file.Data.Scaling) > 0 {
		fed += ", scaled as thole.scaling says"
	}
	meta := map[string]string{"thole.algorithm": name, "thole.task": string(algo.TaskOf(file)), "thole.loss": m.Loss, "thole.inputs": fed}
	dataMeta(meta, file, beside)
	return meta
}

// dataMeta adds what the model says of its examples: labels, hashing, fields, and what was found out about the columns of a table.
func dataMeta(meta map[string]string, file *graph.File, beside map[string][]byte) {
	if c := file.Data.Classes; len(c) > 0 {
		text, _ := json.Marshal(c) // finite: ParseJSON takes no others
		meta["thole.classes"] = string(text)
	}
	if n := file.Data.Hash; n > 0 {
		meta["thole.hash"] = strconv.FormatInt(n, 10)
	}
	if f := file.Data.Fields; f != nil {
		meta["thole.fields"] = f.String()
	}
	if s := file.Data.Scaling; len(s) > 0 {
		text, _ := json.Marshal(s) // finite: it was checked
		meta["thole.scaling"] = string(text)
	}
	if columns := beside[feature.FileName]; columns != nil {
		meta["thole.columns"] = string(columns)
	}
}
