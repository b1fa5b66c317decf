package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
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
	c := &cobra.Command{
		Use:   "inspect PATH",
		Short: "Say what a stored model holds: format, dialect, matrices, statistics",
		Long: `Says which format and dialect the path holds and what is odd about it; of each matrix its size, types, layout,
partitions or blocks and bytes; and of its stored values how many there are, how many are zero, smallest, mean, largest,
standard deviation, and a histogram from the smallest to the largest. For a Paddle model also its network.`,
		Example: `  thole inspect out/lr
  thole inspect weights.dbdf --json
  thole inspect out/lr --quick --verbose
  thole inspect lr-paddle --svg > network.svg`,
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
			return f.print(legible{e.out}, verbose)
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
	if path == "" {
		return nil, usageError{errNoPath}
	}
	if b, m, err := e.topology(ctx, path); s.from == "" && (m != nil || err != nil) {
		if err != nil {
			return nil, err
		}
		return s.findModel(ctx, e, path, deep, b, m)
	}
	p, err := s.locate(ctx, e, path)
	if err != nil {
		return nil, err
	}
	r, err := p.reader(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f := &finding{Path: path, Format: p.Info().Name, Notes: r.Notes(), Files: map[string]int{}, Quick: !deep}
	if f.Dialect, err = p.Sniff(ctx, p.bucket, p.name); err != nil {
		return nil, format.Wrap(f.Format, p.name, err)
	}
	for file, data := range r.Files() {
		f.Files[file] = len(data)
	}
	f.Network = findNetwork(r.Files())
	if err := f.weigh(ctx, p.bucket, p.name); err != nil {
		return nil, err
	}
	return f, f.describeAll(ctx, e, r)
}

// weigh counts the files of the path and their bytes.
func (f *finding) weigh(ctx context.Context, b blob.Bucket, name string) error {
	infos, err := b.List(ctx, name)
	for _, i := range infos {
		f.Objects, f.Bytes = f.Objects+1, f.Bytes+i.Size
	}
	return err
}

// describeAll adds the matrices of a reader, with statistics unless the finding is a quick one.
func (f *finding) describeAll(ctx context.Context, e *env, r format.Reader) error {
	p := newProgress(e.err, "inspect", "values", 2*values(r.Matrices()))
	defer p.end()
	for _, m := range r.Matrices() {
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
	if f.Network != nil {
		f.Network.print(out)
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
	if files == 1 {
		return "1 file, " + text
	}
	return fmt.Sprintf("%d files, %s", files, text)
}

// printMatrices prints a table; on a terminal that is too narrow for it a paragraph for each matrix.
func (f *finding) printMatrices(out io.Writer) error {
	var table strings.Builder
	if err := f.tabulate(&table); err != nil {
		return err
	}
	width := columns(out)
	fits := func(line string) bool { return utf8.RuneCountInString(strings.TrimRight(line, " \n")) <= width }
	if !terminal(out) || !slices.ContainsFunc(strings.SplitAfter(table.String(), "\n"), func(line string) bool { return !fits(line) }) {
		_, err := io.WriteString(out, table.String())
		return err
	}
	for _, m := range f.Matrices {
		text := fmt.Sprintf("%d x %d, %s, %s", m.Rows, m.Cols, m.DType, m.Layout)
		if !f.Quick && m.Unread == "" {
			text += fmt.Sprintf("; %s stored, %s zeros; min %s, mean %s, max %s, std %s", m.storedShare(), m.zeroShare(),
				short(m.Min), short(m.Mean), short(m.Max), short(m.Std))
		}
		if more := m.more(); more != "" {
			text += "; " + more
		}
		hang(out, width, 4, clipped(m.Name, longText), text)
		if m.Shape != "" {
			fmt.Fprintf(out, "    [%s]\n", m.Shape)
		}
	}
	return nil
}

// tabulate makes the table of the matrices.
func (f *finding) tabulate(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "MATRIX\tSIZE\tTYPE\tLAYOUT\tSTORED\tZEROS\tMIN\tMEAN\tMAX\tSTD\tVALUES\tMORE")
	for _, m := range f.Matrices {
		if f.Quick || m.Unread != "" {
			fmt.Fprintf(w, "%s\t%d x %d\t%s\t%s\t-\t-\t-\t-\t-\t-\t\t%s\n", clipped(m.Name, longText), m.Rows, m.Cols, m.DType, m.Layout, m.more())
			continue
		}
		fmt.Fprintf(w, "%s\t%d x %d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", clipped(m.Name, longText), m.Rows, m.Cols, m.DType, m.Layout,
			m.storedShare(), m.zeroShare(), short(m.Min), short(m.Mean), short(m.Max), short(m.Std), m.Shape, m.more())
	}
	return w.Flush()
}

func (m *matrixFinding) printAttrs(out io.Writer) {
	for i, label := range m.Labels {
		kind := m.DType
		if m.Types != nil {
			kind = m.Types[i]
		}
		fmt.Fprintf(out, "  %s: column %d: %s, %s\n", m.Name, int64(i)+m.First, clipped(label, longText), kind)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Attrs)) {
		fmt.Fprintf(out, "  %s: %s = %s\n", m.Name, name, clipped(m.Attrs[name], longText))
	}
}

// storedShare is the number of stored values, and of a sparse matrix their share of the cells.
func (m *matrixFinding) storedShare() string {
	if m.Layout != "sparse" || m.Stored == 0 {
		return fmt.Sprint(m.Stored)
	}
	return fmt.Sprintf("%d (%.3g%%)", m.Stored, 100*float64(m.Stored)/float64(m.Rows)/float64(m.Cols))
}

// zeroShare is the number of stored zeros and their share.
func (m *matrixFinding) zeroShare() string {
	if m.Zeros == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%.3g%%)", m.Zeros, 100*m.ZeroShare)
}

