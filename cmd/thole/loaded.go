package main

import (
	"context"
	"fmt"
	"strings"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/feature"
	"thole.example/graph"
)

// loaded is what is known of the model that a training goes on from.
type loaded struct {
	dim     int64        // its columns, 0 if there is no such model
	keys    []int64      // of those that it keeps by key
	classes data.Classes // of its labels, nil if it does not say
	fields  data.Fields  // of its features, as far as it says
	scaling data.Scaling // of the values of lines
	known   bool         // this process has read the model
	number  int          // number of fields that it has weights for; 0: its weights do not depend on fields

	transform *feature.Transform // of the columns of tables, nil if it learned from none
}

// ofModel takes the network of the model of --load, with the rules of its layers, if the model says what it is; the user who names an
// algorithm gets no other one. A model that does not say it wants a name.
func (j *job) ofModel(ctx context.Context) error {
	m, err := openModel(ctx, j.paths, j.load, "", nil)
	if err != nil {
		return err
	}
	defer m.Close()
	if named := j.given("algo"); m.file == nil || named {
		name := ""
		if named {
			name = j.algo
		}
		if _, _, err := m.network(name); err != nil || m.file == nil {
			return err
		}
	}
	if strings.Contains(m.file.Model.ModelType, "DENSE") {
		m.file.Model.ModelType = "" // which is how the model was saved; its training kept large matrices by key, and goes on so
	}
	j.ruleFile(m.file)
	if j.own, err = algo.Own(m.file, nil); err != nil {
		return fmt.Errorf("%s: %s: %w", j.load, graph.FileName, err)
	}
	j.ownAt = j.load + ": " + graph.FileName
	if j.algo = j.own.Name; j.algo == algo.OwnName {
		j.network = m.file
	}
	return j.continueJob(m.Files()[jobFileName])
}

// look checks that the model of --load is one of the algorithm, and finds out its columns.
func (p *plan) look(ctx context.Context) error {
	if m := p.before; m != nil {
		p.loaded.transform, p.loaded.classes = m.transform, m.trees.Labels
		return nil
	}
	if p.load == "" {
		return nil
	}
	m, err := openModel(ctx, p.paths, p.load, "", nil)
	if err != nil {
		return err
	}
	defer m.Close()
	file := m.recipe(p.recipe)
	if p.network == nil { // of a network of one's own the matrices have to fit
		if file, _, err = m.network(p.algo); err != nil {
			return err
		}
	}
	p.loaded.fields, p.loaded.transform = fieldsOf(file), m.transform
	if byField(file) {
		p.loaded.number = file.Data.NumField
	}
	if err := p.hashAs(m); err != nil {
		return err
	}
	model, err := m.build(file)
	if err != nil {
		return err
	}
	if text := m.rounded(model); text != "" && !p.lossy {
		return fmt.Errorf("%s: f64 does not fit the f32 of training; --lossy rounds it", p.load)
	}
	columns, err := m.columns(ctx, file)
	if err != nil {
		return err
	}
	p.loaded.dim, p.loaded.keys = columns.Hi, columns.Keys
	if p.dim > 0 && p.dim < p.loaded.dim {
		return usageError{fmt.Errorf("--dim %d, and %s has %d columns: want at least as many", p.dim, p.load, p.loaded.dim)}
	}
	if p.loaded.known = true; m.file != nil {
		p.loaded.scaling = m.file.Data.Scaling
		p.loaded.classes, err = m.classes(model.Width, algo.TaskOf(m.file))
	}
	return err
}
