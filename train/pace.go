package train

import (
	"math"
	"time"

	"thole.example/data"
	"thole.example/optim"
)

// Pace lets a training take as many epochs as the examples need, up to Options.Epochs. The loss is judged over windows of
// epochs. After a window that is not better than the best one before it by the share Tolerance the rate is divided by Cut, which
// brings in what larger steps throw about; Patience such windows in a row end the training. All of it is a function of the losses of
// all tasks, so every task cuts and stops alike, on any machine.
type Pace struct {
	Window    int     // epochs that are judged together, at least 1
	Tolerance float64 // share by which a window must be better
	Cut       float64 // above 1
	Patience  int     // windows in a row that are not; 0: the training does not end by them
	// Grow is the share of the epochs so far that a window has at least, where the loss is below a quarter of that of one score. Nearly
	// separable examples come near the optimum like 1/epochs: a window of fixed length improves too little long before that.
	Grow float64
	// Penalized says that a window is better, too, if the loss with the penalties l1 and l2 of the dense weights is. Where a line divides the
	// classes, the loss falls to nothing with weights that are too large, and what is left to fall is their penalty.
	Penalized bool
	// Null keeps a training going whose loss is above that of one score for all by more than NearLeast, while its rate is above a
	// thousandth of the first: that was too large, and lower ones repair what it did.
	Null bool
}

// The work of an epoch is counted in stored values of examples. A step costs as much as stepWork values whatever is in it, and
// as much as a value for every stepShare weights, because dense weights travel whole and are updated whole.
const (
	stepWork  = 4000
	stepShare = 4
	// jobWork is how much work a job may be that is not told its epochs, about 9 s on the machine of docs/measurements.md.
	jobWork  = 4e8
	workTime = 23 * time.Nanosecond // of a unit, on that machine
	// windowWork is the least work of a window: losses of fewer steps tell too little.
	windowWork = 1e6
)

const (
	paceTolerance = 1e-3
	pacePatience  = 3
	// paceCut of 2 takes a third more epochs for a loss that is 0.02 % lower, 4 takes as many as 3.
	paceCut = 3
	// paceFloor is the share of the loss of one score for all from which on the loss counts as nothing: where a line divides
	// the classes, it would halve for ever.
	paceFloor = 1e-3
	// paceNear is the share of the loss of one score for all below which examples are nearly separable.
	paceNear = 0.25
	// paceLeast is the share of the first rate at which nothing is repaired any more.
	paceLeast = 1e-3
	// paceGrow of 0.1 leaves a loss that falls like 1/epochs about 10*paceTolerance above its limit.
	paceGrow = 0.1
)

// NearLeast is the share of a loss by which trainings end above the least one where their rate is right.
const NearLeast = 0.01

// PaceOf is the pace that a schedule asks for by its settings h, nil if it follows no losses.
func PaceOf(s *optim.Schedule, h map[string]float64) (*Pace, error) {
	full, err := s.Settings(h)
	if err != nil || !s.Losses {
		return nil, err
	}
	return &Pace{Window: max(1, int(full["window"])), Tolerance: full["tolerance"], Cut: 2, Patience: int(full["patience"])}, nil
}

// Allowance is how long a job of these examples may be, if nobody says: at most epochs epochs, stopped by the pace, and how
// long all of them take on the machine of docs/measurements.md. weights are those that are kept dense; least is how many
// epochs large data get.
func Allowance(s *data.Set, weights int64, tasks, batch, least int) (epochs int, pace *Pace, about time.Duration) {
	steps := float64(Steps(s.Len(), tasks, batch))
	work := float64(s.Values()) + steps*(stepWork+float64(weights)/stepShare)
	epochs = max(least, int(jobWork/work))
	pace = &Pace{Window: max(1, least/10, int(windowWork/work)), Tolerance: paceTolerance, Cut: paceCut, Patience: pacePatience,
		Grow: paceGrow, Penalized: true}
	return epochs, pace, time.Duration(float64(epochs) * work * float64(workTime))
}

// pacer is a Pace at work; without one it changes nothing.
type pacer struct {
	*Pace
	factor float64    // of the rate
	null   float64    // loss of one score for all
	floor  float64    // a loss that counts as nothing
	loss   windowMean // the losses
	whole  windowMean // the losses with their penalties, if there are some
	epochs int        // in this window
	worse  int        // windows in a row
	all    int        // epochs
}

// windowMean is the mean of a window and of the best one before it.
type windowMean struct {
	best float64 // mean of the best window
	sum  float64 // of this window
}

// next ends a window of so many epochs and reports whether it was better than the best one by that share of at least floor.
func (j *windowMean) next(epochs int, share, floor float64) bool {
	mean := j.sum / float64(epochs)
	better := j.best-mean > share*max(math.Abs(mean), floor)
	j.best, j.sum = min(j.best, mean), 0
	return better
}

func newPacer(p *Pace, null float64) *pacer {
	none := windowMean{best: math.Inf(1)}
	return &pacer{Pace: p, factor: 1, null: null, floor: paceFloor * null, loss: none, whole: none}
}

// window is how many epochs are judged together now.
func (p *pacer) window() int {
	if p.Grow > 0 && p.null > 0 && p.loss.best < paceNear/paceFloor*p.floor {
		return max(p.Window, int(p.Grow*float64(p.all)))
	}
	return p.Window
}

// next takes the loss of an epoch and the penalty of its weights, and reports whether the training is at its end.
func (p *pacer) next(loss, penalty float64) (stop bool) {
	if p.Pace == nil {
		return false
	}
	p.loss.sum += loss
	p.whole.sum += loss + penalty
	p.all++
	if p.epochs++; p.epochs < p.window() {
		return false
	}
	better := p.loss.next(p.epochs, p.Tolerance, p.floor)
	if p.whole.next(p.epochs, p.Tolerance, 0) && penalty > 0 { // which does not halve for ever
		better = true
	}
	if p.epochs = 0; better {
		p.worse = 0
	} else {
		p.worse++
		p.factor /= p.Cut
	}
	if p.Null && p.factor > paceLeast && p.loss.best-p.null > NearLeast*math.Abs(p.null) {
		return false
	}
	return p.Patience > 0 && p.worse >= p.Patience
}
