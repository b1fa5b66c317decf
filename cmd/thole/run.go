package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/paddle"
	"thole.example/interp"
	"thole.example/matrix"
	"thole.example/program"
)

// execution is the flags of run.
type execution struct {
	feeds, fetches []string
	params         string
	to             string
	force          bool
}

func runCommand(e *env) *cobra.Command {
	var x execution
	c := &cobra.Command{
		Use:   "run MODEL",
		Short: "Compute the outputs of a stored Paddle model",
		Long: `Runs the inference program of MODEL (a folder with a topology, a topology file, or X for X.pdmodel) on inputs.
Inputs are files of any format, or JSON lists in place. Without --fetch the outputs are printed as a JSON object.
What is not supported is named before anything runs.`,
		Example: `  thole run lr-paddle --feed x=in.npy --fetch out.npy
  thole run lr-sparse --feed 'ids=[[3,5]]' --feed 'vals=[[1,1]]'`,
		RunE: func(c *cobra.Command, args []string) error { return x.run(c.Context(), e, args[0]) },
	}
	f := c.Flags()
	f.StringArrayVar(&x.feeds, "feed", nil, "input: NAME=FILE or NAME=JSON; the name may be left out if there is one input")
	f.StringArrayVar(&x.fetches, "fetch", nil, "output: NAME=FILE, or FILE for all")
	f.StringVar(&x.params, "params", "", "stored matrices to take the parameters from, of any format (default: beside the topology)")
	f.StringVar(&x.to, "to", "", "format of the outputs (default: by their ending)")
	f.BoolVar(&x.force, "force", false, "replace files of outputs that exist")
	return c
}

func (x *execution) run(ctx context.Context, e *env, path string) error {
	m, err := x.machine(ctx, e, path)
	if err != nil {
		return err
	}
	feeds, err := x.inputs(ctx, e, m)
	if err != nil {
		return err
	}
	for _, in := range m.Inputs() {
		if feeds[in.Name] == nil {
			return usageError{fmt.Errorf("input %q of shape %v (%v) is missing, want --feed %s=FILE or --feed '%s=[[...]]'",
				in.Name, in.Dims, in.Type, in.Name, in.Name)}
		}
	}
	results, err := m.Run(ctx, feeds)
	if err != nil {
		return err
	}
	if len(x.fetches) == 0 {
		return printResults(e, results)
	}
	for _, fetch := range x.fetches {
		if err := x.write(ctx, e, fetch, results); err != nil {
			return err
		}
	}
	return nil
}

// machine loads program and parameters.
func (x *execution) machine(ctx context.Context, e *env, path string) (machine *interp.Machine, err error) {
	err = blob.Again(ctx, func() error { // if it was replaced meanwhile
		b, m, err := e.needTopology(ctx, path)
		if err != nil {
			return err
		}
		if unknown := interp.Unknown(m.Program); len(unknown) > 0 {
			return fmt.Errorf("%s: %w", m.Path, &interp.UnknownOpsError{Ops: unknown})
		}
		machine, err = e.machineOf(ctx, b, m, m.Program, x.params)
		return err
	})
	return machine, err
}

// machineOf is a machine of a program with the parameters of a model, or those of another path.
func (e *env) machineOf(ctx context.Context, b blob.Bucket, m *program.Model, p *program.Program, other string) (*interp.Machine, error) {
	var r format.Reader
	var err error
	if other != "" {
		r, err = e.open(ctx, other)
	} else {
		r, err = paddle.OpenParams(ctx, b, m)
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	params, err := interp.Params(ctx, r, p)
	if err != nil {
		return nil, err
	}
	machine, err := interp.New(p, params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Path, err)
	}
	return machine, nil
}

// inputs reads what --feed names.
func (x *execution) inputs(ctx context.Context, e *env, m *interp.Machine) (map[string]*interp.Tensor, error) {
	feeds := map[string]*interp.Tensor{}
	for _, feed := range x.feeds {
		port, value, err := portOf(m, feed)
		if err != nil {
			return nil, err
		}
		if feeds[port.Name] != nil {
			return nil, usageError{fmt.Errorf("input %q twice", port.Name)}
		}
		var t *interp.Tensor
		if strings.HasPrefix(strings.TrimSpace(value), "[") {
			t, err = inlineTensor(value, port.Type)
		} else {
			t, err = storedTensor(ctx, e, value, port)
		}
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", port.Name, err)
		}
		if len(t.Dims)+1 == len(port.Dims) && port.Dims[0] == -1 { // one example, without the dimension of the batch
			t.Dims = append([]int{1}, t.Dims...)
		}
		feeds[port.Name] = t
	}
	return feeds, nil
}

