package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/matrix"
	"thole.example/ssp"
	"thole.example/state"
)

// checkpointFinding is what show says of a checkpoint.
type checkpointFinding struct {
	checkpointRow
	ID       string             `json:"id,omitempty"`
	Settings string             `json:"settings,omitempty"` // SHA-256 of those of the training
	Plan     string             `json:"plan,omitempty"`
	OneTime  bool               `json:"oneMoment"`
	Bound    string             `json:"bound"`
	Of       []checkpointMatrix `json:"matrixList"`
	Files    []checkpointFile   `json:"files"`
	Loose    []string           `json:"loose,omitempty"`
	GoesOn   []string           `json:"goesOn,omitempty"` // addresses of the servers on which the training goes on, if it has moved
	Chain    []checkpointRow    `json:"chain,omitempty"`  // what has to be read before, the oldest first
	Broken   string             `json:"broken,omitempty"` // why these cannot be read
}

type checkpointFile struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

type checkpointMatrix struct {
	Name       string `json:"name"`
	Rows       int64  `json:"rows"`
	Cols       int64  `json:"cols"`
	DType      string `json:"dtype"`
	Layout     string `json:"layout"`
	Rule       string `json:"rule,omitempty"`
	Bound      string `json:"bound"`
	Partitions int    `json:"partitions"`
	Steps      int64  `json:"steps"`
	Slots      int    `json:"slots"`
	Columns    int64  `json:"columns,omitempty"`    // stored ones
	Changed    int64  `json:"changed,omitempty"`    // of these, columns that an increment has
	Candidates int64  `json:"candidates,omitempty"` // columns that are not made yet
	Bytes      int64  `json:"bytes"`
}

func (f *checkpointFlags) showCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "show PATH",
		Short: "Show what a checkpoint has; of a folder the last one",
		Long: `Shows where in a training a checkpoint was taken, what it has of which matrices and servers, and what it is based on. Under BSP
and SSP all of it is of one moment: everything that belongs to the clock and nothing after it. Under ASP there is no common clock, and
servers may have been at different steps.`,
		Example: "  thole checkpoint show run/checkpoints\n  thole checkpoint show run/checkpoints/420 --json",
		RunE: func(c *cobra.Command, args []string) error {
			k, e, err := f.findOne(c.Context(), args[0])
			if err != nil {
				return err
			}
			found, err := f.look(c.Context(), k, e)
			if err != nil {
				return err
			}
			if f.json {
				return writeJSON(f.out, found)
			}
			return found.print(f, legible{f.out}, k, e)
		},
	}
	f.jsonFlag(c)
	return c
}

