package train

import (
	"iter"
	"slices"

	"thole.example/data"
)

// Own says that there are examples of some tasks alone in Options.Data and Options.Valid, in the order of all. Of the others a task
// has to know no more than what is here.
type Own struct {
	Tasks []int       // whose examples are here, ascending
	Rows  int         // training examples of all tasks
	Null  float64     // their mean loss, where every score is that of Model.Start, with the offset
	Means []labelMean // of the labels
	Valid Marks       // of all held-out examples, which all tasks measure
}

// Marks are what a set has of its examples beside their values.
type Marks struct {
	Label, Weight []float32 // no weights: all are 1
	Group         []int64   // none: there are no groups
}

// Keep is the options with Data and Valid of the given tasks alone, ascending. Those sets are new, and in memory up to the limit in bytes,
// 0: whatever they take; nothing is left in the options of those that there were. Model, Tasks and Offset have to be set.
func (o Options) Keep(mine []int, limit int64) (Options, error) {
	if err := o.checkMarks(marks(o.Data)); err != nil {
		return o, err
	}
	all, valid := o.Data, o.Valid
	own := &Own{Tasks: mine, Rows: all.Len(), Null: o.nullLoss()}
	if o.Measured && expects(o.Model.Loss.Name()) != nil {
		own.Means = o.labelMeans()
	}
	o.Own = own
	var err error
	if o.Data, err = all.Anew(own.trained(o.Tasks), all.Len()/o.Tasks*len(mine)+len(mine), limit); err != nil || valid == nil {
		return o, err
	}
	own.Valid = marks(valid)
	o.Valid, err = valid.Anew(own.held(o.Tasks), valid.Len()/o.Tasks*len(mine)+len(mine), limit)
	return o, err
}

// trained are the numbers of the tasks' training examples.
func (w *Own) trained(tasks int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < w.Rows; i += tasks {
			for _, task := range w.Tasks {
				if i+task < w.Rows && !yield(i+task) {
					return
				}
			}
		}
	}
}

// held are the numbers of the tasks' held-out examples.
func (w *Own) held(tasks int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, task := range w.Tasks {
			lo, hi := heldOf(len(w.Valid.Label), task, tasks)
			for i := lo; i < hi; i++ {
				if !yield(i) {
					return
				}
			}
		}
	}
}

func marks(s *data.Set) Marks { return Marks{s.Label, s.Weight, s.Group} }

// heldOf is which of n held-out examples a task scores: a run of consecutive ones.
func heldOf(n, task, tasks int) (lo, hi int) { return n * task / tasks, n * (task + 1) / tasks }

// rows is how many training examples there are, of all tasks.
func (o *Options) rows() int {
	if o.Own != nil {
		return o.Own.Rows
	}
	return o.Data.Len()
}

// held is what all held-out examples have.
func (o *Options) held() Marks {
	switch {
	case o.Own != nil:
		return o.Own.Valid
	case o.Valid != nil:
		return marks(o.Valid)
	}
	return Marks{}
}

// heldAt is where the held-out examples from lo on, which this task scores, begin in Valid.
func (o *Options) heldAt(lo int) int {
	if o.Own == nil {
		return lo
	}
	at := 0
	for _, task := range o.Own.Tasks[:max(0, slices.Index(o.Own.Tasks, o.Task))] {
		from, to := heldOf(len(o.Own.Valid.Label), task, o.Tasks)
		at += to - from
	}
	return at
}
