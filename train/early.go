package train

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"thole.example/metric"
)

// Early ends a training when the held-out examples are predicted no better any more, and goes back to the epoch that did best: all
// tasks decide by the same scores, and so alike.
type Early struct {
	Metric   string  // of Measure; "": the first, the loss
	Largest  bool    // larger values are better
	MinDelta float64 // by how much at least
	Patience int     // epochs in a row without a better one after which the training ends, 1 or more

	// Keep keeps the state of training after an epoch as it is; what it kept before is not needed any more but by checkpoints whose place
	// names it. Return brings it back. The first task calls them while the others wait.
	Keep, Return func(ctx context.Context, epoch int) error
}

// Larger reports whether a larger value of the metric is the better one.
func Larger(name string) bool {
	m, err := metric.Find(name)
	return err == nil && m.Better == metric.Larger // a loss is not in the table
}

// race is an Early at work.
type race struct {
	*Early
	best   float64
	epoch  int // the best one; 0: none yet
	length int // epochs made
}

// next takes the metrics of an epoch and reports whether it is the best one so far, and whether the training is at its end.
func (r *race) next(m Metrics) (best, stop bool, err error) {
	v := m[0].Value
	if r.Metric != "" {
		if v = m.Get(r.Metric); !m.has(r.Metric) {
			return false, false, fmt.Errorf("train: no metric %q to stop by, want one of %v", r.Metric, m.names())
		}
	}
	if math.IsNaN(v) {
		return false, false, fmt.Errorf("train: %s of the held-out examples is no number, want one to stop by: examples of both classes, "+
			"finite values, and groups for gauc and rankings", cmp.Or(r.Metric, m[0].Name))
	}
	if r.Largest {
		v = -v
	}
	r.length++
	if best = r.epoch == 0 || v < r.best-r.MinDelta; best {
		r.best, r.epoch = v, r.length
	}
	return best, r.length-r.epoch >= r.Patience, nil
}

// value is the best one.
func (r *race) value() float64 {
	if r.Early != nil && r.Largest {
		return -r.best
	}
	return r.best
}

// watches reports whether the held-out examples are scored after every epoch.
func (l *loop) watches() bool { return l.Valid != nil && (l.Early != nil || l.Watch) }

// watch is the metrics of the held-out examples with the parameters that the steps of all tasks have led to up to an epoch. If a task was
// lost before it had shown its scores, the others show them.
func (l *loop) watch(ctx context.Context, epoch int) (Metrics, error) {
	if err := l.meet(ctx); err != nil {
		return nil, err
	}
	for changed := true; changed; {
		if err := l.showScores(ctx); err != nil {
			return nil, err
		}
		var err error
		if changed, err = l.assemble(ctx, epoch); err != nil {
			return nil, err
		}
	}
	m, err := l.readScores(ctx)
	if err != nil {
		return nil, err
	}
	return m, l.meet(ctx) // nobody changes anything before all have read: a barrier alone waits for ticks, and reading is none
}

// early judges an epoch by its metrics and reports whether it was the last one.
func (l *loop) early(ctx context.Context, r *Report, m Metrics) (stop bool, err error) {
	if l.Early == nil {
		r.Valid, r.Others = m, l.others
		return false, nil
	}
	best, stop, err := l.race.next(m)
	if err != nil || !best {
		return stop, err
	}
	r.Best, r.Valid, r.Others = l.race.epoch, m, l.others
	if l.Task == 0 {
		if err := l.Early.Keep(ctx, l.before+r.Best); err != nil {
			return false, err
		}
	}
	return stop, l.meet(ctx)
}

// back brings back the best epoch, if later ones were made.
func (l *loop) back(ctx context.Context, r *Report) error {
	if r.Best == 0 || r.Best == r.Epochs {
		return nil
	}
	if l.Task == 0 {
		if err := l.Early.Return(ctx, l.before+r.Best); err != nil {
			return err
		}
	}
	return l.meet(ctx)
}
