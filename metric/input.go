package metric

import (
	"fmt"
	"math"
	"runtime"
	"sync"
)

// Input is examples, and what a model says of them. Its slices must not change while it is used; one goroutine at a time may use it.
type Input struct {
	// Score is, of two classes, a margin or whatever puts examples in order; of several, the number of the predicted class; else
	// the predicted value.
	Score []float64
	// Probability is, of two classes, that of the positive one, which must not fall where Score rises; of several, Classes numbers
	// for each example. nil: it is not known.
	Probability []float64
	Classes     int     // of several classes their number, else 0
	Threshold   float64 // the score above which an example is predicted positive, of two classes
	Label       []float64
	Weight      []float32 // how many examples each stands for, 0 or more; nil: 1
	Group       []int64   // of which user or request each is; nil: none

	order    []entry   // by falling score; nil: not made yet
	groups   []entry   // by group, and in it by falling score; nil: not made yet
	ranks    *Ranks    // nil: not made yet
	decision *decision // nil: not made yet
}

// examplesLimit is how many examples can be put in order.
const examplesLimit = 1 << 31

// Check finds what no metric accepts: lengths that differ, NaN among scores and labels, weights that are no finite numbers from 0 on.
func (in *Input) Check() error {
	n := len(in.Label)
	if len(in.Score) != n {
		return fmt.Errorf("metric: %d scores for %d labels", len(in.Score), n)
	}
	switch wide := max(1, in.Classes); {
	case n >= examplesLimit:
		return fmt.Errorf("metric: %d examples, want fewer than %d", n, examplesLimit)
	case in.Probability != nil && len(in.Probability) != n*wide:
		return fmt.Errorf("metric: %d probabilities for %d labels and %d classes", len(in.Probability), n, wide)
	case in.Weight != nil && len(in.Weight) != n:
		return fmt.Errorf("metric: %d weights for %d labels", len(in.Weight), n)
	case in.Group != nil && len(in.Group) != n:
		return fmt.Errorf("metric: %d groups for %d labels", len(in.Group), n)
	}
	for i, s := range in.Score {
		if s != s || in.Label[i] != in.Label[i] {
			return fmt.Errorf("metric: example %d has score %v and label %v, want numbers", i, s, in.Label[i])
		}
	}
	for i, w := range in.Weight {
		if !(w >= 0) || math.IsInf(float64(w), 0) {
			return fmt.Errorf("metric: example %d has weight %v, want a finite number from 0 on", i, w)
		}
	}
	for i, p := range in.Probability {
		if p != p {
			return fmt.Errorf("metric: example %d has probability NaN, want a number", i/max(1, in.Classes))
		}
	}
	return nil
}

// weight is how many examples number i stands for.
func (in *Input) weight(i int) float64 {
	if in.Weight == nil {
		return 1
	}
	return float64(in.Weight[i])
}

// portion is how many examples are summed one after the other.
const portion = 1 << 14

// sums adds up what add puts into its numbers for the examples lo to hi, of all portions in their order, whatever processors there
// are to compute them.
func sums[T any](n int, add func(t *T, lo, hi int), join func(to, t *T)) (all T) {
	parts := make([]T, (n+portion-1)/portion)
	each(len(parts), func(k int) { add(&parts[k], k*portion, min(n, (k+1)*portion)) })
	for k := range parts {
		join(&all, &parts[k])
	}
	return all
}

// each calls do with 0 to n-1, on as many processors as there are.
func each(n int, do func(k int)) {
	tasks := min(n, runtime.GOMAXPROCS(0))
	if tasks <= 1 {
		for k := range n {
			do(k)
		}
		return
	}
	var wait sync.WaitGroup
	for t := range tasks {
		wait.Go(func() {
			for k := t; k < n; k += tasks {
				do(k)
			}
		})
	}
	wait.Wait()
}

// weighted is a sum of values, each times its weight, and the sum of the weights.
type weighted struct{ sum, weight float64 }

func (w *weighted) join(o *weighted) {
	w.sum += o.sum
	w.weight += o.weight
}

func (w *weighted) mean() float64 { return w.sum / w.weight }

// mean is the weighted mean of term over the examples; NaN if there are none, or none with a weight.
func (in *Input) mean(term func(i int) float64) float64 {
	m := sums(len(in.Label), func(w *weighted, lo, hi int) {
		if in.Weight == nil {
			for i := lo; i < hi; i++ {
				w.sum += term(i)
			}
			w.weight = float64(hi - lo)
			return
		}
		for i := lo; i < hi; i++ {
			if x := float64(in.Weight[i]); x > 0 { // what has none may be infinite
				w.sum += x * term(i)
				w.weight += x
			}
		}
	}, (*weighted).join)
	return m.mean()
}

// plain checks the scores and labels and measures them.
func plain(m *Metric, in *Input) (float64, error) {
	if err := in.Check(); err != nil {
		return 0, err
	}
	return m.Of(in), nil
}
