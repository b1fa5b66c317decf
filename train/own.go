package train

import (
	"slices"

	"thole.example/data"
)

// Own says that there are examples of some tasks alone in Options.Data and Options.Valid, in the order of all. Of the others a task
// has to know no more than what is here.
type Own struct {
	Tasks       []int // whose examples are here, ascending
	Data, Valid Marks // of all examples
}

// Marks are what a set has of its examples beside their values.
type Marks struct {
	Label, Weight []float32 // no weights: all are 1
	Group         []int64   // none: there are no groups
}

// Keep takes out of the examples, of which valid may be nil, those of the given tasks, ascending, of so many. The sets are new, and in
// memory up to the limit in bytes, 0: whatever they take.
func Keep(all, valid *data.Set, mine []int, tasks int, limit int64) (learn, held *data.Set, own *Own, err error) {
	own = &Own{Tasks: mine, Data: marks(all)}
	var rows []int
	for i := 0; i < all.Len(); i += tasks {
		for _, task := range mine {
			if i+task < all.Len() {
				rows = append(rows, i+task)
			}
		}
	}
	if learn, err = all.Anew(rows, limit); err != nil || valid == nil {
		return learn, nil, own, err
	}
	own.Valid = marks(valid)
	rows = rows[:0]
	for _, task := range mine {
		lo, hi := heldOf(valid.Len(), task, tasks)
		for i := lo; i < hi; i++ {
			rows = append(rows, i)
		}
	}
	held, err = valid.Anew(rows, limit)
	return learn, held, own, err
}

func marks(s *data.Set) Marks { return Marks{s.Label, s.Weight, s.Group} }

// heldOf is which of n held-out examples a task scores: a run of consecutive ones.
func heldOf(n, task, tasks int) (lo, hi int) { return n * task / tasks, n * (task + 1) / tasks }

// all is what all training examples have.
func (o *Options) all() Marks {
	if o.Own != nil {
		return o.Own.Data
	}
	return marks(o.Data)
}

// rows is how many training examples there are, of all tasks.
func (o *Options) rows() int { return len(o.all().Label) }

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
