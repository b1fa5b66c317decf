package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/chart"
	"thole.example/internal/number"
	"thole.example/internal/spell"
	"thole.example/runlog"
)

func (f *runsFlags) drawCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "draw [RUN...]",
		Short: "Draw the curves of runs, on the terminal or as SVG",
		Long: `Draws the loss of the training examples by epoch (of trees by tree), and the metric of the held-out examples that the runs are
judged by, in a chart each. Of one run that is judged by the loss both are in one chart. Held-out examples have a curve if they
were measured after every epoch: with early stopping, or --metrics. Without RUN the last run is drawn.`,
		Example: "  thole runs draw\n  thole runs draw lr deepfm --svg curves.svg\n  thole runs draw last --metric loss --ascii",
		RunE: func(c *cobra.Command, names []string) error {
			if len(names) == 0 {
				names = []string{runlog.Last}
			}
			found, err := f.named(names)
			if err != nil {
				return err
			}
			return f.draw(c.Context(), found)
		},
	}
	f.flags(c, false)
	c.Flags().StringSliceVar(&f.metrics, "metric", nil, "curves to draw: "+runlog.LossCurve+", of the training examples, or metrics of the "+
		"held-out ones, such as auc")
	c.Flags().StringVar(&f.svg, "svg", "", "draw to this file, as SVG")
	c.Flags().BoolVar(&f.force, "force", false, "replace the file of --svg if it exists")
	c.Flags().BoolVar(&f.ascii, "ascii", false, "only characters that every terminal has (default: where the locale is not UTF-8)")
	c.Flags().IntVar(&f.columns, "columns", 0, "width of the picture in characters (default: that of the terminal)")
	return c
}

func (f *runsFlags) draw(ctx context.Context, runs []*runlog.Run) error {
	charts, err := f.charts(runs)
	if err != nil {
		return err
	}
	if f.svg != "" {
		return f.drawFile(ctx, charts)
	}
	how := chart.Terminal{Columns: f.columns, ASCII: f.ascii || !localeUTF8(), Colour: terminal(f.out) && os.Getenv("NO_COLOR") == ""}
	if how.Columns == 0 {
		how.Columns = min(columns(f.out)-1, 120)
	}
	for i, c := range charts {
		if i > 0 {
			fmt.Fprintln(f.out)
		}
		if err := c.Text(f.out, how); err != nil {
			return err
		}
	}
	return nil
}

// localeUTF8 reports whether the terminal has all characters, as the variables of the locale say, of which the first that is there holds.
func localeUTF8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(os.Getenv(name)); value != "" {
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}

// drawFile writes the charts to a file, one below the other.
func (f *runsFlags) drawFile(ctx context.Context, charts []*chart.Chart) error {
	if err := wantEnding(f.svg, "", ".svg"); err != nil {
		return fmt.Errorf("--svg: %w", err)
	}
	s, err := f.sink(f.svg, f.force)
	if err != nil {
		return err
	}
	const wide, high = 720, 360
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">`+"\n", wide, high*len(charts), wide,
		high*len(charts))
	for i, c := range charts {
		c.Width, c.Height = wide, high
		fmt.Fprintf(&b, `<g transform="translate(0,%d)">`+"\n", i*high)
		if err := c.SVG(&b); err != nil {
			return err
		}
		fmt.Fprintln(&b, "</g>")
	}
	fmt.Fprintln(&b, "</svg>")
	w, err := s.create(ctx)
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := w.Write(b.Bytes()); err != nil {
		return err
	}
	if err := w.Commit(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.reports(), "%s: %s\n", s.path, number.Of(len(charts), "chart"))
	return err
}

// charts are those that show the runs.
func (f *runsFlags) charts(runs []*runlog.Run) (all []*chart.Chart, err error) {
	var has []string
	for _, r := range runs {
		for _, name := range r.Curves() {
			if !slices.Contains(has, name) {
				has = append(has, name)
			}
		}
	}
	if len(has) == 0 {
		return nil, fmt.Errorf("%s: no %ss to draw yet", runs[0].Name, roundOf(runs[0]))
	}
	for _, name := range f.metrics {
		if !slices.Contains(has, name) {
			return nil, usageError{spell.Unknown("curve", name, has)}
		}
	}
	names := f.metrics
	if len(names) == 0 {
		names = has[:1]
		if metric := runs[0].Start.Metric; slices.Contains(has[1:], metric) {
			names = append(slices.Clone(names), metric)
		}
	}
	// The first metric of the held-out examples is the loss, which can stand beside that of the training examples.
	if len(f.metrics) == 0 && len(runs) == 1 && len(has) > 1 {
		both := curves(runs, runlog.LossCurve)
		both.Title += ", training and held-out examples"
		held := curves(runs, has[1])
		both.Lines[0].Name, held.Lines[0].Name, held.Lines[0].Dashed = "training", "held out", true
		both.Lines = append(both.Lines, held.Lines...)
		all, names = append(all, both), slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return name == runlog.LossCurve || name == has[1]
		})
	}
	for _, name := range names {
		all = append(all, curves(runs, name))
	}
	return all, nil
}

// pointsLimit is how many points of a curve are drawn.
const pointsLimit = 2000

// curves is the chart of a curve of the runs that have it.
func curves(runs []*runlog.Run, name string) *chart.Chart {
	c := &chart.Chart{Title: name + " of held-out examples", X: chart.Axis{Label: roundsOf(runs, ""), Whole: true}}
	if name == runlog.LossCurve {
		c.Title = "loss"
	}
	for _, r := range runs {
		x, y := r.Curve(name)
		if len(x) == 0 {
			continue
		}
		every := (len(x) + pointsLimit - 1) / pointsLimit
		line := chart.Line{Name: r.Name, Dots: len(x) <= 50}
		for i := range x {
			if i%every == 0 || i == len(x)-1 {
				line.X, line.Y = append(line.X, x[i]), append(line.Y, y[i])
			}
		}
		c.Lines = append(c.Lines, line)
		if c.X.Lo == 0 || x[0] < c.X.Lo {
			c.X.Lo = x[0]
		}
		c.X.Hi = max(c.X.Hi, x[len(x)-1])
	}
	return c
}
