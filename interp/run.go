package interp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Result is an output of a run.
type Result struct {
	Name   string
	Tensor *Tensor
}

// Run computes the outputs from the inputs, by name, which it does not change. Results may share values with inputs and
// parameters and must not be changed. Errors name the operator.
func (m *Machine) Run(ctx context.Context, feeds map[string]*Tensor) ([]Result, error) {
	vars := maps.Clone(m.params)
	if vars == nil {
		vars = map[string]*Tensor{}
	}
	if err := m.feed(vars, feeds); err != nil {
		return nil, err
	}
	if err := m.main.do(&running{ctx: ctx, vars: vars}); err != nil {
		return nil, err
	}
	var all []Result
	for _, out := range m.outputs {
		if vars[out.variable] == nil {
			return nil, fmt.Errorf("output %q has no value, since the branch that gives it was not taken", out.Name)
		}
		all = append(all, Result{out.Name, vars[out.variable]})
	}
	return all, nil
}

// feed puts the inputs to the variables.
func (m *Machine) feed(vars, feeds map[string]*Tensor) error {
	var names []string
	for _, in := range m.inputs {
		names = append(names, in.Name)
	}
	for name := range feeds {
		if !slices.Contains(names, name) {
			return fmt.Errorf("input %q: the program has none such, but %s", name, strings.Join(names, ", "))
		}
	}
	for _, in := range m.inputs {
		t := feeds[in.Name]
		if t == nil {
			return fmt.Errorf("input %q of shape %v (%v) is missing", in.Name, in.Dims, in.Type)
		}
		if err := t.check(); err != nil {
			return fmt.Errorf("input %q: %w", in.Name, err)
		}
		if err := in.accept(t); err != nil {
			return err
		}
		vars[in.Name] = t
	}
	return nil
}

// accept holds a tensor to what the program says of an input.
func (p *Port) accept(t *Tensor) error {
	fits := p.Dims == nil || len(p.Dims) == len(t.Dims)
	for i := 0; fits && i < len(p.Dims); i++ {
		fits = p.Dims[i] < 0 || p.Dims[i] == int64(t.Dims[i])
	}
	if !fits {
		return fmt.Errorf("input %q has shape %v, want %v: %w", p.Name, t.Dims, p.Dims, ErrShape)
	}
	if t.Type != p.Type {
		return fmt.Errorf("input %q has type %v, want %v: %w", p.Name, t.Type, p.Type, ErrShape)
	}
	return nil
}
