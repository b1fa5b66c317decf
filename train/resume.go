package train

import (
	"context"
	"fmt"

	"thole.example/internal/number"
)

// goOn makes this task what it was after the epochs that were made before, if there were some, and of this very training also in the
// midst of one. It answers with the place in the epoch that comes next.
func (l *loop) goOn(ctx context.Context, r *Report) (at place, err error) {
	if !l.Resume && !l.Replaces {
		return place{}, nil
	}
	losses, err := l.past(ctx)
	if err != nil {
		return at, err
	}
	at, same, err := l.where(ctx)
	if err != nil {
		return at, err
	}
	if at.epoch > 0 { // the loss of the last one may be there, while what follows from it is to be found anew
		if len(losses) < at.epoch-1 || at.epoch <= at.before {
			return at, fmt.Errorf("train: a task is in epoch %d, %d of them before this training, and there are losses of %d",
				at.epoch, at.before, len(losses))
		}
		losses = losses[:at.epoch-1]
	}
	done := len(losses)
	if l.before = done; same {
		l.before = at.before
		r.Epochs, r.Losses = done-l.before, losses[l.before:]
		if l.race.length = r.Epochs; l.race.Early != nil {
			l.race.best, l.race.epoch, r.Best = at.best, at.bestEpoch, at.bestEpoch
		}
	}
	if l.Epochs < r.Epochs || l.Epochs == r.Epochs && at.step > 0 {
		return at, fmt.Errorf("%s, and %d were made before: want at least as many, which count from the beginning",
			number.Of(l.Epochs, "epoch"), max(done, at.epoch))
	}
	r.Before = l.before
	l.Epochs += l.before
	for epoch := range done {
		l.order.shuffle(epoch + 1)
		if !l.Anew || epoch >= l.before {
			penalty, err := l.readPenalty(ctx, epoch+1)
			if err != nil {
				return at, err
			}
			l.pace.next(losses[epoch], penalty)
		}
	}
	l.run.Skip(uint64(done*l.batches(l.steps) + l.batches(at.step)))
	if l.made = done*l.steps + at.step; at.made > 0 {
		l.made = at.made
	}
	if l.Replaces {
		return at, nil
	}
	for range at.ahead { // under ASP: at one clock all have made the same steps again
		if err := l.s.Clock(ctx, 0, 0); err != nil {
			return at, err
		}
	}
	return at, l.meet(ctx) // all have read the losses before one is added
}

// batches is how many of the first steps of an epoch have examples of this task.
func (l *loop) batches(steps int) (n int) {
	for step := range steps {
		if all := l.order.count; all > 0 && (l.Wrap || step*all/l.steps < (step+1)*all/l.steps) {
			n++
		}
	}
	return n
}

// save calls Save with where the task is.
func (l *loop) save(ctx context.Context, epoch, step int, last bool) error {
	if l.Save == nil || l.Task != 0 {
		return nil
	}
	return l.Save(ctx, Place{Epoch: epoch, Step: step, Steps: l.steps, Past: l.made - step, Best: l.race.epoch, Last: last})
}
