package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"thole.example/algo"
	"thole.example/feature"
	"thole.example/graph"
	"thole.example/internal/number"
	"thole.example/program"
	"thole.example/program/onnx"
	"thole.example/tree"
)

// treesFed is what the input of trees is, for those who use the file.
const treesFed = "features: a value for each of thole.features, NaN where it is missing; of a categorical feature the number of the level"

// exportTrees writes the trees of the model at src, which has files beside them, as a file of ONNX.
func (x *exporting) exportTrees(ctx context.Context, env *env, src string, beside map[string][]byte, e *tree.Ensemble, to *sink,
	single bool, p *progress) error {
	if err := x.forTrees(to.path, single); err != nil {
		return err
	}
	meta, err := treesMeta(e, beside)
	if err != nil {
		return fmt.Errorf("%s: %w", src, err)
	}
	model, err := onnx.NewTrees(e, meta)
	if err != nil {
		return fmt.Errorf("%s: %w", src, err)
	}
	var whole together
	defer whole.Abort()
	if err := whole.fill(ctx, to, func(w io.Writer) error { return model.Write(ctx, w, nil) }); err != nil {
		return err
	}
	o := feature.PythonOptions{Feed: feature.FeedTrees, Single: model.Inputs[0].Elem == program.VarType_FP32}
	module, err := x.python(env, to, beside, o, p)
	if err == nil {
		err = module.write(ctx, &whole)
	}
	if err != nil {
		return err
	}
	if err := whole.Commit(); err != nil {
		return err
	}
	if err := module.dropOld(ctx, env, to); err != nil {
		return err
	}
	p.line("ONNX Runtime has to be of version 1.24 or newer")
	if e.NeedsStart {
		p.line("%s was grown from start scores, which its scores are to be added to", src)
	}
	p.line("%s: %s; %s", to.path, meta["thole.trees"], portsText(model))
	module.report(p)
	return nil
}

// forTrees refuses what is said of networks only; path is where the model goes.
func (x *exporting) forTrees(path string, single bool) error {
	if !single {
		return usageError{fmt.Errorf("a model of trees is written as ONNX, and %s would be a program of Paddle: name a file that ends in %s, "+
			"or say --to onnx", path, onnxEnding)}
	}
	var wrong []string
	for _, f := range []struct{ name, value, usual string }{{"algo", x.algo, ""}, {"graph", x.graph, ""}, {"feed", x.feed, "auto"},
		{"ids", x.ids, "auto"}, {"order", x.order, "auto"}} {
		if f.value != f.usual {
			wrong = append(wrong, "--"+f.name)
		}
	}
	if x.external {
		wrong = append(wrong, "--external-data")
	}
	if len(wrong) > 0 {
		return usageError{fmt.Errorf("%s: of networks, and the model is one of trees: leave it out", strings.Join(wrong, ", "))}
	}
	return nil
}

// treesMeta is what the file says for people, and how values are to be fed; beside are the files of the model.
func treesMeta(e *tree.Ensemble, beside map[string][]byte) (map[string]string, error) {
	features, err := json.Marshal(e.Features)
	if err != nil {
		return nil, err
	}
	trees, leaves := e.Scoring(), 0
	for i := range trees {
		leaves += trees[i].Leaves()
	}
	meta := map[string]string{"thole.algorithm": "gbdt", "thole.task": string(algo.TreeTask(&e.Objective)), "thole.loss": e.Objective.Name,
		"thole.inputs": treesFed, "thole.features": string(features),
		"thole.trees": number.Of(len(trees), "tree") + ", " + number.Of(leaves, "leaf", "leaves") + ", " +
			number.Of(e.Features.Width, "feature")}
	file := &graph.File{}
	if text := beside[graph.FileName]; text != nil {
		if file, err = graph.ParseJSON(text); err != nil {
			return nil, err
		}
	}
	dataMeta(meta, file, beside)
	return meta, nil
}
