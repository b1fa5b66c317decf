package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/runlog"
)

func (f *runsFlags) showCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Show all that is known of a run",
		Long: `Shows how a run went and where: its state, data, model and machine, its epochs, the metrics at its end, and its settings, as
thole train --job takes them from job.yaml in the folder of the run. Without RUN it is the last one.`,
		Example: "  thole runs show\n  thole runs show deepfm --json",
		RunE: func(_ *cobra.Command, names []string) error {
			if len(names) == 0 {
				names = []string{runlog.Last}
			}
			found, err := f.named(names)
			if err != nil {
				return err
			}
			return f.show(found[0])
		},
	}
	f.flags(c, true)
	return c
}

// shown is a run in JSON.
type shown struct {
	Name        string             `json:"name"`
	Folder      string             `json:"folder"`
	Environment runlog.Environment `json:"environment"` // with the state as it was found out
	Start       *runlog.Start      `json:"start"`       // null: it has none
	Epochs      []runlog.Epoch     `json:"epochs"`
	End         *runlog.End        `json:"end"`
	Settings    json.RawMessage    `json:"settings"` // the job; null if there is none
	BadLines    int                `json:"badLines,omitempty"`
	Cut         bool               `json:"cut,omitempty"` // epochs in the middle are left out
}

func (f *runsFlags) show(r *runlog.Run) error {
	job, err := r.Job()
	if err != nil {
		return err
	}
	if f.json {
		s := shown{Name: r.Name, Folder: r.Folder, Environment: r.Environment, Epochs: r.Epochs, End: r.End, BadLines: r.Bad, Cut: r.Cut}
		if r.Start.Event != "" {
			s.Start = &r.Start
		}
		if job != nil {
			if s.Settings, err = jsonOf(r.Name+"/"+runlog.JobFile, job); err != nil {
				return err
			}
		}
		return writeJSON(f.out, s)
	}
	var b bytes.Buffer
	f.describe(&b, r)
	epochs(&b, r)
	outcome(&b, r)
	if job != nil {
		fmt.Fprintf(&b, "settings\n")
		for line := range bytes.Lines(job) {
			if text := bytes.TrimSpace(line); len(text) > 0 && text[0] != '#' {
				fmt.Fprintf(&b, "  %s\n", bytes.TrimRight(line, "\n"))
			}
		}
	}
	_, err = io.WriteString(f.out, escaped(b.String()))
	return err
}

// describe prints where and how the run was made.
func (f *runsFlags) describe(b *bytes.Buffer, r *runlog.Run) {
	fmt.Fprintf(b, "run       %s: %s\n", r.Name, fate(r))
	line := func(name, format string, args ...any) {
		if text := strings.TrimSpace(fmt.Sprintf(format, args...)); text != "" {
			fmt.Fprintf(b, "%-9s %s\n", name, text)
		}
	}
	line("error", "%s", r.Error)
	line("note", "%s", r.Note)
	if !r.Began.IsZero() {
		line("began", "%s, for %s", r.Began.Format("2006-01-02 15:04:05 -07:00"), shortTime(r.Lasted(f.now()).Seconds()))
	}
	line("command", "%s", strings.Join(quoted(r.Command), " "))
	line("folder", "%s", r.Environment.Folder)
	line("data", "%s", filesOf(r.Data))
	line("validate", "%s", filesOf(r.Validate))
	if s := r.Start; s.Event != "" {
		line("examples", "%d of %d features, %d held out", s.Examples, s.Dim, s.HeldOut)
	}
	if r.Model != "" {
		line("model", "%s (%s)", r.Model, r.ModelFormat)
	}
	if r.System != "" {
		line("machine", "%s, %s, %s, %s, %s", orDash(r.Host), r.System, orDash(r.Processor), number.Of(r.Processors, "processor"),
			format.Bytes(r.Memory))
		line("version", "%s", build{Version: r.Version, Commit: r.Commit, Go: r.Go, System: r.System}.text())
	}
	if r.Bad > 0 {
		line("damage", "%s of %s cannot be read", number.Of(r.Bad, "line"), runlog.EventsFile)
	}
}

// fate is how the run ended, or how far it is.
func fate(r *runlog.Run) string {
	text := string(r.State)
	switch r.State {
	case runlog.Stopped:
		text = "stopped early"
	case runlog.Dead:
		text = "dead: its process ended without saying how"
	case runlog.Unsure:
		text = "running, or dead: nobody can tell here"
	case runlog.Damaged:
		return text
	}
	text += fmt.Sprintf(", %d of %s", r.Made(), number.Of(r.Start.Epochs, roundOf(r)))
	if r.End != nil && r.End.Best > 0 {
		text += fmt.Sprintf(", %s %d was kept", roundOf(r), r.End.Best)
	}
	return text
}

// quoted are words as a shell takes them.
func quoted(words []string) []string {
	all := slices.Clone(words)
	for i, w := range all {
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`*?[]{}()<>|&;#~!") {
			all[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return all
}

// filesOf are files with their sizes, a few of them.
func filesOf(files []runlog.File) string {
	const few = 5
	var words []string
	for _, one := range files[:min(few, len(files))] {
		size := "a stream"
		if one.Bytes >= 0 {
			size = format.Bytes(one.Bytes)
		}
		words = append(words, fmt.Sprintf("%s (%s)", one.Path, size))
	}
	if len(files) > few {
		words = append(words, fmt.Sprintf("and %d more", len(files)-few))
	}
	return strings.Join(words, ", ")
}

// epochsShown is how many epochs a table has.
const epochsShown = 20

// epochs prints a table of epochs, of many some.
func epochs(b *bytes.Buffer, r *runlog.Run) {
	if len(r.Epochs) == 0 {
		return
	}
	names := r.Curves()[1:]
	table := [][]string{append(append([]string{roundOf(r), "loss"}, names...), "rows/s")}
	every := (len(r.Epochs) + epochsShown - 1) / epochsShown
	for i, e := range r.Epochs {
		kept := r.End != nil && r.End.Best > 0 && e.Epoch == r.End.Best
		if i%every != 0 && i != len(r.Epochs)-1 && !kept {
			continue
		}
		row := []string{fmt.Sprint(e.Epoch), fmt.Sprintf("%.5f", float64(e.Loss))}
		for _, name := range names {
			row = append(row, valueText(e.Valid.Get(name)))
		}
		if row = append(row, rate(e.RowsPerSecond)); kept {
			row = append(row, "kept")
		}
		table = append(table, row)
	}
	aligned(b, table)
}

// valueText is a metric as tables have it.
func valueText(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf("%.5g", v)
}

// outcome prints the metrics at the end.
func outcome(b *bytes.Buffer, r *runlog.Run) {
	if r.End == nil {
		return
	}
	for _, part := range []struct {
		name   string
		values runlog.Values
	}{{"train", r.End.Train}, {"valid", r.End.Valid}} {
		if len(part.values) == 0 {
			continue
		}
		fmt.Fprintf(b, "%-8s", part.name)
		for _, v := range part.values {
			fmt.Fprintf(b, "  %s %s", v.Name, valueText(v.Value))
		}
		fmt.Fprintln(b)
	}
	for _, text := range r.End.Warnings {
		fmt.Fprintf(b, "warning   %s\n", text)
	}
}
