package budget

import (
	"context"
	"slices"
	"time"
)

// waiter waits for n more bytes of a charge.
type waiter struct {
	charge *Charge
	claim  *Claim // that the charge is of, or nil
	class  Class
	n      int64
	urgent bool
	full   bool          // there was no room beside the tables when it was last looked
	done   bool          // got them
	again  chan struct{} // done, or urgency is to be asked again
}

// lookAfter is after how long it is looked whether who waits has any hope; at the second time without he is told.
const lookAfter = 10 * time.Second

// wait lets w wait. The ledger is not locked.
func (l *Ledger) wait(ctx context.Context, w *waiter, urgent func() bool) error {
	look := time.NewTicker(lookAfter)
	defer look.Stop()
	w.wake() // it is asked below, where a Wake finds it: one that comes between the question and the waiting would be missed
	l.mu.Lock()
	l.waiting = append(l.waiting, w)
	for {
		l.serve()
		l.mu.Unlock()
		select {
		case <-w.again:
		case <-look.C:
			if err := l.hopeless(w); err != nil && l.leave(w) {
				return err
			}
		case <-ctx.Done():
			if l.leave(w) {
				return context.Cause(ctx)
			}
			return nil
		}
		now := urgent != nil && urgent()
		l.mu.Lock()
		if w.done {
			l.mu.Unlock()
			return nil
		}
		w.urgent = now
	}
}

// hopeless is an error if w would not be served even if everybody gave back what is no table, and it was so when it was last
// looked. While something is saved the tables are larger than they will be.
func (l *Ledger) hopeless(w *waiter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := w.charge.n + w.n
	if w.claim != nil {
		all = w.charge.n + w.claim.left
	}
	most, before := l.mostBeside(w.class), w.full
	if w.full = all > most && l.used[Saves] == 0; !w.full || !before {
		return nil
	}
	return &TooLarge{Class: w.class, Wanted: all, Most: most, Beside: l.lasts()}
}

// leave ends the waiting of w; false if it got its bytes in the meantime.
func (l *Ledger) leave(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.done {
		return false
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(o *waiter) bool { return o == w })
	l.serve()
	return true
}

// Wake has everybody who waits asked again whether he is urgent. It does not wait and calls nobody itself, so it may be
// called under any lock.
func (l *Ledger) Wake() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.waiting {
		w.wake()
	}
}

func (w *waiter) wake() {
	select {
	case w.again <- struct{}{}:
	default:
	}
}

// serve gives what there is room for to those who wait. The ledger is locked.
func (l *Ledger) serve() {
	l.shared, l.blocked = false, [Classes]bool{}
	if len(l.waiting) > 0 {
		l.serveThose(true)
		l.serveThose(false)
		l.waiting = slices.DeleteFunc(l.waiting, func(w *waiter) bool { return w.done })
	}
	l.short.Store(len(l.waiting) > 0)
	if staged := l.used[Stage]; staged > l.bounds[Stage].Ceiling || staged > 0 && l.left() < 0 {
		l.starve()
	}
}

// starve says that what is staged should go.
func (l *Ledger) starve() {
	select {
	case l.starved <- struct{}{}:
	default:
	}
}

// serveThose serves the urgent or the others.
func (l *Ledger) serveThose(urgent bool) {
	for _, w := range l.waiting {
		if w.urgent != urgent || w.done {
			continue
		}
		if l.room(w.class, urgent) < w.n {
			// Whoever waits only for its class to fall below its ceiling leaves the rest of the total to others.
			if urgent || w.n <= l.bounds[w.class].Ceiling-l.used[w.class] {
				l.shared = true
			}
			l.blocked[w.class] = true
		} else if l.turn(w) && (w.claim == nil || l.safe(w)) {
			l.grant(w)
			continue
		}
		if urgent {
			l.starve()
		}
	}
}

// turn reports whether nobody before w waits for the same. A message that is half there need not wait for its turn: those
// before it may be waiting for its end.
func (l *Ledger) turn(w *waiter) bool {
	if w.claim != nil && w.claim.n > 0 {
		return true
	}
	return (w.urgent || !l.blocked[w.class]) && (!l.shared || w.n <= l.floorLeft(w.class))
}

func (l *Ledger) grant(w *waiter) {
	l.used[w.class] += w.n
	w.charge.n += w.n
	if w.claim != nil {
		w.claim.left -= w.n
	}
	w.done = true
	w.wake()
}
