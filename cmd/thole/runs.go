package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"thole.example/algo"
	"thole.example/internal/number"
	"thole.example/internal/spell"
	"thole.example/runlog"
	"thole.example/train"
)

// runsFlags are what the user said of runs.
type runsFlags struct {
	*env
	runs        string
	json, force bool

	sort, algo, state string // of the list
	last              int
	reverse           bool

	metrics []string // to draw
	svg     string
	ascii   bool
	columns int
}

func runsCommand(e *env) *cobra.Command {
	f := &runsFlags{env: e}
	c := &cobra.Command{
		Use:   "runs",
		Short: "List, show, compare and draw the trainings that were made",
		Long: `Lists the runs that thole train has recorded, the newest first: how far each came, the metric of the held-out examples that it is
judged by (with the parameters that were kept), how fast it was, and its model. Without held-out examples the loss of the training
examples is shown. The commands below show one run, compare several, draw their curves, and remove them. RUN is the name of a run, its
beginning or its end if no other has it, the path of its folder, "last", or "last-1" for the one before it.`,
		Example: `  thole runs
  thole runs --sort auc --last 20
  thole runs --algo deepfm --state finished --json
  thole runs compare lr deepfm`,
		RunE: func(*cobra.Command, []string) error { return f.list() },
	}
	f.flags(c, true)
	l := c.Flags()
	l.StringVar(&f.sort, "sort", "", "what comes first: the best by a metric such as auc, or by "+strings.Join(sortKeys(), ", ")+
		" (default: began, the newest)")
	l.BoolVar(&f.reverse, "reverse", false, "the other way round")
	l.StringVar(&f.algo, "algo", "", "only runs of this algorithm")
	l.StringVar(&f.state, "state", "", "only runs in this state, such as finished or failed")
	l.IntVar(&f.last, "last", 0, "only the newest so many (default: all)")
	c.AddCommand(f.showCommand(), f.compareCommand(), f.drawCommand(), f.removeCommand())
	return c
}

// flags are those that the commands share.
func (f *runsFlags) flags(c *cobra.Command, asJSON bool) {
	c.Flags().StringVar(&f.runs, "runs", "", "folder of the runs (default: the variable "+runsVariable+", else "+runsFolder+")")
	if asJSON {
		c.Flags().BoolVar(&f.json, "json", false, "print JSON")
	}
	if len(strings.Fields(c.Use)) > 1 {
		c.ValidArgsFunction = f.names
	}
}

// names are those of the runs, for shells.
func (f *runsFlags) names(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	all, _ := runlog.List(runsAt(f.runs)) // there is nobody to tell
	words := []string{runlog.Last}
	for _, r := range all {
		words = append(words, r.Name+"\t"+string(r.State))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// all are the runs that there are.
func (f *runsFlags) all() ([]*runlog.Run, error) {
	root := runsAt(f.runs)
	if root == runsNone {
		return nil, usageError{fmt.Errorf("%s is %s, so nothing is recorded: --runs names a folder of runs", runsVariable, runsNone)}
	}
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		return nil, usageError{fmt.Errorf("--runs %s is a file, want a folder of runs", root)}
	}
	return runlog.List(root)
}

// none says what to do where no runs are.
func (f *runsFlags) none() string {
	return fmt.Sprintf("no runs in %s: thole train records one each time; --runs or the variable %s names another folder", runsAt(f.runs),
		runsVariable)
}

// named are the runs of the names, each once.
func (f *runsFlags) named(names []string) (found []*runlog.Run, err error) {
	all, err := f.all()
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New(f.none())
	}
	for _, name := range names {
		r, err := runlog.Find(all, name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(found, r) {
			found = append(found, r)
		}
	}
	return found, nil
}

// list prints the runs that were asked for.
func (f *runsFlags) list() error {
	if f.last < 0 {
		return usageError{fmt.Errorf("--last %d, want a number of runs", f.last)}
	}
	all, err := f.all()
	if err != nil {
		return err
	}
	if f.state != "" && !slices.Contains(runlog.States(), runlog.State(f.state)) {
		var states []string
		for _, s := range runlog.States() {
			states = append(states, string(s))
		}
		return usageError{spell.Unknown("state", f.state, states)}
	}
	left := slices.DeleteFunc(slices.Clone(all), func(r *runlog.Run) bool {
		return f.algo != "" && r.Algorithm != f.algo || f.state != "" && string(r.State) != f.state
	})
	if f.last > 0 {
		left = left[:min(f.last, len(left))]
	}
	rows := make([]*runRow, len(left))
	for i, r := range left {
		rows[i] = f.row(r, "")
	}
	if rows, err = f.sorted(left, rows); err != nil {
		return err
	}
	switch {
	case f.json:
		return writeJSON(f.out, rows)
	case len(all) == 0:
		_, err = fmt.Fprintln(f.out, f.none())
		return err
	case len(left) == 0:
		_, err = fmt.Fprintf(f.out, "none of %s in %s is as asked for\n", number.Of(len(all), "run"), runsAt(f.runs))
		return err
	}
	aligned(f.out, runTable(left, rows))
	return nil
}

// runTable is the list as people read it. It has notes if a run has one.
func runTable(runs []*runlog.Run, rows []*runRow) [][]string {
	table := [][]string{{"run", "algorithm", "state", roundsOf(runs, "s"), "metric", "rows/s", "time", "model"}}
	noted := slices.ContainsFunc(rows, func(r *runRow) bool { return r.Note != "" })
	if noted {
		table[0] = append(table[0], "note")
	}
	for _, r := range rows {
		cells := r.cells()
		if noted {
			cells = append(cells, orDash(firstLine(r.Note)))
		}
		table = append(table, cells)
	}
	return table
}

func (f *runsFlags) removeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "remove RUN...",
		Short: "Remove the folders of runs",
		Long: `Removes the folders of runs that have ended. Models are not touched. A folder in which something lies that is not of the run is
refused, and so is that of a run that goes on.`,
		Example: "  thole runs remove last",
		RunE:    func(_ *cobra.Command, names []string) error { return f.remove(names) },
	}
	f.flags(c, false)
	c.Flags().BoolVar(&f.force, "force", false, "also runs of which nobody can tell whether they go on")
	return c
}

