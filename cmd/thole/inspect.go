package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"thole/blob"
	"thole/format"
	"thole/matrix"
)

// finding is what inspect says of a path.
type finding struct {
	Path     string          `json:"path"`
	Format   string          `json:"format"`
	Dialect  string          `json:"dialect"`
	Notes    []string        `json:"notes,omitempty"`
	Files    map[string]int  `json:"files,omitempty"`
	Quick    bool            `json:"quick,omitempty"` // the values were not read
	Matrices []matrixFinding `json:"matrices"`
	// Topology is the network whose parameters the matrices are, where the path holds one.
	Topology *topologyFinding `json:"topology,omitempty"`
}

// matrixFinding is what inspect says of one matrix. The statistics are of stored values; they are absent if there are
// none.
type matrixFinding struct {
	Name   string            `json:"name"`
	Rows   int64             `json:"rows"`
	Cols   int64             `json:"cols"`
	First  int64             `json:"firstColumn,omitempty"`
	DType  string            `json:"dtype"`
	Layout string            `json:"layout"`
	Saved  string            `json:"savedRows,omitempty"`
	Dims   []int64           `json:"dims,omitempty"`
	LoD    [][]int64         `json:"lod,omitempty"`
	Labels []string          `json:"labels,omitempty"`
	Attrs  map[string]string `json:"attributes,omitempty"`
	Stored int64             `json:"stored"`
	Zeros  int64             `json:"zeros"`
	NaNs   int64             `json:"nans"`
	Min    *float64          `json:"min,omitempty"`
	Mean   *float64          `json:"mean,omitempty"`
	Max    *float64          `json:"max,omitempty"`
	Std    *float64          `json:"std,omitempty"`
	Shape  string            `json:"histogram,omitempty"` // of the stored values from Min to Max
}

func inspectCommand(e *env) *cobra.Command {
	var s source
	var asJSON, quick, verbose, dot, svg bool
	c := &cobra.Command{
		Use:     "inspect PATH",
		Short:   "Say what a stored model holds: format, dialect, matrices, statistics",
		Example: "  thole inspect out/lr\n  thole inspect weights.dbdf --json\n  thole inspect uci_housing_model --svg > network.svg",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if dot || svg {
				return drawTopology(c.Context(), e, args[0], svg)
			}
			f, err := s.find(c.Context(), e, args[0], !quick)
			if err != nil {
				return err
			}
			if asJSON {
				enc := json.NewEncoder(e.out)
				enc.SetIndent("", "  ")
				return enc.Encode(f)
			}
			return f.print(e.out, verbose)
		},
	}
	s.flags(c, false)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&quick, "quick", false, "do not read the values")
	c.Flags().BoolVar(&dot, "dot", false, "print the network of a Paddle model in the language of Graphviz")
	c.Flags().BoolVar(&svg, "svg", false, "print a picture of the network of a Paddle model")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "also print the attributes that the format stores")
	return c
}

func (s *source) find(ctx context.Context, e *env, path string, deep bool) (*finding, error) {
	if b, m, err := topology(ctx, path); s.from == "" && (m != nil || err != nil) {
		if err != nil {
			return nil, err
		}
		return s.findModel(ctx, e, path, deep, b, m)
	}
	r, codec, err := open(ctx, path, s.from, s.set)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f := &finding{Path: path, Format: codec.Info().Name, Notes: r.Notes(), Files: map[string]int{}, Quick: !deep}
	b, name, err := blob.Local(path)
	if err != nil {
		return nil, err
	}
	if f.Dialect, err = codec.Sniff(ctx, b, name); err != nil {
		return nil, format.Wrap(f.Format, name, err)
	}
	for file, data := range r.Files() {
		f.Files[file] = len(data)
	}
	return f, f.describeAll(ctx, e, r)
}

// describeAll adds the matrices of a reader, with statistics unless the finding is a quick one.
func (f *finding) describeAll(ctx context.Context, e *env, r format.Reader) error {
	p := newProgress(e.err, "inspect", "values", 2*values(r.Matrices()))
	defer p.end()
	for _, m := range r.Matrices() {
		found := describe(m)
		if !f.Quick {
			if err := found.count(ctx, r, m, p); err != nil {
				return err
			}
		}
		f.Matrices = append(f.Matrices, found)
	}
	return nil
}

func describe(m matrix.Meta) matrixFinding {
	f := matrixFinding{
		Name: m.Name, Rows: m.Rows, Cols: m.Cols, First: m.ColLo, DType: m.DType.String(), Layout: m.Layout.String(),
		Dims: m.Dims, LoD: m.LoD, Labels: m.Labels, Attrs: m.Attrs,
	}
	if m.Saved != nil {
		var rows []string
		for _, r := range m.Saved {
			rows = append(rows, r.String())
		}
		f.Saved = strings.Join(rows, " ")
	}
	return f
}

