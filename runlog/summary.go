package runlog

import (
	"math"
	"slices"
	"time"
)

// LossCurve is the name of the curve of the training examples; all others are those of metrics of the held-out ones.
const LossCurve = "loss"

// Curves are the names of the curves that the run has, that of the loss first.
func (r *Run) Curves() (names []string) {
	if len(r.Epochs) > 0 {
		names = append(names, LossCurve)
	}
	for _, e := range r.Epochs {
		for _, v := range e.Valid {
			if !slices.Contains(names, v.Name) {
				names = append(names, v.Name)
			}
		}
	}
	return names
}

// Curve is a curve by epoch: the loss, or a metric of the held-out examples in the epochs that have it.
func (r *Run) Curve(name string) (epoch, value []float64) {
	for _, e := range r.Epochs {
		v := float64(e.Loss)
		if name != LossCurve {
			v = e.Valid.Get(name)
		}
		if !math.IsNaN(v) {
			epoch, value = append(epoch, float64(e.Epoch)), append(value, v)
		}
	}
	return epoch, value
}

// Metrics are the names of the metrics of the held-out examples, whether they were measured at the end or after every epoch.
func (r *Run) Metrics() (names []string) {
	if r.End != nil {
		for _, v := range r.End.Valid {
			names = append(names, v.Name)
		}
	}
	for _, name := range r.Curves() {
		if name != LossCurve && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Held is a metric of the held-out examples with the parameters that the run kept, and the epoch whose these are; of a run that has not
// come to its end the best value so far. It is NaN if there is none. largest says which values are better.
func (r *Run) Held(metric string, largest bool) (value float64, epoch int) {
	if r.End != nil {
		if v := r.End.Valid.Get(metric); !math.IsNaN(v) {
			if r.End.Best > 0 {
				return v, r.End.Best
			}
			return v, r.Made()
		}
	}
	value = math.NaN()
	epochs, values := r.Curve(metric)
	for i, v := range values {
		if i == 0 || largest && v > value || !largest && v < value {
			value, epoch = v, int(epochs[i])
		}
	}
	return value, epoch
}

// Loss is the mean loss of the training examples: with the parameters that were kept, or of the last epoch of a run that has not come to
// its end. It is NaN if there is none.
func (r *Run) Loss() float64 {
	switch {
	case r.End != nil && len(r.End.Train) > 0:
		return r.End.Train[0].Value
	case len(r.Epochs) > 0:
		return float64(r.Epochs[len(r.Epochs)-1].Loss)
	}
	return math.NaN()
}

// Made is how many epochs were made, with those of a training that this one went on from.
func (r *Run) Made() int {
	if len(r.Epochs) > 0 {
		return r.Epochs[len(r.Epochs)-1].Epoch
	}
	return 0
}

// Lasted is how long the run took, or has taken until now; of a run whose process died until its last epoch. It is 0 if nobody knows.
func (r *Run) Lasted(now time.Time) time.Duration {
	seconds := 0.0
	switch {
	case !r.Began.IsZero() && !r.Ended.IsZero():
		seconds = r.Ended.Sub(r.Began).Seconds()
	case !r.Began.IsZero() && (r.State == Running || r.State == Unsure):
		seconds = now.Sub(r.Began).Seconds()
	case len(r.Epochs) > 0:
		seconds = float64(r.Epochs[len(r.Epochs)-1].Seconds)
	}
	if !(seconds > 0) { // clocks are set back, and files say anything
		return 0
	}
	return time.Duration(min(seconds, 1e9) * float64(time.Second))
}

// RowsPerSecond is how many examples a second were trained on; NaN if nobody knows.
func (r *Run) RowsPerSecond() float64 {
	if len(r.Epochs) > 0 {
		return float64(r.Epochs[len(r.Epochs)-1].RowsPerSecond)
	}
	return math.NaN()
}
