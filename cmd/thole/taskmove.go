package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
	"thole.example/state"
	"thole.example/train"
)

// A job that writes checkpoints can move to other servers, between two of its attempts. The first task hears of the order, has a copy
// written while all go on, stops, and writes what has changed since: that checkpoint says on which servers the training goes on. See ADR
// 0035.

// whereabouts is where a job is, as the last checkpoint of its folder says.
type whereabouts struct {
	given   *cluster
	byRole  bool     // servers are looked up by their roles, and the job cannot move
	told    []string // servers that this process was told
	servers []string // those on which the job is
	moment  state.Moment
	stopped time.Time // since when all stand still, in the process that moves it
}

// goneTo is the error of a task whose job goes on on other servers.
type goneTo struct{ servers []string }

// Error implements error.
func (g *goneTo) Error() string { return "the job moves to " + strings.Join(g.servers, ", ") }

// lookTime is how long a server may take that is asked where a job is.
const lookTime = 5 * time.Second

// moves reports whether the job may move while it runs.
func (p *plan) moves() bool {
	return p.atServers && p.checkpoint != "" && p.attempt > 0 && p.forest == nil && !p.where.byRole
}

// looks reports whether checkpoints of the job may say that it is elsewhere; those that --resume never leaves behind are another one's.
func (p *plan) looks() bool { return p.moves() && (p.resume != resumeNever || p.attempt > 1) }

// find asks the servers that are known where the job is, any of which sees its checkpoints, and gives those.
func (p *plan) find(ctx context.Context, c *cluster, w *watcher) *cluster {
	p.where.given, p.where.told, p.where.byRole = c, c.addrs, c.from != nil
	if c.from != nil {
		return c
	}
	begins := p.where.servers == nil
	if begins {
		p.where.servers = c.addrs
	}
	if !p.looks() {
		return c
	}
	for _, addr := range slices.Concat(p.where.servers, c.addrs) {
		within, cancel := context.WithTimeout(ctx, lookTime)
		all, err := ps.CheckpointsAt(within, c.net, addr, p.there(p.checkpoint))
		cancel()
		if err != nil {
			continue // another one may answer; if none does, joining says why
		}
		if before := p.where.servers; p.where.look(all) && !slices.Equal(p.where.servers, before) {
			w.bar.line("the job is on %s", strings.Join(p.where.servers, ", "))
			if begins {
				p.endLeft(ctx, c.net)
			}
		}
		break
	}
	return &cluster{net: c.net, addrs: p.where.servers}
}

// endLeft tells the servers that the job has left last, as far as they answer, that it has: it may be that the process which moved it was
// lost before it could, and others wait for it there.
func (p *plan) endLeft(ctx context.Context, net rpc.Network) {
	m := &p.where.moment
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	var all sync.WaitGroup
	for _, addr := range m.Left[len(m.Left)-1] {
		if !slices.Contains(m.Servers, addr) {
			all.Go(func() { _, _ = ps.Move(ctx, net, addr, rpc.Move{Job: p.name, Gone: m.Attempt}) })
		}
	}
	all.Wait()
}

// wentElsewhere reports whether the job is on other servers than those on which an attempt ended.
func (p *plan) wentElsewhere(ctx context.Context, w *watcher) bool {
	before := p.where.servers
	return before != nil && !slices.Equal(p.find(ctx, p.where.given, w).addrs, before)
}

// look notes what the last of some checkpoints says, and reports whether there is one.
func (w *whereabouts) look(all []rpc.Kept) bool {
	for _, k := range slices.Backward(all) {
		e, err := entryOf(k, "")
		if err != nil || e.Err != nil || !e.Stepped() {
			continue
		}
		w.moment, w.servers = e.Head.Moment, w.told
		if to := w.moment.Elsewhere(w.told); to != nil {
			w.servers = to
		}
		return true
	}
	return false
}

// stillThere looks once more, when a task has joined: from now on nobody else can move the job from here.
func (p *plan) stillThere(ctx context.Context, client *ps.Client, c *cluster) error {
	if !p.looks() {
		return nil
	}
	all, err := client.Checkpoints(ctx, p.there(p.checkpoint))
	if err != nil {
		return err
	}
	if p.where.look(all); slices.Equal(p.where.servers, c.addrs) {
		return nil
	}
	return &goneTo{p.where.servers}
}

// note gives the checkpoints of this attempt what they say of servers.
func (w *whereabouts) note(m *state.Moment) {
	m.Servers, m.Left = w.moment.Servers, w.moment.Left
	if m.Servers != nil && !slices.Equal(m.Servers, w.servers) { // somebody has started all of it on yet others
		m.Move(m.Servers, w.servers)
	}
}

// move is an order that the first task makes.
type move struct {
	*ps.Order
	before int        // checkpoints that this process had written when it came
	tried  bool       // the other servers will do
	trial  chan error // whether they do; nil: it was not begun
	rest   int        // own clock at which all come to rest; 0: it is not chosen
}

// hear goes on with an order, and reports whether there is one. The error is a *goneTo when the job has moved.
func (s *taskCheckpoints) hear(ctx context.Context, at train.Place) (busy bool, err error) {
	if s.orders == nil {
		return false, nil
	}
	if s.move == nil {
		o, err := s.orders.Poll(ctx)
		if o == nil || err != nil {
			return false, err
		}
		s.say("moves to %s: the values are copied first", strings.Join(o.Servers, ", "))
		s.move = &move{Order: o, before: s.p.written}
	}
	if at.Last {
		return false, s.stay(ctx, errors.New("the training is at its end"))
	}
	m := s.move
	if s.going != nil {
		return true, nil
	}
	if !m.tried && len(s.kept) > 0 && s.p.written > m.before {
		if err := s.trying(ctx); s.move == nil || err != nil {
			return true, err
		}
	}
	if copied, err := s.copied(ctx, at); !copied || !m.tried || err != nil {
		return true, err
	}
	if s.p.bound == ssp.ASP {
		if stands, err := s.standing(ctx, at); !stands || err != nil {
			return true, err
		}
	}
	if at.Made() == s.step || at.Step == at.Steps && at.Steps > 1 { // that has a checkpoint, or may be the last step of all
		return true, nil
	}
	return true, s.handOver(ctx, at)
}

