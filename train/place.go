package train

import (
	"context"
	"errors"
	"fmt"
	"math"

	"thole.example/matrix"
)

// Place is where a training is.
type Place struct {
	Epoch int // from 1 on
	Step  int // steps made of that epoch, of which there are
	Steps int
	Past  int  // steps of the epochs before, which may have had others
	Best  int  // the epoch that Early keeps; 0: none
	Last  bool // nothing is to be done but to measure what came out, or to begin another attempt
}

// Made is how many steps of the job were made.
func (p Place) Made() int { return p.Past + p.Step }

// placeBoard has a column for each task, which says where the task is as of the clock of its values. So a checkpoint of any clock has the
// places of the same moment, whoever wrote it.
const placeBoard = "train.place"

// Rows of placeBoard.
const (
	placeEpoch     = iota // as in Place
	placeStep             //
	placeSteps            //
	placeSum              // of the losses of this task's examples in the epoch so far,
	placeWeights          // and of their weights
	placeBest             // what the held-out examples chose so far: the value,
	placeBestEpoch        // and the epoch, 0: none
	placeTasks            // how many tasks share the examples of the epoch,
	placeShare            // and which of the shares, from 1 on, is this task's; 0: none
	placeMade             // steps of the training so far
	placeAttempt          // of the job, in which this is so
	placeDoing            // what the task is at, one of those below
	placeOthers           // whether the first task has heard of others that wait for another attempt
	placeBefore           // epochs of another training before this one
	placeClock            // the task's clock
	placeSame             // in the column sameColumn: whether what was brought back is of this training
	placeRows
)

// What a task is at.
type doing int

const (
	working   doing = iota // between two steps
	meeting                // with the others, between two epochs or after what was measured
	leaving                // for good, and so are the others with it
	doingMost = leaving
)

const (
	// taskLimit is how many tasks may have a place.
	taskLimit = 1<<20 - 1
	// sameColumn is the one after those of tasks.
	sameColumn = taskLimit
	// madeLimit is up to where whole numbers are exact in the board's type.
	madeLimit = 1 << 53
)

// places is the matrix placeBoard, which is the same however many tasks there are.
func places() matrix.Meta {
	m := board(placeBoard, placeRows, sameColumn+1)
	m.Layout = matrix.RowSparse
	return m
}

// place is where this task is, with what it has gathered of the epoch.
type place struct {
	epoch        int
	step, steps  int
	sum, weights float64
	best         float64
	bestEpoch    int
	tasks        int
	share        int // from 1 on; 0: none
	made         int
	attempt      int
	doing        doing
	others       bool
	before       int
	clock        int
	ahead        int // clocks that the task is ahead of the last one
}

// mark has the place of this task written with its clock.
func (l *loop) mark(p place, at doing) error {
	p.steps, p.best, p.bestEpoch, p.tasks, p.share = l.steps, l.race.best, l.race.epoch, len(l.present), l.rank+1
	p.doing, p.attempt, p.before, p.clock = at, l.Attempt, l.before, l.s.Now()+1
	return l.assign(int64(l.Task), p.column())
}

// column is the place as a column of placeBoard.
func (p place) column() []float64 {
	val := make([]float64, placeRows)
	val[placeEpoch], val[placeStep], val[placeSteps] = float64(p.epoch), float64(p.step), float64(p.steps)
	val[placeSum], val[placeWeights] = p.sum, p.weights
	val[placeBest], val[placeBestEpoch], val[placeTasks] = p.best, float64(p.bestEpoch), float64(p.tasks)
	val[placeShare], val[placeMade], val[placeAttempt] = float64(p.share), float64(p.made), float64(p.attempt)
	val[placeBefore], val[placeClock], val[placeDoing] = float64(p.before), float64(p.clock), float64(p.doing)
	if p.others {
		val[placeOthers] = 1
	}
	return val
}

// aheadLimit is how many clocks a task may be ahead of the last one for each step that it has made, with those between epochs.
const aheadLimit = 16

// assign has a column of placeBoard written with the task's clock.
func (l *loop) assign(col int64, val []float64) error {
	at := matrix.At(0, placeRows, col, col+1)
	return l.s.Assign(placeBoard, matrix.Block{At: at, Data: &matrix.Cols[float64]{Idx: []int64{col}, Val: val}})
}

// agree tells all tasks whether what was brought back is of this training, which the first one knows.
func (l *loop) agree(same bool) error {
	if l.Task > 0 {
		return nil
	}
	val := make([]float64, placeRows)
	if same {
		val[placeSame] = 1
	}
	return l.assign(sameColumn, val)
}

