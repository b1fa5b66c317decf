package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/graph"
)

// results is the flags that say where predictions go.
type results struct {
	path, to string
	force    bool
	lossy    bool
	keep     []string // columns of tables that are written, too

	sink   *sink  // of text; nil: none
	cell   byte   // between its cells
	target *place // of other formats; nil: none
}

func (r *results) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&r.path, "out", "", `file for the predictions, "-" for standard output`)
	f.StringVar(&r.to, "to", "", "format of --out, such as csv, tsv, jsonl, parquet or npy (default: by the ending, else csv)")
	f.StringSliceVar(&r.keep, "keep", nil, "columns of the table to copy to --out (csv, tsv, jsonl), such as ids; rankings keep their "+
		"group column")
	f.BoolVar(&r.lossy, "lossy", false, "write --out even if its format loses something, such as the names of columns, and say what was lost")
	f.BoolVar(&r.force, "force", false, "replace the file of --out if it exists")
}

// check finds out where the predictions go, before anything is read.
func (r *results) check(ctx context.Context, e *env) (err error) {
	if r.path == "" {
		if len(r.keep) > 0 {
			return usageError{fmt.Errorf("--keep %s: columns are copied to --out; name a file with --out", strings.Join(r.keep, ","))}
		}
		return nil
	}
	to, plain := r.to, data.Unpacked(r.path)
	if to == "" {
		if to, err = predictionFormat(plain); err != nil {
			return usageError{fmt.Errorf("--out %w", err)}
		}
	}
	switch strings.ToLower(to) {
	case "", "csv":
		r.cell = ','
	case "tsv":
		r.cell = '\t'
	case "jsonl":
		r.cell = jsonLines
	default:
		if len(r.keep) > 0 {
			return usageError{fmt.Errorf("--keep %s: %s holds numbers only; write csv, tsv or jsonl (--to)", strings.Join(r.keep, ","), to)}
		}
		if plain != r.path {
			return usageError{fmt.Errorf("--out %s: only csv, tsv and jsonl are packed, want no %s", r.path, strings.TrimPrefix(r.path, plain))}
		}
		r.target, err = (&output{to: to, force: r.force}).target(ctx, e, r.path, nil)
		return err
	}
	r.sink, err = e.sink(r.path, r.force)
	return err
}

// jsonLines stands for the byte between cells where predictions are JSON objects, one in each line.
const jsonLines = '{'

// predictionFormat is the format that the ending of a name stands for.
func predictionFormat(name string) (string, error) {
	known := []string{".csv", ".jsonl", ".ndjson"}
	for _, c := range codecs() {
		i := c.Info()
		if i.Needs != "" || i.Writes == "" { // predictions are no trees
			continue
		}
		for _, e := range i.AllEndings() {
			if !slices.Contains(known, e.Ext) {
				known = append(known, e.Ext)
			}
			if e.Ext != fileEnding(name) {
				continue
			}
			if e.Set["separator"] == "tab" {
				return "tsv", nil
			}
			return i.Name, nil
		}
	}
	switch fileEnding(name) {
	case "":
		return "csv", nil
	case ".jsonl", ".ndjson":
		return "jsonl", nil
	}
	return "", wantEnding(name, ", or a format named with --to", known...)
}

