package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"thole.example/rpc"
)

// With Server.Replicas a standby copies the logs of the server whose place it may take. It asks what has come to them (rpc.OpCopy), one
// question after the other, and says with each what it has: that acknowledges it. What it does with it stands in copying.go.
//
//	a standby       asks from the last base of each log on, and nobody waits for it; segments that it has not read stay
//	has nearly all  whatever waits for a log waits for the standby, too, from now on
//	has the rest    of what was acknowledged before: the store of roles is asked to name it
//	is named        may take the place over: it has whatever was acknowledged
//	is silent       or gone: the store is asked not to name it any more, and when that is written nobody waits for it any more
//	has no room     asks with Paused, again and again: it says how far it has replayed, and is sent nothing
//
// So at any moment whom the store names has everything, and a server whose standby is gone is held up by one write to the store. If the
// store does not answer the role lapses, and nothing is answered anyway.

// copies is who copies the logs of a server.
type copies struct {
	changes signal // is notified when something changes that is said here, or the end of a log

	mu       sync.Mutex
	run      string
	logs     []*jobLog           // that there are, in the order in which they were opened
	standbys map[string]*standby // by claim
	named    []string            // whom the store names
	unsure   bool                // nobody knows whether that is so
	tells    bool                // somebody tells the store
	dropped  uint64              // standbys that were given up because they were too slow, so far
	handed   bool                // a standby continues, and this server has no role any more
}

// standby is one that copies the logs.
type standby struct {
	claim  string
	from   *rpc.Peer
	out    *outgoing
	reads  string // where readers reach it; "": they do not
	asks   bool   // it waits for an answer
	counts bool   // it has nearly all, and everybody waits for it
	full   bool   // its disk has no room for what it has
	pace   standbyPace
	due    map[*jobLog]uint64 // what may have been acknowledged before it counted, and it has not
	lost   bool
}

// whole reports whether it has whatever was acknowledged.
func (b *standby) whole() bool { return b.counts && !b.lost && len(b.due) == 0 }

// giveUp gives it up; what is read for it is closed when nobody reads. c is locked.
func (c *copies) giveUp(b *standby) {
	if b.lost = true; !b.asks {
		b.out.close()
	}
	c.changes.notify()
}

const (
	// copyLook is how often somebody looks whether standbys make progress, and tells the store again what it did not answer.
	copyLook = 200 * time.Millisecond
	// copyTell is how long the store has for an answer.
	copyTell = 10 * time.Second
)

// add says that there is a log, before anything of it is acknowledged.
func (c *copies) add(l *jobLog) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.standbys {
		if b.counts {
			l.copy(b.claim, &copied{counts: true})
		}
	}
	c.logs = append(c.logs, l)
	c.changes.notify()
}

// remove says that a log is no more.
func (c *copies) remove(l *jobLog) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logs = slices.DeleteFunc(c.logs, func(other *jobLog) bool { return other == l })
	c.changes.notify()
}

// copyLogs answers a standby when there is something that it lacks.
func (s *Server) copyLogs(_ *member, x *rpc.Exchange) {
	var a rpc.Copy
	err := json.Unmarshal(x.Arg, &a)
	switch {
	case err != nil || a.Claim == "" || len(a.Reads) > nameLimit:
		x.Fail(fmt.Errorf("copy: want the claim of a standby, and what it has: %w", rpc.ErrMalformed))
		return
	case s.Logs == nil || s.Role == nil || s.Replicas < 2:
		x.Fail(fmt.Errorf("this server has no logs for standbys to copy (--replicas 2): %w", rpc.ErrRefused))
		return
	}
	o, err := s.copies.ask(s, x.From, &a)
	if err != nil {
		x.Fail(err)
		return
	}
	if a.Paused {
		x.Answer(s.copies.pause())
		return
	}
	go x.Guard(s.logger(), func() { // no panic is the network's
		r, err := s.copies.answer(x.Context(), s, o)
		if err != nil {
			x.Fail(err)
			return
		}
		x.Answer(r)
	})
}

// ask takes the question of a standby: who it is, and what it has.
func (c *copies) ask(s *Server, from *rpc.Peer, a *rpc.Copy) (*outgoing, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run == "" {
		c.run, c.standbys = rand.Text(), map[string]*standby{}
	}
	b := c.standbys[a.Claim]
	switch {
	case b != nil && b.lost:
		return nil, fmt.Errorf("standby %.40q was given up, and has to begin anew: %w", a.Claim, rpc.ErrAborted)
	case b != nil && b.from != from:
		return nil, fmt.Errorf("standby %.40q asks over another connection already: %w", a.Claim, rpc.ErrExists)
	case b != nil && b.asks:
		return nil, fmt.Errorf("standby %.40q asks before it was answered: %w", a.Claim, rpc.ErrMalformed)
	case b == nil && len(c.standbys) >= s.Replicas-1:
		return nil, fmt.Errorf("the server has as many standbys as it is to have, %d: %w", len(c.standbys), rpc.ErrExists)
	case b == nil:
		b = &standby{claim: a.Claim, from: from, pace: newStandbyPace(time.Now())}
		b.out = &outgoing{to: b, logs: map[*jobLog]*sending{}, told: -1}
		c.standbys[a.Claim] = b
		go c.watch(b)
		if !c.tells {
			c.tells = true
			go c.tell(s)
		}
		s.logger().Info("a standby copies the logs", "claim", b.claim, "at", from.Name)
	}
	if err := c.acknowledge(s, b.out, a); err != nil {
		c.giveUp(b)
		return nil, err
	}
	b.asks, b.pace.paused, b.reads, b.full = !a.Paused, a.Paused, a.Reads, a.Full
	b.out.beats = a.Reads != ""
	return b.out, nil
}

