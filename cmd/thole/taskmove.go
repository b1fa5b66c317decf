package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"thole.example/blob"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
	"thole.example/state"
	"thole.example/train"
)

// A job that writes checkpoints can move to other servers, between two of its attempts. The first task hears of the order, has a copy
// written while all go on, stops, and writes what has changed since: that checkpoint says on which servers the training goes on. See ADR
// 0035.

// move is an order that the first task makes.
type move struct {
	*ps.Order
	before    int        // checkpoints that this process had written when it came
	tried     bool       // the other servers will do
	trial     chan error // whether they do; nil: it was not begun
	quiesceAt int        // own clock at which all quiesce; 0: it is not chosen
}

// hear goes on with an order to move, and reports whether there is one. The error is a *goneTo when the job has moved.
func (s *taskCheckpoints) hear(ctx context.Context, at train.Place) (busy bool, err error) {
	if s.move == nil {
		return false, nil
	}
	if !s.p.moves() {
		return false, s.stay(ctx, errors.New("its servers are found by their roles (--coordinate), by which each of them moves"))
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

// What is written before the checkpoint with which a job moves, for which all stop.
const (
	copyMost  = 6       // checkpoints at most
	copySmall = 1 << 20 // bytes of one after which the next need not be smaller
)

// copiedEnough reports whether the next checkpoint is to be that with which the job moves, after those that were written since the order.
// An increment has what changed while the one before was written, so there are more of them as long as they become smaller. whole
// says that the next is no increment: it has to be if that is because most of the values change meanwhile.
func copiedEnough(copies []state.Entry, whole bool) bool {
	n := len(copies)
	if n < 2 {
		return false
	}
	before, last := copies[n-2].Bytes, copies[n-1].Bytes
	switch {
	case n >= copyMost:
		return true
	case copies[n-1].Head.Whole():
		return false
	case whole:
		return copies[n-2].Head.Whole()
	}
	return last <= copySmall || last > before/4*3
}

// copied has checkpoints written that the last one before the move can be an increment of.
func (s *taskCheckpoints) copied(ctx context.Context, at train.Place) (bool, error) {
	whole, _ := state.Next(s.kept, s.moment.Run)
	n := s.p.written - s.move.before
	switch {
	case n <= len(s.kept) && copiedEnough(s.kept[len(s.kept)-n:], whole):
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

// standing has the tasks of a job under ASP quiesce at one clock, and reports whether all have.
func (s *taskCheckpoints) standing(ctx context.Context, at train.Place) (bool, error) {
	m, now := s.move, s.client.Now()
	if m.quiesceAt == 0 {
		last := now + at.Steps - 1 - at.Step // between epochs tasks may wait for each other
		if last <= now {
			return false, nil
		}
		clock, err := s.client.Quiesce(ctx, m.Order, now+1, last)
		switch {
		case errors.Is(err, rpc.ErrPassed): // others are in a later epoch
		case errors.Is(err, rpc.ErrNotFound):
			s.withdrawn()
		case err != nil:
			return false, err
		default:
			m.quiesceAt = clock
		}
		return false, nil
	}
	if now < m.quiesceAt {
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
	if err := s.client.CommitMove(ctx, m.Order); errors.Is(err, rpc.ErrNotFound) {
		s.withdrawn()
		return nil
	} else if err != nil {
		return err
	}
	s.moment.Move(s.p.where.servers, m.Servers)
	s.moment.Attempt++ // nobody shall join this one on the other servers, some of which may have it
	err := s.begin(ctx, at)
	if err == nil {
		err = s.goOn(ctx, true)
	}
	if err != nil {
		return err
	}
	if s.p.written == written {
		s.moment = before
		return s.stay(ctx, fmt.Errorf("the checkpoint %s could not be written", blob.Base(s.to)))
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
