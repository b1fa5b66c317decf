package train

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Tasks that are optional may go away for good, and be back with another attempt of the job. Between two epochs, and when something was
// measured, those that are there find out who they are: each marks its place, all meet, and each reads who has marked it at the same
// clock. What a server has not heard by then of a task that it gave up counts as never sent, so all read the same. They share the
// examples of the next epoch. In the midst of an epoch nothing is shared anew: the share of a task that is lost is left out from its last
// step on, and one that is back there has none.

// Gone is a task that the others go on without.
type Gone struct {
	Task        int
	Epoch       int  // the last one that it had a share of,
	Step, Steps int  // and so many of its steps
	Examples    int  // its share,
	Left        int  // of which so many were left out of that epoch
	OnRequest   bool // it was asked to go
}

// ErrLeft is that of a task that was told to go, and may leave.
var ErrLeft = errors.New("the task has left, as it was told to")

// ErrOthers is that of all tasks when others wait for another attempt of the job. It goes on where this one has ended.
var ErrOthers = errors.New("others wait to share the examples")

// team is the tasks that share the examples of an epoch.
type team struct {
	present []int  // by their shares; -1: which one it was is not known
	rank    int    // the share of this task among them; -1: none
	lost    []Gone // in this attempt
}

// everybody is so many tasks.
func everybody(tasks int) []int { return numbers(0, tasks) }

// divide has these tasks share the examples from now on, after so many epochs.
func (l *loop) divide(present []int, epochs int) {
	if l.order != nil {
		l.order.close()
	}
	l.present, l.rank = present, slices.Index(present, l.Task)
	o := l.Options
	o.Task, o.Tasks = l.rank, len(present)
	l.order, l.steps = newOrder(o), Steps(l.rows(), len(present), l.Batch)
	l.feed, l.final = newFeed(l.perTask(), l.batch), nil
	for epoch := range epochs {
		l.order.shuffle(epoch + 1)
	}
}

// shareOf is how many of the examples are in one of some shares.
func shareOf(rows, rank, shares int) int { return ceil(max(0, rows-rank), shares) }

// alongside reports whether both places are of tasks that share the examples of an epoch.
func (p place) alongside(of place) bool {
	return p.share > 0 && p.share <= of.tasks && p.tasks == of.tasks && (p.epoch == of.epoch || p.attempt == of.attempt)
}

// sharing is the tasks that share the examples with one, as far as they are known.
func sharing(all []place, of place) []int {
	present := slices.Repeat([]int{-1}, of.tasks)
	for t, p := range all {
		if p.alongside(of) {
			present[p.share-1] = t
		}
	}
	return present
}

// assemble waits until all tasks that are there have come to here after an epoch, with everything that they pushed. If they are others than
// those who shared its examples it has them share what comes next, and reports that.
func (l *loop) assemble(ctx context.Context, epoch int) (changed bool, err error) {
	if !l.Optional {
		return false, l.meet(ctx)
	}
	return l.assembleAs(ctx, place{epoch: epoch, step: l.steps, made: l.made}, meeting)
}

func (l *loop) assembleAs(ctx context.Context, at place, as doing) (changed bool, err error) {
	epoch := at.epoch
	if epoch == l.before { // there is no step to go on after
		at.epoch = 0
	}
	if err := l.mark(at, as); err != nil {
		return false, err
	}
	if err := l.meet(ctx); err != nil {
		return false, err
	}
	all, _, err := l.placesOf(ctx, max(l.Tasks, slices.Max(l.present)+1))
	if err != nil {
		return false, err
	}
	var here []int
	for t := range l.Tasks {
		if p := all[t]; p.attempt == l.Attempt && p.clock >= l.s.Now() && p.doing != leaving {
			here = append(here, t)
		}
	}
	if as == leaving {
		return false, ErrLeft
	}
	if err := l.meet(ctx); err != nil { // nobody goes on, as far as the next time, before all have read
		return false, err
	}
	switch {
	case all[0].others:
		return false, l.makeRoom(ctx, epoch)
	case !slices.Contains(here, l.Task):
		return false, fmt.Errorf("train: task %d is here, and was given up: %w", l.Task, ErrAmid)
	case slices.Equal(here, l.present):
		return false, nil
	}
	if err := l.tellChange(all, here, epoch); err != nil {
		return false, err
	}
	l.divide(here, epoch)
	return true, nil
}

// makeRoom ends the training between two epochs, where it can be gone on with by more tasks.
func (l *loop) makeRoom(ctx context.Context, epoch int) error {
	if err := l.save(ctx, epoch, l.steps, true); err != nil {
		return err
	}
	if err := l.meet(ctx); err != nil {
		return err
	}
	return ErrOthers
}

// regroup has those share the examples of the next epoch who are there after one, less those that are told to go.
func (l *loop) regroup(ctx context.Context, epoch int) (err error) {
	at, as := place{epoch: epoch, step: l.steps, made: l.made}, meeting
	switch {
	case l.Task == 0 && l.Others != nil:
		if at.others, err = l.Others(ctx); err != nil {
			return err
		}
	case l.Task > 0 && l.Leaves != nil && l.Leaves():
		as = leaving
	}
	_, err = l.assembleAs(ctx, at, as)
	return err
}

// tellChange tells who shares no more examples, and who does again. The first task writes it down, for attempts to come.
func (l *loop) tellChange(all []place, here []int, epoch int) error {
	if epoch == l.before {
		return nil
	}
	e := Event{Epoch: epoch}
	for rank, t := range l.present {
		if t < 0 || slices.Contains(here, t) {
			continue
		}
		p := all[t]
		if p.epoch != epoch { // it has made no step of it
			p.epoch, p.step, p.doing = epoch, 0, working
		}
		p.share, p.tasks, p.steps = rank+1, len(l.present), l.steps
		if l.Task == 0 {
			if err := l.assign(int64(t), p.column()); err != nil {
				return err
			}
		}
		e.Gone = append(e.Gone, l.gone(t, p))
	}
	l.lost = append(l.lost, e.Gone...)
	for _, t := range here {
		if !slices.Contains(l.present, t) {
			e.Back = append(e.Back, t)
		}
	}
	l.tell(e)
	return nil
}

// gone is a task that was at a place last.
func (l *loop) gone(task int, p place) Gone {
	g := Gone{Task: task, Epoch: p.epoch, Step: p.step, Steps: p.steps, OnRequest: p.doing == leaving}
	if p.share > 0 && p.tasks > 0 {
		g.Examples = shareOf(l.rows(), p.share-1, p.tasks)
		g.Left = g.Examples - g.Examples*p.step/max(1, p.steps)
	}
	return g
}

// reportGone has the report say who is gone, as the places have it: whichever attempts there were.
func (l *loop) reportGone(ctx context.Context, r *Report) error {
	if !l.Optional {
		return nil
	}
	all, _, err := l.placesOf(ctx, l.Tasks)
	if err != nil {
		return err
	}
	for t := range l.Tasks {
		p := all[t]
		if slices.Contains(l.present, t) || p.epoch == 0 {
			continue
		}
		g := l.gone(t, p)
		if i := slices.IndexFunc(l.lost, func(g Gone) bool { return g.Task == t }); i >= 0 {
			g = l.lost[i]
		}
		r.Gone = append(r.Gone, g)
	}
	return nil
}
