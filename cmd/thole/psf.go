package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"thole.example/format"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/wasm"
)

// calling is the flags of psf.
type calling struct {
	source
	output
	trust  trust
	read   reading
	job    string
	dst    string
	asJSON bool
}

func psfCommand(e *env) *cobra.Command {
	var f calling
	c := &cobra.Command{
		Use:   "psf [MODEL|SERVERS] [FUNCTION] [NAME=VALUE...]",
		Short: "Run a function beside the data: of a saved model, or of a running job's servers",
		Long: `Runs a function of the parameter server's library, or a WebAssembly module (FUNCTION ends in .wasm), on a matrix: of the model
at a path, or with --job of a job that runs on the servers, whose addresses are separated by commas. A function that changes
a model needs --dst, where the changed model goes; one that changes a running job takes effect at once. With --coordinate SERVERS is
how many there are, and --read-from nearest or replica reads from standbys that copy their logs.

Without arguments it lists the functions, with a FUNCTION alone what that one takes.`,
		Example: `  thole psf
  thole psf topk
  thole psf out/lr topk k=5 abs=true --matrix input_weight
  thole psf out/lr histogram min=-1 max=1 --matrix input_weight
  thole psf weights.npy mapinplace 'f=abs(x) < 0.001 ? 0 : x' --dst small.npy
  thole psf 127.0.0.1:7001,127.0.0.1:7002 nrm2 --job job --matrix input_weight
  thole psf 2 nrm2 --job job --matrix input_weight --coordinate etcd://host0:2379 --read-from replica
  thole psf weights.npy affine.wasm from=0 'arg={"a": 2}' --dst doubled.npy`,
		RunE: func(c *cobra.Command, args []string) error {
			for _, name := range []string{"read-from", "max-lag", "coordinate", "cluster"} {
				if f.job == "" && c.Flags().Changed(name) {
					return usageError{fmt.Errorf("--%s without --job, want the name of a running job", name)}
				}
			}
			return f.run(c.Context(), e, args)
		},
	}
	f.source.flags(c, false)
	fl := c.Flags()
	f.trust.flags(fl)
	f.read.flags(fl)
	fl.StringSliceVar(&f.only, "matrix", nil, "matrix to work on (default: the only one)")
	fl.StringVar(&f.job, "job", "", "name of a running job: the first argument is the addresses of its servers")
	fl.StringVar(&f.dst, "dst", "", "where a changed model goes")
	fl.StringVar(&f.to, "to", "", "format of --dst (default: by its ending, else that of the model)")
	pairsVar(fl, &f.out, "out", "options of the format of --dst, NAME=VALUE (see thole formats)")
	fl.BoolVar(&f.lossy, "lossy", false, "allow to lose what the format of --dst cannot hold, and say what was lost")
	fl.StringVar(&f.maxDense, "max-dense", format.Bytes(format.DefaultMaxDense),
		"how large sparse matrices may become where every cell is stored: a size like 8GiB, or none")
	fl.BoolVar(&f.force, "force", false, "replace --dst if it exists")
	fl.BoolVar(&f.asJSON, "json", false, "print the answer as JSON, and nothing else")
	return c
}

func (f *calling) run(ctx context.Context, e *env, args []string) error {
	table, err := psf.NewTable(psf.Funcs(), nil)
	if err != nil {
		return err
	}
	switch len(args) {
	case 0:
		return f.list(e.out, table.Funcs())
	case 1:
		fn, err := table.Func(args[0])
		if err != nil {
			return usageError{fmt.Errorf("no FUNCTION after %s (thole psf lists them)", args[0])}
		}
		return f.describe(e.out, fn)
	}
	b := &called{flags: f, known: table, table: table, name: args[1]}
	if strings.HasSuffix(b.name, ".wasm") {
		if err := b.load(ctx, b.name); err != nil {
			return err
		}
		defer b.runtime.Close(context.WithoutCancel(ctx))
	}
	fn, err := b.table.Func(b.name)
	if err != nil {
		return usageError{fmt.Errorf("%q is no function (thole psf lists them)", b.name)}
	}
	if b.arg, err = argumentOf(fn, args[2:]); err != nil {
		return usageError{err}
	}
	if f.job != "" {
		return b.onServers(ctx, e, args[0])
	}
	return b.onModel(ctx, e, args[0])
}

// called is a function that is called, with its argument.
type called struct {
	flags   *calling
	known   *psf.Table // the library's
	table   *psf.Table // with the module's
	name    string
	arg     []byte
	runtime *wasm.Runtime // of a module
	module  []byte
	own     psf.Func // the module's
}

// load makes a module a function under the name of its file.
func (b *called) load(ctx context.Context, path string) error {
	var err error
	if b.module, err = os.ReadFile(path); err != nil {
		return err
	}
	if b.runtime, err = wasm.NewRuntime(ctx, 1); err != nil {
		return err
	}
	b.name = strings.TrimSuffix(filepath.Base(path), ".wasm")
	m, err := b.runtime.Compile(ctx, b.name, b.module, wasm.Limits{})
	if err != nil {
		return err
	}
	b.own = m.Func(b.name)
	b.table, err = b.table.With(b.own)
	return err
}

