package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// weightListing is the flags of weights.
type weightListing struct {
	source
	top    int
	asJSON bool
	byID   bool
}

func weightsCommand(e *env) *cobra.Command {
	var k weightListing
	c := &cobra.Command{
		Use:   "weights MODEL",
		Short: "List the weights of features of a linear model, the largest first",
		Long: `Prints the weights of the linear part of MODEL with the names of their features, those farthest from 0 first: what the score
gains by a feature, or, of a number of a table, by one deviation more of it. Models of several classes have a weight for each class.`,
		Example: `  thole weights out/lr --top 20
  thole weights out/lr --by-id --json
  thole weights lr.params --matrix input_weight`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return k.run(c.Context(), e, args[0]) },
	}
	f := c.Flags()
	f.IntVar(&k.top, "top", 0, "how many are printed (default: all that are not 0)")
	f.BoolVar(&k.byID, "by-id", false, "in the order of the features")
	f.BoolVar(&k.asJSON, "json", false, "print JSON")
	f.StringVar(&k.matrix, "matrix", "", "matrix with the weights, one column for each feature (default: that of the model's linear part)")
	k.formatFlags(c)
	return c
}

// featureWeight is that of a feature.
type featureWeight struct {
	Feature string    `json:"feature"`
	ID      int64     `json:"id"`
	Weights []float32 `json:"weights"`
	size    float64
}

func (k *weightListing) run(ctx context.Context, e *env, path string) error {
	if k.top < 0 {
		return usageError{fmt.Errorf("--top %d, want at least 1", k.top)}
	}
	m, err := openModel(ctx, e.paths, path, k.from, k.set)
	if err != nil {
		return err
	}
	defer m.Close()
	name, err := m.featureMatrix(k.matrix, true)
	if err != nil {
		return err
	}
	v, err := vectorsOf(ctx, m, name)
	if err != nil {
		return err
	}
	var all []featureWeight
	for i, id := range v.keys {
		w := featureWeight{ID: id, Weights: v.of(i)}
		for _, x := range w.Weights {
			w.size = max(w.size, math.Abs(float64(x)))
		}
		if w.size > 0 {
			all = append(all, w)
		}
	}
	if !k.byID {
		slices.SortStableFunc(all, func(a, b featureWeight) int {
			switch {
			case a.size > b.size:
				return -1
			case a.size < b.size:
				return 1
			}
			return 0
		})
	}
	if k.top > 0 {
		all = all[:min(k.top, len(all))]
	}
	naming := naming{m.transform}
	for i := range all {
		all[i].Feature = naming.name(all[i].ID)
	}
	if k.asJSON {
		if all == nil {
			all = []featureWeight{}
		}
		return json.NewEncoder(e.out).Encode(all)
	}
	out := bufio.NewWriter(e.out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, one := range all {
		for _, x := range one.Weights {
			fmt.Fprintf(w, "%+.6g\t", x)
		}
		fmt.Fprintf(w, "%s\n", oneLine(one.Feature))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return out.Flush()
}
