package train

import (
	"context"
	"fmt"
)

// goOn makes this task what it was after the epochs that were made before, if there were some.
func (l *loop) goOn(ctx context.Context) error {
	if !l.Resume {
		return nil
	}
	losses, err := l.past(ctx)
	if err != nil {
		return err
	}
	l.before = len(losses)
	switch {
	case !l.Total:
		l.Epochs += l.before
	case l.Epochs < l.before:
		return fmt.Errorf("%d epochs, and %d were made before: want at least as many, which count from the beginning", l.Epochs, l.before)
	}
	batches := 0
	for step := range l.steps {
		if all := l.order.count; all > 0 && (l.Wrap || step*all/l.steps < (step+1)*all/l.steps) {
			batches++
		}
	}
	for epoch := range l.before {
		l.order.shuffle(epoch + 1)
		if !l.Anew {
			l.pace.next(losses[epoch])
		}
	}
	l.run.Skip(uint64(l.before * batches))
	return l.meet(ctx) // all have read the losses before one is added
}

// each calls Each with the state that the steps of all tasks have led to.
func (l *loop) each(ctx context.Context, epoch int) error {
	if err := l.meet(ctx); err != nil {
		return err
	}
	if l.Task == 0 {
		if err := l.Each(ctx, epoch); err != nil {
			return err
		}
	}
	return l.meet(ctx)
}
