package budget

import "context"

// Charge is bytes that are counted in a class of a ledger. The zero Charge counts nothing. A Charge must not be copied once
// it is used, but may be handed on. Move and Bytes may be called by many goroutines, the others by one at a time.
type Charge struct {
	ledger *Ledger
	credit *Credit // that the bytes go back to; nil: to the ledger
	class  Class
	n      int64
}

// TryTake takes n bytes if there is room and nobody waits for it.
func (l *Ledger) TryTake(c Class, n int64) (Charge, bool) {
	if l == nil {
		return Charge{}, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.fits(c, n) {
		return Charge{}, false
	}
	l.used[c] += n
	return Charge{ledger: l, class: c, n: n}, true
}

// fits reports whether there is room for somebody who is not urgent and comes now, after those who wait.
func (l *Ledger) fits(c Class, n int64) bool {
	return n <= l.room(c, false) && !l.blocked[c] && (!l.shared || n <= l.floorLeft(c))
}

// Take waits for room for n bytes. It fails with the cause of ctx when that ends, and at once with a *TooLarge if n bytes
// never have room. urgent, which may be nil, is asked while waiting whether the reserve may be used: when the waiting
// begins and after each Wake, always from this goroutine and without a lock.
func (l *Ledger) Take(ctx context.Context, c Class, n int64, urgent func() bool) (Charge, error) {
	charge := Charge{ledger: l, class: c}
	if err := charge.Grow(ctx, n, urgent); err != nil {
		return Charge{}, err
	}
	return charge, nil
}

// Force counts n bytes that are there already, whether there is room or not. Who comes after it waits the longer.
func (l *Ledger) Force(c Class, n int64) Charge {
	if l == nil {
		return Charge{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used[c] += n
	return Charge{ledger: l, class: c, n: n}
}

// Grow waits for room for n more bytes, as Take does. A Charge of no ledger grows by nothing.
func (c *Charge) Grow(ctx context.Context, n int64, urgent func() bool) error {
	if c.ledger == nil {
		return nil
	}
	l := c.ledger
	if most := l.Most(c.class); n > most {
		return &TooLarge{Class: c.class, Wanted: n, Most: most}
	}
	l.mu.Lock()
	if l.fits(c.class, n) {
		l.used[c.class] += n
		c.n += n
		l.mu.Unlock()
		return nil
	}
	l.mu.Unlock()
	return l.wait(ctx, &waiter{charge: c, n: n, class: c.class, again: make(chan struct{}, 1)}, urgent)
}

// Bytes is how many are counted.
func (c *Charge) Bytes() int64 {
	if c == nil || c.ledger == nil {
		return 0
	}
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	return c.n
}

// Move counts the bytes in another class, also beyond its ceiling: they are there, and where they were they would keep
// others from what is theirs. It never waits: who holds bytes and waited for others would keep those from being freed.
func (c *Charge) Move(to Class) {
	if c == nil || c.ledger == nil {
		return
	}
	l := c.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used[c.class] -= c.n
	l.used[to] += c.n
	c.class, c.credit = to, nil
	l.serve()
}

// Resize counts n bytes from now on, whether there is room or not, for whoever finds out what something takes when it is there.
// A Charge of no ledger stays as it is.
func (c *Charge) Resize(n int64) {
	if c == nil || c.ledger == nil {
		return
	}
	l := c.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used[c.class] += n - c.n
	c.n = n
	l.serve()
}

// Split takes n of the bytes, or all if they are fewer, out into a Charge of their own.
func (c *Charge) Split(n int64) Charge {
	if c == nil || c.ledger == nil {
		return Charge{}
	}
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	out := *c
	out.n = min(n, c.n)
	c.n -= out.n
	return out
}

// Release gives all of it back. A Charge that was released counts nothing and may be released again.
func (c *Charge) Release() {
	if c == nil || c.ledger == nil {
		return
	}
	if c.credit != nil {
		c.credit.give(c.n)
	} else {
		c.ledger.give(c.class, c.n)
	}
	*c = Charge{}
}

// give takes n bytes off the class and lets others have them.
func (l *Ledger) give(c Class, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used[c] -= n
	l.serve()
}
