package gbdt

import (
	"fmt"
	"math"
	"slices"
)

// Labels are what is known of rows beside their features. Rows that are held out come after those that are learned from.
type Labels struct {
	Label  []float32 // -1 and 1, numbers, classes from 0 on, or how much a row matters to its group
	Weight []float32 // nil: all are 1
	Group  []int64   // nil: there are none
	// Start is the score of each row before the first tree, in place of that of the objective: all rows of class 0, then those of class
	// 1, and so on. nil: there are none. It is not part of the model.
	Start []float64
}

// of are the labels of the rows that b has.
func (y *Labels) of(b *Binned, classes int) *Labels {
	if b.learn == b.rows {
		return y
	}
	out := &Labels{Label: ownOf(y.Label, b), Weight: ownOf(y.Weight, b), Group: ownOf(y.Group, b)}
	for k := range classes {
		if total := b.rows + b.held; y.Start != nil {
			out.Start = append(out.Start, ownOf(y.Start[k*total:(k+1)*total], b)...)
		}
	}
	return out
}

// ownOf are what b has of something that all rows have, those held out last; nil of nil.
func ownOf[T any](all []T, b *Binned) []T {
	if all == nil {
		return nil
	}
	return slices.Concat(all[b.first:b.first+b.learn], all[b.rows:])
}

// fit refuses labels, constraints and trees that are not of these rows.
func (t *trainer) fit(classes int) error {
	c, y, b := t.Config, t.labels, t.binned
	total := b.total
	switch {
	case len(y.Label) != total || y.Weight != nil && len(y.Weight) != total || y.Group != nil && len(y.Group) != total:
		return fmt.Errorf("%d labels, %d weights and %d groups of %d rows", len(y.Label), len(y.Weight), len(y.Group), total)
	case y.Start != nil && len(y.Start) != classes*total:
		return fmt.Errorf("%d start scores, want %d of each of %d rows", len(y.Start), classes, total)
	case c.Objective.Rank != nil && y.Group == nil:
		return fmt.Errorf("%s: rows without groups", c.Objective.Name)
	case c.Monotone != nil && len(c.Monotone) != b.Features.Width:
		return fmt.Errorf("%d monotone constraints of %d features", len(c.Monotone), b.Features.Width)
	}
	for f, m := range c.Monotone {
		switch {
		case m < -1 || m > 1:
			return fmt.Errorf("monotone constraint %d of feature %d, want -1, 0 or 1", m, f)
		case m != 0 && c.Objective.Quantile != nil: // of which no limit is kept
			return fmt.Errorf("%s takes no monotone constraints, as leaves are quantiles of what is left", c.Objective.Name)
		}
	}
	from := t.opt.From
	switch {
	case from == nil:
	case y.Start == nil:
		return fmt.Errorf("trees that go before without their scores as start scores of the rows")
	case from.Features.Width != b.Features.Width:
		return fmt.Errorf("trees that ask for %d features, want %d to go on from", from.Features.Width, b.Features.Width)
	case from.Classes != classes:
		return fmt.Errorf("trees of %d scores of a row, want %d to go on from", from.Classes, classes)
	case from.Group != classes:
		return fmt.Errorf("%d trees of an iteration, want %d to go on from", from.Group, classes)
	case from.Mean:
		return fmt.Errorf("a random forest, whose score is a mean: nothing can be added to it")
	}
	return nil
}

// checkRow refuses what is said of a row.
func (t *trainer) checkRow(i, classes int) error {
	y, o := t.labels, &t.Objective
	l := float64(y.Label[i])
	wrong := o.Check(l)
	if l != l || math.IsInf(l, 0) {
		wrong = "want a number"
	}
	if classes > 1 && int(l) >= classes {
		wrong = fmt.Sprintf("want one of %d classes, from 0 on", classes)
	}
	if wrong != "" {
		return fmt.Errorf("%w: row %d has the label %v: %s takes no such labels: %s", ErrRows, i, l, o.Name, wrong)
	}
	if y.Weight != nil && !(y.Weight[i] >= 0 && !math.IsInf(float64(y.Weight[i]), 0)) {
		return fmt.Errorf("%w: row %d has the weight %v, want a number from 0 on", ErrRows, i, y.Weight[i])
	}
	for k := i; k < len(y.Start); k += t.binned.total {
		if s := y.Start[k]; math.IsNaN(s) || math.IsInf(s, 0) {
			return fmt.Errorf("%w: row %d has the start score %v, want a number", ErrRows, i, s)
		}
	}
	return nil
}

// weights are those of all rows that are learned from, with that of positive ones.
func (t *trainer) weights() []float32 {
	w := make([]float32, t.binned.rows)
	for i := range w {
		w[i] = t.weight(i)
	}
	return w
}

func (t *trainer) weight(i int) float32 {
	w := float32(1)
	if t.labels.Weight != nil {
		w = t.labels.Weight[i]
	}
	if p := t.Positive; p > 0 && p != 1 && t.labels.Label[i] > 0 {
		w = float32(float64(w) * p)
	}
	return w
}

// findGroups finds where the groups of the worker's rows begin and end, which lie together.
func (t *trainer) findGroups() error {
	if t.Objective.Rank == nil {
		return nil
	}
	seen, b := map[int64]bool{}, t.binned
	for lo, hi := 0, 0; lo < b.rows; lo = hi {
		g := t.labels.Group[lo]
		for hi = lo; hi < b.rows && t.labels.Group[hi] == g; hi++ {
		}
		if seen[g] {
			return fmt.Errorf("%w: the rows of group %d lie apart, at row %d again; want those of a group together", ErrRows, g, lo)
		}
		seen[g] = true
		from, to := max(lo-b.first, 0), min(hi-b.first, b.learn)
		if from >= to {
			continue
		}
		if to-from < hi-lo {
			return fmt.Errorf("%s: rows of group %d are with other workers, want whole groups", t.Objective.Name, g)
		}
		t.groups = append(t.groups, [2]int{from, to})
	}
	return nil
}
