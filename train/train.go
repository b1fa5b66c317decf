// Package train is the training loop of one task: epochs of mini-batches pulled, computed and pushed through a model,
// with the loss of all tasks after each epoch and the metrics of held-out examples at the end.
//
// Tasks share the examples: example i belongs to task i mod tasks. In each epoch a task takes its examples in an order
// that is a function of (seed, epoch, task), and every task makes the same number of steps, so that clocks agree. Under
// BSP the trained parameters are therefore the same bits whatever the servers, partitions, processes and network.
package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"thole.example/data"
	"thole.example/graph"
	"thole.example/matrix"
)

// Session is what training needs of the world: the parameters, and new matrices. Package ps's Client is one.
type Session interface {
	graph.Params
	// Next is Clock and then Pull in one go. It calls meanwhile, if not nil, while the answers are under way.
	Next(ctx context.Context, weight, rate float64, lookups []matrix.Lookup, meanwhile func()) ([]matrix.Block, error)
	// Prefetch starts to pull what the following Next will want, as far as the bound lets values come before the clock.
	Prefetch(ctx context.Context, lookups []matrix.Lookup) error
	// Now is this task's clock: how often Clock and Next were called.
	Now() int
	// Barrier waits until every task's clock has come as far as this one's, whatever the bound.
	Barrier(ctx context.Context) error
	// Create makes the matrices, cut by the named partitioner; tasks that ask for the same get the same.
	Create(ctx context.Context, partitioner string, ms ...matrix.Meta) error
	// SetRate makes the learning rates of Clock and Next count rate times for a matrix, or, if it is fixed, makes rate all of them.
	SetRate(name string, rate float64, fixed bool) error
	// Assign has cells become the values with the next Clock or Next. It owns the block.
	Assign(name string, values matrix.Block) error
}

// Options say what to train and how. All tasks of a job give the same, but for Task and Events.
type Options struct {
	Model       *graph.Model // this task's own
	Data        *data.Set    // all examples; the task takes its share
	Valid       *data.Set    // held-out examples, may be nil
	Sets        []HeldOut    // which of those are sets of their own, one after the other: the first decides; nil: all are one
	Task, Tasks int
	Own         *Own // Data and Valid are those of some tasks alone; nil: of all
	Partitioner string

	Epochs    int
	Batch     int                           // examples of a step, over all tasks, at most: the steps of an epoch are as large as each other
	Rate      func(epoch, step int) float64 // learning rate, epochs and steps of the job counted from 1
	Seed      uint64
	InOrder   bool     // take examples in the order of the file instead of shuffling
	Window    int      // examples of all tasks that are shuffled at a time, of some blocks of the file; 0, or as many as there are: all
	Wrap      bool     // fill the last batch of an epoch up with the examples that the epoch began with
	Tolerance float64  // stop when an epoch changes the mean loss by less than this share; 0: never
	Pace      *Pace    // stop when more epochs are of no use, and let the rate fall before; nil: no
	Early     *Early   // stop when the held-out examples are predicted no better, with the parameters of the best epoch; nil: no
	Watch     bool     // measure the held-out examples after every epoch
	Metrics   []string // that they are measured by, beside the usual ones (see Measure)
	PosNeg    float64  // positive examples taken for each negative one; 0: as they come
	Clip      float64  // largest norm of the mean gradient of a task's batch; 0: no bound
	Measured  bool     // compare the mean prediction of the training examples with their mean label at the end
	Calibrate bool     // and move the bias of the scores so that they agree
	Balance   bool     // the same before the first step, where Prepare brings weights of a training with other examples, without its state
	Prefetch  bool     // under SSP and ASP, pull what the next batch needs while one is computed: it lacks the step of that one
	Offset    float64  // added to the scores of training examples, which were drawn by their labels; those held out are as they come

	// Ready, if not nil, is called when the matrices exist, before anything is done with them.
	Ready func(ctx context.Context) error
	// Resume says that Prepare may bring back a state of training, which the epochs go on from: in the order of examples, in what the pace
	// has seen, and in the random choices of layers. Rates count the epochs before, too, unless Anew.
	Resume, Anew bool
	// Replaces says that this task goes on in the place of one that went away after a step, while the others wait for it: nothing is prepared.
	// If that one was not between two steps the error is ErrAmid.
	Replaces bool
	// Lasting has every task write where it is with each step, so that a checkpoint of any clock can be gone on from.
	Lasting bool
	// Optional says that tasks but the first may go away for good, or be told to, and come back with another attempt of the job: those that
	// are there share the examples of an epoch, which each has all of. It implies Lasting. Attempt is the number of this one.
	Optional bool
	Attempt  int
	// Others, if not nil, is asked on the first task between two epochs whether other tasks wait for another attempt: then what there is is
	// saved (Save), and the error of all is ErrOthers. Leaves is asked on each task but the first whether it has to go: then its error is
	// ErrLeft, when the others have heard of it.
	Others func(ctx context.Context) (bool, error)
	Leaves func() bool
	// Save, if not nil, is called on the first task after each step, when what all tasks have pushed up to it is applied and nothing else. It
	// should not take long: the others wait.
	Save func(ctx context.Context, at Place) error

	// Prepare, if not nil, is called when the matrices exist, and what it did is seen by all tasks' first steps. All tasks
	// give one or none does. The first task's answers whether it brought back a state of this very training, which goes on where it
	// was: Epochs and the report count what was made before. Else the state is another training's, and this one begins an epoch.
	Prepare func(ctx context.Context) (same bool, err error)

	Events  func(Event)          // told of progress, on this task's goroutine; nil: nobody
	Elapsed func() time.Duration // since the start, for the rates in events; nil: none are given
}

