package coord

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
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
	me    Holder // as it is to be written
	role  Role
	sole  bool
	phase phase
	seq   uint64        // of the last request to the store
	next  time.Duration // when to give up the request, or to make the next

	log   string // identity of the log that is there
	fresh string // and that it gets if it does not continue

	seen    *Holder // the record read last
	version Version // of it, or of what was written after
	since   time.Duration
	looked  bool   // something was read
	highest uint64 // epoch of all that were seen

	put    Holder        // what the Put writes that is not answered
	sent   time.Duration // when that was made
	until  time.Duration // the role is held so long
	holds  bool          // that time has not passed
	held   bool          // it was held once: whoever else has it has taken it over
	leave  bool          // it is to be given back
	asked  bool          // a Get is not answered
	owed   bool          // the record may not name the copies or the log that it is to name
	from   Continuation  // of the epoch that was written
	copied bool          // others have what that continues
	said   string
}

type phase int

const (
	reading phase = iota
	waiting
	writing
	holding
	ended
)

// NewClaimant is a claim of a role that has not begun: its first event is Deadline. The holder has ID, Addr and Lease, and if it has a log
// the identity that the log gets when it does not continue with what is in it; log is the identity that it has, "" if there is nothing
// in it. With sole, nobody else can be at its address: a holder that was there is dead, and its lease is not waited for.
func NewClaimant(role Role, me Holder, log string, sole bool) (*Claimant, error) {
	me.Epoch, me.Beat, me.Since, me.Copies = 1, 0, 0, nil
	if me.ID == "" || me.Addr == "" {
		return nil, fmt.Errorf("coord: a claim of %s with the identity %q and the address %q, want both", role, me.ID, me.Addr)
	}
	if err := me.check(); err != nil {
		return nil, fmt.Errorf("coord: a claim of %s: %w", role, err)
	}
	return &Claimant{me: me, role: role, log: log, fresh: me.Log, sole: sole}, nil
}

// Parts of a lease: a holder renews after one third and stops after two. What failed is tried again after a twelfth, and a
// request is given up after two, so that there are several in the time between.
func (c *Claimant) renewal() time.Duration { return c.me.Lease / 3 }
func (c *Claimant) hold() time.Duration    { return c.me.Lease / 3 * 2 }
func (c *Claimant) retry() time.Duration   { return c.me.Lease / 12 }

// patience is for how many leases a record with a log stays as it is before somebody takes the role over who has not what was held: so
// long it waits for one that has the log, as the holder has when it is started again, or a copy.
const patience = 3

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
	case Copies:
		effects = append(effects, c.copies(now, e.Copies)...)
	case Own:
		effects = append(effects, c.own(now)...)
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
		return c.write(now)
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
			c.me.Epoch, c.me.Beat, c.me.Since = h.Epoch, max(c.me.Beat, h.Beat), h.since()
			return c.write(now)
		}
	}
	switch {
	case c.held:
		return c.end(c.replaced())
	case c.free(now):
		return c.claim(now)
	}
	c.phase, c.next = waiting, c.since+c.wait()
	c.seq++
	return append(c.waits(c.seen), Watch{c.seq, c.version})
}

// waits tells people what is waited for.
func (c *Claimant) waits(h *Holder) []Effect {
	switch {
	case h.ID == "":
		return c.say("%s was given back (epoch %d) by one with a log that this server has not: waits %v for one that has it", c.role,
			h.Epoch, c.wait())
	case c.lacks(h):
		return c.say("%s is held by %s (epoch %d), with a log that this server has not: waits until that is silent for %v", c.role, h.Addr,
			h.Epoch, c.wait())
	}
	return c.say("%s is held by %s (epoch %d): waits until that is silent for %v", c.role, h.Addr, h.Epoch, c.wait())
}

// lacks reports whether others can have what the claim has not.
func (c *Claimant) lacks(h *Holder) bool {
	return h.Log != "" && h.continued(c.me.ID, c.log) == Anew
}

