package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/state"
)

// whereabouts is where a job is, as the last checkpoint of its folder says.
type whereabouts struct {
	given   *cluster // as this process was started: with addresses, or with a store that has them
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

// moves reports whether the job may move while it runs. One whose servers are looked up by their roles cannot.
func (p *plan) moves() bool {
	return p.atServers && p.checkpoint != "" && p.attempt > 0 && p.forest == nil && p.where.given.from == nil
}

// looks reports whether checkpoints of the job may say that it is elsewhere; those that --resume never leaves behind are another one's.
func (p *plan) looks() bool { return p.moves() && (p.resume != resumeNever || p.attempt > 1) }

// find asks the servers that are known where the job is, any of which sees its checkpoints, and gives those. Where it has moved to, no
// attempt before that of its last checkpoint is joined.
func (p *plan) find(ctx context.Context, c *cluster, w *watcher) *cluster {
	p.where.given = c
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
		if m := &p.where.moment; m.Servers != nil {
			p.attempt = max(p.attempt, m.Attempt)
		}
		break
	}
	return &cluster{net: c.net, addrs: p.where.servers, moves: p.where.moves()}
}

// endLeft tells the servers that the job has left last, as far as they answer, that it has: it may be that the process which moved it was
// lost before it could, and others wait for it there.
func (p *plan) endLeft(ctx context.Context, net rpc.Network) {
	m := &p.where.moment
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	var all sync.WaitGroup
	if len(m.Left) == 0 {
		return
	}
	for _, addr := range m.Left[len(m.Left)-1] {
		if !slices.Contains(m.Servers, addr) {
			all.Go(func() { _, _ = ps.Move(ctx, net, addr, rpc.Move{Job: p.name, Gone: m.Attempt}) })
		}
	}
	all.Wait()
}

// endLeftEvery is how often servers that the job has left are told so while others are waited for.
const endLeftEvery = 5 * time.Second

// keepEndingLeft is endLeft again and again, until over is called: a server that was away when the job left comes back with its log and the
// tasks that find it again, which wait there for those that have gone.
func (p *plan) keepEndingLeft(ctx context.Context) (over func()) {
	ctx, end := context.WithCancel(ctx)
	var told sync.WaitGroup
	told.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(endLeftEvery):
				p.endLeft(ctx, p.where.given.net)
			}
		}
	})
	return func() {
		end()
		told.Wait()
	}
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
		w.moment, w.servers = e.Head.Moment, w.given.addrs
		if to := w.moment.Elsewhere(w.given.addrs); to != nil {
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
	m.Servers, m.Left, m.Moves = w.moment.Servers, w.moment.Left, w.moment.Moves
	if w.restartedElsewhere() {
		m.Move(m.Servers, w.servers)
	}
}

// restartedElsewhere reports whether all of a job that had moved was started again on servers on which it never was.
func (w *whereabouts) restartedElsewhere() bool {
	return w.moment.Servers != nil && !slices.Equal(w.moment.Servers, w.servers)
}

// moves is how often the job has moved until it came to its servers.
func (w *whereabouts) moves() int {
	if w.restartedElsewhere() {
		return w.moment.Moves + 1
	}
	return w.moment.Moves
}

// claimElsewhere claims the folder of a job that has moved: one of the servers that it left may have it until all tasks have gone.
func (s *taskCheckpoints) claimElsewhere(ctx context.Context, folder string) ([]rpc.Kept, error) {
	for first := time.Now(); ; {
		all, err := s.client.ClaimCheckpoints(ctx, folder)
		if !errors.Is(err, rpc.ErrRefused) || time.Since(first) > takenLimit {
			return all, err
		}
		s.p.endLeft(ctx, s.net)
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lookEvery / 20):
		}
	}
}
