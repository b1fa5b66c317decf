package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"thole.example/format"
	"thole.example/graph"
	"thole.example/internal/number"
	"thole.example/internal/spell"
	"thole.example/metric"
	"thole.example/train"
	"thole.example/tree"
)

// permuting is the flags that ask how much a metric depends on each feature.
type permuting struct {
	asked        bool
	by           string // metric; "": the loss
	repeats, top int
	seed         uint64
}

func (k *permuting) flags(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&k.asked, "importance", false, "of a model of trees: also say by how much a metric becomes worse where each feature has the "+
		"values of other examples (permutation importance)")
	f.StringVar(&k.by, "importance-metric", "", "the metric of --importance (default: the loss)")
	f.IntVar(&k.repeats, "repeats", 5, "permutations of each feature, of whose importance the mean and the deviation are told")
	f.IntVar(&k.top, "top", 20, "features that --importance tells of, the most important ones; 0: all")
	f.Uint64Var(&k.seed, "seed", 1, "seed of the permutations")
	inGroup(c, "Importance", "importance", "importance-metric", "repeats", "top", "seed")
}

// repeatsLimit is how often a feature is permuted at most.
const repeatsLimit = 10_000

// check refuses what makes no sense, before anything is read.
func (k *permuting) check(c *cobra.Command) error {
	for _, flag := range []string{"importance-metric", "repeats", "top", "seed"} {
		if !k.asked && c.Flags().Changed(flag) {
			return usageError{fmt.Errorf("--%s without --importance, want both", flag)}
		}
	}
	switch {
	case k.repeats < 1 || k.repeats > repeatsLimit:
		return usageError{fmt.Errorf("--repeats %d, want 1 to %d", k.repeats, repeatsLimit)}
	case k.top < 0:
		return usageError{errors.New("--top below 0, want how many features are told of, or 0 for all")}
	}
	return nil
}

// checkMetric refuses a metric that models of the loss do not have.
func (k *permuting) checkMetric(loss graph.Loss) error {
	if k.by == "" || train.HasMetric(loss, k.by) {
		return nil
	}
	return usageError{fmt.Errorf("--importance-metric: %w", spell.Unknown("metric of "+loss.Name(), k.by, train.MetricNames(loss)))}
}

// permuted is what came of the permutations.
type permuted struct {
	Metric   string            `json:"metric"`
	Value    float64           `json:"value"` // of the examples as they are
	Repeats  int               `json:"repeats"`
	Seed     uint64            `json:"seed"`
	Asked    int               `json:"askedFeatures"` // that trees ask for; all others have no importance
	Features []permutedFeature `json:"features"`      // the most important first
}

// permutedFeature is by how much the metric becomes worse, and how much that varies between permutations.
type permutedFeature struct {
	Feature   string  `json:"feature"`
	ID        int     `json:"id"`
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"`
}

// keptRows are the rows of all examples that were scored, one after the other, and their start scores, if they have some.
type keptRows struct {
	rows  []float64
	start []float64
}

// grow makes room for more rows, which it answers with, and keeps their start scores.
func (k *keptRows) grow(n, width int, start []float64) ([]float64, error) {
	have, more := len(k.rows), n*width
	if left := availableMemory(); have+more > cap(k.rows) && left > 0 && int64(8*(2*have+more)) > left {
		return nil, fmt.Errorf("--importance wants the values of all examples in memory, of %s already %s, and only %s are left: want fewer "+
			"examples", number.Of(have/width, "example"), format.Bytes(int64(8*have)), format.Bytes(left))
	}
	k.rows = slices.Grow(k.rows, more)[:have+more]
	k.start = append(k.start, start...)
	return k.rows[have:], nil
}

// measure permutes each feature of the examples that were scored.
func (k *permuting) measure(ctx context.Context, e *env, model string, s *scored) (*permuted, error) {
	of, scorer := *s.of, s.trees
	p := &permuted{Metric: cmp.Or(k.by, of.Loss.Name()), Repeats: k.repeats, Seed: k.seed, Asked: len(scorer.of),
		Features: []permutedFeature{}}
	var err error
	if p.Value, err = train.MeasureOne(&of, p.Metric); err != nil {
		return nil, err
	}
	if !finite(p.Value) {
		return nil, fmt.Errorf("--importance: %s is not defined on these examples, want another --importance-metric", p.Metric)
	}
	bar := e.progress("importance of the features of "+model, "permutations", int64(p.Asked*k.repeats))
	defer bar.end()
	of.Score = make([]float64, len(s.of.Score))
	for f, name := range scorer.of {
		one := permutedFeature{Feature: name, ID: int(scorer.from[f])}
		all := make([]float64, k.repeats)
		for i := range all {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			scorer.permuted(f, tree.Permutation(k.seed, one.ID, i, len(of.Label)), of.Score)
			v, err := train.MeasureOne(&of, p.Metric)
			if err != nil {
				return nil, err
			}
			if all[i] = worse(p.Metric, v, p.Value); !finite(all[i]) { // such as the precision of no positive prediction
				return nil, fmt.Errorf("--importance: %s is not defined where column %s has the values of other examples, want another "+
					"--importance-metric", p.Metric, name)
			}
			bar.add(1)
		}
		one.Mean, one.Deviation = spread(all)
		p.Features = append(p.Features, one)
	}
	slices.SortStableFunc(p.Features, func(a, b permutedFeature) int { return cmp.Compare(b.Mean, a.Mean) })
	if k.top > 0 {
		p.Features = p.Features[:min(k.top, len(p.Features))]
	}
	return p, nil
}

// permuted scores the kept rows with the values of one feature in another order.
func (s *treeScorer) permuted(feature int, order []uint32, score []float64) {
	copy(score, s.kept.start) // which the scorer adds to, if there are some
	s.fast.Permuted(s.kept.rows, len(s.of), feature, order, score, runtime.GOMAXPROCS(0))
}

// worse is by how much the value of a metric is worse than another one.
func worse(name string, v, than float64) float64 {
	m, err := metric.Find(name)
	switch {
	case err == nil && m.Better == metric.Larger:
		return than - v
	case err == nil && m.Better == metric.NearOne:
		return math.Abs(v-1) - math.Abs(than-1)
	}
	return v - than // of losses, which the table does not have, less is better
}

// spread is the mean of some numbers, and their deviation as of a sample: divided by one less than there are; 0 of one.
func spread(all []float64) (mean, deviation float64) {
	for _, v := range all {
		mean += v
	}
	mean /= float64(len(all))
	for _, v := range all {
		deviation += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(deviation / float64(max(1, len(all)-1)))
}

func (p *permuted) print(out io.Writer) error {
	fmt.Fprintf(out, "\nby how much %s (%.6g) is worse with the values of other examples, in the mean of %s\n", p.Metric, p.Value,
		number.Of(p.Repeats, "permutation"))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "feature\tworse by\tdeviation")
	for _, f := range p.Features {
		fmt.Fprintf(w, "%s\t%.6g\t%.2g\n", strings.TrimSpace(clipped(f.Feature, longText)), f.Mean, f.Deviation)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if more := p.Asked - len(p.Features); more > 0 {
		fmt.Fprintf(out, "and %s (--top 0 prints all)\n", number.Of(more, "less important feature"))
	}
	return nil
}