func (f *runsFlags) remove(names []string) error {
	found, err := f.named(names)
	if err != nil {
		return err
	}
	for _, r := range found {
		if err := r.Remove(f.force); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(f.out, "removed %s\n", escaped(r.Folder)); err != nil {
			return err
		}
	}
	return nil
}

// runRow is what the list says of a run.
type runRow struct {
	Name          string        `json:"name"`
	Folder        string        `json:"folder"`
	State         runlog.State  `json:"state"`
	Error         string        `json:"error,omitempty"`
	Note          string        `json:"note,omitempty"`
	Algorithm     string        `json:"algorithm"`
	Epochs        int           `json:"epochs"` // made
	Planned       int           `json:"planned"`
	Best          int           `json:"best"`   // the epoch of the metric; 0: there is none
	Metric        string        `json:"metric"` // of the held-out examples; "": there are none
	Value         runlog.Number `json:"value"`
	Loss          runlog.Number `json:"loss"` // of the training examples
	RowsPerSecond runlog.Number `json:"rowsPerSecond"`
	Seconds       float64       `json:"seconds"`
	Model         string        `json:"model,omitempty"` // if it was saved
	Began         time.Time     `json:"began,omitzero"`
	Ended         time.Time     `json:"ended,omitzero"`
}

// row is the line of a run, with this metric, or the one that it is judged by.
func (f *runsFlags) row(r *runlog.Run, metric string) *runRow {
	if metric == "" {
		metric = r.Start.Metric
	}
	v, at := r.Held(metric, larger(r, metric))
	row := &runRow{
		Name: r.Name, Folder: r.Folder, State: r.State, Error: r.Error, Note: r.Note, Algorithm: r.Algorithm, Epochs: r.Made(),
		Planned: r.Start.Epochs, Best: at, Metric: metric, Value: runlog.Number(v), Loss: runlog.Number(r.Loss()),
		RowsPerSecond: runlog.Number(r.RowsPerSecond()), Seconds: r.Lasted(f.now()).Seconds(), Began: r.Began, Ended: r.Ended,
	}
	if r.State == runlog.Finished || r.State == runlog.Stopped {
		row.Model = r.Model
	}
	return row
}

// roundOf is what a run counts: epochs, or trees.
func roundOf(r *runlog.Run) string {
	if trees := algo.Trees(); r.Algorithm == trees.Name {
		return "tree"
	}
	return "epoch"
}

// roundsOf is what the runs count, with an ending such as an s: epochs, trees, or "epochs or trees".
func roundsOf(runs []*runlog.Run, ending string) string {
	var words []string
	for _, r := range runs {
		if word := roundOf(r) + ending; !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return strings.Join(words, " or ")
}

// larger reports whether larger values of a metric are better.
func larger(r *runlog.Run, metric string) bool {
	if metric == r.Start.Metric && r.Start.Better != "" {
		return r.Start.Better == "max"
	}
	return train.Larger(metric)
}

// cells are those of the table.
func (r *runRow) cells() []string {
	epochs := fmt.Sprint(r.Epochs)
	switch {
	case r.Best > 0 && r.Best < r.Epochs:
		epochs += fmt.Sprintf(" (best %d)", r.Best)
	case r.Epochs < r.Planned && r.State != runlog.Stopped && r.State != runlog.Finished:
		epochs += fmt.Sprintf(" of %d", r.Planned)
	}
	return []string{r.Name, orDash(r.Algorithm), string(r.State), epochs, r.measured(), rate(r.RowsPerSecond), shortTime(r.Seconds),
		orDash(r.Model)}
}

// measured is the metric, or the loss where there is none.
func (r *runRow) measured() string {
	switch v := float64(r.Value); {
	case !math.IsNaN(v):
		return fmt.Sprintf("%s %.5g", r.Metric, v)
	case !math.IsNaN(float64(r.Loss)):
		return fmt.Sprintf("train loss %.5g", float64(r.Loss))
	}
	return "-"
}

// rate is a number a second in three digits.
func rate(n runlog.Number) string {
	if math.IsNaN(float64(n)) {
		return "-"
	}
	return count(float64(n))
}

// shortTime is a number of seconds, of few with one digit behind the point.
func shortTime(seconds float64) string {
	if seconds < 10 {
		return fmt.Sprintf("%.1fs", seconds)
	}
	return whole(seconds).String()
}
