package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"thole.example/blob"
	"thole.example/journal/journaltest"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/server"
)

// simCount is what happened.
type simCount struct {
	kills, asked, blocks, attempts, replaced, checkpoints, torn, failed, stayed, behind, moved, replayed, full, waited int
	bases, whole, takeovers, throttled, dropped, paused                                                                int // of logs and standbys
	cuts, cutsOfCopies, compared, expired                                                                              int // of readers
}

func (c *simCount) add(o simCount) {
	c.kills += o.kills
	c.asked += o.asked
	c.blocks += o.blocks
	c.attempts += o.attempts
	c.replaced += o.replaced
	c.checkpoints += o.checkpoints
	c.torn += o.torn
	c.failed += o.failed
	c.stayed += o.stayed
	c.behind += o.behind
	c.moved += o.moved
	c.replayed += o.replayed
	c.full += o.full
	c.waited += o.waited
	c.whole += o.whole
	c.takeovers += o.takeovers
	c.bases += o.bases
	c.throttled += o.throttled
	c.dropped += o.dropped
	c.paused += o.paused
	c.cuts += o.cuts
	c.cutsOfCopies += o.cutsOfCopies
	c.compared += o.compared
	c.expired += o.expired
}

// simServing is a server process.
type simServing struct {
	*server.Server
	known *simServer
	disk  *simDisk
	logs  *journaltest.Disk // nil: it has none
	l     rpc.Listener
	stop  context.CancelFunc

	// What follows is that of a server with a role.
	claim   string
	epoch   uint64
	way     *simWay // as a standby
	copying *server.Copying
	copies  sync.WaitGroup
	reads   rpc.Listener // at which readers reach it under its claim
}

// simLog hears what a server logs: in which attempt tasks join, and of those that go on in the place of others.
type simLog struct {
	slog.Handler
	s  *sim
	of *simServer
}

func (l simLog) Enabled(context.Context, slog.Level) bool { return true }

func (l simLog) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l simLog) Handle(_ context.Context, rec slog.Record) error {
	switch {
	case rec.Message == "task joined":
		rec.Attrs(func(a slog.Attr) bool {
			if a.Key == "attempt" {
				l.of.attempt.Store(a.Value.Int64())
			}
			return true
		})
	case strings.Contains(rec.Message, "continues in place of"):
		l.s.mu.Lock()
		l.s.count.replaced++
		l.s.mu.Unlock()
	}
	for text, n := range map[string]*int{
		"job continues where its log ends": &l.s.count.replayed, "a log has a new base": &l.s.count.bases,
		"pushes are throttled until": &l.s.count.throttled, "dropping a standby": &l.s.count.dropped,
	} {
		if strings.HasPrefix(rec.Message, text) {
			l.s.mu.Lock()
			*n++
			l.s.mu.Unlock()
		}
	}
	return nil
}

// newServing is a process of a server, with the logs of a disk on which the one before is dead; nil: it has none.
func (s *sim) newServing(i int, logs *journaltest.Disk) *simServing {
	funcs, err := psf.NewTable(functions(), optim.Rules())
	if err != nil {
		s.t.Fatal(err)
	}
	name := fmt.Sprint("s", i)
	v := &simServing{known: &simServer{name: name}, disk: &simDisk{simStore: s.store, name: name}, logs: logs}
	v.Server = &server.Server{Funcs: funcs, Codecs: codecs(), Bucket: v.disk, Log: slog.New(simLog{slog.DiscardHandler, s, v.known})}
	if logs != nil {
		v.Server.Logs, v.Server.LogBase = logs.Start(), s.drawn.logBase
		s.drawn.logs.set(v.Server)
	}
	return v
}

// startServer starts a server process at its address.
func (s *sim) startServer(i int) {
	if s.places != nil {
		s.places[i].back()
		return
	}
	var logs *journaltest.Disk
	if s.logs != nil {
		logs = s.logs[i]
	}
	for v := s.newServing(i, logs); !s.serve(i, v, true); v = s.newServing(i, logs) {
		time.Sleep(time.Second)
	}
}

// serve has a process serve at the address of a server, with what its log has if it is to recover that. It reports false if the process has
// ended because the disk of the logs is full.
func (s *sim) serve(i int, v *simServing, recovers bool) bool {
	var ctx context.Context
	ctx, v.stop = context.WithCancel(context.Background())
	if v.logs != nil && recovers {
		if err := v.Recover(ctx); errors.Is(err, blob.ErrUnavailable) {
			v.stop()
			s.mu.Lock()
			s.count.waited++
			s.mu.Unlock()
			return false
		} else if err != nil {
			s.t.Error(err)
		}
	}
	s.net.mu.Lock()
	s.net.servers[v.known.name] = v.known
	s.net.mu.Unlock()
	var err error
	if v.l, err = s.net.Listen(ctx, v.known.name, v.Server); err != nil {
		s.t.Error(err)
		return true
	}
	go v.Relieve(ctx)
	s.mu.Lock()
	s.servers[i] = v
	s.mu.Unlock()
	return true
}

// killServer ends a server process; false if it is not there.
func (s *sim) killServer(i int) bool { return s.endServer(i, s.serverAt(i)) }

func (s *sim) serverAt(i int) *simServing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.servers[i]
}

// askServer asks a server process to end, and waits until it has; false if it is not there, or was killed meanwhile.
func (s *sim) askServer(i int) bool {
	v := s.serverAt(i)
	if v != nil {
		ctx, cancel := context.WithTimeout(context.Background(), defaultGrace)
		defer cancel()
		v.Drain(ctx)
	}
	return s.endServer(i, v)
}

func (s *sim) endServer(i int, v *simServing) bool {
	s.mu.Lock()
	there := v != nil && s.servers[i] == v
	if there {
		s.servers[i] = nil
	}
	s.mu.Unlock()
	if !there {
		return false
	}
	s.net.free(v.disk.name)
	s.store.mu.Lock()
	v.disk.dead = true
	s.powers++
	powerless := s.powers%2 == 0
	s.store.mu.Unlock()
	_ = v.l.Close()
	if v.logs != nil { // its clients are no longer told that it cannot write there
		if v.logs.Kill(); powerless {
			v.logs.Power()
		}
	}
	v.stop()
	if s.places != nil {
		v.unreadable()
		s.places[i].lost(v)
	}
	return true
}
