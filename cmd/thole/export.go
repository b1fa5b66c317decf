package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/algo"
	"thole.example/blob"
	"thole.example/data"
	"thole.example/format"
	"thole.example/format/paddle"
	"thole.example/graph"
	"thole.example/program"
	"thole.example/program/export"
)

// exporting is the flags of export.
type exporting struct {
	source
	algo, graph, to, layout, feed, ids, order string
	lossy, force, external                    bool
}

func exportCommand(e *env) *cobra.Command {
	var x exporting
	c := &cobra.Command{
		Use:   "export MODEL DIR|FILE.onnx",
		Short: "Write a trained model as an inference program that Paddle or ONNX Runtime runs",
		Long: `Turns the network of MODEL (its graph.json) and its matrices into a program and its parameters in the folder DIR, or into
one ONNX file, by the ending .onnx or --to onnx; either appears whole or not at all. Layers: ` + strings.Join(export.Layers(), ", ") + `.
thole inspect DIR says what is fed: x [batch, features], or, where there is an embedding or there are very many features, ids
and vals [batch, fields], filled up with id 0 and value 0. The output prediction is a probability, probabilities of classes, or a
value; score is what it was made of. An ONNX file has both always, looks up columns by key itself, and counts features that the model
does not know as missing. A model of trees becomes an ONNX file only, that is fed features [batch, features], NaN where a value is missing.
Next to the ONNX file of a model of a table, NAME_onnx.py makes these inputs from raw rows. docs/export.md has examples in Python.`,
		Example: `  thole export out/lr lr-paddle
  thole inspect lr-paddle
  thole export out/lr lr-sparse --feed sparse
  thole run lr-sparse --feed 'ids=[[3,5]]' --feed 'vals=[[1,1]]'
  thole export out/lr lr-pir --layout pir                # for release 3 of Paddle
  thole export out/deepfm deepfm.onnx                    # for ONNX Runtime
  thole export out/trees trees.onnx                      # boosted trees, too
  thole export out/lr model --to onnx --feed sparse
  thole export lr.params lr-old --algo lr --layout combined`,
		RunE: func(c *cobra.Command, args []string) error { return x.run(c.Context(), e, args[0], args[1]) },
	}
	x.flags(c, false)
	f := c.Flags()
	f.StringVar(&x.algo, "algo", "", "algorithm whose network it is, for a model without graph.json (see thole algos)")
	f.StringVar(&x.graph, "graph", "", "graph.json to use in place of the model's")
	f.StringVar(&x.to, "to", "auto", "what is written: auto (onnx for names that end in .onnx), paddle, onnx")
	f.StringVar(&x.layout, "layout", "pdmodel", "files of Paddle: "+layoutText())
	f.StringVar(&x.feed, "feed", "auto", "what is fed: auto, dense (x), sparse (ids and vals)")
	f.StringVar(&x.ids, "ids", "auto", "what ids are: columns, or numbered: lines of keys.txt, in ONNX looked up, for hashed keys; "+
		"auto chooses by the columns")
	f.StringVar(&x.order, "order", "auto", "how weights of fully connected layers lie: auto, in-out (Angel), out-in (Angel's later library)")
	f.BoolVar(&x.lossy, "lossy", false, "allow to round values that are no float32")
	f.BoolVar(&x.external, "external-data", false, "keep the parameters of FILE.onnx in FILE.onnx.data, as is done beyond 2 GiB")
	inGroup(c, "Network", "algo", "graph", "to", "layout", "feed", "ids", "order")
	f.BoolVar(&x.force, "force", false, "replace DIR or FILE if it exists")
	return c
}

// exportLayout is the files that an exported model consists of.
type exportLayout struct {
	name     string
	topology string
	params   string // "": a file for each parameter
	form     program.Form
	single   bool // one file of ONNX, in place of a folder
}

// exportLayouts is the table of such layouts.
func exportLayouts() []exportLayout {
	return []exportLayout{
		{"pdmodel", "model.pdmodel", "model.pdiparams", program.FormDesc, false},
		{"pir", "model.json", "model.pdiparams", program.FormPIR, false},
		{"combined", "__model__", "__params__", program.FormDesc, false},
		{"separate", "__model__", "", program.FormDesc, false},
	}
}

func layoutText() string {
	var all []string
	for _, l := range exportLayouts() {
		params := l.params
		if params == "" {
			params = "a file for each parameter"
		}
		all = append(all, fmt.Sprintf("%s (%s, %s)", l.name, l.topology, params))
	}
	return strings.Join(all, ", ")
}

func (x *exporting) run(ctx context.Context, e *env, src, dst string) error {
	layout, err := x.files(dst)
	if err != nil {
		return err
	}
	if x.to == "auto" {
		if err := wantEnding(dst, ", or no ending for a folder of Paddle; --to onnx or --to paddle takes any name", onnxEnding); err != nil {
			return err
		}
	}
	to, err := e.sink(dst, x.force)
	if err == nil && !layout.single {
		err = to.folder(ctx)
	}
	if err != nil {
		return err
	}
	if err := to.apart(src); err != nil {
		return err
	}
	r, err := x.open(ctx, e, src)
	if err != nil {
		return err
	}
	defer r.Close()
	p := e.progress("export", "values", values(r.Matrices()))
	defer p.end()
	switch trees, err := treesOf(ctx, r); {
	case err != nil:
		return fmt.Errorf("%s: %w", src, err)
	case trees != nil:
		return x.exportTrees(ctx, e, src, r.Files(), trees, to, layout.single, p)
	}
	file, err := x.network(ctx, e, r, src)
	if err != nil {
		return err
	}
	m, err := export.New(ctx, file, r, export.Options{Feed: export.Feed(x.feed), IDs: export.IDs(x.ids), Order: export.Order(x.order),
		Form: layout.form, Lossy: x.lossy, Lost: func(what string) { p.line("left out: %s", what) }})
	if err != nil {
		return fmt.Errorf("%s: %w", src, err)
	}
	if err := checkLabels(src, file, r, m.Width); err != nil {
		return err
	}
	params, err := m.Reader(layout.topology)
	if err != nil {
		return err
	}
	if layout.single {
		return x.writeONNX(ctx, e, to, m, params, r.Files(), onnxMeta(m, file, r.Files()), p)
	}
	in, out := ends(m.Program)
	if err := layout.write(ctx, params, to, p.add); err != nil {
		return err
	}
	for _, note := range params.Notes() {
		p.line("%s", note)
	}
	p.line("%s: inputs %s; outputs %s", dst, strings.Join(in, ", "), strings.Join(out, ", "))
	return nil
}

