package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"thole.example/internal/spell"
)

// neighboring is the flags of neighbors.
type neighboring struct {
	source
	by     string
	top    int
	among  string
	asJSON bool
}

func neighborsCommand(e *env) *cobra.Command {
	var k neighboring
	c := &cobra.Command{
		Use:   "neighbors MODEL FEATURE...",
		Short: "Find the features whose vectors are nearest to that of a feature",
		Long: `Prints the features whose embedded vectors are most like that of each FEATURE, which is a number, or, where the model learned
from a table, a name such as city=Paris. The exact nearest ones are found by looking at all.`,
		Example: `  thole neighbors out/deepfm 14
  thole neighbors out/deepfm 14 15 --top 20 --by dot --json`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return k.run(c.Context(), e, args[0], args[1:]) },
	}
	f := c.Flags()
	f.IntVar(&k.top, "top", 10, "how many are printed")
	f.StringVar(&k.by, "by", "cosine", "what is near: cosine of the angle, dot product, or distance")
	f.StringVar(&k.among, "among", "", "only features whose names begin so, such as city=")
	f.BoolVar(&k.asJSON, "json", false, "print JSON")
	f.StringVar(&k.matrix, "matrix", "", "matrix with the vectors, one in each column (default: that of the model's embedding)")
	k.formatFlags(c)
	return c
}

// closeness is a table of what may be called near; larger is nearer.
var closeness = map[string]func(dot, a, b float64) float64{
	"cosine":   func(dot, a, b float64) float64 { return dot / max(math.Sqrt(a*b), math.SmallestNonzeroFloat64) },
	"dot":      func(dot, _, _ float64) float64 { return dot },
	"distance": func(dot, a, b float64) float64 { return -math.Sqrt(max(0, a+b-2*dot)) },
}

// neighbor is a feature near another.
type neighbor struct {
	Feature string  `json:"feature"`
	ID      int64   `json:"id"`
	Value   float64 `json:"value"`
}

func (k *neighboring) run(ctx context.Context, e *env, path string, words []string) error {
	near, ok := closeness[k.by]
	if !ok {
		names := []string{"cosine", "dot", "distance"}
		return usageError{fmt.Errorf("--by %q, want one of %s%s", k.by, strings.Join(names, " "), spell.Hint(k.by, names))}
	}
	if k.top < 1 {
		return usageError{fmt.Errorf("--top %d, want at least 1", k.top)}
	}
	m, err := openModel(ctx, e.paths, path, k.from, k.set)
	if err != nil {
		return err
	}
	defer m.Close()
	name, err := m.featureMatrix(k.matrix, false)
	if err != nil {
		return err
	}
	naming := naming{m.transform}
	ids := make([]int64, len(words))
	for i, word := range words {
		if ids[i], err = naming.find(word); err != nil {
			return err
		}
	}
	v, err := vectorsOf(ctx, m, name)
	if err != nil {
		return err
	}
	all := map[string][]neighbor{}
	for i, id := range ids {
		at, ok := v.find(id)
		if !ok {
			return fmt.Errorf("%s: matrix %s has no vector of feature %s", path, name, words[i])
		}
		all[words[i]] = k.near(v, at, naming, near)
	}
	if k.asJSON {
		return json.NewEncoder(e.out).Encode(all)
	}
	for i, word := range words {
		if len(words) > 1 {
			fmt.Fprintf(e.out, "%s%s\n", strings.Repeat("\n", min(i, 1)), escaped(word))
		}
		w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
		for _, n := range all[word] {
			fmt.Fprintf(w, "%.6f\t%s\n", n.Value, escaped(n.Feature))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// near are the features nearest to that in a place, which itself is left out: of equal ones the lower id comes first.
func (k *neighboring) near(v *vectors, at int, n naming, near func(dot, a, b float64) float64) (best []neighbor) {
	q := v.of(at)
	square := dot(q, q)
	for i, id := range v.keys {
		if i == at {
			continue
		}
		x := v.of(i)
		value := near(dot(q, x), square, dot(x, x))
		if len(best) == k.top && value <= best[k.top-1].Value {
			continue
		}
		if k.among != "" && !strings.HasPrefix(n.name(id), k.among) {
			continue
		}
		place, _ := slices.BinarySearchFunc(best, value, func(b neighbor, value float64) int {
			if b.Value >= value {
				return -1
			}
			return 1
		})
		best = slices.Insert(best, place, neighbor{ID: id, Value: value})
		best = best[:min(len(best), k.top)]
	}
	for i := range best {
		best[i].Feature = n.name(best[i].ID)
		if k.by == "distance" {
			best[i].Value = math.Abs(best[i].Value)
		}
	}
	return best
}

func dot(a, b []float32) (sum float64) {
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}
