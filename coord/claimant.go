package coord

import (
	"errors"
	"fmt"
	"time"
)

// Claimant is one process that wants a role and keeps it. It is a state machine without goroutines and clocks: times are since
// any moment, all by one clock that never goes back.
//
//	phase      what it waits for                       what comes next
//	reading    an answer to Get                        waiting, writing
//	waiting    another record, or the end of a lease   waiting, writing
//	writing    an answer to Put                        holding, or reading if it was not done or nobody knows
//	holding    a third of its lease                    writing
//	ended      nothing
type Claimant struct {
	me    Holder // as it was written last
	role  Role
	sole  bool
	phase phase
	seq   uint64        // of the last request to the store
	next  time.Duration // when to give up the request, or to make the next

	seen    *Holder // the record read last
	version Version // of it, or of what was written after
	since   time.Duration
	looked  bool   // something was read
	highest uint64 // epoch of all that were seen

	sent  time.Duration // when the Put was made that is not answered
	until time.Duration // the role is held so long
	holds bool          // that time has not passed
	held  bool          // it was held once: whoever else has it has taken it over
	leave bool          // it is to be given back
	gives bool          // the Put that is not answered gives it back
	asked bool          // a Get is not answered
	said  string
}

type phase int

const (
	reading phase = iota
	waiting
	writing
	holding
	ended
)

// NewClaimant is a claim of a role that has not begun: its first event is Deadline. The holder has ID, Addr and Lease. With sole, nobody
// else can be at its address, so that a holder that was there is dead, and its lease is not waited for.
func NewClaimant(role Role, me Holder, sole bool) (*Claimant, error) {
	me.Epoch, me.Beat = 1, 0
	if me.ID == "" || me.Addr == "" {
		return nil, fmt.Errorf("coord: a claim of %s with the identity %q and the address %q, want both", role, me.ID, me.Addr)
	}
	if err := me.check(); err != nil {
		return nil, fmt.Errorf("coord: a claim of %s: %w", role, err)
	}
	return &Claimant{me: me, role: role, sole: sole}, nil
}

// Parts of a lease: a holder renews after one third and stops after two. What failed is tried again after a twelfth, and a
// request is given up after two, so that there are several in the time between.
func (c *Claimant) renewal() time.Duration { return c.me.Lease / 3 }
func (c *Claimant) hold() time.Duration    { return c.me.Lease / 3 * 2 }
func (c *Claimant) retry() time.Duration   { return c.me.Lease / 12 }

// Next is when the claim wants a Deadline; ok is false if it wants none.
func (c *Claimant) Next() (at time.Duration, ok bool) {
	at = c.next
	if c.holds {
		at = min(at, c.until)
	}
	return at, c.phase != ended
}

// Step is what follows from an event. Events come in the order of their times.
func (c *Claimant) Step(now time.Duration, e Event) (effects []Effect) {
	if c.phase == ended {
		return nil
	}
	if c.holds && now >= c.until {
		c.holds = false
		effects = append(effects, Stop{})
	}
	switch e := e.(type) {
	case Read:
		if e.Seq == c.seq && (c.phase == reading || c.phase == waiting) {
			effects = append(effects, c.read(now, e)...)
		}
	case Wrote:
		if e.Seq == c.seq && c.phase == writing {
			effects = append(effects, c.wrote(now, e)...)
		}
	case Release:
		effects = append(effects, c.release(now)...)
	case Deadline:
		if now >= c.next {
			effects = append(effects, c.deadline(now)...)
		}
	}
	return effects
}

// deadline is when a request was not answered, or another is due.
func (c *Claimant) deadline(now time.Duration) []Effect {
	switch {
	case c.phase == holding:
		return c.put(now)
	case c.phase == writing && c.leave:
		return c.end(End{})
	case c.phase == waiting && c.free(now):
		return c.claim(now)
	case c.phase == writing || c.asked:
		return append(c.silent(fmt.Errorf("nothing came for %v", 2*c.retry())), c.get(now)...)
	}
	return c.get(now)
}

// silent says why the store is asked again.
func (c *Claimant) silent(err error) []Effect { return c.say("the store does not answer: %v", err) }

// get asks what the record is.
func (c *Claimant) get(now time.Duration) []Effect {
	c.phase, c.asked, c.next = reading, true, now+2*c.retry()
	c.seq++
	return []Effect{Get{c.seq}}
}