// more is what only some matrices have.
func (m *matrixFinding) more() string {
	var more []string
	add := func(is bool, what string, args ...any) {
		if is {
			more = append(more, fmt.Sprintf(what, args...))
		}
	}
	add(m.Pieces > 1, "%d %s", m.Pieces, m.Kind)
	add(m.Kind != "", "%s", format.Bytes(m.Bytes))
	add(m.Saved != "", "saved rows %s", m.Saved)
	add(m.First != 0, "columns from %d", m.First)
	add(len(m.Dims) > 0 && len(m.Dims) != 2, "tensor %v", m.Dims)
	add(len(m.LoD) > 0, "LoD of %d levels", len(m.LoD))
	add(m.Origin != "", "stored as %s", m.Origin)
	add(len(m.Labels) > 0, "labels %s", few(m.Labels))
	add(len(m.Types) > 0, "types %s", few(m.Types))
	add(m.NaNs > 0, "%d NaN", m.NaNs)
	add(m.Infs > 0, "%d infinite", m.Infs)
	add(m.Unread != "", "cannot be read")
	return strings.Join(more, "; ")
}

// few is the first of many words.
func few(words []string) string {
	const shown = 6
	var first []string
	for _, w := range words[:min(shown, len(words))] {
		first = append(first, clipped(w, shortText))
	}
	text := strings.Join(first, ", ")
	if len(words) > shown {
		text += fmt.Sprintf(" and %d more", len(words)-shown)
	}
	return text
}

// How many characters of what files hold are shown to people, in lists and on lines of their own. JSON has all of them.
const (
	shortText = 24
	longText  = 240
)

// oneLine shows what would begin another line or column.
var oneLine = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`)

// clipped is the beginning of a long text, on one line, with the number of its characters.
func clipped(text string, limit int) string {
	text = oneLine.Replace(text)
	n := utf8.RuneCountInString(text)
	if n <= limit {
		return text
	}
	return fmt.Sprintf("%s... (%d characters)", string([]rune(text)[:limit]), n)
}

func short(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.5g", *v)
}
