package main

import (
	"context"
	"fmt"

	"thole.example/data"
)

// loaded is what is known of the model that a training goes on from.
type loaded struct {
	dim     int64        // its columns, 0 if there is no such model
	keys    []int64      // of those that it keeps by key
	classes data.Classes // of its labels, nil if it does not say
}

// look checks that the model of --load is one of the algorithm, and finds out its columns.
func (p *plan) look(ctx context.Context) error {
	if p.load == "" {
		return nil
	}
	m, err := openModel(ctx, p.load, "", nil)
	if err != nil {
		return err
	}
	defer m.Close()
	if p.network == nil { // of a network of one's own the matrices have to fit
		if err := m.check(p.algo); err != nil {
			return err
		}
	}
	file := m.recipe(p.recipe)
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
	p.loaded.classes, err = m.classes(model.Width)
	return err
}