// look reads the head of a checkpoint, those of what it is based on, and what records begin with.
func (f *checkpointFlags) look(ctx context.Context, k *checkpointer, e *state.Entry) (*checkpointFinding, error) {
	in, err := state.NewInput(ctx, k.bucket, e.Path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	h := in.Checkpoint
	out := &checkpointFinding{
		checkpointRow: rowOf(e), ID: h.ID, Settings: h.Moment.Digest, Plan: h.Plan, OneTime: true, Bound: boundText(h.Bound),
		Loose: slices.Sorted(slices.Values(h.Loose)), GoesOn: h.Moment.Servers,
	}
	for i := range h.Matrices {
		m, err := findMatrix(ctx, in, &h.Matrices[i])
		if err != nil {
			return nil, err
		}
		out.OneTime = out.OneTime && boundOf(h, &h.Matrices[i]) != ssp.ASP
		out.Of = append(out.Of, m)
	}
	for i, file := range h.Files {
		out.Files = append(out.Files, checkpointFile{fmt.Sprint("server.", i), file.Size})
	}
	if h.Whole() {
		return out, nil
	}
	chain, err := state.OpenChain(ctx, k.bucket, e.Path)
	if err != nil {
		out.Broken = err.Error()
		return out, nil
	}
	for _, before := range chain[:len(chain)-1] {
		one := state.Entry{Name: beside(before.Path(), e.Path), Head: before.Checkpoint, Bytes: fileBytes(before.Checkpoint)}
		out.Chain = append(out.Chain, rowOf(&one))
	}
	return out, nil
}

func findMatrix(ctx context.Context, in *state.Input, m *state.Matrix) (checkpointMatrix, error) {
	h, meta := in.Checkpoint, &m.Meta
	out := checkpointMatrix{
		Name: meta.Name, Rows: meta.Rows, Cols: meta.Cols, DType: meta.DType.String(), Layout: meta.Layout.String(), Rule: meta.Rule,
		Bound: boundText(boundOf(h, m)), Partitions: len(m.Records), Steps: m.Steps(),
	}
	out.Columns, out.Candidates = stored(h, m)
	for _, r := range m.Records {
		out.Bytes += r.Size
		if !h.Whole() {
			out.Changed += r.Columns
		}
	}
	if len(m.Records) > 0 {
		p, err := in.Head(ctx, m, 0)
		if err != nil {
			return out, err
		}
		out.Slots = p.Slots
	}
	return out, nil
}

// fileBytes is how large the files of servers are together.
func fileBytes(h *state.Checkpoint) (n int64) {
	for _, f := range h.Files {
		n += f.Size
	}
	return n
}

// boundOf is the bound of a matrix of the checkpoint.
func boundOf(h *state.Checkpoint, m *state.Matrix) ssp.Bound {
	if m.Bound != nil {
		return *m.Bound
	}
	return h.Bound
}

func boundText(b ssp.Bound) string {
	switch b {
	case ssp.BSP:
		return "BSP"
	case ssp.ASP:
		return "ASP"
	}
	return fmt.Sprintf("SSP(%d)", b)
}

func (c *checkpointFinding) print(f *checkpointFlags, w io.Writer, k *checkpointer, e *state.Entry) error {
	var lines strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&lines, "%-11s %s\n", name, fmt.Sprintf(format, args...))
	}
	kind := c.Kind
	if c.Base != "" {
		kind += " of " + beside(c.Base, e.Path)
	}
	fmt.Fprintf(&lines, "%s: %s, %s, %s old\n", k.shown(e), kind, format.Bytes(c.Bytes), f.age(e))
	line("job", "%s", c.Job)
	if c.Run != "" {
		line("run", "%s, attempt %d", c.Run, c.Attempt)
	}
	if c.Epoch > 0 || c.Step > 0 {
		line("moment", "epoch %d, step %s", c.Epoch, c.where())
	}
	if c.GoesOn != nil {
		line("goes on", "on %s", strings.Join(c.GoesOn, ", "))
	}
	if c.OneTime {
		line("bound", "%s: of one moment, at clock %d", c.Bound, c.Clock)
	} else {
		line("bound", "%s: not of one moment, as servers were asked at clock %d of the task (ASP has no common clock)", c.Bound, c.Clock)
	}
	if c.Best != "" {
		line("best", "%s", c.Best)
	}
	if c.Settings != "" {
		line("settings", "SHA-256 %s", c.Settings)
	}
	if c.Plan != "" {
		line("plan", "%s", c.Plan)
	}
	if len(c.Loose) > 0 {
		line("beside", "%s", strings.Join(c.Loose, ", "))
	}
	sizes := map[string]int64{}
	for _, file := range c.Files {
		sizes[file.Name] = file.Bytes
	}
	line("servers", "%d: %s", len(c.Files), strings.Join(sizeTexts(sizes), ", "))
	for i, b := range c.Chain {
		line(map[bool]string{true: "based on"}[i == 0], "%s, %s, %s", b.Name, b.Kind, format.Bytes(b.Bytes))
	}
	if c.Broken != "" {
		line("broken", "%s", c.Broken)
	}
	if _, err := io.WriteString(w, lines.String()); err != nil {
		return err
	}
	aligned(f.out, c.matrixTable())
	return nil
}

func sizeTexts(sizes map[string]int64) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		out = append(out, name+" "+format.Bytes(sizes[name]))
	}
	return out
}

func (c *checkpointFinding) matrixTable() [][]string {
	table := [][]string{{"matrix", "size", "type", "rule", "slots", "steps", "bound", "partitions", "columns", "bytes"}}
	for _, m := range c.Of {
		columns := "all"
		if m.Layout == matrix.RowSparse.String() {
			columns = fmt.Sprint(m.Columns)
			if c.Base != "" {
				columns = fmt.Sprintf("%d of %d changed", m.Changed, m.Columns)
			}
			if m.Candidates > 0 {
				columns += fmt.Sprintf(", %s", number.Of(m.Candidates, "candidate"))
			}
		}
		table = append(table, []string{m.Name, fmt.Sprintf("%d x %d", m.Rows, m.Cols), m.DType + " " + m.Layout, orDash(m.Rule),
			fmt.Sprint(m.Slots), fmt.Sprint(m.Steps), m.Bound, fmt.Sprint(m.Partitions), columns, format.Bytes(m.Bytes)})
	}
	return table
}
