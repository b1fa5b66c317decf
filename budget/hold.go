package budget

import "math"

// Left is how many bytes more tables have room for next to what the lasting classes have (tables, metadata, connections, modules), or
// below 0 how many were counted with Force without room. What messages and staged deltas have for now does not count: it goes when others
// need the room, or it goes to disk.
func (l *Ledger) Left() int64 {
	if l == nil {
		return math.MaxInt64
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastingLeft(Tables)
}

// lastingLeft is how many bytes more of a lasting class there is room for, below 0 if there are too many. The ledger is locked.
func (l *Ledger) lastingLeft(c Class) int64 {
	left := l.total - l.reserve
	for k, b := range l.bounds {
		if lasting[k] {
			left -= max(l.used[k], b.Floor)
		} else {
			left -= b.Floor
		}
	}
	if floor := l.floorLeft(c); floor > 0 {
		left = max(left, 0) + floor
	}
	return min(left, l.bounds[c].Ceiling-l.used[c])
}

// Hold counts n bytes of a lasting class if they have room beside what the lasting classes have, and a *TooLarge otherwise: it
// does not wait, because what lasts goes only with the job, connection or module that has it.
func (l *Ledger) Hold(c Class, n int64) (Charge, error) {
	if l == nil {
		return Charge{}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if left := max(l.lastingLeft(c), 0); n > left {
		return Charge{}, &TooLarge{Class: c, Wanted: n, Most: left, Beside: l.lasts()}
	}
	l.used[c] += n
	l.serve()
	return Charge{ledger: l, class: c, n: n}, nil
}

// Raise counts n more bytes of a lasting class, as Hold does.
func (c *Charge) Raise(n int64) error {
	if c == nil || c.ledger == nil {
		return nil
	}
	more, err := c.ledger.Hold(c.class, n)
	if err != nil {
		return err
	}
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	c.n += more.n
	return nil
}
