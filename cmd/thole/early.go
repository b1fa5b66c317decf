package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/algo"
	"thole.example/blob"
	"thole.example/internal/spell"
	"thole.example/metric"
	"thole.example/ps"
	"thole.example/state"
	"thole.example/train"
)

// patience is how many epochs without a better one a network gets, if its user held examples out and said nothing else.
const patience = 3

// treePatience is how many trees are grown without a better one.
const treePatience = 30

// usualPatience is the one of these that the job has.
func (p *plan) usualPatience() int {
	if p.recipe.Trees != "" {
		return treePatience
	}
	return patience
}

// watching is the flags that say what becomes of held-out examples while a training goes on.
type watching struct {
	patience int // epochs; 0: the held-out examples stop nothing
	by, mode string
	delta    float64
	metrics  []string // that are told; nil: the usual ones, at the end
}

func (w *watching) flags(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&w.patience, "early-stop", 0, "stop after so many epochs in which the held-out examples were predicted no better, and keep "+
		"the "+fmt.Sprintf("best epoch (default: %d for networks with --holdout or --cv, %d where --holdout is the default, else 0, never)",
		patience, holdoutPatience))
	f.StringVar(&w.by, "early-stop-metric", "", "metric that --early-stop goes by, such as auc (default: the loss)")
	f.StringVar(&w.mode, "early-stop-mode", "", "which values of it are better: min or max (default: what the metric says)")
	f.Float64Var(&w.delta, "early-stop-delta", 0, "by how much an epoch has to be better")
	f.StringSliceVar(&w.metrics, "metrics", nil, "metrics of the held-out examples to tell of, after every epoch, such as logloss,auc "+
		"(default: the usual ones, at the end)")
}

// checkWatching checks the settings of held-out examples against the network, and takes the default of those that it may.
func (p *plan) checkWatching() error {
	j := p.job
	held := j.holdout > 0 || len(j.valid) > 0 || j.cv > 0
	if !j.given("early-stop") && (j.holdout > 0 || j.cv > 0) && (p.recipe.Network() || p.recipe.Trees != "") && !j.asAngel {
		j.patience = p.usualPatience()
	}
	compares := p.compares // of trees
	if compares == nil {
		model, err := p.build(algo.Conf{Dim: 1, Classes: 2, Size: algo.Size{Fields: 1}})
		if err != nil {
			return nil // which the examples will tell more of
		}
		compares = model.Loss
	}
	names := train.MetricNames(compares)
	for flag, given := range map[string][]string{"early-stop-metric": {j.by}, "metrics": j.metrics} {
		for _, name := range given {
			if name == "" || train.HasMetric(compares, name) {
				continue
			}
			return fmt.Errorf("--%s %s: %s has %s%s", flag, name, p.recipe.Name, strings.Join(names, ", "), spell.Hint(name, names))
		}
	}
	if m, err := metric.Find(j.by); err == nil && m.Better == metric.NearOne && j.mode == "" {
		return fmt.Errorf("--early-stop-metric %s: it is best where it is 1; want a metric of which the largest or the smallest value is best, "+
			"such as %s", j.by, strings.Join(names[:2], " or "))
	}
	switch {
	case j.patience < 0:
		return fmt.Errorf("--early-stop %d, want a number of epochs, or 0", j.patience)
	case !finite(j.delta) || j.delta < 0:
		return fmt.Errorf("--early-stop-delta %v, want a finite number from 0 on", j.delta)
	case j.mode != "" && j.mode != "min" && j.mode != "max":
		return fmt.Errorf("--early-stop-mode %q, want min or max", j.mode)
	case j.patience > 0 && !held:
		return fmt.Errorf("--early-stop %d without held-out examples: --holdout 0.1 holds some out, --validate names some", j.patience)
	case len(j.metrics) > 0 && !held:
		return fmt.Errorf("--metrics without held-out examples: --holdout 0.1 holds some out, --validate names some")
	case j.patience == 0 && (j.by != "" || j.mode != "" || j.delta > 0):
		return fmt.Errorf("--early-stop-metric, --early-stop-mode and --early-stop-delta want --early-stop")
	}
	return nil
}

// early is how a task of the client is stopped by held-out examples; nil: not. Where there are checkpoints the best epoch is among them.
func (p *plan) early(client *ps.Client, kept *taskCheckpoints) *train.Early {
	if p.patience == 0 {
		return nil
	}
	e := &train.Early{Metric: p.by, Largest: p.mode == "max" || p.mode == "" && train.Larger(p.by), MinDelta: p.delta, Patience: p.patience}
	at := func(int) string { return p.moment }
	e.Keep = func(ctx context.Context, epoch int) error { return client.Interim(ctx, p.moment) }
	if kept != nil && p.checkpoint != "" {
		at = func(epoch int) string { return blob.Join(kept.folder(), state.BestName(epoch)) }
		e.Keep = kept.best
	}
	e.Return = func(ctx context.Context, epoch int) error { _, err := client.Restore(ctx, at(epoch)); return err }
	return e
}

// momentHere makes a folder of this process for the best epoch, until remove is called.
func (p *plan) momentHere() (remove func(), err error) {
	if p.patience == 0 || p.checkpoint != "" { // it is among the checkpoints
		return func() {}, nil
	}
	dir, remove, err := momentFolder(os.TempDir())
	if err != nil {
		return nil, err
	}
	p.moment = inBucket(filepath.Join(dir, "epoch"))
	return remove, nil
}

// momentThere is where servers keep the best epoch of the job while it lasts.
func (p *plan) momentThere() string { return "best." + url.PathEscape(p.name) }

// told are the metrics that the user wants to hear of.
func (p *plan) told(m train.Metrics) train.Metrics {
	if len(p.metrics) == 0 {
		return m
	}
	return slices.DeleteFunc(slices.Clone(m), func(x train.Metric) bool { return !slices.Contains(p.metrics, x.Name) })
}
