package server_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/blob"
	"thole.example/budget"
	"thole.example/internal/seeds"
	"thole.example/journal/journaltest"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/tcp"
	"thole.example/server"
	"thole.example/ssp"
)

// succession is servers, each with a standby that copies its logs, some of which are killed or lose their roles.
type succession struct {
	t      *testing.T
	sc     *scenario
	farm   *farm
	rng    *rand.Rand
	places []*place
	// What happened: servers that were killed or replaced, standbys that took over, servers that came back from their own log.
	kills, takeovers, returns int
}

// place is a role, and what the store of roles says of it.
type place struct {
	of    *succession
	index int

	mu     sync.Mutex
	rng    *rand.Rand
	holder *holder // nil: nobody
	epoch  uint64
	copies []string // claims that have everything
	made   int      // processes so far
	alive  []*holder
}

// holder is a process that has a role or waits for it.
type holder struct {
	at      *place
	claim   string
	addr    string
	disk    *journaltest.Disk
	server  *server.Server
	listens rpc.Listener
	copying *server.Copying
	stop    context.CancelFunc
	stopped chan struct{} // it copies no more
}

// Check implements server.Role.
func (h *holder) Check() error {
	h.at.mu.Lock()
	defer h.at.mu.Unlock()
	if h.at.holder != h {
		return fmt.Errorf("%s has no role: %w", h.claim, rpc.ErrStandby)
	}
	return nil
}

// Epoch implements server.Role.
func (h *holder) Epoch() uint64 {
	h.at.mu.Lock()
	defer h.at.mu.Unlock()
	if h.at.holder != h {
		return 0
	}
	return h.at.epoch
}

// Copied implements server.Role. Now and then nobody hears what came of it.
func (h *holder) Copied(_ context.Context, claims []string) error {
	p := h.at
	p.mu.Lock()
	wait, chance := time.Duration(p.rng.IntN(300))*time.Millisecond, p.rng.IntN(8)
	p.mu.Unlock()
	time.Sleep(wait)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.holder != h:
		return fmt.Errorf("%s has no role: %w", h.claim, rpc.ErrAborted)
	case chance == 0:
		return errors.New("the store does not answer")
	}
	p.copies = slices.Clone(claims)
	if chance == 1 {
		return errors.New("the store's answer is lost")
	}
	return nil
}

// Resign implements server.Role. Only the disks of killed processes fail.
func (h *holder) Resign(error) {}

// newSuccession starts servers with a standby each.
func newSuccession(t *testing.T, sc *scenario, f *farm) *succession {
	s := &succession{t: t, sc: sc, farm: f, rng: rand.New(rand.NewPCG(sc.seed, 815))}
	for i := range sc.servers {
		s.places = append(s.places, &place{of: s, index: i, rng: rand.New(rand.NewPCG(sc.seed, uint64(i)))})
		f.addrs, f.servers, f.listeners = append(f.addrs, ""), append(f.servers, nil), append(f.listeners, nil)
	}
	for i, p := range s.places {
		p.hold(p.start(s.newDisk(sc.seed*2 + uint64(i))))
		p.start(s.newDisk(sc.seed*2 + 1000 + uint64(i))).follow()
	}
	f.find = s.find
	return s
}

// newDisk is a disk, some of which are slow.
func (s *succession) newDisk(seed uint64) *journaltest.Disk {
	d := journaltest.NewDisk(seed)
	d.Slow = time.Duration(s.rng.IntN(100)) * time.Millisecond
	return d
}

// find is where a server is.
func (s *succession) find(_ context.Context, i int) (string, uint64, error) {
	p := s.places[i]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holder == nil {
		return "", 0, fmt.Errorf("no process runs server %d: %w", i, rpc.ErrUnreachable)
	}
	return p.holder.addr, p.epoch, nil
}

// start starts a process on a disk, on which the one before is dead.
func (p *place) start(disk *journaltest.Disk) *holder {
	s := p.of
	p.mu.Lock()
	p.made++
	h := &holder{at: p, addr: fmt.Sprintf("s%d.%d", p.index, p.made), disk: disk, stopped: make(chan struct{})}
	p.alive = append(p.alive, h)
	base := int64(1 << (8 + p.rng.IntN(11)))
	limits := server.CopyLimits{Ahead: 1 << (6 + p.rng.IntN(13)), Lag: 1 << (6 + p.rng.IntN(13)), Keep: 1 << (8 + p.rng.IntN(13)),
		Batch: 1 << (6 + p.rng.IntN(13))}
	slow := server.SlowStandby(p.rng.IntN(len(server.SlowStandbyNames())))
	p.mu.Unlock()
	h.claim = "claim of " + h.addr
	h.server = &server.Server{Funcs: table(s.t, more), Codecs: codecs, Bucket: s.farm.bucket, Ledger: budget.New(64 << 20), Modules: s.sc.modules,
		Logs: disk.Start(), LogBase: base, Replicas: 2, Role: h,
		Copies: limits, SlowStandby: slow}
	go h.server.Relieve(s.farm.ctx)
	close(h.stopped)
	return h
}

