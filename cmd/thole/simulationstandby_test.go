package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"thole.example/blob"
	"thole.example/journal/journaltest"
	"thole.example/rpc"
	"thole.example/server"
)

// simLogs is how servers keep their logs, and the standbys that copy them.
type simLogs struct {
	Segment  int64
	Wait     time.Duration // for room on a full disk
	Standbys bool
	Copies   server.CopyLimits
	Slow     server.SlowStandby
	Delay    time.Duration // of what a standby asks
}

// drawLogs draws sizes that are small, so that each limit is reached.
func drawLogs(rnd *rand.Rand) simLogs {
	size := func(least int) int { return 1 << (least + rnd.IntN(13)) }
	return simLogs{
		Segment:  int64(rnd.IntN(2) * size(6)),
		Wait:     []time.Duration{time.Second, 30 * time.Second, 2 * time.Minute}[rnd.IntN(3)],
		Standbys: rnd.IntN(2) == 0,
		Copies:   server.CopyLimits{Ahead: int64(size(6)), Lag: int64(size(6)), Keep: int64(size(8)), Batch: size(6)},
		Slow:     server.SlowStandby(rnd.IntN(len(server.SlowStandbyNames()))),
		Delay:    []time.Duration{0, 0, 50 * time.Millisecond, 500 * time.Millisecond}[rnd.IntN(4)],
	}
}

func (l *simLogs) set(s *server.Server) {
	s.LogSegment, s.LogPatience = l.Segment, l.Wait
	if l.Standbys {
		s.Replicas, s.Copies, s.SlowStandby = 2, l.Copies, l.Slow
	}
}

// simPlace is the role of a server, and what the store of roles says of it: two processes have it in turns, or one after the other, and are
// reached at one address. The one that has not the role is a standby.
type simPlace struct {
	s     *sim
	index int
	disks [2]*journaltest.Disk

	mu      sync.Mutex
	rnd     *rand.Rand
	log     *journaltest.Disk   // the disk on which the log of the role is
	holder  *simServing         // nil: no process has the role
	standby *simServing         // nil: it was killed, or takes over
	taking  bool                // it takes over
	away    []*journaltest.Disk // of processes that are to come back
	copies  []string            // claims that have everything
	epoch   uint64
	made    int
	over    bool
}

// newSimPlaces are the roles of all servers. Standbys are started with them.
func newSimPlaces(s *sim) (all []*simPlace) {
	for i := range s.servers {
		other := journaltest.NewDisk(s.drawn.seed + 1000 + uint64(i))
		other.Slow, other.Writing = s.logs[i].Slow, s.logs[i].Writing
		p := &simPlace{s: s, index: i, disks: [2]*journaltest.Disk{s.logs[i], other}, rnd: rand.New(rand.NewPCG(s.drawn.seed, uint64(100+i))),
			log: s.logs[i], away: s.logs[i : i+1 : i+1]}
		s.logs = append(s.logs, other)
		all = append(all, p)
		p.follow(other)
	}
	return all
}

// simRole is a role as a process has it that holds it or waits for it.
type simRole struct {
	*simPlace
	v *simServing
}

// Check implements server.Role.
func (r simRole) Check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holder != r.v {
		return fmt.Errorf("%s has no role: %w", r.v.claim, rpc.ErrStandby)
	}
	return nil
}

// Epoch implements server.Role.
func (r simRole) Epoch() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.v.epoch
}

// Copied implements server.Role.
func (r simRole) Copied(_ context.Context, claims []string) error {
	time.Sleep(r.draw(300 * time.Millisecond))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holder != r.v {
		return fmt.Errorf("%s has no role: %w", r.v.claim, rpc.ErrAborted)
	}
	if r.copies = slices.Clone(claims); len(claims) > 0 {
		r.s.mu.Lock()
		r.s.count.whole++
		r.s.mu.Unlock()
	}
	return nil
}

// Resign implements server.Role. Only the disks of killed processes fail.
func (r simRole) Resign(error) {}

func (p *simPlace) draw(most time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Duration(p.rnd.Int64N(int64(most)))
}

// process is a new process on a disk.
func (p *simPlace) process(disk *journaltest.Disk) *simServing {
	v := p.s.newServing(p.index, disk)
	p.mu.Lock()
	p.made++
	v.claim = fmt.Sprintf("claim %d of server %d", p.made, p.index)
	p.mu.Unlock()
	v.Server.Role = simRole{p, v}
	return v
}

// back restarts the killed process: with the role if no standby has taken it over, else as a standby.
func (p *simPlace) back() {
	p.mu.Lock()
	disk := p.away[0]
	p.away = p.away[1:]
	for {
		for p.taking {
			p.mu.Unlock()
			time.Sleep(50 * time.Millisecond)
			p.mu.Lock()
		}
		if p.holder != nil || p.log != disk {
			p.mu.Unlock()
			p.follow(disk)
			return
		}
		p.mu.Unlock()
		v := p.process(disk)
		p.hold(v)
		if p.s.serve(p.index, v, true) {
			return
		}
		p.mu.Lock()
		p.holder = nil
		p.mu.Unlock()
		time.Sleep(time.Second)
		p.mu.Lock()
	}
}