// count goes over the stored values: once for the statistics, once more for the histogram, whose ends they are.
func (f *matrixFinding) count(ctx context.Context, r format.Reader, m matrix.Meta, p *progress) error {
	lo, hi, mean, spread := math.Inf(1), math.Inf(-1), 0.0, 0.0
	n := 0.0
	err := eachValue(ctx, r, m, p, func(v float64) {
		f.Stored++
		switch {
		case v != v:
			f.NaNs++
			return
		case v == 0:
			f.Zeros++
		}
		n++
		lo, hi = min(lo, v), max(hi, v)
		step := v - mean // Welford's update: no loss of digits when values are large and close together
		mean += step / n
		spread += step * (v - mean)
	})
	if err != nil || n == 0 || math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		return err
	}
	std := math.Sqrt(spread / n)
	f.Min, f.Mean, f.Max, f.Std = &lo, &mean, &hi, &std
	if hi == lo {
		return nil
	}
	var bins [histogramBins]int64
	err = eachValue(ctx, r, m, p, func(v float64) {
		if v == v {
			bins[min(histogramBins-1, int((v-lo)/(hi-lo)*histogramBins))]++
		}
	})
	f.Shape = sparkline(bins[:])
	return err
}

// eachValue calls do for every stored value, as the nearest float64.
func eachValue(ctx context.Context, r format.Reader, m matrix.Meta, p *progress, do func(v float64)) error {
	for b, err := range r.Blocks(ctx, m.Name, m.Rect()) {
		if err != nil {
			return err
		}
		wide, _ := b.Cast(matrix.F64)
		if val, ok := wide.Data.Values().([]float64); ok {
			for _, v := range val {
				do(v)
			}
		}
		p.add(b.Data.NNZ())
	}
	return nil
}

// histogramBins is how many bars the picture of a matrix's values has.
const histogramBins = 16

// sparkline draws counts as bars of eight heights; what is not empty is never drawn as empty.
func sparkline(bins []int64) string {
	bars := []rune(" ▁▂▃▄▅▆▇█")
	highest := slices.Max(bins)
	line := make([]rune, len(bins))
	for i, n := range bins {
		height := int((n*int64(len(bars)-1) + highest - 1) / highest)
		line[i] = bars[height]
	}
	return string(line)
}

func (f *finding) print(out io.Writer, verbose bool) error {
	fmt.Fprintf(out, "%s: format %s, %s\n", f.Path, f.Format, f.Dialect)
	for _, n := range f.Notes {
		if n != f.Dialect {
			fmt.Fprintf(out, "  note: %s\n", n)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Files)) {
		fmt.Fprintf(out, "  file: %s, %d bytes\n", name, f.Files[name])
	}
	if f.Topology != nil {
		if err := f.Topology.print(out); err != nil || len(f.Matrices) == 0 {
			return err
		}
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "MATRIX\tSIZE\tTYPE\tLAYOUT\tSTORED\tZEROS\tMIN\tMEAN\tMAX\tSTD\tVALUES\tMORE")
	for _, m := range f.Matrices {
		if f.Quick {
			fmt.Fprintf(w, "%s\t%d x %d\t%s\t%s\t-\t-\t-\t-\t-\t-\t\t%s\n", m.Name, m.Rows, m.Cols, m.DType, m.Layout, m.more())
			continue
		}
		fmt.Fprintf(w, "%s\t%d x %d\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, m.Rows, m.Cols, m.DType, m.Layout,
			m.Stored, m.zeroShare(), short(m.Min), short(m.Mean), short(m.Max), short(m.Std), m.Shape, m.more())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, m := range f.Matrices {
		for _, name := range slices.Sorted(maps.Keys(m.Attrs)) {
			if verbose {
				fmt.Fprintf(out, "  %s: %s = %s\n", m.Name, name, m.Attrs[name])
			}
		}
	}
	return nil
}

// zeroShare is the number of stored zeros and their share.
func (m *matrixFinding) zeroShare() string {
	if m.Zeros == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%.3g%%)", m.Zeros, 100*float64(m.Zeros)/float64(m.Stored))
}

// more is what only some matrices have.
func (m *matrixFinding) more() string {
	var more []string
	if m.Saved != "" {
		more = append(more, "saved rows "+m.Saved)
	}
	if m.First != 0 {
		more = append(more, fmt.Sprintf("columns from %d", m.First))
	}
	if len(m.Dims) > 0 && len(m.Dims) != 2 {
		more = append(more, fmt.Sprintf("tensor %v", m.Dims))
	}
	if len(m.LoD) > 0 {
		more = append(more, fmt.Sprintf("LoD of %d levels", len(m.LoD)))
	}
	if len(m.Labels) > 0 {
		more = append(more, "labels "+strings.Join(m.Labels[:min(3, len(m.Labels))], ", "))
	}
	if m.NaNs > 0 {
		more = append(more, fmt.Sprintf("%d NaN", m.NaNs))
	}
	return strings.Join(more, "; ")
}

func short(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.5g", *v)
}