// checkLabels refuses what the network says of labels and features where it cannot be, as predict does.
func checkLabels(src string, file *graph.File, r format.Reader, width int) error {
	classes, err := (&storedModel{Reader: r, path: src, file: file}).classes(width, algo.TaskOf(file))
	if err != nil {
		return err
	}
	o := data.Options{Classes: classes, Hash: file.Data.Hash, Fields: fieldsOf(file), Scale: file.Data.Scaling}
	if algo.TaskOf(file) == algo.Multiclass {
		o.Labels = data.ClassTrans
	}
	if err := o.Check(); err != nil {
		return fmt.Errorf("%s: %s: %w", src, graph.FileName, err)
	}
	return nil
}

// files is the layout asked for, and a check of the other words. dst is where it goes.
func (x *exporting) files(dst string) (exportLayout, error) {
	single := x.to == "onnx" || x.to == "auto" && strings.EqualFold(blob.Ext(dst), onnxEnding)
	switch {
	case x.to != "auto" && x.to != "paddle" && x.to != "onnx":
		return exportLayout{}, usageError{fmt.Errorf("--to %s, want auto, paddle or onnx", x.to)}
	case single && x.layout != "pdmodel":
		return exportLayout{}, usageError{fmt.Errorf("--layout %s is of files of Paddle, and %s is one of ONNX: leave it out, or say --to paddle",
			x.layout, dst)}
	case !single && x.external:
		return exportLayout{}, usageError{fmt.Errorf("--external-data is of ONNX, %s a folder of Paddle: say --to onnx, or leave it out", dst)}
	case x.feed != "auto" && x.feed != "dense" && x.feed != "sparse":
		return exportLayout{}, usageError{fmt.Errorf("--feed %s, want auto, dense or sparse", x.feed)}
	case x.ids != "auto" && x.ids != "columns" && x.ids != "numbered":
		return exportLayout{}, usageError{fmt.Errorf("--ids %s, want auto, columns or numbered", x.ids)}
	case x.order != "auto" && x.order != "in-out" && x.order != "out-in":
		return exportLayout{}, usageError{fmt.Errorf("--order %s, want auto, in-out or out-in", x.order)}
	case x.algo != "" && x.graph != "":
		return exportLayout{}, usageError{fmt.Errorf("--algo and --graph, want one of them")}
	}
	if single {
		return exportLayout{form: program.FormDesc, single: true}, nil
	}
	var names []string
	for _, l := range exportLayouts() {
		if l.name == x.layout {
			return l, nil
		}
		names = append(names, l.name)
	}
	return exportLayout{}, usageError{fmt.Errorf("--layout %s, want one of %s", x.layout, strings.Join(names, ", "))}
}

// network is the description of the network: the named file, the algorithm's, or the one that was saved with the model.
func (x *exporting) network(ctx context.Context, e *env, r format.Reader, src string) (*graph.File, error) {
	switch stored := r.Files()[graph.FileName]; {
	case x.graph != "":
		file, err := e.readable(ctx, x.graph)
		if err != nil {
			return nil, err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		return graph.ParseJSON(data)
	case x.algo != "":
		recipe, err := algo.Find(x.algo)
		if err != nil {
			return nil, usageError{err}
		}
		if recipe.Trees != "" {
			return nil, usageError{fmt.Errorf("%s is no model of trees, which --algo %s says", src, x.algo)}
		}
		return (&storedModel{Reader: r}).recipe(recipe), nil
	case stored != nil:
		return graph.ParseJSON(stored)
	}
	return nil, fmt.Errorf("%s has no %s, which says what the network is; name it with --graph, or the algorithm with --algo",
		src, graph.FileName)
}

// write stores parameters and topology in a folder, which appears whole or not at all.
func (l *exportLayout) write(ctx context.Context, r format.Reader, to *sink, done func(int)) error {
	b, name, err := to.place()
	if err != nil {
		return err
	}
	if l.params == "" {
		o := format.Options{Set: map[string]string{"layout": "separate"}, Over: to.over}
		return format.Convert(ctx, r, paddle.Codec, b, name, o, nil, done)
	}
	stage := format.NewStage(b, name, "")
	stage.Over = to.over
	defer stage.Abort(context.WithoutCancel(ctx))
	// Lossy: a combined file has no names, but the topology beside it has.
	o := format.Options{Set: map[string]string{"layout": "stream"}, Lossy: true, Files: map[string][]byte{}}
	if err := format.Convert(ctx, r, paddle.Codec, b, stage.Name(l.params), o, nil, done); err != nil {
		return stage.Final("", err)
	}
	for file, data := range r.Files() {
		if err := blob.WriteAll(ctx, b, stage.Name(file), data); err != nil {
			return stage.Final("", err)
		}
	}
	return stage.Publish(ctx, "")
}