// loop is one task at work.
type loop struct {
	Options
	s      Session
	run    *graph.Run
	order  *order // of this task's examples
	steps  int    // of an epoch
	made   int    // steps of the training so far, with those before it was interrupted
	team          // who shares the examples
	feed   *feed  // its batches
	seen   int64
	before int   // epochs of another training that were made before
	begun  int64 // examples that were seen before, by this one
	pace   *pacer
	race   race
	others []Other   // what was read last of them
	final  []float64 // scores of this task's examples by their numbers, kept from calibration to final loss; nil: none
}

// Run trains. It returns when this task has made its last step and knows the report; other tasks may still be at it.
func Run(ctx context.Context, s Session, o Options) (*Report, error) {
	run, err := graph.NewRun(o.Model)
	if err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if len(o.held().Label) == 0 {
		o.Valid = nil
	}
	run.Seed, run.Offset = o.Seed^uint64(o.Task)<<32, o.Offset
	l := &loop{Options: o, s: s, run: run}
	l.divide(everybody(o.Tasks), 0)
	defer func() { l.order.close() }()
	null := o.nullLoss()
	l.pace, l.race = newPacer(o.Pace, null), race{Early: o.Early}
	for _, m := range o.Model.Params() {
		cut := o.Partitioner
		if cut == "hash" && m.Layout != matrix.RowSparse {
			cut = "" // only keys can be hashed; biases beside them are dense
		}
		if err := s.Create(ctx, cut, m.Meta); err != nil {
			return nil, err
		}
		if m.Rate != 0 {
			if err := s.SetRate(m.Name, m.Rate, m.Fixed); err != nil {
				return nil, err
			}
		}
	}
	if err := s.Create(ctx, "", losses(), places()); err != nil {
		return nil, err
	}
	if o.Ready != nil {
		if err := o.Ready(ctx); err != nil {
			return nil, err
		}
	}
	if o.Prepare != nil && !o.Replaces {
		same, err := o.Prepare(ctx)
		if err == nil && o.Resume {
			err = l.agree(same)
		}
		if err != nil {
			return nil, err
		}
		if err := l.meet(ctx); err != nil { // nobody pulls before all have prepared
			return nil, err
		}
	}
	if err := s.Create(ctx, "", l.boards()...); err != nil { // after Prepare, which may bring back state of these matrices' names
		return nil, err
	}
	r := &Report{Rows: int64(l.rows()), Null: null}
	at, err := l.goOn(ctx, r)
	if err == nil && l.Optional && at.epoch == 0 { // some may be missing from the start
		_, err = l.assemble(ctx, l.before+r.Epochs)
	}
	if err == nil && at == (place{}) && !o.Replaces {
		err = l.start(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	return r, l.train(ctx, r, at)
}

func (o *Options) check() error {
	switch {
	case o.Data == nil || o.rows() == 0:
		return fmt.Errorf("train: no examples")
	case o.Tasks < 1 || o.Task < 0 || o.Task >= o.Tasks:
		return fmt.Errorf("train: task %d of %d", o.Task, o.Tasks)
	case o.Own != nil && !slices.Contains(o.Own.Tasks, o.Task):
		return fmt.Errorf("train: task %d, and there are the examples of tasks %v", o.Task, o.Own.Tasks)
	case o.Own != nil && o.Optional:
		return fmt.Errorf("train: examples of tasks %v alone, want all where others may have to take over some", o.Own.Tasks)
	case o.Window < 0:
		return fmt.Errorf("train: window of %d examples, want 0 (all) or more", o.Window)
	case o.Epochs < 0:
		return fmt.Errorf("train: %d epochs, want 0 or more", o.Epochs)
	case math.IsNaN(o.Offset) || math.IsInf(o.Offset, 0):
		return fmt.Errorf("train: offset %v of scores, want a finite number", o.Offset)
	case !(o.PosNeg >= 0 && o.Clip >= 0) || math.IsInf(o.PosNeg, 0) || math.IsInf(o.Clip, 0):
		return fmt.Errorf("train: %v positives for each negative, norm of at most %v, want finite numbers from 0 on", o.PosNeg, o.Clip)
	case o.Early != nil && (o.Valid == nil || o.Early.Patience < 1 || !(o.Early.MinDelta >= 0)):
		return fmt.Errorf("train: to stop by held-out examples, want some, a patience of 1 or more and a difference of 0 or more")
	case !setsFit(o.Sets, len(o.held().Label)):
		return fmt.Errorf("train: sets %v of the held-out examples, want each of one at least, and all of them together", o.Sets)
	case o.Batch < 1:
		return fmt.Errorf("train: batch of %d examples, want at least 1", o.Batch)
	}
	if err := checkNames(o.Model.Loss, o.Metrics); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	if o.Own == nil { // else Keep has looked
		if err := o.checkMarks(marks(o.Data)); err != nil {
			return err
		}
	}
	return o.checkMarks(o.held())
}

// checkMarks refuses labels that the loss does not take, and weights that no mean can be taken by.
func (o *Options) checkMarks(m Marks) error {
	if err := o.Model.Loss.Check(m.Label, o.Model.Width); err != nil {
		return fmt.Errorf("train: %s: %w", o.Model.Loss.Name(), err)
	}
	return checkWeights(m)
}

// setsFit reports whether the sets are all held-out examples.
func setsFit(sets []HeldOut, held int) bool {
	rows := 0
	for _, s := range sets {
		if s.Rows < 1 {
			return false
		}
		rows += s.Rows
	}
	return sets == nil || rows == held
}

// Steps is how many steps an epoch of n examples has.
func Steps(n, tasks, batch int) int { return ceil(ceil(n, tasks), max(1, batch/tasks)) }

func ceil(n, by int) int { return (n + by - 1) / by }

// perTask is how many examples this task has in a full step.
func (l *loop) perTask() int { return max(1, l.Batch/len(l.present)) }

// train makes the epochs, from the place on.
func (l *loop) train(ctx context.Context, r *Report, at place) error {
	l.begun = int64(r.Epochs)*int64(l.rows()) + l.part(at.step)
	for ; r.Epochs < l.Epochs-l.before && !r.Stopped; at = (place{}) {
		epoch := l.before + r.Epochs + 1
		loss, err := l.epoch(ctx, epoch, at)
		if err != nil {
			return err
		}
		r.Epochs++
		r.Losses = append(r.Losses, loss)
		penalty, err := l.readPenalty(ctx, epoch)
		if err != nil {
			return err
		}
		r.Stopped = l.pace.next(loss, penalty) || l.settled(r.Losses)
		event := Event{Epoch: epoch, Loss: loss, Done: true}
		if l.watches() {
			if event.Valid, err = l.watch(ctx, epoch); err != nil {
				return err
			}
			event.Others = l.others
			stop, err := l.early(ctx, r, event.Valid)
			if err != nil {
				return err
			}
			r.Stopped = r.Stopped || stop
			if r.Best > 0 {
				event.Best, event.BestValue = l.before+r.Best, l.race.value()
			}
		}
		event.Last = r.Stopped || event.Epoch >= l.Epochs
		l.tell(event)
		if l.Optional && !event.Last {
			if err := l.regroup(ctx, epoch); err != nil {
				return err
			}
		}
	}
	if err := l.s.Barrier(ctx); err != nil { // the parameters are final when the last task has made its last step
		return err
	}
	if err := l.readLosses(ctx, r.Losses); err != nil {
		return err
	}
	if err := l.save(ctx, l.before+r.Epochs, l.steps, true); err != nil {
		return err
	}
	if err := l.reportGone(ctx, r); err != nil {
		return err
	}
	if err := l.back(ctx, r); err != nil {
		return err
	}
	if err := l.calibrate(ctx, r); err != nil {
		return err
	}
	return l.evaluate(ctx, r)
}

// meet waits until all tasks have come to here, with everything that they pushed.
func (l *loop) meet(ctx context.Context) error {
	if err := l.s.Clock(ctx, 0, 0); err != nil {
		return err
	}
	return l.s.Barrier(ctx)
}

// settled reports whether the last epoch changed the loss by less than the tolerance. Every task sees the same losses and
// so decides alike.
func (l *loop) settled(losses []float64) bool {
	n := len(losses)
	if n < 2 || l.Tolerance <= 0 {
		return false
	}
	return math.Abs(losses[n-2]-losses[n-1]) < l.Tolerance*math.Abs(losses[n-2])
}

// epoch makes the steps of one epoch, from the place on, and returns the mean loss of the tasks whose losses are visible: all under BSP.
func (l *loop) epoch(ctx context.Context, epoch int, at place) (float64, error) {
	if err := l.order.begin(epoch); err != nil {
		return 0, err
	}
	if at.step == l.steps {
		return l.readLoss(ctx, lossBoard, epoch-1)
	}
	if l.Wrap && at.step > 0 { // which needs the examples that the epoch began with
		if _, err := l.order.wrapped(0, l.perTask()); err != nil {
			return 0, err
		}
	}
	l.feed.begin(at.step, l.steps)
	defer l.feed.end()
	now, err := l.plan(at.step)
	if err != nil {
		return 0, err
	}
	params, err := l.s.Pull(ctx, now.lookups)
	if err != nil {
		return 0, err
	}
	next, err := l.plan(at.step + 1)
	sum, weights := at.sum, at.weights
	for step := at.step; step < l.steps; step++ {
		if err == nil && l.Prefetch {
			err = l.s.Prefetch(ctx, next.lookups)
		}
		if err != nil {
			return 0, err
		}
		if err := l.compute(now.batch, params, &sum, &weights); err != nil {
			return 0, fmt.Errorf("epoch %d, step %d of %d: %w", epoch, step+1, l.steps, err)
		}
		weight, lookups := now.batch.TotalWeight(), next.lookups
		if step == l.steps-1 {
			lookups = lookupLoss(epoch - 1)
			if err := errors.Join(l.pushLoss(lossBoard, epoch-1, sum, weights), l.pushPenalty(ctx, epoch)); err != nil {
				return 0, err
			}
		}
		if l.Lasting || l.Optional {
			if err := l.mark(place{epoch: epoch, step: step + 1, made: l.made + 1, sum: sum, weights: weights}, working); err != nil {
				return 0, err
			}
		}
		var planErr error
		now = next
		params, err = l.s.Next(ctx, weight, l.pace.factor*l.rate(epoch, step), lookups, func() { next, planErr = l.plan(step + 2) })
		if err != nil {
			return 0, fmt.Errorf("epoch %d, step %d of %d: %w", epoch, step+1, l.steps, err)
		}
		err = planErr
		l.made++
		l.seen = int64(epoch-1-l.before)*int64(l.rows()) + l.part(step+1)
		l.tell(Event{Epoch: epoch, Loss: mean(sum, weights)})
		if err := l.save(ctx, epoch, step+1, false); err != nil {
			return 0, err
		}
	}
	if l.Tolerance > 0 || l.Pace != nil { // all must judge by the same number, also where clocks may differ
		if err := l.s.Barrier(ctx); err != nil {
			return 0, err
		}
		return l.readLoss(ctx, lossBoard, epoch-1)
	}
	if all := params[0].Data.Values().([]float64); all[1] != 0 {
		return mean(all[0], all[1]), nil
	}
	return mean(sum, weights), nil // no epoch of any task is visible yet: the bound allows this task to be ahead
}

// planned is a batch and what it looks up.
type planned struct {
	batch   *data.Batch
	lookups []matrix.Lookup
}

// plan plans the batch of a step; past the end of the epoch there is none.
func (l *loop) plan(step int) (p planned, err error) {
	if step >= l.steps {
		return planned{}, nil
	}
	if p.batch, err = l.feed.next(step); err == nil {
		p.lookups, err = l.run.Lookups(l.s, p.batch)
	}
	return p, err
}

// part is about how many examples of an epoch all tasks have seen after so many of its steps.
func (l *loop) part(steps int) int64 { return int64(l.rows()) * int64(steps) / int64(l.steps) }

// rate is that of a step, counted from 0, as the schedule has it.
func (l *loop) rate(epoch, step int) float64 {
	if l.Anew {
		epoch -= l.before
	}
	return l.Rate(epoch, (epoch-1)*l.steps+step+1)
}

// batch is this task's examples of a step. The steps of an epoch differ by one example at most: every step moves the weights as
// far, and one of few examples at the end would leave them where those few say. With Wrap all are full, the last one by examples
// from the first on.
func (l *loop) batch(g *data.Gatherer, step int) (*data.Batch, error) {
	var rows []int
	var err error
	if l.Wrap {
		rows, err = l.order.wrapped(step*l.perTask(), l.perTask())
	} else {
		all := l.order.count
		rows, err = l.order.some(step*all/l.steps, (step+1)*all/l.steps)
	}
	if err != nil {
		return nil, err
	}
	return g.Gather(l.order.set, rows), nil
}

// compute runs a batch, keeps its gradients for the next tick, and adds to the epoch's sums.
func (l *loop) compute(batch *data.Batch, params []matrix.Block, sum, weights *float64) error {
	if batch.Len() == 0 {
		return nil
	}
	loss, err := l.run.Step(batch, params)
	if err != nil {
		return err
	}
	weight := batch.TotalWeight()
	if weight == 0 { // of no gradient there is a mean
		return nil
	}
	l.run.Clip(weight, l.Clip)
	if err := l.run.Push(l.s); err != nil {
		return err
	}
	*sum += loss
	*weights += weight
	return nil
}

// tell fills in what all events have and calls Events.
func (l *loop) tell(e Event) {
	if l.Events == nil {
		return
	}
	e.Epochs, e.Rows, e.Total = l.Epochs, l.seen, int64(l.Epochs-l.before)*int64(l.rows())
	if rows := e.Rows - l.begun; l.Elapsed != nil && rows > 0 {
		passed := l.Elapsed()
		e.RowsPerSecond = float64(rows) / max(1e-9, passed.Seconds())
		e.Left = time.Duration(float64(passed) * float64(e.Total-e.Rows) / float64(rows))
	}
	l.Events(e)
}
