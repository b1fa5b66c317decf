package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"thole.example/data"
	"thole.example/graph"
	"thole.example/internal/number"
)

// scoreFinding is why trees score an example as they do.
type scoreFinding struct {
	Model     string               `json:"model"`
	Row       int64                `json:"row"`
	Classes   []string             `json:"classes,omitempty"` // of several, one for each margin
	Margin    []float64            `json:"margin"`
	Outputs   []string             `json:"outputs,omitempty"`     // of several that are not classes, one for each margin
	Predicted string               `json:"prediction"`            // a number, or a class; of several outputs all numbers
	Outcomes  []float64            `json:"predictions,omitempty"` // of each output
	Values    []float64            `json:"probability,omitempty"` // of each class
	Base      []float64            `json:"base"`
	Features  []contributedFeature `json:"contributions"`
	Others    int                  `json:"others,omitempty"` // features that contribute something, too

	others []float64 // what they contribute
	of     string    // what the prediction is a probability of
}

// contributedFeature is what a feature contributes to each margin.
type contributedFeature struct {
	Feature string    `json:"feature"`
	ID      int       `json:"id"`
	Value   string    `json:"value"`
	By      []float64 `json:"by"`
	size    float64
}

// run explains the score of an example.
func (x *explanation) run(ctx context.Context, e *env, path string) error {
	if err := x.check(path); err != nil {
		return err
	}
	var err error
	if x.job.model, err = e.readable(ctx, path); err != nil {
		return err
	}
	m, err := openModel(ctx, e.paths, x.job.model, x.from, nil)
	if err != nil {
		return err
	}
	defer m.Close()
	if m.trees == nil {
		return usageError{fmt.Errorf("%s is no model of trees, whose scores --data explains; thole weights lists those of linear models", path)}
	}
	x.contrib = true
	g, err := x.treeScoring(ctx, e, m)
	if err != nil {
		return err
	}
	g.options.Unlabelled = func() {}
	b, at, err := x.find(ctx, e, g.options)
	if err != nil {
		return err
	}
	f := x.explain(g, b, at)
	f.Model, f.Row = path, x.row
	if x.asJSON {
		return writeJSON(e.out, f)
	}
	return f.print(legible{e.out})
}

// find is the batch that has the example, and where.
func (x *explanation) find(ctx context.Context, e *env, o data.Options) (b *data.Batch, at int, err error) {
	files, err := data.Files(ctx, e.paths, x.job.data)
	if err != nil {
		return nil, 0, err
	}
	rows := int64(0)
	for b, err := range data.ReadFiles(ctx, files, e.in, o) {
		if err != nil {
			return nil, 0, err
		}
		first := rows
		rows += int64(b.Len())
		if b.Row == nil && x.row < rows {
			return b, int(x.row - first), nil
		}
		if at, found := slices.BinarySearch(b.Row, x.row); found {
			return b, at, nil
		}
	}
	return nil, 0, fmt.Errorf("%s: no example %d among %s, which count from 0", strings.Join(x.job.data, ", "), x.row,
		number.Of(rows, "example"))
}

// explain explains the score of one example of a batch.
func (x *explanation) explain(g *scoring, b *data.Batch, at int) *scoreFinding {
	s := g.trees
	n, w := g.width, s.view.Width()
	row, by := make([]float64, w), make([]float64, n*(w+1))
	f := &scoreFinding{Margin: make([]float64, n), others: make([]float64, n)}
	s.view.Fill(b, at, at+1, row)
	var start []float64
	if b.Start != nil { // which the scorer adds to
		start = b.Start[at*n : (at+1)*n]
	}
	copy(f.Margin, start)
	s.fast.Row(row, f.Margin)
	s.shares.Contributions(row, by)
	s.base(start, by)
	h := head{loss: g.loss, width: n, classes: g.options.Classes, texts: g.texts}
	said := graph.PredictWide(g.loss, nil, f.Margin)
	f.Predicted = fmt.Sprintf("%.6g", said[0])
	if len(g.texts) == 2 && n == 1 && g.loss.Task() == graph.Classification {
		f.of = fmt.Sprintf(" (%s)", g.texts[1])
	}
	switch {
	case g.outputs != nil:
		f.Outputs, f.Outcomes = g.outputs, said
		for _, v := range said[1:] {
			f.Predicted += fmt.Sprintf(", %.6g", v)
		}
	case n > 1:
		f.Predicted, f.Values = h.text(h.classes[int(said[0])]), said[1:]
		for _, c := range h.classes {
			f.Classes = append(f.Classes, h.text(c))
		}
	}
	for k := range n {
		f.Base = append(f.Base, by[k*(w+1)+w])
	}
	for i := range w {
		one := contributedFeature{Feature: s.of[i], ID: int(s.from[i]), Value: s.view.Text(int(s.from[i]), row[i])}
		for k := range n {
			one.By = append(one.By, by[k*(w+1)+i])
			one.size = max(one.size, math.Abs(one.By[k]))
		}
		if one.size > 0 {
			f.Features = append(f.Features, one)
		}
	}
	f.shorten(x.top)
	return f
}

// shorten leaves those features that contribute most; of equal ones the first.
func (f *scoreFinding) shorten(top int) {
	slices.SortStableFunc(f.Features, func(a, b contributedFeature) int { return cmp.Compare(b.size, a.size) })
	if len(f.Features) <= top {
		return
	}
	for _, one := range f.Features[top:] {
		for k, v := range one.By {
			f.others[k] += v
		}
	}
	f.Others, f.Features = len(f.Features)-top, f.Features[:top]
}

func (f *scoreFinding) print(out io.Writer) error {
	fmt.Fprintf(out, "%s: row %d: prediction %s%s\n\n", f.Model, f.Row, f.Predicted, f.of)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, value string, by []float64, form string) {
		for _, v := range by {
			fmt.Fprintf(w, form+"\t", v)
		}
		fmt.Fprintf(w, "%s\t%s\n", clipped(name, longText), clipped(value, longText))
	}
	heads := append(f.Classes, f.Outputs...) // there are only ever one of both
	for _, c := range heads {
		fmt.Fprintf(w, "%s\t", clipped(c, shortText))
	}
	if len(heads) == 0 {
		fmt.Fprint(w, "contribution\t")
	}
	fmt.Fprintln(w, "feature\tvalue")
	for _, one := range f.Features {
		line(one.Feature, one.Value, one.By, "%+.6g")
	}
	if f.Others > 0 {
		line(number.Of(f.Others, "other feature"), "", f.others, "%+.6g")
	}
	line("base", "", f.Base, "%+.6g")
	line("= margin", "", f.Margin, "%.6g")
	return w.Flush()
}