func (c *Claimant) read(now time.Duration, e Read) []Effect {
	if errors.Is(e.Err, ErrRecord) {
		return c.end(End{Err: e.Err})
	}
	c.asked = false
	if e.Err != nil {
		c.phase, c.next = reading, now+c.retry()
		return c.silent(e.Err)
	}
	if !c.looked || e.Version != c.version {
		c.looked, c.version, c.seen, c.since = true, e.Version, e.Holder, now
	}
	if h := c.seen; h != nil {
		c.highest = max(c.highest, h.Epoch)
		if h.ID == c.me.ID {
			c.me.Epoch, c.me.Beat = h.Epoch, max(c.me.Beat, h.Beat)
			return c.put(now)
		}
	}
	switch {
	case c.held:
		return c.end(c.replaced())
	case c.free(now):
		return c.claim(now)
	}
	c.phase, c.next = waiting, c.since+c.seen.Lease
	c.seq++
	return append(c.say("%s is held by %s (epoch %d): waits until that is silent for %v", c.role, c.seen.Addr, c.seen.Epoch, c.seen.Lease),
		Watch{c.seq, c.version})
}

// free reports whether the role may be taken as the record is, which was there for some time.
func (c *Claimant) free(now time.Duration) bool {
	h := c.seen
	return h == nil || h.ID == "" || c.sole && h.Addr == c.me.Addr || now >= c.since+h.Lease
}

// claim takes the role over, if the record is still the one that was seen.
func (c *Claimant) claim(now time.Duration) []Effect {
	c.me.Epoch, c.me.Beat = c.highest+1, 0
	return c.put(now)
}

func (c *Claimant) put(now time.Duration) []Effect {
	c.me.Beat++
	c.phase, c.sent, c.next = writing, now, now+2*c.retry()
	c.seq++
	h := c.me
	if c.gives = c.leave; c.gives {
		h = Holder{Epoch: h.Epoch}
	}
	return []Effect{Put{c.seq, h, c.version}}
}

func (c *Claimant) wrote(now time.Duration, e Wrote) []Effect {
	switch {
	case c.leave && (e.Err != nil || c.gives):
		return c.end(End{})
	case errors.Is(e.Err, ErrChanged):
		return c.get(now)
	case e.Err != nil:
		c.phase, c.next = reading, now+c.retry()
		return c.silent(e.Err)
	}
	mine := c.me
	c.version, c.seen, c.since, c.said = e.Version, &mine, c.sent, ""
	c.highest = max(c.highest, mine.Epoch)
	if c.leave {
		return c.put(now)
	}
	c.phase, c.next = holding, max(now, c.sent+c.renewal())
	until := c.sent + c.hold()
	if until <= now {
		return nil // the answer took too long to count: the next Put is due
	}
	c.until, c.holds, c.held = until, true, true
	return []Effect{Hold{c.me.Epoch, until}}
}

// release ends what is held at once: what is given back can be taken at once. A Put on its way is waited for.
func (c *Claimant) release(now time.Duration) (effects []Effect) {
	if c.leave {
		return nil
	}
	if c.holds {
		c.holds, effects = false, append(effects, Stop{})
	}
	c.leave = true
	switch {
	case c.phase == writing:
		return effects
	case c.phase == holding:
		return append(effects, c.put(now)...)
	}
	return append(effects, c.end(End{})...)
}

// replaced is the end of a claim whose role somebody else has, or whose record is gone.
func (c *Claimant) replaced() End {
	if c.seen == nil {
		return End{Err: fmt.Errorf("coord: the record of %s was removed from the store: %w", c.role, ErrFenced)}
	}
	h := c.seen
	return End{h, fmt.Errorf("coord: %s has epoch %d at %q, this claim had %d: %w", c.role, h.Epoch, h.Addr, c.me.Epoch, ErrFenced)}
}

func (c *Claimant) end(e End) (effects []Effect) {
	if c.holds {
		c.holds, effects = false, []Effect{Stop{}}
	}
	c.phase = ended
	return append(effects, e)
}

// say is a line for people, once until something else is said or the role is held.
func (c *Claimant) say(format string, args ...any) []Effect {
	text := fmt.Sprintf(format, args...)
	if text == c.said {
		return nil
	}
	c.said = text
	return []Effect{Say{text}}
}
