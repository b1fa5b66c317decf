package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"thole.example/algo"
	"thole.example/blob"
	"thole.example/data"
	"thole.example/graph"
)

// dataOptions are the options of reading examples.
func (j *job) dataOptions(task algo.Task) (data.Options, error) {
	o := data.Options{Format: j.format, Dim: j.dim, Hash: j.hash, Threshold: j.threshold, Separator: j.separator,
		LabelWeight: j.labelWeights, NoLabel: j.noLabel, Strict: j.strict, SkipBad: j.skipBad, Store: j.paths, OpenTable: tables(j.paths)}
	mapping := j.labels
	switch {
	case mapping != "":
	case task == algo.Classification:
		mapping = "auto"
	case task == algo.Multiclass:
		mapping = "classes"
	}
	var err error
	if o.Classes, err = parseClasses(j.classes); err != nil {
		return o, usageError{err}
	}
	if o.Base, err = data.ParseBase(j.base); err == nil {
		o.Labels, err = data.ParseLabels(mapping)
	}
	if err == nil && task != "" && o.Classes != nil && o.Labels != data.ClassTrans {
		err = fmt.Errorf("--classes with labels of mapping %v, want an algorithm with several classes, or --labels classes", o.Labels)
	}
	if err == nil {
		o.Fields, err = data.ParseFields(j.fields)
	}
	if err == nil {
		err = o.Check()
	}
	if err == nil && j.skipBad < 0 {
		err = fmt.Errorf("--skip-bad %d, want 0 or more lines", j.skipBad)
	}
	if err == nil && !finite(j.threshold) {
		err = fmt.Errorf("--label-threshold %v, want a finite number", j.threshold)
	}
	if err != nil {
		return o, usageError{err}
	}
	return o, nil
}

// hashAs makes features be hashed as those were that the model learned from.
func (j *job) hashAs(m *storedModel) error {
	if m.file == nil { // it does not say
		return nil
	}
	columns := m.file.Data.Hash
	switch {
	case j.hash == 0:
		j.hash = columns
	case j.hash != columns && columns == 0:
		return usageError{fmt.Errorf("--hash %d, and the features of %s are not hashed: want none", j.hash, m.path)}
	case j.hash != columns:
		return usageError{fmt.Errorf("--hash %d, and the features of %s are hashed to %d columns: want none or the same", j.hash, m.path,
			columns)}
	}
	return nil
}

// parseClasses reads what --classes says: how many, or which.
func parseClasses(words []string) (all data.Classes, err error) {
	for _, word := range words {
		v, err := strconv.ParseFloat(word, 32)
		if err != nil {
			return nil, fmt.Errorf("--classes %s, want a number of classes, or their labels with commas between them", word)
		}
		all = append(all, float32(v))
	}
	switch {
	case all == nil:
		return nil, nil
	case len(all) == 1 && (all[0] != float32(int(all[0])) || all[0] < 2 || all[0] > data.ClassLimit):
		return nil, fmt.Errorf("--classes %s, want a number of classes from 2 to %d, or their labels with commas between them", words[0],
			data.ClassLimit)
	case len(all) == 1:
		all = data.Numbered(int(all[0]))
	}
	if err := all.Check(); err != nil {
		return nil, fmt.Errorf("--classes %s: %w", strings.Join(words, ","), err)
	}
	return all, nil
}

// checkPaths refuses what no command that reads examples can do with its paths.
func (j *job) checkPaths(example string) error {
	stdin := 0
	for _, path := range slices.Concat(j.data, j.valid, j.weights, j.validWeights, j.starts, j.validStarts) {
		for _, p := range strings.Split(path, ",") {
			if p == data.Stdin {
				stdin++
			}
		}
	}
	switch {
	case len(j.data) == 0 && !(j.elsewhere && j.byTrees()):
		return usageError{fmt.Errorf("no --data, which names files of examples: %s", example)}
	case stdin > 1:
		return usageError{errors.New("- (standard input) twice, want it once: it can be read only once")}
	case j.model == data.Stdin:
		return usageError{errors.New("--model -, want a path: a model is no stream")}
	}
	return nil
}

// taking reports labels that the loss has no value for, beside width scores.
func taking(loss graph.Loss, width int) func(float32) error {
	return func(y float32) error {
		err := loss.Check([]float32{y}, width)
		if bad := (*graph.LabelError)(nil); errors.As(err, &bad) {
			return errors.New(bad.Text())
		}
		return err
	}
}

// tableOptions are those of dataOptions, with the columns of tables as the flags say.
func (j *job) tableOptions(ctx context.Context, e *env) (o data.Options, err error) {
	if o, err = j.dataOptions(""); err != nil {
		return o, err
	}
	spec, err := j.spec(ctx, e)
	if err != nil {
		return o, err
	}
	o.Table = &data.Table{Spec: *spec}
	return o, nil
}

// reading tells how far the reading of examples by the options is, and what it notes.
func (e *env) reading(paths []string, o *data.Options) *progress {
	p := e.progress("read "+strings.Join(paths, ", "), "B", 1)
	o.Progress = p.read
	o.Note = noting(p.line)
	return p
}

// noting says what is noted of files; line 0 is none.
func noting(say func(format string, args ...any)) func(path string, line int64, text string) {
	return func(path string, line int64, text string) {
		if line > 0 {
			path = fmt.Sprintf("%s:%d", path, line)
		}
		say("%s: %s", path, text)
	}
}

// examples reads the examples that the paths name, as one set.
func (j *job) examples(ctx context.Context, e *env, paths []string, o data.Options) (*data.Examples, error) {
	files, err := data.Files(ctx, e.paths, paths)
	if err != nil {
		return nil, err
	}
	p := e.reading(paths, &o)
	defer p.end()
	all, err := data.LoadFiles(ctx, files, e.in, o)
	if err == nil {
		saySkipped(p.line, all.Skipped)
	}
	if err == nil && all.Unseen.Features > 0 {
		sayUnseen(p.line, strings.Join(paths, ", "), all.Unseen, all.Len())
	}
	if err != nil || o.Takes == nil {
		return all, err
	}
	for i, y := range all.Label { // those that were mapped when all were known have no lines
		if err := o.Takes(y); err != nil {
			return nil, fmt.Errorf("%s: example %d: %w", strings.Join(paths, ", "), i+1, err)
		}
	}
	return all, nil
}

// namesFields reports whether lines of the examples say of which fields values are.
func namesFields(ctx context.Context, in *blob.Paths, format string, paths []string) bool {
	files, err := data.Files(ctx, in, paths)
	if err != nil || len(files) == 0 {
		return false // which the reader tells
	}
	src, err := data.FindSource(format, files[0])
	return err == nil && src.NamesFields()
}
