package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/data"
	"thole.example/feature"
	"thole.example/internal/number"
)

// splitting is the flags of data split.
type splitting struct {
	job
	parts    []string
	out      string
	by, time string // columns
	stratify bool
	reader   data.RecordReader
	files    []string
	weight   []float32 // of the examples, in their order; nil: they have none
}

func splitCommand(e *env) *cobra.Command {
	var k splitting
	c := &cobra.Command{
		Use:   "split FILE...",
		Short: "Split examples into training and test parts",
		Long: `Writes each example, byte for byte, to the file of one part: FOLDER/train.csv, FOLDER/test.csv and so on, with the ending of
the first file; rows of Parquet and Arrow files become CSV. Parts of tables begin with the line of the names. All parts appear, or none.
Which part an example is in depends on --seed and its number: each part gets about its share. Or else

  --stratify     the same, but that every label has the shares of all, to within one example
  --in-order     on its place: the last examples are the last part
  --time COLUMN  on the time in a column: the latest rows are the last part, and rows of one time stay together
  --by COLUMN    on the value in a column: all examples of a user or so are in one part

All examples of a query (qid:N) go to the same part; with --in-order, to that of its first example. The weights of --weights are written
to FOLDER/train.csv.weights and so on, for --weights of train. Lines are not parsed. All but the first and the last of these read the files
twice.`,
		Example: `  thole data split loans.csv --out parts
  thole data split loans.csv --parts train=0.7,valid=0.15,test=0.15 --time applied --out by-time
  thole data split loans.csv --stratify --label-column defaulted --out stratified
  thole data split loans.csv --by city --seed 7 --out by-city
  thole data split train.libsvm --in-order --out in-order`,
		RunE: func(c *cobra.Command, args []string) error { return k.run(c.Context(), e, args) },
	}
	f := c.Flags()
	f.StringSliceVar(&k.parts, "parts", []string{"train=0.8", "test=0.2"}, "names of the parts and their shares, whose sum is 1")
	f.StringVar(&k.out, "out", "", "folder for the files, which is made if it is not there")
	f.Uint64Var(&k.seed, "seed", 1, "seed by which examples come to parts")
	f.BoolVar(&k.inOrder, "in-order", false, "keep the order: the first examples are the first part, the last ones the last")
	f.BoolVar(&k.stratify, "stratify", false, "every label in the same shares")
	f.StringVar(&k.labelColumn, "label-column", "", "column of tables with the label, for --stratify (default: one called label or so)")
	f.StringVar(&k.by, "by", "", "column of tables whose levels stay together in a part")
	f.StringVar(&k.time, "time", "", "column of tables with a time, or a number: the latest rows are the last part")
	f.StringVar(&k.format, "format", "", "libsvm, libffm, dummy, dense, csv, tsv, parquet or arrow (default: by the ending, else libsvm)")
	f.StringVar(&k.separator, "separator", "", "separator between the cells of tables (default: found out)")
	f.StringVar(&k.decimal, "decimal", "", "decimal separator of numbers in tables of text: , or . (default: a point)")
	f.StringSliceVar(&k.names, "names", nil, "names of the columns, for tables without a header line")
	k.weightsFlag(f)
	f.BoolVar(&k.force, "force", false, "replace the files if they exist")
	return c
}

