package budget

import (
	"context"
	"sync/atomic"
)

// Credit is bytes of a class that one user took in advance, so that small charges come from it and go back to it without
// the ledger's lock. Methods may be called by many goroutines; those of a nil Credit count nothing.
type Credit struct {
	ledger *Ledger
	class  Class
	step   int64
	left   atomic.Int64 // taken from the ledger and in no charge
	closed atomic.Bool
}

// NewCredit is a credit that takes bytes in steps of the given size; nil if the ledger is.
func (l *Ledger) NewCredit(c Class, step int64) *Credit {
	if l == nil {
		return nil
	}
	return &Credit{ledger: l, class: c, step: step}
}

// Take is Ledger.Take from the credit.
func (c *Credit) Take(ctx context.Context, n int64, urgent func() bool) (Charge, error) {
	if charge, ok := c.TryTake(n); ok {
		return charge, nil
	}
	if _, err := c.ledger.Take(ctx, c.class, n, urgent); err != nil {
		return Charge{}, err
	}
	return c.charge(n), nil
}

// TryTake is Ledger.TryTake from the credit.
func (c *Credit) TryTake(n int64) (Charge, bool) {
	if c == nil {
		return Charge{}, true
	}
	if !c.spend(n) {
		more, ok := c.ledger.TryTake(c.class, max(n, c.step))
		if !ok {
			return Charge{}, false
		}
		c.give(more.n - n)
	}
	return c.charge(n), true
}

// Force is Ledger.Force from the credit.
func (c *Credit) Force(n int64) Charge {
	if c == nil {
		return Charge{}
	}
	if charge, ok := c.TryTake(n); ok {
		return charge
	}
	c.ledger.Force(c.class, n)
	return c.charge(n)
}

func (c *Credit) charge(n int64) Charge {
	return Charge{ledger: c.ledger, credit: c, class: c.class, n: n}
}

// spend takes n bytes of what is left.
func (c *Credit) spend(n int64) bool {
	for {
		left := c.left.Load()
		if left < n {
			return false
		}
		if c.left.CompareAndSwap(left, left-n) {
			return true
		}
	}
}

// give puts n bytes back; what is more than two steps goes to the ledger, and everything once the credit is closed or
// while somebody waits.
func (c *Credit) give(n int64) {
	left := c.left.Add(n)
	switch {
	case c.closed.Load() || c.ledger.short.Load():
		c.Trim()
	case left > 2*c.step && c.left.CompareAndSwap(left, c.step):
		c.ledger.give(c.class, left-c.step)
	}
}

// Trim gives what is left back to the ledger.
func (c *Credit) Trim() {
	if c == nil {
		return
	}
	if n := c.left.Swap(0); n > 0 {
		c.ledger.give(c.class, n)
	}
}

// Close gives what is left back to the ledger, and every charge when it is released.
func (c *Credit) Close() {
	if c == nil {
		return
	}
	c.closed.Store(true)
	c.Trim()
}
