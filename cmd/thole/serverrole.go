package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"thole.example/coord"
	"thole.example/rpc"
)

// claiming is the flags that say which server of a cluster a process is.
type claiming struct {
	coordination
	role      string // as the user gave it
	number    int    // noRole: none
	advertise string
	lease     time.Duration
}

func (c *claiming) flags(f *pflag.FlagSet) {
	c.coordination.flags(f, "claim the role --role there")
	f.StringVar(&c.role, "role", "", "which of the servers this is, from 0 on, or a name that ends in that, like ps-2; workers check it. "+
		"With --coordinate it waits while another has the role (default: then the pod's number in a StatefulSet, or "+rankVariable+")")
	f.StringVar(&c.advertise, "advertise", "", "address where workers reach this server, host or host:port (default: where it listens, or an "+
		"address of this machine if that is all of them)")
	f.DurationVar(&c.lease, "lease", coord.LeaseDefault, "with --coordinate: how long a server that is silent keeps its role; the role is "+
		"renewed each third of it")
}

// noRole is a role that nobody would ask for.
const noRole = -1

// find finds out which server this is, and says it if it was not told.
func (c *claiming) find(s surroundings, say func(text string)) (err error) {
	c.number = noRole
	switch {
	case c.role != "":
		c.number, err = roleNumber(c.role)
		return err
	case c.url == "":
		return nil
	}
	me, err := s.role()
	if err != nil || me.from == "" {
		return err
	}
	if me.n >= coord.ServerLimit {
		return usageError{fmt.Errorf("server %d, by %s: want 0 to %d, or --role, which says which server this is", me.n, me.from,
			coord.ServerLimit-1)}
	}
	c.number = me.n
	say(fmt.Sprintf("%s, by %s", coord.Server(me.n), me.from))
	return nil
}

// check checks what the user said, before anything is done.
func (c *claiming) check(listen string) error {
	switch {
	case c.url == "" && (c.cluster != usualCluster || c.lease != coord.LeaseDefault):
		return usageError{errors.New("--cluster or --lease without --coordinate, want the URL of a store")}
	case c.url == "":
		return nil
	case c.number == noRole:
		return usageError{fmt.Errorf("--coordinate without --role, want which server this is: 0 to %d", coord.ServerLimit-1)}
	case c.lease < coord.LeaseMin || c.lease > coord.LeaseMax:
		return usageError{fmt.Errorf("--lease %v, want %v to %v", c.lease, coord.LeaseMin, coord.LeaseMax)}
	}
	if err := coord.CheckNames(c.cluster); err != nil {
		return usageError{fmt.Errorf("--cluster: %w", err)}
	}
	if host, _, err := net.SplitHostPort(listen); err == nil && c.advertise == "" {
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			return usageError{fmt.Errorf("--listen %s is every address of this machine, want --advertise HOST: which one workers reach", listen)}
		}
	}
	return nil
}

// reached is where others reach a server that listens at an address, as far as this process can tell: where it listens, unless the user
// says more. One that listens at all addresses of its machine is reached at one of them.
func (c *claiming) reached(at string, addresses func() ([]net.Addr, error)) string {
	addr, _ := c.addr(at)
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err != nil || host != "" && (ip == nil || !ip.IsUnspecified()) {
		return addr
	}
	all, _ := addresses() // without any it is the machine itself that reaches it
	best := net.IPv4(127, 0, 0, 1)
	for _, one := range all {
		of, ok := one.(*net.IPNet)
		if ok && of.IP.IsGlobalUnicast() && (best.IsLoopback() || best.To4() == nil && of.IP.To4() != nil) {
			best = of.IP
		}
	}
	return net.JoinHostPort(best.String(), port)
}

// addr is where workers reach a server that listens at an address. It is sole if nobody else can be there, on whatever machine: names and
// addresses that somebody chose may lead to others, and those of this machine alone are on others, too.
func (c *claiming) addr(at string) (addr string, sole bool) {
	host, port, err := net.SplitHostPort(at)
	switch _, _, bare := net.SplitHostPort(c.advertise); {
	case c.advertise == "":
		ip := net.ParseIP(host)
		return at, err == nil && ip != nil && !ip.IsLoopback()
	case err != nil || bare == nil || strings.HasPrefix(c.advertise, "unix:"):
		return c.advertise, false
	}
	return net.JoinHostPort(strings.Trim(c.advertise, "[]"), port), false
}

// roleHeld is what a server is in its cluster; it is not, until held is set.
type roleHeld struct {
	*claiming
	store  coord.Store
	held   atomic.Pointer[coord.Held]
	reason atomic.Pointer[string] // why the role is not held, as the store or the claim said last

	resigned atomic.Pointer[error] // why it was given up before the end; nil: it was not
	resigns  chan struct{}         // closed then
}