// placesOf are the places of the tasks, as they were read, and whether they are of this training; one that is not there has epoch 0.
func (l *loop) placesOf(ctx context.Context, tasks int) (all []place, same bool, err error) {
	cols := make([]int64, tasks, tasks+1)
	for i := range cols {
		cols[i] = int64(i)
	}
	got, err := l.s.Pull(ctx, []matrix.Lookup{{Matrix: placeBoard, Cols: append(cols, sameColumn)}})
	if err != nil {
		return nil, false, err
	}
	val, least := got[0].Data.Values().([]float64), math.MaxInt
	all = make([]place, tasks)
	for i := range all {
		if all[i], err = placeIn(val[i*placeRows:][:placeRows]); err != nil {
			return nil, false, err
		}
		if all[i].epoch > 0 {
			least = min(least, all[i].clock)
		}
	}
	for i := range all {
		all[i].ahead = max(0, all[i].clock-least)
	}
	return all, val[len(val)-placeRows+placeSame] > 0, nil
}

func placeIn(val []float64) (p place, err error) {
	whole := func(row int, most float64) int {
		v := val[row]
		if !(v >= 0 && v <= most) || v != math.Trunc(v) {
			err = fmt.Errorf("train: the place of a task has %v in row %d, want a whole number up to %.0f", v, row, most)
			return 0
		}
		return int(v)
	}
	p = place{epoch: whole(placeEpoch, epochLimit), step: whole(placeStep, math.MaxInt32), steps: whole(placeSteps, math.MaxInt32),
		tasks: whole(placeTasks, taskLimit),
		sum:   val[placeSum], weights: val[placeWeights], best: val[placeBest], bestEpoch: whole(placeBestEpoch, epochLimit),
		before: whole(placeBefore, epochLimit), clock: whole(placeClock, math.MaxInt32),
		share: whole(placeShare, taskLimit), made: whole(placeMade, madeLimit), attempt: whole(placeAttempt, math.MaxInt32),
		doing: doing(whole(placeDoing, float64(doingMost))), others: whole(placeOthers, 1) == 1}
	return p, err
}

// ErrAmid is that of a task that went away where another cannot go on in its place: the training has to go on from a checkpoint.
var ErrAmid = errors.New("not between two steps")

// where is the place that this task goes on from, of a training that was interrupted, and whether it is this one. Tasks may be others than
// before only between epochs.
func (l *loop) where(ctx context.Context) (at place, same bool, err error) {
	all, same, err := l.placesOf(ctx, l.Tasks)
	if err == nil && l.Optional && all[0].tasks > l.Tasks { // there were more
		all, same, err = l.placesOf(ctx, all[0].tasks)
	}
	if err != nil {
		return place{}, same, err
	}
	if l.Replaces {
		return all[l.Task], true, l.replaces(all)
	}
	first, own := all[0], all[l.Task]
	if first.epoch == 0 || !same {
		return place{}, same, nil
	}
	alike := first.tasks == l.Tasks && first.steps == l.steps
	if l.Optional && first.tasks > 0 {
		l.divide(sharing(all, first), 0)
		alike = first.steps == l.steps
	}
	if own.epoch == 0 || !alike || l.rank < 0 {
		own = first
		own.sum, own.weights = 0, 0
		if !alike {
			own.ahead = 0 // they all are there
		}
	}
	if l.Optional { // under ASP another place may be that of another time
		own.epoch, own.step, own.steps, own.made, own.ahead = first.epoch, first.step, first.steps, first.made, 0
	}
	if own.ahead > aheadLimit*own.epoch*max(1, own.steps) {
		return own, same, fmt.Errorf("train: task %d is in step %d of epoch %d, %d clocks ahead of the last task: the checkpoint is damaged",
			l.Task, own.step, own.epoch, own.ahead)
	}
	switch {
	case alike || own.step == 0:
	case own.step == own.steps:
		own.step = l.steps
	default:
		return own, same, fmt.Errorf("train: the checkpoint is of step %d of %d in epoch %d of a training of %d tasks, and this one "+
			"has %d steps and %d tasks: want the examples, tasks and batch as they were, or a checkpoint of an epoch's end",
			own.step, own.steps, own.epoch, first.tasks, l.steps, l.Tasks)
	}
	return own, same, nil
}

// replaces has this task share the examples as the one did in whose place it is, and tells why it cannot go on there.
func (l *loop) replaces(all []place) error {
	own := all[l.Task]
	if l.Optional && own.tasks > 0 {
		l.divide(sharing(all, own), 0)
	}
	if own.epoch == 0 || own.clock != l.s.Now() || own.doing != working || own.share != l.rank+1 || own.steps != l.steps {
		return fmt.Errorf("train: task %d went away at clock %d, its last step was at %d: %w", l.Task, l.s.Now(), own.clock, ErrAmid)
	}
	return nil
}
