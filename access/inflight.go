package access

import (
	"errors"
	"slices"
	"time"
)

// Direction says which bytes of an exchange are in flight.
type Direction uint8

// The directions.
const (
	Requests   Direction = iota // from the head of a frame, with its announced length, until the request is answered
	Answers                     // from when their size is known until they are written to the network
	Directions                  // their number
)

// InFlight is the bytes of a request and of its answer, counted in up to two accounts: of a token, and of a job. The zero InFlight counts
// nothing. It is used by one goroutine at a time.
type InFlight struct {
	accounts [2]*Account
	bytes    [Directions]int64
}

// NewInFlight counts in the accounts, of which any may be nil.
func NewInFlight(accounts [2]*Account) InFlight { return InFlight{accounts: accounts} }

// Counts reports whether there is an account to count in.
func (f *InFlight) Counts() bool { return f.accounts != [2]*Account{} }

// SmallMost is up to how many bytes a request or an answer is counted and never waits: so tasks can leave and meet at barriers whatever
// their limit is.
const SmallMost = 16 << 10

// stalledAfter is after how long an urgent request is let through if nothing was given back meanwhile: what is in flight may wait for it.
const stalledAfter = time.Second

// ErrGone is that the connection ended while a request waited for room.
var ErrGone = errors.New("the connection ended while a request waited for room")

// Wait says how a request waits for room.
type Wait struct {
	Gone   <-chan struct{} // is closed when the connection ends
	Urgent func() bool     // others may wait for the request; it is called without a lock
	Begins func()          // is called before the waiting; nil: nothing is
}

// Take counts n bytes once all accounts have room for them next to what lasts and what is in flight, or have no other large message of
// the direction in flight. If n is more than the limit of an account, the error is a *LimitError, and at the end of the connection it is
// ErrGone; then nothing was counted.
func (f *InFlight) Take(d Direction, n int64, w Wait) error {
	for i, a := range f.accounts {
		if err := a.takeInFlight(d, n, w); err != nil {
			for _, before := range f.accounts[:i] {
				before.replace(d, n, 0)
			}
			return err
		}
	}
	f.bytes[d] += n
	return nil
}

// Set counts n bytes of a direction in place of those so far, without waiting, as they are there already.
func (f *InFlight) Set(d Direction, n int64) {
	for _, a := range f.accounts {
		a.replace(d, f.bytes[d], n)
	}
	f.bytes[d] = n
}

// Release ends the counting. What was released counts nothing.
func (f *InFlight) Release() {
	for d := range Directions {
		f.Set(d, 0)
	}
	*f = InFlight{}
}

// flight is what is in flight in one direction.
type flight struct {
	bytes   int64
	large   int64  // messages of more than SmallMost
	returns uint64 // how many large messages have ended
}

// waiter is a request that waits for room in an account.
type waiter struct {
	direction Direction
	bytes     int64
	admitted  chan struct{} // closed when it is counted
	seen      uint64        // flight.returns of its direction at its last look
}

// takeInFlight counts n bytes when there is room.
func (a *Account) takeInFlight(d Direction, n int64, w Wait) error {
	if a == nil || n == 0 {
		return nil
	}
	mine, err := a.admit(d, n)
	if mine == nil || err != nil {
		return err
	}
	if w.Begins != nil {
		w.Begins()
	}
	look := time.NewTicker(stalledAfter)
	defer look.Stop()
	for {
		select {
		case <-mine.admitted:
			return nil
		case <-look.C:
			a.look(mine, w.Urgent != nil && w.Urgent())
		case <-w.Gone:
			if !a.leave(mine) {
				a.replace(d, n, 0)
			}
			return ErrGone
		}
	}
}

// admit counts n bytes if there is room and no request of the direction waits, and returns one that waits otherwise.
func (a *Account) admit(d Direction, n int64) (*waiter, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch limit := a.Limits().Memory; {
	case n <= SmallMost || limit == 0:
		a.count(d, n)
		return nil, nil
	case n > limit:
		return nil, a.Full()
	}
	w := &waiter{direction: d, bytes: n, admitted: make(chan struct{}), seen: a.flights[d].returns}
	a.waiting = append(a.waiting, w)
	a.serve()
	if len(a.waiting) == 0 || a.waiting[len(a.waiting)-1] != w {
		return nil, nil
	}
	return w, nil
}

// fits reports whether a message of n bytes has room. The account is locked.
func (a *Account) fits(d Direction, n int64) bool {
	limit := a.Limits().Memory
	return limit == 0 || a.flights[d].large == 0 || n <= limit-a.bytes-a.inFlight()
}

// inFlight is how many bytes are in flight. The account is locked.
func (a *Account) inFlight() (n int64) {
	for _, f := range a.flights {
		n += f.bytes
	}
	return n
}

// count counts a message. The account is locked.
func (a *Account) count(d Direction, n int64) {
	a.flights[d].bytes += n
	if n > SmallMost {
		a.flights[d].large++
	}
}

// replace counts a message of another size in place of one; 0 is none.
func (a *Account) replace(d Direction, old, size int64) {
	if a == nil || old == size {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	f := &a.flights[d]
	f.bytes -= old
	if old > SmallMost {
		f.large--
		f.returns++
	}
	a.count(d, size)
	a.serve()
}

// serve admits those that have room now: in each direction one after the other. The account is locked.
func (a *Account) serve() {
	var blocked [Directions]bool
	a.waiting = slices.DeleteFunc(a.waiting, func(w *waiter) bool {
		if blocked[w.direction] = blocked[w.direction] || !a.fits(w.direction, w.bytes); blocked[w.direction] {
			return false
		}
		a.count(w.direction, w.bytes)
		close(w.admitted)
		return true
	})
}

// look admits a request that still waits if there is room now, as limits may have changed, or if it is urgent and nothing was given back
// since its last look.
func (a *Account) look(w *waiter, urgent bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.serve()
	f := &a.flights[w.direction]
	stalled := w.seen == f.returns
	w.seen = f.returns
	if i := slices.Index(a.waiting, w); i >= 0 && stalled && urgent {
		a.waiting = slices.Delete(a.waiting, i, i+1)
		f.returns++ // others wait for this one first
		a.count(w.direction, w.bytes)
		close(w.admitted)
	}
}

// leave ends the waiting of a request; false if it has been admitted.
func (a *Account) leave(w *waiter) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.waiting, w)
	if i >= 0 {
		a.waiting = slices.Delete(a.waiting, i, i+1)
		a.serve()
	}
	return i >= 0
}