// wait is how long the record stays as it was seen before the role may be taken.
func (c *Claimant) wait() time.Duration {
	switch h := c.seen; {
	case h == nil:
		return 0
	case c.lacks(h):
		return patience * cmp.Or(h.Lease, c.me.Lease)
	case h.ID == "" || c.sole && h.Addr == c.me.Addr:
		return 0
	default:
		return h.Lease
	}
}

// free reports whether the role may be taken as the record is, which was there for some time.
func (c *Claimant) free(now time.Duration) bool { return now >= c.since+c.wait() }

// claim takes the role over, if the record is still the one that was seen.
func (c *Claimant) claim(now time.Duration) []Effect {
	c.me.Epoch, c.me.Beat, c.me.Log, c.me.Copies, c.from = c.highest+1, 0, c.fresh, nil, Anew
	if c.me.Since = c.me.Epoch; c.seen != nil {
		if c.from = c.seen.continued(c.me.ID, c.log); c.from != Anew { // until it owns that, which may fail, whoever else has it counts
			c.me.Since, c.me.Log = c.seen.since(), cmp.Or(c.seen.Log, c.fresh) // if nobody has a log, it may be in that one soon
			c.me.Copies = slices.DeleteFunc(slices.Clone(c.seen.Copies), func(id string) bool { return id == c.me.ID })
		}
	}
	c.copied = len(c.me.Copies) > 0
	return c.write(now)
}

// write writes the record, so that the role is held for longer, or given back.
func (c *Claimant) write(now time.Duration) []Effect {
	c.me.Beat++
	c.phase, c.sent, c.next = writing, now, now+2*c.retry()
	c.seq++
	if c.put = c.me; c.leave {
		c.put.ID, c.put.Addr, c.put.Beat, c.put.Lease = "", "", 0, 0
	}
	return []Effect{Put{c.seq, c.put, c.version}}
}

// copies has the record name these copies. A Put with them follows at once what is under way.
func (c *Claimant) copies(now time.Duration, ids []string) []Effect {
	if !c.held || c.leave {
		return nil
	}
	c.me.Copies, c.owed = slices.Clone(ids), true
	if c.phase == holding {
		return c.write(now)
	}
	return nil
}

// own has the record name the claim's own log, and so no copies: those that are there are of what was held before.
func (c *Claimant) own(now time.Duration) []Effect {
	if c.from == Anew || !c.held || c.leave {
		return nil
	}
	if c.from == FromCopy {
		c.me.Log = c.fresh
	}
	return c.copies(now, nil)
}

func (c *Claimant) wrote(now time.Duration, e Wrote) (effects []Effect) {
	switch {
	case c.leave && (e.Err != nil || c.put.ID == ""):
		return c.end(End{})
	case errors.Is(e.Err, ErrChanged):
		return c.get(now)
	case e.Err != nil:
		c.phase, c.next = reading, now+c.retry()
		return c.silent(e.Err)
	}
	wrote := c.put
	c.version, c.seen, c.since, c.said = e.Version, &wrote, c.sent, ""
	c.highest = max(c.highest, wrote.Epoch)
	if c.leave {
		return c.write(now)
	}
	c.phase, c.next = holding, max(now, c.sent+c.renewal())
	if until := c.sent + c.hold(); until > now { // otherwise the answer took too long to count, and the next Put is due
		c.until, c.holds, c.held = until, true, true
		effects = append(effects, Hold{until, c.me.Epoch, c.me.Since, c.from, c.copied})
	}
	switch {
	case c.owed && wrote.Log == c.me.Log && slices.Equal(wrote.Copies, c.me.Copies):
		c.owed = false
		effects = append(effects, Recorded{})
	case c.owed:
		effects = append(effects, c.write(now)...)
	}
	return effects
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
		return append(effects, c.write(now)...)
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
