package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/matrix"
	"thole.example/program/onnx"
)

// finding is what inspect says of a path.
type finding struct {
	Path     string          `json:"path"`
	Format   string          `json:"format"`
	Dialect  string          `json:"dialect"`
	Notes    []string        `json:"notes,omitempty"`
	Files    map[string]int  `json:"files,omitempty"` // beside the matrices, by name, in bytes
	Objects  int             `json:"storedFiles"`     // files that the path is
	Bytes    int64           `json:"bytes"`           // of all of them
	Quick    bool            `json:"quick,omitempty"` // the values were not read
	Matrices []matrixFinding `json:"matrices"`
	Network  *networkFinding `json:"network,omitempty"` // that a graph.json beside the matrices describes
	Columns  *columnsFinding `json:"columns,omitempty"` // of the table that the model learned from
	Trees    *treesFinding   `json:"trees,omitempty"`   // if it is a model of trees
	// Topology is the network whose parameters the matrices are, where the path holds one.
	Topology *topologyFinding `json:"topology,omitempty"`
	ONNX     *onnx.Summary    `json:"onnx,omitempty"` // of a file of ONNX, which has no matrices
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
	Types  []string          `json:"columnTypes,omitempty"` // if they differ
	Origin string            `json:"storedType,omitempty"`  // if it is none of ours
	Pieces int               `json:"pieces,omitempty"`      // partitions, blocks, row groups
	Kind   string            `json:"pieceKind,omitempty"`
	Bytes  int64             `json:"bytes,omitempty"`
	Attrs  map[string]string `json:"attributes,omitempty"`
	Unread string            `json:"unreadable,omitempty"` // why its values cannot be read, though nothing is damaged
	statistics
}

func inspectCommand(e *env) *cobra.Command {
	var s source
	var asJSON, quick, verbose, dot, svg bool
	one := -1
	c := &cobra.Command{
		Use:   "inspect PATH",
		Short: "Describe a stored model: format, matrices, statistics",
		Long: `Says which format and dialect the path holds and what is odd about it; of each matrix its size, types, layout,
partitions or blocks and bytes; and of its stored values how many there are, how many are zero, smallest, mean, largest,
standard deviation, and a histogram from the smallest to the largest. For a Paddle model also its network; of a file of ONNX
what it is fed and gives, its metadata, its operators and the sizes of its initializers; of trees how many and how large they
are, and the features that they gain most by.`,
		Example: `  thole inspect out/lr
  thole inspect weights.dbdf --json
  thole inspect out/lr --quick --verbose
  thole inspect lr-paddle --svg > network.svg
  thole inspect out/trees --tree 0
  thole inspect lr.onnx`,
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("tree") {
				return s.showTree(c.Context(), e, args[0], one, svg)
			}
			if dot || svg {
				return drawTopology(c.Context(), e, args[0], svg)
			}
			f, err := s.find(c.Context(), e, args[0], !quick)
			if err != nil {
				return notModel(c.Context(), e, args[0], err)
			}
			if asJSON {
				return writeJSON(e.out, f)
			}
			return f.print(legible{e.out}, verbose)
		},
	}
	s.flags(c, false)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&quick, "quick", false, "do not read the values")
	c.Flags().BoolVar(&dot, "dot", false, "print the network of a Paddle model in the language of Graphviz")
	c.Flags().BoolVar(&svg, "svg", false, "print a picture of the network of a Paddle model, or of the tree that --tree names")
	c.Flags().IntVar(&one, "tree", 0, "of a model of trees: print this tree, from 0 on")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "also print the attributes that the format stores")
	return c
}