// hold gives a process the role, and has it listen.
func (p *place) hold(h *holder) {
	p.mu.Lock()
	p.holder, p.copies = h, nil
	p.epoch++
	p.mu.Unlock()
	l, err := p.of.farm.net.Listen(p.of.farm.ctx, h.addr, h.server)
	if err != nil {
		p.of.t.Error(err)
		return
	}
	h.listens = l
	f := p.of.farm
	f.mu.Lock()
	defer f.mu.Unlock()
	f.addrs[p.index], f.servers[p.index], f.listeners[p.index] = h.addr, h.server, l
}

// follow has a standby copy the logs of whoever has the role.
func (h *holder) follow() {
	ctx, stop := context.WithCancel(h.at.of.farm.ctx)
	h.copying, h.stop, h.stopped = h.server.NewCopying(h.claim), stop, make(chan struct{})
	go func() {
		defer close(h.stopped)
		for ctx.Err() == nil {
			addr, _, err := h.at.of.find(ctx, h.at.index)
			if err == nil {
				var conn rpc.Conn
				if conn, err = h.at.of.farm.ways.Dial(ctx, addr); err == nil {
					err = h.copying.From(ctx, conn)
					_ = conn.Close()
				}
			}
			if errors.Is(err, rpc.ErrMalformed) || errors.Is(err, rpc.ErrInternal) {
				h.at.of.t.Errorf("%s copies with %v", h.claim, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
}

// die ends a process: what it writes from now on is nowhere.
func (p *place) die(h *holder, power bool) {
	if h.stop != nil {
		h.stop()
		<-h.stopped
	}
	if h.listens != nil {
		_ = h.listens.Close()
	}
	h.disk.Start()
	if h.copying != nil {
		_ = h.copying.Drop() // its disk is gone
	}
	if power {
		h.disk.Power()
	}
	p.mu.Lock()
	p.alive = slices.DeleteFunc(p.alive, func(other *holder) bool { return other == h })
	p.mu.Unlock()
}

// fail kills the server that has a role, or has it lose that; and somebody who has everything takes over.
func (p *place) fail() {
	s := p.of
	p.mu.Lock()
	old := p.holder
	p.mu.Unlock()
	killed := s.rng.IntN(3) > 0
	power := s.rng.IntN(2) == 0
	if killed {
		p.die(old, power)
	}
	time.Sleep(time.Duration(s.rng.IntN(3000)) * time.Millisecond)
	p.mu.Lock()
	i := slices.IndexFunc(p.alive, func(h *holder) bool { return slices.Contains(p.copies, h.claim) })
	if i < 0 && !killed { // nobody has everything but the server itself
		p.mu.Unlock()
		return
	}
	s.kills++
	p.holder = nil
	var next *holder
	if i >= 0 {
		next = p.alive[i]
	}
	p.mu.Unlock()
	if next != nil {
		next.stop()
		<-next.stopped
		if err := next.copying.Take(s.farm.ctx); err != nil {
			s.t.Errorf("%s takes over with %v", next.claim, err)
		}
		next.copying, next.stop = nil, nil
		s.takeovers++
		p.hold(next)
		if !killed { // it wakes up, and ends
			time.Sleep(time.Duration(s.rng.IntN(2000)) * time.Millisecond)
			p.die(old, power)
		}
		p.start(old.disk).follow()
		return
	}
	again := p.start(old.disk)
	if err := again.server.Recover(s.farm.ctx); err != nil {
		s.t.Error(err)
	}
	s.returns++
	p.hold(again)
}

// run has servers fail, and standbys, until the tasks are over.
func (s *succession) run(over chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(50+s.rng.IntN(4000)) * time.Millisecond):
		}
		p := s.places[s.rng.IntN(len(s.places))]
		if s.rng.IntN(4) > 0 {
			p.fail()
			continue
		}
		p.mu.Lock()
		i := slices.IndexFunc(p.alive, func(h *holder) bool { return h != p.holder })
		var standby *holder
		if i >= 0 {
			standby = p.alive[i]
		}
		p.mu.Unlock()
		if standby != nil {
			p.die(standby, s.rng.IntN(2) == 0)
			time.Sleep(time.Duration(s.rng.IntN(1000)) * time.Millisecond)
			p.start(standby.disk).follow()
		}
	}
}

func (s *succession) killed() int { return s.kills }

// end ends all processes.
func (s *succession) end() {
	for _, p := range s.places {
		for _, h := range slices.Clone(p.alive) {
			p.die(h, false)
		}
	}
}

// TestStandbys kills servers whose logs standbys copy, while jobs run through faults: whoever has everything takes over, and every job ends
// as if nothing had happened.
func TestStandbys(t *testing.T) {
	set := seeds.Of(t, "FAULT", 500, 60).Part(8)
	takeovers, returns := 0, 0
	for seed := range set.All() {
		sc := newScenario(seed)
		sc.outage, sc.killed = noOutage, true
		set.Try(t, seed, sc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFarm(t, 0, sc)
				s := newSuccession(t, sc, f)
				over, done := make(chan struct{}), make(chan struct{})
				go func() { defer close(done); s.run(over) }()
				out := sc.run(f)
				close(over)
				<-done
				sc.judge(t, out, map[string]int{})
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				if out[0].err == nil {
					sc.checkSaved(t, f, &out[0])
				}
				s.end()
				f.faults.Wait() // nobody dials any more
				f.close()
				if sc.bound == ssp.BSP && out[0].err == nil {
					sc.compare(t, out)
				}
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				takeovers, returns = takeovers+s.takeovers, returns+s.returns
			})
		})
	}
	t.Logf("%d standbys took over, %d servers came back from their own log", takeovers, returns)
	if (takeovers == 0 || returns == 0) && set.Count > 1 {
		t.Error("no standby took over, or no server came back from its log")
	}
}

