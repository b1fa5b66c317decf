package gbdt

import (
	"fmt"
	"iter"
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

// Part are the labels of rows lo to hi out of so many that are learned from, and with held of those that are held out. They share memory
// with y where they can.
func (y *Labels) Part(lo, hi, rows int, held bool) *Labels {
	total, end := len(y.Label), len(y.Label)
	if !held {
		end = rows
	}
	if lo == 0 && hi == rows && end == total {
		return y
	}
	out := &Labels{Label: partOf(y.Label, lo, hi, rows, end), Weight: partOf(y.Weight, lo, hi, rows, end),
		Group: partOf(y.Group, lo, hi, rows, end)}
	for k := 0; k < len(y.Start); k += total {
		out.Start = append(out.Start, partOf(y.Start[k:k+total], lo, hi, rows, end)...)
	}
	return out
}

// partOf are the elements lo to hi, and those from rows on to the end; nil of nil.
func partOf[T any](all []T, lo, hi, rows, end int) []T {
	switch {
	case all == nil:
		return nil
	case rows == end:
		return all[lo:hi:hi]
	}
	return slices.Concat(all[lo:hi], all[rows:end])
}

// fit refuses what does not belong to the rows that are here.
func (t *trainer) fit() error {
	b, s := t.binned, t.setup
	switch here := b.learn + b.held; {
	case s.Layout != b.Layout:
		return fmt.Errorf("rows of another layout than that of the setup")
	case len(t.labels.Label) != here:
		return fmt.Errorf("%d labels of %d rows", len(t.labels.Label), here)
	}
	return nil
}

// first are the labels and weights of the first rows.
func (y *Labels) first(rows int) *Labels {
	out := &Labels{Label: y.Label[:rows]}
	if y.Weight != nil {
		out.Weight = y.Weight[:rows]
	}
	return out
}

// weight is how much row i counts.
func (y *Labels) weight(i int) float32 {
	if y.Weight == nil {
		return 1
	}
	return y.Weight[i]
}

// runsOfGroups are where the rows of each group begin and end that lie together.
func runsOfGroups(group []int64) iter.Seq2[int, int] {
	return func(yield func(lo, hi int) bool) {
		for lo, hi := 0, 0; lo < len(group); lo = hi {
			for hi = lo; hi < len(group) && group[hi] == group[lo]; hi++ {
			}
			if !yield(lo, hi) {
				return
			}
		}
	}
}