// matrixOf is the matrix that the flags mean, among those of the names.
func (f *calling) matrixOf(names []string) (string, error) {
	switch {
	case len(f.only) == 1:
		return f.only[0], nil
	case len(f.only) > 1:
		return "", usageError{errors.New("--matrix: several matrices, want one")}
	case len(names) == 1:
		return names[0], nil
	}
	return "", usageError{fmt.Errorf("--matrix: want one of %s", strings.Join(names, ", "))}
}

// onServers runs the function on a job's servers.
func (b *called) onServers(ctx context.Context, e *env, servers string) error {
	net, err := b.flags.trust.network()
	if err != nil {
		return err
	}
	c, end, err := b.flags.read.follow(ctx, servers, ps.Options{Network: net, Job: b.flags.job, Funcs: b.known})
	if err != nil {
		return err
	}
	defer end()
	var names []string
	for _, m := range c.Matrices() {
		names = append(names, m.Meta().Name)
	}
	name, err := b.flags.matrixOf(names)
	if err != nil {
		return err
	}
	m, err := c.Matrix(name)
	if err != nil {
		return err
	}
	if b.module != nil {
		if err := c.Define(ctx, b.own, b.module); err != nil {
			return err
		}
	}
	call, err := b.table.Bind(b.name, b.arg, m.Meta())
	if err != nil {
		return usageError{err}
	}
	if call.Merge == nil {
		if err := m.Update(ctx, b.name, b.arg); err != nil {
			return err
		}
		if !b.flags.asJSON {
			fmt.Fprintf(e.out, "%s changed matrix %s of job %s\n", b.name, name, b.flags.job)
		}
		return nil
	}
	answer, err := m.Get(ctx, b.name, b.arg)
	if err != nil {
		return err
	}
	return b.flags.show(e.out, b.name, answer)
}

// list lists functions.
func (f *calling) list(out io.Writer, funcs []*psf.Func) error {
	if f.asJSON {
		return writeJSON(out, funcs)
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "FUNCTION\tARGUMENTS\tWHAT IT DOES")
	for _, fn := range funcs {
		var args []string
		for i := range fn.Params {
			p := &fn.Params[i]
			name := p.Name
			if p.Default != "" || p.Optional {
				name = "[" + name + "]"
			}
			args = append(args, name)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", fn.Name, strings.Join(args, " "), fn.Help)
	}
	return w.Flush()
}

// describe says what a function takes.
func (f *calling) describe(out io.Writer, fn *psf.Func) error {
	if f.asJSON {
		return writeJSON(out, fn)
	}
	fmt.Fprintf(out, "%s: %s\n", fn.Name, fn.Help)
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for i := range fn.Params {
		p := &fn.Params[i]
		note := p.Help
		if p.Default != "" {
			note = strings.TrimSpace(note + " (default: " + p.Default + ")")
		}
		fmt.Fprintf(w, "  %s\t%v\t%s\n", p.Name, p.Kind, note)
	}
	return w.Flush()
}

// argumentOf makes the JSON argument of words NAME=VALUE. A value is JSON, or what its parameter takes without JSON's marks:
// texts without quotes, lists of numbers with commas alone.
func argumentOf(fn *psf.Func, words []string) ([]byte, error) {
	given := map[string]json.RawMessage{}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fmt.Errorf("%q, want NAME=VALUE", word)
		}
		if _, twice := given[name]; twice {
			return nil, fmt.Errorf("%q comes twice", name)
		}
		text := json.RawMessage(value)
		for i := range fn.Params {
			if p := &fn.Params[i]; p.Name == name {
				text = valueOf(p.Kind, value)
			}
		}
		if !json.Valid(text) {
			text, _ = json.Marshal(value) // the function says what it wants instead
		}
		given[name] = text
	}
	arg, err := json.Marshal(given)
	if err == nil {
		_, err = psf.ParseArgs(fn.Params, arg)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w (thole psf %s says what it takes)", fn.Name, err, fn.Name)
	}
	return arg, nil
}

func valueOf(kind psf.Kind, value string) json.RawMessage {
	switch kind {
	case psf.Text:
		text, _ := json.Marshal(value)
		return text
	case psf.RowList, psf.Columns, psf.Numbers:
		if !strings.HasPrefix(value, "[") {
			return json.RawMessage("[" + value + "]")
		}
	case psf.Scalars:
		if !strings.HasPrefix(value, "{") { // a:1,b:2
			var all []string
			for _, one := range strings.Split(value, ",") {
				name, number, _ := strings.Cut(one, ":")
				all = append(all, fmt.Sprintf("%q:%s", strings.TrimSpace(name), number))
			}
			return json.RawMessage("{" + strings.Join(all, ",") + "}")
		}
	}
	return json.RawMessage(value)
}