func (k *splitting) run(ctx context.Context, e *env, paths []string) error {
	k.data = paths
	if err := k.checkPaths("thole data split loans.csv --out parts"); err != nil {
		return err
	}
	parts, err := data.ParseParts(k.parts)
	switch ways := btoi(k.inOrder) + btoi(k.by != "") + btoi(k.time != "") + btoi(k.stratify); {
	case err != nil:
		return usageError{fmt.Errorf("--parts: %w", err)}
	case k.out == "":
		return usageError{errors.New("no --out, which names a folder for the parts: thole data split loans.csv --out parts")}
	case k.labelColumn != "" && !k.stratify:
		return usageError{errors.New("--label-column without --stratify, for which it is")}
	case ways > 1:
		return usageError{errors.New("more than one of --in-order, --by, --time and --stratify, want one: each says which part an example is in")}
	}
	if info, err := os.Stat(k.out); err != nil || !info.IsDir() { // it will be made
		if err := wantEnding(k.out, ""); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	o, err := k.dataOptions("")
	if err != nil {
		return err
	}
	spec := feature.Spec{Names: k.names}
	if spec.Decimal, err = feature.ParseDecimal(k.decimal); err != nil {
		return usageError{fmt.Errorf("--decimal: %w", err)}
	}
	o.Table = &data.Table{Spec: spec}
	k.reader = data.RecordReader{Options: o, Column: k.by + k.time + k.labelColumn, Label: k.stratify}
	if k.weight, err = readWeights(ctx, e, k.weights); err != nil {
		return err
	}
	named, err := data.Files(ctx, e.paths, paths)
	if err != nil {
		return err
	}
	for _, path := range named {
		file, err := e.readable(ctx, path)
		if err != nil {
			return err
		}
		k.files = append(k.files, file)
	}
	source, err := data.FindSource(k.format, named[0])
	if err != nil {
		return usageError{err}
	}
	k.reader.Options.Store = e.paths
	of, err := k.assign(ctx, e, parts)
	if err != nil {
		return optional(err)
	}
	return optional(k.write(ctx, e, parts, of, endingOf(named[0], &source)))
}

// optional marks errors of options as those of the command line.
func optional(err error) error {
	if errors.Is(err, data.ErrOption) {
		return usageError{err}
	}
	return err
}

// endingOf is the ending that parts of a file get: that of its name, else that of its format.
func endingOf(path string, source *data.Source) string {
	if source.Binary() {
		return ".csv"
	}
	if ending := blob.Ext(data.Unpacked(path)); ending != "" && path != data.Stdin {
		return ending
	}
	return "." + source.Name
}

// assign says in which part an example is, by its number and its cell. Where that takes all of them, they are read once before.
func (k *splitting) assign(ctx context.Context, e *env, parts data.Parts) (of func(i int, one data.Record) int, err error) {
	switch {
	case k.by != "":
		var room [64]byte
		return func(_ int, one data.Record) int {
			return parts.Draw(k.seed, feature.Of(feature.Canonical(room[:0], one.Cell)))
		}, nil
	case k.stratify:
		classes, err := k.classes(ctx, e)
		if err != nil {
			return nil, err
		}
		return numberedParts(parts.Stratify(k.seed, classes)), nil
	case k.inOrder:
		n := 0
		for _, err := range k.read(ctx, e, "count") {
			if err != nil {
				return nil, err
			}
			n++
		}
		first := map[string]int{} // of each query
		return func(i int, one data.Record) int {
			if one.Query == nil {
				return parts.Place(i, n)
			}
			at, known := first[string(one.Query)]
			if !known {
				at, first[string(one.Query)] = i, i
			}
			return parts.Place(at, n)
		}, nil
	case k.time != "":
		times, err := k.times(ctx, e)
		if err != nil {
			return nil, err
		}
		return numberedParts(parts.Order(times)), nil
	}
	return func(i int, one data.Record) int {
		if one.Query != nil {
			return parts.Draw(k.seed, feature.Of(one.Query))
		}
		return parts.Draw(k.seed, uint64(i))
	}, nil
}

// numberedParts gives the part of each example by its number; -1: there were not so many.
func numberedParts(all []int) func(int, data.Record) int {
	return func(i int, _ data.Record) int {
		if i >= len(all) {
			return -1
		}
		return all[i]
	}
}

// splitPass is what the last reading of the examples does, which reports the columns that it leaves out.
const splitPass = "split"

// read gives all examples, and says how far it is.
func (k *splitting) read(ctx context.Context, e *env, what string) iter.Seq2[data.Record, error] {
	return func(yield func(data.Record, error) bool) {
		p := e.progress(what+" "+strings.Join(k.data, ", "), "B", 1)
		defer p.end()
		k.reader.Options.Progress = p.read
		if what == splitPass {
			k.reader.Options.Note = noting(p.line)
		}
		k.reader.Read(ctx, k.files)(yield)
	}
}

// classLimit is how many labels there may be to keep their shares.
const classLimit = 1 << 16

// classes are the labels of all examples, as numbers in the order in which they first occur.
func (k *splitting) classes(ctx context.Context, e *env) (all []int32, err error) {
	known := map[string]int32{}
	for one, err := range k.read(ctx, e, "read labels of") {
		if err != nil {
			return nil, err
		}
		if one.Query != nil {
			return nil, usageError{fmt.Errorf("%s:%d: --stratify divides the examples of qid:%s, which stay together; leave it out", one.Path,
				one.Line, one.Query)}
		}
		class, ok := known[string(one.Cell)]
		if !ok {
			if class = int32(len(known)); class == classLimit {
				return nil, fmt.Errorf("%s:%d: more than %d different labels, want --stratify with labels that are classes", one.Path, one.Line,
					classLimit)
			}
			known[string(one.Cell)] = class
		}
		all = append(all, class)
	}
	return all, nil
}

// timeSample is of how many rows the format of times is found out.
const timeSample = 1000

// times are those of all rows.
func (k *splitting) times(ctx context.Context, e *env) (all []float64, err error) {
	var sample []string
	for one, err := range k.reader.Read(ctx, k.files) {
		if err != nil {
			return nil, err
		}
		if sample = append(sample, string(one.Cell)); len(sample) == timeSample {
			break
		}
	}
	read, note, err := feature.FindTime(k.time, sample)
	if err != nil {
		return nil, fmt.Errorf("--time %s: %w", k.time, err)
	}
	if note != "" {
		fmt.Fprintln(e.err, escaped(note))
	}
	for one, err := range k.read(ctx, e, "read times of") {
		if err != nil {
			return nil, err
		}
		at, ok := read(one.Cell)
		if !ok {
			return nil, fmt.Errorf("%s:%d: column %q: %.40q, want a time as in the first rows", one.Path, one.Line, k.time, one.Cell)
		}
		all = append(all, at)
	}
	return all, nil
}

// write writes the parts, all of which appear when all are written, or none.
func (k *splitting) write(ctx context.Context, e *env, parts data.Parts, of func(int, data.Record) int, ending string) error {
	sinks, ws := make([]*sink, len(parts.Names)), make([]*writing, len(parts.Names))
	for p, name := range parts.Names {
		var err error
		if sinks[p], err = e.sink(blob.Join(k.out, name+ending), k.force); err != nil {
			return err
		}
		if err := sinks[p].apartOf(ctx, k.files); err != nil {
			return err
		}
	}
	var all together
	defer all.Abort()
	for p := range ws {
		var err error
		if ws[p], err = all.create(ctx, sinks[p]); err != nil {
			return err
		}
	}
	counts, weights, err := k.fill(ctx, e, ws, parts, of)
	if err != nil {
		return err
	}
	for p, w := range weights {
		if err := k.weightsFile(ctx, e, &all, sinks[p].path, w); err != nil {
			return err
		}
	}
	if err := all.Commit(); err != nil {
		return err
	}
	for p := range ws {
		fmt.Fprintf(e.err, "%s: %s\n", sinks[p].path, number.Of(counts[p], "example"))
		if weights != nil {
			sayWeights(e, sinks[p].path)
		} else if err := k.removeWeights(e, sinks[p].path); err != nil {
			return err
		}
	}
	return nil
}

// fill writes every example to its part, and answers how many each has, and their weights if the examples have some.
func (k *splitting) fill(ctx context.Context, e *env, ws []*writing, parts data.Parts, of func(int, data.Record) int) (
	counts []int, weights [][]float32, err error) {
	i := 0
	counts = make([]int, len(ws))
	if k.weight != nil {
		weights = make([][]float32, len(ws))
	}
	pending := make([][]byte, len(ws))
	for one, err := range k.read(ctx, e, splitPass) {
		if err != nil {
			return nil, nil, err
		}
		p := of(i, one)
		if p < 0 {
			return nil, nil, fmt.Errorf("%s: more examples than when it was read before, want files that stay as they are", one.Path)
		}
		if counts[p]++; counts[p] == 1 {
			pending[p] = append(pending[p], k.reader.Header...)
		}
		if i < len(k.weight) {
			weights[p] = append(weights[p], k.weight[i])
		}
		i++
		if pending[p] = append(pending[p], one.Text...); len(pending[p]) > 1<<16 {
			if _, err := ws[p].Write(pending[p]); err != nil {
				return nil, nil, err
			}
			pending[p] = pending[p][:0]
		}
	}
	if k.weight != nil && len(k.weight) != i {
		return nil, nil, fmt.Errorf("%s: %s for %s; want one for each", strings.Join(k.weights, ", "), number.Of(len(k.weight), "weight"),
			number.Of(i, "example"))
	}
	for p, n := range counts {
		if n == 0 {
			return nil, nil, fmt.Errorf("part %s gets none of %s; want more of them, other --parts or another --seed", parts.Names[p],
				number.Of(i, "example"))
		}
		if _, err := ws[p].Write(pending[p]); err != nil {
			return nil, nil, err
		}
	}
	return counts, weights, nil
}
