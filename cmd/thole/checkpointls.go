package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/state"
)

// checkpointRow is what the list says of a checkpoint.
type checkpointRow struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`           // whole, increment or damaged
	Base       string `json:"base,omitempty"` // path of what an increment is based on
	Job        string `json:"job,omitempty"`
	Run        string `json:"run,omitempty"`
	Attempt    int    `json:"attempt,omitempty"`
	Epoch      int    `json:"epoch,omitempty"`
	Step       int    `json:"step"`
	Steps      int    `json:"steps,omitempty"` // of the epoch
	Clock      int    `json:"clock"`
	Best       string `json:"best,omitempty"`
	Servers    int    `json:"servers"`
	Matrices   int    `json:"matrices"`
	Columns    int64  `json:"columns"` // stored columns of sparse matrices
	Cells      int64  `json:"cells"`   // of dense ones
	Candidates int64  `json:"candidates,omitempty"`
	Bytes      int64  `json:"bytes"`
	Error      string `json:"error,omitempty"`
}

func (f *checkpointFlags) listCommand() *cobra.Command {
	c := &cobra.Command{
		Use:        "ls PATH",
		SuggestFor: []string{"list", "dir"},
		Short:      "List the checkpoints of a folder",
		Long: `Lists the checkpoints of a folder, the oldest first: where in the training each was taken, whether it is whole or only what has
changed since another, and how large it is. Heads are read, not the values: thole checkpoint verify reads all.`,
		Example: "  thole checkpoint ls run/checkpoints\n  thole checkpoint ls run/checkpoints --json",
		RunE: func(c *cobra.Command, args []string) error {
			k, err := f.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			rows := make([]checkpointRow, len(k.entries))
			for i := range k.entries {
				rows[i] = rowOf(&k.entries[i])
			}
			if f.json {
				return writeJSON(f.out, rows)
			}
			f.table(k, rows)
			return nil
		},
	}
	f.jsonFlag(c)
	return c
}

// rowOf is the line of a checkpoint.
func rowOf(e *state.Entry) checkpointRow {
	r := checkpointRow{Name: e.Name, Bytes: e.Bytes, Kind: "damaged"}
	if e.Err != nil {
		r.Error = e.Err.Error()
		return r
	}
	h := e.Head
	r.Kind, r.Job, r.Clock, r.Servers, r.Matrices = "whole", h.Job, h.Clock, len(h.Files), len(h.Matrices)
	if !h.Whole() {
		r.Kind, r.Base = "increment", h.Base.Path
	}
	m := h.Moment
	r.Run, r.Attempt, r.Epoch, r.Step, r.Steps, r.Best = m.Run, m.Attempt, m.Epoch, m.Step, m.Steps, m.Best
	for i := range h.Matrices {
		columns, candidates := stored(h, &h.Matrices[i])
		r.Columns, r.Candidates = r.Columns+columns, r.Candidates+candidates
		if of := h.Matrices[i].Meta; of.Layout == matrix.RowDense {
			r.Cells += of.Rows * of.Cols
		}
	}
	return r
}

// stored is how many columns of a matrix are stored at the moment of the checkpoint, and how many are not made yet.
func stored(h *state.Checkpoint, m *state.Matrix) (columns, candidates int64) {
	for _, r := range m.Records {
		columns, candidates = columns+h.Stored(r), candidates+r.Candidates
	}
	return columns, candidates
}

// table prints the list for people.
func (f *checkpointFlags) table(k *checkpointer, rows []checkpointRow) {
	table := [][]string{{"name", "kind", "epoch", "step", "run", "attempt", "age", "size", "columns", "cells"}}
	var damaged []string
	for i, r := range rows {
		age := f.age(&k.entries[i])
		if r.Error != "" {
			table = append(table, []string{r.Name, r.Kind, "-", "-", "-", "-", age, format.Bytes(r.Bytes), "-", "-"})
			damaged = append(damaged, r.Error)
			continue
		}
		kind := r.Kind
		if r.Base != "" {
			kind += " of " + beside(r.Base, k.entries[i].Path)
		}
		table = append(table, []string{r.Name, kind, orDash(positiveText(r.Epoch)), r.where(), orDash(r.Run), orDash(positiveText(r.Attempt)),
			age, format.Bytes(r.Bytes), fmt.Sprint(r.Columns), fmt.Sprint(r.Cells)})
	}
	aligned(f.out, table)
	for _, text := range damaged {
		fmt.Fprintln(legible{f.out}, text)
	}
}

// where is the step of the epoch, or the clock where nothing is known of a training.
func (r *checkpointRow) where() string {
	switch {
	case r.Epoch == 0 && r.Step == 0:
		return fmt.Sprint("clock ", r.Clock)
	case r.Steps > 0:
		return fmt.Sprintf("%d of %d", r.Step, r.Steps)
	}
	return fmt.Sprint(r.Step)
}

func positiveText(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// beside is the path of a checkpoint as one sees it from another: its name if they lie in one folder.
func beside(of, from string) string {
	if blob.Parent(of) == blob.Parent(from) {
		return blob.Base(of)
	}
	return of
}

// age is how long ago the head was written.
func (f *checkpointFlags) age(e *state.Entry) string {
	if e.Modified.IsZero() {
		return "-"
	}
	return longAge(f.now().Sub(e.Modified))
}

// longAge is a time in one or two units.
func longAge(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < 24*time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
