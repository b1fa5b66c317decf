package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/data"
	"thole.example/feature"
	"thole.example/internal/number"
)

// converting is the flags of data convert.
type converting struct {
	job
	to string
}

func convertDataCommand(e *env) *cobra.Command {
	var k converting
	c := &cobra.Command{
		Use:   "convert FILE... OUT",
		Short: "Write examples of any kind as libsvm, libffm or dummy",
		Long: `Reads examples of any kind and writes them as lines of libsvm, libffm or dummy, by the ending of OUT or --as. The rows of
tables become what training would learn from; groups become qid:N of libsvm, and weights are written to OUT.weights,
for --weights; what was found out of the columns is written to OUT.columns.json, unless --model names a model, whose columns are
taken then.`,
		Example: `  thole data convert loans.csv loans.ffm --label-column defaulted --ignore id
  thole data convert loans.csv loans.libsvm --label-column defaulted
  thole data convert loans.csv - --label-column defaulted --as libsvm`,
		RunE: func(c *cobra.Command, args []string) error {
			return k.run(c.Context(), e, args[:len(args)-1], args[len(args)-1])
		},
	}
	f := c.Flags()
	f.StringVar(&k.model, "model", "", "stored model whose columns are taken (default: they are found out)")
	f.StringVar(&k.to, "as", "", "libsvm, libffm or dummy (default: by the ending of OUT, else libsvm)")
	f.BoolVar(&k.noLabel, "no-label", false, "the examples have no labels, and 0 is written")
	f.BoolVar(&k.lossy, "lossy", false, "leave out groups and weights that the format of OUT cannot hold")
	f.BoolVar(&k.force, "force", false, "replace the files if they exist")
	k.dataFlags(e, c)
	k.columnFlags.flags(c)
	return c
}

func (k *converting) run(ctx context.Context, e *env, paths []string, to string) error {
	k.data = paths
	if err := k.checkPaths("thole data convert loans.csv loans.ffm"); err != nil {
		return err
	}
	target, err := data.FindSource(k.to, to)
	if err != nil {
		return usageError{err}
	}
	if k.to == "" && target.Writes() {
		if err := wantEnding(data.Unpacked(to), ", or a format named with --as", lineEndings...); err != nil {
			return err
		}
	}
	if !target.Writes() {
		return usageError{fmt.Errorf("%s: %s is only read, want libsvm, libffm or dummy (--as)", to, target.Name)}
	}
	o, err := k.options(ctx, e)
	if err != nil {
		return err
	}
	s, err := e.sink(to, k.force)
	if err != nil {
		return err
	}
	if err := s.apartOf(ctx, k.data); err != nil {
		return err
	}
	all, err := k.examples(ctx, e, k.data, o)
	if err != nil {
		return err
	}
	if err := k.companions(&target, all, s); err != nil {
		return err
	}
	var both together
	defer both.Abort()
	w, err := both.create(ctx, s)
	if err != nil {
		return err
	}
	p := e.progress("write "+s.path, "rows", int64(all.Len()))
	defer p.end()
	for lo := 0; lo < all.Len(); lo += writeRows {
		if err := errors.Join(ctx.Err(), data.Write(w, target.Name, all.Slice(lo, min(lo+writeRows, all.Len())))); err != nil {
			return optional(err)
		}
		if !s.streams() { // which may lead to the terminal
			p.set(int64(min(lo+writeRows, all.Len())), "")
		}
	}
	if all.Transform != nil && k.model == "" && !s.streams() {
		if err := k.beside(ctx, e, &both, to, all.Transform); err != nil {
			return err
		}
	}
	if all.Weight != nil {
		if err := k.weightsFile(ctx, e, &both, to, all.Weight); err != nil {
			return err
		}
	}
	if err := both.Commit(); err != nil {
		return err
	}
	p.end()
	if all.Weight != nil {
		sayWeights(e, to)
	} else if !s.streams() {
		if err := k.removeWeights(e, to); err != nil {
			return err
		}
	}
	sayTable(e.err, all.Transform)
	fmt.Fprintf(e.err, "%s: %s of %d features\n", s.path, number.Of(all.Len(), "example"), all.Dim())
	return nil
}