// TestCopyLarge: what comes over TCP lies in memory that is used again, and is in the copy as it was sent; whoever takes over has it.
func TestCopyLarge(t *testing.T) {
	standby := func(role server.Role) (*server.Server, *server.LogDir) {
		logs, err := server.OpenLogDir(t.TempDir(), "test")
		if err != nil {
			t.Fatal(err)
		}
		return &server.Server{Funcs: table(t), Codecs: codecs, Bucket: &blob.Mem{}, Logs: logs, Role: role, Replicas: 2, LogBase: 4 << 20}, logs
	}
	role := make(named, 1)
	first, old := standby(role)
	net := tcp.Network{Log: slog.New(slog.DiscardHandler)}
	l, err := net.Listen(t.Context(), "127.0.0.1:0", first)
	if err != nil {
		t.Fatal(err)
	}
	second, logs := standby(role)
	conn, err := net.Dial(t.Context(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	copying, copied := second.NewCopying("standby"), make(chan error, 1)
	go func() { copied <- copying.From(t.Context(), conn) }()
	<-role
	at := l.Addr()
	p, err := ps.Dial(t.Context(), ps.Options{Network: net, Servers: []string{at}, Job: "j", Tasks: 1, Bound: ssp.ASP, Retry: 2 * time.Second, InFlight: 8,
		Find: func(context.Context, int) (string, uint64, error) { return at, 0, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	m := matrix.Meta{Name: "w", Rows: 1, Cols: 1 << 16, DType: matrix.F64}
	if err := p.Create(t.Context(), "", m); err != nil {
		t.Fatal(err)
	}
	want := make([]float64, m.Cols)
	push := func(n int) {
		for step := range n {
			delta := matrix.NewDense(m.DType, m.Rect())
			cells := delta.Data.(*matrix.Dense[float64]).Val
			for i := range cells {
				cells[i] = float64(step*i%1000 + 1)
				want[i] += cells[i]
			}
			if err := p.Push("w", delta); err != nil {
				t.Fatal(err)
			}
			p.StartFlush(t.Context())
		}
	}
	push(60)
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := <-copied; !errors.Is(err, rpc.ErrLost) && !errors.Is(err, rpc.ErrClosed) {
		t.Fatalf("the copy ends with %v", err)
	}
	if err := copying.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen(t.Context(), "127.0.0.1:0", second)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	at = other.Addr()
	push(5)
	got, err := p.Pull(t.Context(), []matrix.Lookup{{Matrix: "w"}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got[0].Data.(*matrix.Dense[float64]).Val, want) {
		t.Error("the standby has other values than were pushed")
	}
	if err := p.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, of := range []*server.LogDir{logs, old} { // nobody comes back to the one before
		for names, err := of.List(); len(names) > 0; names, err = of.List() {
			if time.Sleep(10 * time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
	}
}