// copyRounds is how many checkpoints are written before the one with which a job moves: the second has what changed while the first was
// written, and the third, for which all stop, what changed while the second was.
const copyRounds = 2

// copied has checkpoints written that the last one before the move can be an increment of.
func (s *taskCheckpoints) copied(ctx context.Context, at train.Place) (bool, error) {
	whole, _ := state.Next(s.kept, s.moment.Run)
	switch {
	case s.p.written >= s.move.before+copyRounds && !whole:
		return true, nil
	case s.failed:
		return false, s.stay(ctx, fmt.Errorf("the checkpoint %s could not be written", s.to))
	case at.Made() == s.step:
		return false, nil
	}
	return false, s.begin(ctx, at)
}

// trying looks beside the training whether all of the other servers answer, see the checkpoints, and have no other job of the name.
func (s *taskCheckpoints) trying(ctx context.Context) error {
	m := s.move
	if m.trial == nil {
		m.trial = make(chan error, len(m.Servers))
		last, folder := s.kept[len(s.kept)-1], s.folder()
		for _, addr := range m.Servers {
			go func() { m.trial <- s.try(ctx, addr, folder, last.Head.ID) }()
		}
		return nil
	}
	if len(m.trial) < len(m.Servers) {
		return nil
	}
	for range m.Servers {
		if err := <-m.trial; err != nil {
			return s.stay(ctx, err)
		}
	}
	m.tried = true
	return nil
}

// try tells why a server will not do; it has to see the checkpoint of the identity.
func (s *taskCheckpoints) try(ctx context.Context, addr, folder, id string) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	all, err := ps.CheckpointsAt(ctx, s.net, addr, folder)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(k rpc.Kept) bool { return k.ID == id }) {
		return fmt.Errorf("server %s does not see the checkpoints of %s: all servers need the same --store", addr, folder)
	}
	if slices.Contains(s.p.where.servers, addr) {
		return nil
	}
	if _, err = ps.Move(ctx, s.net, addr, rpc.Move{Job: s.p.name}); err == nil {
		return fmt.Errorf("server %s has another job of the name %q", addr, s.p.name)
	}
	if errors.Is(err, rpc.ErrNotFound) {
		return nil
	}
	return err
}

// standing has the tasks of a job under ASP come to rest at one clock, and reports whether all have.
func (s *taskCheckpoints) standing(ctx context.Context, at train.Place) (bool, error) {
	m, now := s.move, s.client.Now()
	if m.rest == 0 {
		last := now + at.Steps - 1 - at.Step // between epochs tasks may wait for each other
		if last <= now {
			return false, nil
		}
		clock, err := s.client.Rest(ctx, m.Order, now+1, last)
		switch {
		case errors.Is(err, rpc.ErrPassed): // others are in a later epoch
		case errors.Is(err, rpc.ErrNotFound):
			s.withdrawn()
		case err != nil:
			return false, err
		default:
			m.rest = clock
		}
		return false, nil
	}
	if now < m.rest {
		return false, nil
	}
	s.p.where.stopped = s.now()
	return true, s.client.Barrier(ctx)
}

// handOver writes the checkpoint with which the job moves.
func (s *taskCheckpoints) handOver(ctx context.Context, at train.Place) error {
	m, before, written := s.move, s.moment, s.p.written
	if s.p.where.stopped.IsZero() {
		s.p.where.stopped = s.now()
	}
	if err := s.client.Settle(ctx, m.Order); errors.Is(err, rpc.ErrNotFound) {
		s.withdrawn()
		return nil
	} else if err != nil {
		return err
	}
	s.moment.Move(s.p.where.servers, m.Servers)
	err := s.begin(ctx, at)
	if err == nil {
		err = s.goOn(ctx, true)
	}
	if err != nil {
		return err
	}
	if s.p.written == written {
		s.moment = before
		return s.stay(ctx, fmt.Errorf("the checkpoint %s could not be written", path.Base(s.to)))
	}
	_ = s.client.Moved(ctx, m.Order, s.to) // it has
	return &goneTo{m.Servers}
}

// stay tells that the job does not move.
func (s *taskCheckpoints) stay(ctx context.Context, why error) error {
	s.say("does not move to %s: %v", strings.Join(s.move.Servers, ", "), why)
	err := s.client.Stays(ctx, s.move.Order, why)
	s.move, s.p.where.stopped = nil, time.Time{}
	if errors.Is(err, rpc.ErrNotFound) { // it was withdrawn
		return nil
	}
	return err
}

// withdrawn forgets an order that nobody wants any more.
func (s *taskCheckpoints) withdrawn() {
	s.say("does not move to %s: the order was withdrawn", strings.Join(s.move.Servers, ", "))
	s.move, s.p.where.stopped = nil, time.Time{}
}

// arrived says how long the training stood still, once it goes on.
func (s *taskCheckpoints) arrived() {
	if since := s.p.where.stopped; !since.IsZero() {
		s.say("has moved to %s, and stood still for %v", strings.Join(s.p.where.servers, ", "), s.now().Sub(since).Round(time.Millisecond))
		s.p.where.stopped = time.Time{}
	}
}