func (s *source) find(ctx context.Context, e *env, path string, deep bool) (*finding, error) {
	if path == "" {
		return nil, usageError{errNoPath}
	}
	if s.from == "" && e.isONNX(ctx, path) {
		return findONNX(ctx, e, path)
	}
	if b, m, err := e.topology(ctx, path); s.from == "" && (m != nil || err != nil) {
		if err != nil {
			return nil, err
		}
		return s.findModel(ctx, e, path, deep, b, m)
	}
	p, err := s.locate(ctx, e, path)
	if s.from == "" && errors.Is(err, format.ErrUnknown) {
		if f, wrong := findONNX(ctx, e, path); wrong == nil { // written under another name
			return f, nil
		}
	}
	if err != nil {
		return nil, err
	}
	r, err := p.reader(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f := &finding{Path: path, Format: p.Info().Name, Notes: r.Notes(), Files: map[string]int{}, Quick: !deep}
	if f.Dialect, err = format.Sniff(ctx, p.Codec, p.bucket, p.name); err != nil {
		return nil, format.Wrap(f.Format, p.name, err)
	}
	for file, data := range r.Files() {
		f.Files[file] = len(data)
	}
	f.Network, f.Columns = findNetwork(r.Files()), findColumns(r.Files())
	if err := f.weigh(ctx, p.bucket, p.name); err != nil {
		return nil, err
	}
	if deep {
		f.Trees = findTrees(ctx, r)
	}
	return f, f.describeAll(ctx, e, r)
}

// weigh counts the files of the path and their bytes, and lists what an interrupted save left beside them.
func (f *finding) weigh(ctx context.Context, b blob.Bucket, name string) error {
	infos, err := b.List(ctx, name)
	for _, i := range infos {
		f.Objects, f.Bytes = f.Objects+1, f.Bytes+i.Size
	}
	s, can := b.(blob.Sweeper)
	if err != nil || !can {
		return err
	}
	left, err := s.Leftovers(ctx, name)
	for _, l := range left {
		f.Notes = append(f.Notes, fmt.Sprintf("an interrupted save left %s; the next one to this path removes it", l))
	}
	return err
}

// describeAll adds the matrices of a reader, with statistics unless the finding is a quick one.
func (f *finding) describeAll(ctx context.Context, e *env, r format.Reader) error {
	p := e.progress("inspect", "values", 2*values(r.Matrices()))
	defer p.end()
	for i, m := range r.Matrices() {
		found := described(r, m)
		if !f.Quick {
			err := found.count(ctx, r, m, p)
			switch {
			case errors.Is(err, format.ErrVersion) && !errors.Is(err, format.ErrCorrupt):
				found = described(r, m)
				found.Unread = err.Error()
			case err != nil:
				return err
			}
		}
		f.Matrices = append(f.Matrices, found)
		p.set(2*values(r.Matrices()[:i+1]), "") // also of what is sparse, or has no histogram
	}
	return nil
}

// described is what is known of a matrix without its values.
func described(r format.Reader, m matrix.Meta) matrixFinding {
	found := describe(m)
	if of, ok := r.(format.Measurer); ok {
		if x, known := of.Extent(m.Name); known {
			found.Pieces, found.Kind, found.Bytes = x.Pieces, x.Kind, x.Bytes
		}
	}
	return found
}

func describe(m matrix.Meta) matrixFinding {
	f := matrixFinding{
		Name: m.Name, Rows: m.Rows, Cols: m.Cols, First: m.ColLo, DType: m.DType.String(), Layout: m.Layout.String(),
		Dims: m.Dims, LoD: m.LoD, Labels: m.Labels, Attrs: m.Attrs, Origin: m.Origin,
	}
	for i := range m.ColTypes {
		f.Types = append(f.Types, m.ColTypes[i].String())
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

func (f *finding) print(out io.Writer, verbose bool) error {
	fmt.Fprintf(out, "%s: format %s, %s\n", f.Path, f.Format, f.Dialect)
	if f.Objects > 0 {
		fmt.Fprintf(out, "  stored: %s\n", weight(f.Objects, f.Bytes))
	}
	for _, n := range f.Notes {
		if n != f.Dialect {
			fmt.Fprintf(out, "  note: %s\n", clipped(n, longText))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Files)) {
		fmt.Fprintf(out, "  file: %s, %d bytes\n", name, f.Files[name])
	}
	if f.Columns != nil {
		f.Columns.print(out)
	}
	if f.Network != nil {
		f.Network.print(out)
	}
	if f.Trees != nil {
		if err := f.Trees.print(out); err != nil {
			return err
		}
	}
	if f.ONNX != nil {
		return printONNX(out, f.ONNX)
	}
	if f.Topology != nil {
		if err := f.Topology.print(out); err != nil || len(f.Matrices) == 0 {
			return err
		}
	}
	if err := f.printMatrices(out); err != nil {
		return err
	}
	for _, m := range f.Matrices {
		if verbose {
			m.printAttrs(out)
		}
	}
	return nil
}

// weight is a number of files and of bytes for people.
func weight(files int, bytes int64) string {
	text := fmt.Sprintf("%d bytes", bytes)
	if bytes >= 1<<10 {
		text = fmt.Sprintf("%s (%s)", format.Bytes(bytes), text)
	}
	return fmt.Sprintf("%s, %s", number.Of(files, "file"), text)
}