// hold gives a process the role.
func (p *simPlace) hold(v *simServing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.epoch++
	p.holder, p.log, p.copies, v.epoch = v, v.logs, nil, p.epoch
}

// follow starts a standby on a disk.
func (p *simPlace) follow(disk *journaltest.Disk) {
	v := p.process(disk)
	var ctx context.Context
	ctx, v.stop = context.WithCancel(context.Background())
	v.way, v.copying = &simWay{simNet: p.s.net, name: v.claim, slow: p.s.drawn.logs.Delay}, v.NewCopying(v.claim)
	p.s.net.mu.Lock()
	p.s.net.servers[v.claim] = &simServer{name: v.claim}
	p.s.net.mu.Unlock()
	var err error
	if v.reads, err = p.s.net.Listen(ctx, v.claim, v.Server); err != nil {
		p.s.t.Error(err)
	}
	p.mu.Lock()
	p.standby = v
	p.mu.Unlock()
	v.copies.Go(func() {
		for ctx.Err() == nil {
			conn, err := v.way.Dial(ctx, v.known.name)
			if err == nil {
				err = v.copying.From(ctx, conn)
				_ = conn.Close()
			}
			if errors.Is(err, rpc.ErrMalformed) || errors.Is(err, rpc.ErrInternal) {
				p.s.t.Errorf("%s copies with %v", v.claim, err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
}

// lost is that a process which had the role has ended. Its standby takes over if it has everything.
func (p *simPlace) lost(v *simServing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = append(p.away, v.logs)
	if p.holder = nil; !p.over {
		p.s.ending.Go(p.takeOver)
	}
}

// takeOver has the standby take the role over, unless the process before comes back sooner.
func (p *simPlace) takeOver() {
	time.Sleep(p.draw(3 * time.Second))
	p.mu.Lock()
	v := p.standby
	if p.holder != nil || v == nil || !slices.Contains(p.copies, v.claim) {
		p.mu.Unlock()
		return
	}
	p.taking, p.standby = true, nil
	p.mu.Unlock()
	v.stop()
	v.copies.Wait()
	err := v.copying.Take(context.Background())
	if err == nil {
		p.hold(v)
		p.s.mu.Lock()
		p.s.count.takeovers++
		p.s.mu.Unlock()
		p.s.serve(p.index, v, false)
	} else {
		if !errors.Is(err, blob.ErrUnavailable) {
			p.s.t.Errorf("%s takes over with %v", v.claim, err)
		}
		p.drop(v, false)
	}
	p.mu.Lock()
	p.taking = false
	p.mu.Unlock()
	if err != nil {
		p.follow(v.logs)
	}
}

// drop ends a process that copies.
func (p *simPlace) drop(v *simServing, powerless bool) {
	v.stop()
	v.copies.Wait()
	v.way.kill()
	v.unreadable()
	p.s.store.mu.Lock()
	v.disk.dead = true
	p.s.store.mu.Unlock()
	v.logs.Kill()
	_ = v.copying.Drop() // its disk is gone
	if powerless {
		v.logs.Power()
	}
}

// killStandby kills the standby, if there is one, which comes back after a time.
func (p *simPlace) killStandby(away time.Duration) {
	p.mu.Lock()
	v := p.standby
	p.standby = nil
	powerless := p.rnd.IntN(2) == 0
	p.mu.Unlock()
	if v == nil {
		return
	}
	p.drop(v, powerless)
	p.s.mu.Lock()
	p.s.count.kills++
	p.s.mu.Unlock()
	p.s.ending.Go(func() {
		time.Sleep(away)
		p.follow(v.logs)
	})
}

// freezeStandby has the standby, if there is one, hear nothing for a time.
func (p *simPlace) freezeStandby(d time.Duration) {
	p.mu.Lock()
	v := p.standby
	p.mu.Unlock()
	if v != nil {
		p.s.net.block(v.claim, "", d)
		p.s.net.block("", v.claim, d)
	}
}

// readable is where readers may read a copy.
func (p *simPlace) readable() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.standby == nil {
		return nil
	}
	return []string{p.standby.claim}
}

// unreadable ends the connections of the readers that read from a process under its claim.
func (v *simServing) unreadable() {
	if v.reads != nil {
		_ = v.reads.Close()
	}
}

// end ends the standby; there are no more takeovers.
func (p *simPlace) end() {
	p.mu.Lock()
	v := p.standby
	p.standby, p.over = nil, true
	p.mu.Unlock()
	if v != nil {
		p.drop(v, false)
	}
}
