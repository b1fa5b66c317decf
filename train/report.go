package train

import (
	"math"
	"time"
)

// HeldOut is a set of held-out examples, so many of all.
type HeldOut struct {
	Name string
	Rows int
}

// Other is the metrics of a set of held-out examples that decides nothing.
type Other struct {
	Name    string
	Metrics Metrics
}

// Event is progress: of a step, or with Done of a whole epoch.
type Event struct {
	Epoch, Epochs int     // counted from 1
	Rows          int64   // examples seen by all tasks in the job so far
	Total         int64   // examples to see if all epochs are made
	Loss          float64 // mean of this task's examples since the epoch began, by their weights; with Done of all tasks'
	Done          bool
	Last          bool    // with Done: no epoch comes after it
	Valid         Metrics // with Done, of the held-out examples, where they are measured after every epoch
	Others        []Other // beside Valid, those of the other sets
	BestValue     float64 // of the metric that decides, in that epoch
	Best          int     // with Done, the epoch that would be kept if this one were the last, where the held-out examples choose; else 0
	RowsPerSecond float64
	Left          time.Duration // until the end at this speed

	// Where these are there is nothing else to tell: which tasks the others go on without after this epoch, and which are back.
	Gone []Gone
	Back []int
}

// Report is what came out.
type Report struct {
	Losses  []float64   // mean loss of all tasks in each epoch, while the parameters changed
	Train   Metrics     // of the training examples with the final parameters
	Valid   Metrics     // of the held-out examples, nil if there are none
	Others  []Other     // beside Valid, those of the other sets
	Rows    int64       // examples of the training set
	Epochs  int         // epochs made, with those before it was interrupted
	Stopped bool        // by the tolerance, the pace or the held-out examples
	Gone    []Gone      // tasks that the others went on without, and that are not back
	Best    int         // the epoch whose parameters these are, if the held-out examples chose it; 0: the last one
	Before  int         // epochs of the training that this one continues
	Start   Calibration // of the parameters before the first step (Options.Balance)
	Calibration
	Null float64 // mean loss of the training examples where every score is that of Model.Start, with the offset
}

// LastChange is how the mean loss moved in the last epoch, and as a share of what it was (0 if that was nothing); ok is false for
// less than two epochs.
func (r *Report) LastChange() (by, share float64, ok bool) {
	n := len(r.Losses)
	if n < 2 {
		return 0, 0, false
	}
	by = r.Losses[n-1] - r.Losses[n-2]
	if by != 0 && r.Losses[n-2] != 0 {
		share = by / math.Abs(r.Losses[n-2])
	}
	return by, share, true
}