// acknowledge notes what a standby has: all that it was sent. c is locked.
func (c *copies) acknowledge(s *Server, o *outgoing, a *rpc.Copy) error {
	has := a.Logs
	if a.Run != c.run {
		has = nil // of another server
	}
	for _, has := range has {
		i := slices.IndexFunc(c.logs, func(l *jobLog) bool { return l.name == has.Name })
		if i < 0 {
			continue // it has ended
		}
		at := o.logs[c.logs[i]]
		if at == nil { // it was sent over another connection
			var err error
			if at, err = c.logs[i].goOn(s, o.to, has.End); err != nil {
				return fmt.Errorf("a standby has log %s up to position %d, and has to begin anew: %w: %w", has.Name, has.End, rpc.ErrStale, err)
			}
			o.logs[c.logs[i]] = at
		}
		if has.End != at.end {
			return fmt.Errorf("a standby has log %.40q up to position %d, and was sent it up to %d: %w", has.Name, has.End, at.end, rpc.ErrMalformed)
		}
		if has.Replayed > has.End || has.Loaded < 0 {
			return fmt.Errorf("log %.40q: a standby has replayed %d bytes of the base and the records before position %d, want at least 0 bytes "+
				"and at most position %d: %w", has.Name, has.Loaded, has.Replayed, has.End, rpc.ErrMalformed)
		}
		at.acknowledge(has, s.Copies.lag()/2)
		c.logs[i].copy(o.to.claim, &copied{at.has, o.to.counts, at.gate(s)})
	}
	for _, l := range c.logs {
		at := o.logs[l]
		if at == nil {
			continue
		}
		if at.hasBase = at.off; at.base == nil && at.has < at.end {
			return fmt.Errorf("a standby was sent log %s up to position %d, and does not say that it has it: %w", l.name, at.end, rpc.ErrAborted)
		}
	}
	o.to.pace.note(o.logs, time.Now())
	if !o.to.counts && c.hasNearly(o, s.Copies.lag()) {
		o.to.counts, o.to.due = true, map[*jobLog]uint64{}
		for _, l := range c.logs {
			l.copy(o.to.claim, &copied{end: o.logs[l].has, counts: true})
			o.to.due[l] = l.log.Durable() // up to there nobody has waited for it
		}
	}
	if o.to.counts && !o.to.whole() {
		maps.DeleteFunc(o.to.due, func(l *jobLog, end uint64) bool { return o.logs[l].has >= end || !slices.Contains(c.logs, l) })
		c.changes.notify()
	}
	return nil
}

// hasNearly reports whether a standby has nearly all of every log. c is locked.
func (c *copies) hasNearly(o *outgoing, lag uint64) bool {
	for _, l := range c.logs {
		if at := o.logs[l]; at == nil || !at.whole() || l.log.Durable() > at.has+lag {
			return false
		}
	}
	return true
}

// answered says that a standby has its answer.
func (c *copies) answered(b *standby) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.asks = false
	if b.pace.begin(time.Now()); b.lost {
		b.out.close()
	}
	c.changes.notify() // from now on somebody looks whether it makes progress
}

// watch gives a standby up when its connection ends.
func (c *copies) watch(b *standby) {
	<-b.from.Gone
	c.mu.Lock()
	defer c.mu.Unlock()
	c.giveUp(b)
}

// tell has the store name the standbys that count, and forgets those that are lost once it does not name them.
func (c *copies) tell(s *Server) {
	for {
		changed := c.changes.wait()
		names, look, over := c.toTell(s)
		if over {
			return
		}
		if names != nil {
			ctx, cancel := context.WithTimeout(context.Background(), copyTell)
			err := s.Role.Copied(ctx, names)
			cancel()
			if errors.Is(err, rpc.ErrAborted) { // the server answers nothing any more
				return
			}
			if c.told(names, err); err == nil {
				s.logger().Info("standbys have what the logs have", "standbys", len(names), "replicas", s.Replicas)
				continue
			}
			s.logger().Warn("the store cannot be told who has a copy of the logs", "err", err)
			changed, look = nil, true
		}
		var again <-chan time.Time
		if look {
			again = time.After(copyLook)
		}
		select {
		case <-changed:
		case <-again:
		}
	}
}

// toTell is whom the store is to name; nil: it does so already. Somebody is to look soon whether a standby is silent, and it is over when
// nobody copies the logs.
func (c *copies) toTell(s *Server) (names []string, look, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	names = []string{}
	for _, b := range c.standbys {
		look = c.judge(s, b) || look
		if b.whole() {
			names = append(names, b.claim)
		}
	}
	slices.Sort(names)
	if c.unsure || !slices.Equal(names, c.named) {
		return names, look, false
	}
	for claim, b := range c.standbys {
		if b.lost && !b.asks { // else its answer may yet be begun
			delete(c.standbys, claim)
			for _, l := range c.logs {
				l.copy(claim, nil)
				go l.trims(s)
			}
			s.logger().Warn("a standby copies the logs no more", "claim", claim, "at", b.from.Name)
		}
	}
	if over = len(c.standbys) == 0 && len(names) == 0; over {
		c.tells = false
	}
	return nil, look, over
}

// told notes what the store names.
func (c *copies) told(names []string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unsure = err != nil; err == nil {
		c.named = names
	}
}