// apart refuses to write predictions over the model, or into it.
func (r *results) apart(model string) error {
	to := r.sink
	if r.target != nil {
		to = r.target.sink
	}
	if to == nil {
		return nil
	}
	if err := to.apart(model); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

// reports is where a command says what it did: not where the predictions go.
func (r *results) reports(e *env) io.Writer {
	switch {
	case r.target != nil:
		return r.target.sink.reports()
	case r.sink != nil:
		return r.sink.reports()
	}
	return e.out
}

// begin begins to write predictions. The file appears whole or not at all.
func (r *results) begin(ctx context.Context, e *env, h *head) (predictions, error) {
	switch {
	case r.target != nil:
		return newPredictionTable(e, h, r)
	case r.sink != nil:
		return &predictionText{head: h, sink: r.sink, cell: r.cell}, nil
	}
	return nowhere{}, nil
}

// predictions takes the scores of examples, in order.
type predictions interface {
	// add takes those of some examples.
	add(ctx context.Context, b *data.Batch, r *rated) error
	// end makes them visible.
	end(ctx context.Context) error
	// abort forgets them; after end it does nothing.
	abort()
}

// nowhere is predictions that nobody asked for.
type nowhere struct{}

func (nowhere) add(context.Context, *data.Batch, *rated) error { return nil }
func (nowhere) end(context.Context) error                      { return nil }
func (nowhere) abort()                                         {}

// head says what is written of an example: its number, and then numbers.
type head struct {
	loss     graph.Loss
	width    int // scores of an example
	labelled bool
	classes  data.Classes // what labels were before they were -1 and +1, or numbers of classes; nil: the same

	outputs []string // names of outputs that are not classes, each of which has a prediction; nil: there is one, or classes
	texts   []string // of the labels 0, 1 and so on, where they are texts; nil: they are numbers
	exact   bool     // numbers but the label are float64, else float32
	more    []string // names of further ones
	kept    []string // names of columns of the table, whose cells are last; of lines the group

	said []float64 // scratch
	zero bool      // labels of negative examples are 0 in the data
}

// of are names with that of each class behind them; the name alone if there is one score.
func (h *head) of(name string) []string {
	if h.width == 1 {
		return []string{name}
	}
	all := make([]string, h.width)
	for i := range all {
		if h.outputs != nil {
			all[i] = name + "_" + h.outputs[i]
			continue
		}
		all[i] = name + "_" + h.text(h.classes[i])
	}
	return all
}

// text is what a label is as a text; v is its number.
func (h *head) text(v float32) string {
	if i := int(v); float32(i) == v && i >= 0 && i < len(h.texts) {
		return h.texts[i]
	}
	return fmt.Sprint(v)
}

// textAt is the text of number i of those that row appends, if it is a label of a model whose labels are texts.
func (h *head) textAt(i int, v, label float32) (text string, ok bool) {
	switch {
	case h.texts == nil:
	case i == h.width && h.width > 1 && h.outputs == nil: // the prediction
		return h.text(v), true
	case i != h.labelAt():
	case h.width == 1 && h.classes != nil: // two classes, of which the learned labels are -1 and +1
		return h.text(float32(min(1, max(0, label)))), true
	default:
		return h.text(v), true
	}
	return "", false
}

// labelAt is which of the numbers that row appends is the label, -1 if none is.
func (h *head) labelAt() int {
	switch {
	case !h.labelled:
		return -1
	case h.outputs != nil:
		return 2 * h.width
	case h.width > 1:
		return 2*h.width + 1
	}
	return h.width + 1
}

// names are those of the columns.
func (h *head) names() []string {
	all := append([]string{"row"}, h.of("margin")...)
	switch {
	case h.outputs != nil:
		all = append(all, h.of("prediction")...)
	case h.width > 1:
		all = append(append(all, "prediction"), h.of("probability")...)
	default:
		all = append(all, "prediction")
	}
	if h.labelled {
		all = append(all, "label")
	}
	return append(append(all, h.more...), h.kept...)
}

// checkKept refuses columns to keep that predictions already have, by name.
func (h *head) checkKept(names []string) error {
	bare := *h
	bare.kept = nil
	known := bare.names()
	for i, name := range names {
		switch {
		case slices.Contains(known, name):
			return usageError{fmt.Errorf("--keep %s: predictions have a column %q of their own; rename the column of the table", name, name)}
		case slices.Contains(names[:i], name):
			return usageError{fmt.Errorf("--keep %s: named twice, want each column once", name)}
		}
	}
	return nil
}

// linesGroup is the column of the groups of lines, as they name it.
const linesGroup = "qid"

// keeps finds out which columns of examples are kept.
func (h *head) keeps(b *data.Batch) {
	switch {
	case b.Kept != nil:
		h.kept = b.Kept.Names
	case h.loss.Task() == algo.Ranking && b.Group != nil:
		h.kept = []string{linesGroup}
	}
}

// cellOf appends the cell of kept column k of example i.
func (h *head) cellOf(to []byte, b *data.Batch, i, k int) []byte {
	if b.Kept != nil {
		return append(to, b.Kept.Cell(i, k)...)
	}
	return strconv.AppendInt(to, b.Group[i], 10)
}

// row appends the numbers of an example behind its number: of example i of a batch, with the label.
func (h *head) row(to []float64, i int, label float32, r *rated) []float64 {
	score := r.score[i*h.width : (i+1)*h.width]
	to = append(to, score...)
	if h.said = graph.PredictWide(h.loss, h.said[:0], score); h.width > 1 && h.outputs == nil {
		h.said[0] = float64(h.classes[int(h.said[0])])
	}
	to = append(to, h.said...)
	if h.labelled {
		to = append(to, float64(h.label(label)))
	}
	n := len(h.more)
	return append(to, r.more[i*n:(i+1)*n]...)
}

// label is what a label was in the text.
func (h *head) label(y float32) float32 {
	switch {
	case h.classes == nil:
		return y
	case h.width > 1:
		return h.classes[int(y)]
	case y > 0:
		return h.classes[1]
	case h.zero:
		return 0
	}
	return h.classes[0]
}