// weightsEnding is that of the file of weights next to examples.
const weightsEnding = ".weights"

// companions makes groups numbers that lines can hold, and refuses groups and weights for which the target has no place, unless --lossy
// leaves them out.
func (k *converting) companions(target *data.Source, all *data.Examples, s *sink) error {
	if all.Group != nil && !target.Groups() {
		if !k.lossy {
			return usageError{fmt.Errorf("%s: the examples have groups, which %s cannot hold; write libsvm (--as libsvm), or --lossy to leave them "+
				"out", s.path, target.Name)}
		}
		all.Group = nil
	}
	if all.Weight != nil && s.streams() {
		if !k.lossy {
			return usageError{fmt.Errorf("%s: the examples have weights, which are written to a file next to the output; want a file, or --lossy "+
				"to leave them out", s.path)}
		}
		all.Weight = nil
	}
	if all.Transform != nil { // whose groups are hashes of texts
		numbers := map[int64]int64{}
		for i, g := range all.Group {
			if _, known := numbers[g]; !known {
				numbers[g] = int64(len(numbers) + 1)
			}
			all.Group[i] = numbers[g]
		}
	}
	return nil
}

// weightsFile writes weights next to the examples, to appear together with them.
func (j *job) weightsFile(ctx context.Context, e *env, both *together, to string, weights []float32) error {
	s, err := e.sink(to+weightsEnding, j.force)
	if err != nil {
		return err
	}
	w, err := both.create(ctx, s)
	if err != nil {
		return err
	}
	var line []byte
	for _, v := range weights {
		line = append(strconv.AppendFloat(line, float64(v), 'g', -1, 32), '\n')
	}
	_, err = w.Write(line)
	return err
}

// removeWeights removes the weights of examples that were replaced by some without weights.
func (j *job) removeWeights(e *env, to string) error {
	if !j.force {
		return nil
	}
	s, err := e.sink(to+weightsEnding, true)
	if err != nil || s.streams() || s.over == blob.Nothing {
		return err
	}
	if info, err := os.Stat(s.file); err == nil && info.IsDir() {
		return nil // no weights
	}
	if err := s.remove(); err != nil {
		return err
	}
	fmt.Fprintf(e.err, "%s: removed, as the new examples have no weights\n", s.path)
	return nil
}

// sayWeights names the file of weights next to examples.
func sayWeights(e *env, to string) {
	fmt.Fprintf(e.err, "%s: the weights, for --weights\n", to+weightsEnding)
}

// options are those of reading the examples, with the columns of the model if there is one.
func (k *converting) options(ctx context.Context, e *env) (data.Options, error) {
	o, err := k.tableOptions(ctx, e)
	if err == nil {
		o.Weight, err = readWeights(ctx, e, k.weights)
	}
	if err != nil || k.model == "" {
		return o, err
	}
	m, err := openModel(ctx, e.paths, k.model, "", nil)
	if err != nil {
		return o, err
	}
	defer m.Close()
	if m.transform == nil {
		return o, fmt.Errorf("%s has no %s: it did not learn from a table; want none, or a model that did", k.model, feature.FileName)
	}
	o.Table.Transform = m.transform
	o.Unlabelled = func() {}
	return o, nil
}

// beside writes what was found out of the columns, to appear together with a file.
func (k *converting) beside(ctx context.Context, e *env, both *together, to string, t *feature.Transform) error {
	src, err := t.JSON()
	if err != nil {
		return err
	}
	s, err := e.sink(to+"."+feature.FileName, k.force)
	if err != nil {
		return err
	}
	w, err := both.create(ctx, s)
	if err != nil {
		return err
	}
	_, err = w.Write(src)
	return err
}
