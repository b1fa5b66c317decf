package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"thole.example/matrix"
)

// Place is where a training is.
type Place struct {
	Epoch int // from 1 on
	Step  int // steps made of that epoch, of which there are
	Steps int
	Best  int  // the epoch that Early keeps; 0: none
	Last  bool // nothing is to be done but to measure what came out
}

// Made is how many steps of the job were made.
func (p Place) Made() int { return (p.Epoch-1)*p.Steps + p.Step }

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
	placeTasks            // how many tasks there are
	placeBefore           // epochs of another training before this one
	placeClock            // the task's clock
	placeSame             // in the column sameColumn: whether what was brought back is of this training
	placeRows
)

// sameColumn is that of no task.
const sameColumn = taskLimit - 1

// taskLimit is how many tasks may have a place.
const taskLimit = 1 << 20

// places is the matrix placeBoard, which is the same however many tasks there are.
func places() matrix.Meta {
	m := board(placeBoard, placeRows, taskLimit)
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
	before       int
	clock        int
}

// mark has the place of this task written with its clock.
func (l *loop) mark(p place) error {
	val := make([]float64, placeRows)
	val[placeEpoch], val[placeStep], val[placeSteps] = float64(p.epoch), float64(p.step), float64(l.steps)
	val[placeSum], val[placeWeights] = p.sum, p.weights
	val[placeBest], val[placeBestEpoch], val[placeTasks] = l.race.best, float64(l.race.epoch), float64(l.Tasks)
	val[placeBefore], val[placeClock] = float64(l.before), float64(l.s.Now()+1)
	return l.assign(int64(l.Task), val)
}

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

// placesOf are the places of the first task and of this one, as they were read, and whether they are of this training; one that is not
// there has epoch 0.
func (l *loop) placesOf(ctx context.Context) (first, own place, same bool, err error) {
	got, err := l.s.Pull(ctx, []matrix.Lookup{{Matrix: placeBoard, Cols: slices.Compact([]int64{0, int64(l.Task), sameColumn})}})
	if err != nil {
		return first, own, false, err
	}
	val := got[0].Data.Values().([]float64)
	if first, err = placeIn(val[:placeRows]); err == nil {
		own, err = placeIn(val[min(1, l.Task)*placeRows:][:placeRows])
	}
	return first, own, val[len(val)-placeRows+placeSame] > 0, err
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
		before: whole(placeBefore, epochLimit), clock: whole(placeClock, math.MaxInt32)}
	return p, err
}

// ErrAmid is that of a task that went away where another cannot go on in its place: the training has to go on from a checkpoint.
var ErrAmid = errors.New("not between two steps")

// where is the place that this task goes on from, of a training that was interrupted, and whether it is this one. Tasks may be others than
// before only between epochs.
func (l *loop) where(ctx context.Context) (at place, same bool, err error) {
	first, own, same, err := l.placesOf(ctx)
	if err == nil && l.Replaces {
		if own.epoch == 0 || own.clock != l.s.Now() || own.tasks != l.Tasks || own.steps != l.steps {
			err = fmt.Errorf("train: task %d went away at clock %d, its last step was at %d: %w", l.Task, l.s.Now(), own.clock, ErrAmid)
		}
		return own, true, err
	}
	if err != nil || first.epoch == 0 || !same {
		return place{}, same, err
	}
	alike := first.tasks == l.Tasks && first.steps == l.steps
	if own.epoch == 0 || !alike {
		own = first
		own.sum, own.weights = 0, 0
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