// portOf is the input that a --feed names, and the rest of it.
func portOf(m *interp.Machine, feed string) (interp.Port, string, error) {
	name, value, named := strings.Cut(feed, "=")
	var names []string
	for _, in := range m.Inputs() {
		if named && in.Name == name {
			return in, value, nil
		}
		names = append(names, in.Name)
	}
	if len(names) == 1 && (!named || strings.HasPrefix(feed, "[")) {
		return m.Inputs()[0], feed, nil
	}
	return interp.Port{}, "", usageError{fmt.Errorf("--feed %s: want NAME=FILE or NAME=JSON, NAME one of %s", feed, strings.Join(names, ", "))}
}

// inlineTensor reads lists of lists of numbers.
func inlineTensor(text string, t matrix.DType) (*interp.Tensor, error) {
	var tree any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("%.40q: %w", text, err)
	}
	out := &interp.Tensor{Type: t}
	for v := tree; ; {
		list, ok := v.([]any)
		if !ok {
			break
		}
		out.Dims = append(out.Dims, len(list))
		if len(list) == 0 {
			break
		}
		v = list[0]
	}
	return out, fill(out, tree, 0)
}

// fill appends the numbers of a list that has the shape from depth on.
func fill(t *interp.Tensor, v any, depth int) error {
	if depth < len(t.Dims) {
		list, ok := v.([]any)
		if !ok || len(list) != t.Dims[depth] {
			return fmt.Errorf("lists of different lengths, want the shape %v", t.Dims)
		}
		for _, one := range list {
			if err := fill(t, one, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	number, ok := v.(json.Number)
	if !ok {
		return fmt.Errorf("%v, want a number", v)
	}
	if t.Type != matrix.F32 {
		n, err := number.Int64()
		t.I = append(t.I, n)
		return err
	}
	f, err := number.Float64()
	t.F = append(t.F, float32(f))
	return err
}

// storedTensor reads a matrix of any format; floats of another size are rounded to float32.
func storedTensor(ctx context.Context, e *env, path string, port interp.Port) (*interp.Tensor, error) {
	r, err := e.open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	name := ""
	if len(r.Matrices()) > 1 {
		name = port.Name
	}
	m, err := format.Find(r, name)
	if err != nil {
		return nil, err
	}
	if port.Type == matrix.F32 && m.DType != matrix.F32 {
		r = narrowed{r}
		m.DType = matrix.F32
	}
	t, err := interp.Read(ctx, r, m)
	if err == nil && port.Type != matrix.F32 && !m.DType.Float() {
		t.Type = port.Type // ids are int64 here, whatever their width
	}
	return t, err
}

// write stores outputs.
func (x *execution) write(ctx context.Context, e *env, fetch string, results []interp.Result) error {
	name, path, named := strings.Cut(fetch, "=")
	var names []string
	for i, one := range results {
		if named && one.Name == name {
			return x.store(ctx, e, path, results[i:i+1])
		}
		names = append(names, one.Name)
	}
	if named {
		return usageError{fmt.Errorf("--fetch %s: want NAME=FILE or FILE, NAME one of %s", fetch, strings.Join(names, ", "))}
	}
	return x.store(ctx, e, fetch, results)
}

func (x *execution) store(ctx context.Context, e *env, path string, results []interp.Result) error {
	o := output{to: x.to, force: x.force, quiet: true}
	t, err := o.target(ctx, e, path, nil)
	if err != nil {
		return err
	}
	if t.Info().Single && len(results) > 1 { // a folder with a file for each
		results = inFiles(e, results)
	}
	return o.write(ctx, e, resultReader(results), t, path, false)
}

// inFiles renames outputs whose names cannot be file names (Paddle 2: save_infer_model/scale_0.tmp_6), and reports the new names.
func inFiles(e *env, results []interp.Result) []interp.Result {
	taken := map[string]bool{}
	for _, r := range results {
		taken[r.Name] = true
	}
	results = slices.Clone(results)
	for i := range results {
		name := results[i].Name
		if format.PlainName(name) {
			continue
		}
		plain := strings.TrimLeft(strings.NewReplacer("/", "_", "\\", "_", "\x00", "_").Replace(name), ".")
		for plain == "" || taken[plain] || !format.PlainName(plain) {
			plain = "output_" + plain
		}
		taken[plain], results[i].Name = true, plain
		fmt.Fprintf(e.err, "output %s is written as %s\n", name, plain)
	}
	return results
}