// notReady says why the server does no work: it does not hold its role. A server without a role (nil) has none to wait for.
func (r *roleHeld) notReady() error {
	if r == nil {
		return nil
	}
	switch h := r.held.Load(); {
	case r.resigned.Load() != nil:
		return fmt.Errorf("no role: %s was given up: %w", coord.Server(r.number), *r.resigned.Load())
	case h != nil && h.Valid(time.Now()):
		return nil
	case h != nil:
		return fmt.Errorf("no role: %s could not be renewed in time%s", coord.Server(r.number), r.because())
	}
	return fmt.Errorf("no role: waits for %s of cluster %q%s", coord.Server(r.number), r.cluster, r.because())
}

// because is what was said last, as the end of a sentence.
func (r *roleHeld) because() string {
	if text := r.reason.Load(); text != nil {
		return ": " + *text
	}
	return ""
}

// remindEvery is how often a server logs that it has no role.
const remindEvery = time.Minute

// remind logs why the role is not held, again and again until it is or ctx ends.
func (r *roleHeld) remind(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(remindEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := r.notReady(); err != nil {
			log.Warn(err.Error(), "cluster", r.cluster)
		}
	}
}

// claim is what the user wants the server to be; nil: it has no role to claim.
func (c *claiming) claim(listen string) (*roleHeld, error) {
	if err := c.check(listen); err != nil || c.url == "" {
		return nil, err
	}
	s, err := c.open()
	return &roleHeld{claiming: c, store: s, resigns: make(chan struct{})}, err
}

// Check implements server.Role.
func (r *roleHeld) Check() error {
	switch h := r.held.Load(); {
	case h == nil:
		return fmt.Errorf("this is not %s of cluster %q, but waits for that role: %w", coord.Server(r.number), r.cluster, rpc.ErrStandby)
	case !h.Valid(time.Now()) || r.resigned.Load() != nil:
		return fmt.Errorf("this is not %s of cluster %q any more, or the role could not be renewed in time: %w", coord.Server(r.number),
			r.cluster, rpc.ErrStandby)
	}
	return nil
}

// Epoch implements server.Role.
func (r *roleHeld) Epoch() uint64 {
	if h := r.held.Load(); h != nil {
		return h.Epoch()
	}
	return 0
}

// close forgets the store.
func (r *roleHeld) close() {
	if r != nil {
		_ = r.store.Close() // nothing is written any more
	}
}

// Copied implements server.Role.
func (r *roleHeld) Copied(ctx context.Context, claims []string) error {
	h := r.held.Load()
	if h == nil {
		return r.Check()
	}
	err := h.SetCopies(ctx, claims)
	if errors.Is(err, coord.ErrFenced) {
		err = fmt.Errorf("%w: %w", rpc.ErrAborted, err)
	}
	return err
}

// Resign implements server.Role: the server ends, which gives the role back.
func (r *roleHeld) Resign(why error) {
	if r.resigned.CompareAndSwap(nil, &why) {
		close(r.resigns)
	}
}

// stay waits until the server is to end: until ctx ends, or the role is lost for good or given up. A server without one (nil) has none to
// lose. line is the log that continues under the role, nil if there is none.
func (r *roleHeld) stay(ctx context.Context, out io.Writer, at string, line *line, log *slog.Logger) error {
	if r == nil {
		<-ctx.Done()
		return nil
	}
	addr, sole := r.addr(at)
	claim, end := context.WithCancel(context.WithoutCancel(ctx)) // a role that is held is given back in the end, and does not lapse
	defer end()
	waits := context.AfterFunc(ctx, end)
	say := func(text string) {
		r.reason.Store(&text)
		log.Warn(text, "cluster", r.cluster)
	}
	o := coord.Options{Lease: r.lease, Sole: sole, Say: say}
	go r.remind(claim, log)
	line.claims(&o)
	line.reads(addr)
	copied := line.copy(claim)
	h, err := coord.Claim(claim, r.store, r.cluster, coord.Server(r.number), addr, o)
	copied()
	if !waits() {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.giveBack(ctx, h, log)
	if err := line.take(ctx, h); err != nil {
		switch {
		case ctx.Err() != nil: // it is to end, and has answered nothing yet
			return nil
		case errors.Is(err, coord.ErrFenced):
			return exitStatus{err, exitTemporary}
		}
		return err
	}
	r.held.Store(h)
	r.reason.Store(nil)
	fmt.Fprintf(out, "%s of cluster %q at %s, epoch %d\n", coord.Server(r.number), r.cluster, addr, h.Epoch())
	select {
	case <-ctx.Done():
		return nil
	case <-r.resigns:
		return exitStatus{fmt.Errorf("%s of cluster %q was given up, and a standby continues its jobs: %w (make room and start this server "+
			"again: it becomes a standby)", coord.Server(r.number), r.cluster, *r.resigned.Load()), exitTemporary}
	case <-h.Lost():
		return exitStatus{fmt.Errorf("the role was lost: %w", h.Err()), exitTemporary}
	}
}

// giveBack gives a role back that the server has no more use for: another has it at once.
func (r *roleHeld) giveBack(ctx context.Context, h *coord.Held, log *slog.Logger) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	if err := h.Release(within); err != nil {
		log.Warn("the role could not be given back, and lapses", "err", err)
	}
}

// releaseTime is how long a server that ends waits for the store, and for what it saves.
const releaseTime = 2 * time.Second
