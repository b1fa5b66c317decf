package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"thole.example/coord"
	"thole.example/coord/all"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
)

// coordination is the flags that say where it is kept who is which server.
type coordination struct {
	url, cluster string
}

// usualCluster is the name of a cluster to which nobody gave one.
const usualCluster = "thole"

func (o *coordination) flags(f *pflag.FlagSet, what string) {
	f.StringVar(&o.url, "coordinate", "", "URL of the store that says who is which server of a cluster: "+what+
		" (thole coordinate status --help says more)")
	f.StringVar(&o.cluster, "cluster", usualCluster, "with --coordinate: name of the cluster, as a store may have several")
}

// open is the store that the user names.
func (o *coordination) open() (coord.Store, error) {
	s, err := all.Open(o.url)
	if errors.Is(err, all.ErrURL) {
		err = usageError{fmt.Errorf("--coordinate %w", err)}
	}
	return s, err
}

// registry is the store that says where the servers of a job are, and what was committed of it.
type registry struct {
	coordination
	store   coord.Store
	servers int
	members []coord.Member // of this attempt
}

// registry opens the store in which the worker finds as many servers as --servers says; nil: the addresses are given.
func (o *coordination) registry(servers []string, job string) (*registry, error) {
	n := 0
	if len(servers) == 1 {
		n, _ = strconv.Atoi(servers[0])
	}
	switch text := strings.Join(servers, ","); {
	case o.url == "" && n > 0:
		return nil, usageError{fmt.Errorf("--servers %s without --coordinate, want the addresses that thole server prints", text)}
	case o.url == "":
		return nil, nil
	case n < 1 || n > coord.ServerLimit:
		return nil, usageError{fmt.Errorf("--servers %s with --coordinate, want how many there are, 1 to %d", text, coord.ServerLimit)}
	}
	if err := coord.CheckNames(o.cluster, job); err != nil {
		return nil, usageError{fmt.Errorf("--cluster or --job: %w", err)}
	}
	s, err := o.open()
	if err != nil {
		return nil, err
	}
	return &registry{coordination: *o, store: s, servers: n}, nil
}

// close forgets the store; a nil registry has none.
func (r *registry) close() {
	if r != nil {
		_ = r.store.Close() // nothing is written any more
	}
}

// storeError is that of a store that does not answer, as it may the next time.
type storeError struct {
	url string
	error
}

// Error implements error.
func (e *storeError) Error() string { return fmt.Sprintf("--coordinate %s: %v", e.url, e.error) }

// Unwrap gives the store's error.
func (e *storeError) Unwrap() error { return e.error }

// storeTime is how long a store may take to answer where a task waits for it, and storePause how long it is left alone then.
const (
	storeTime  = 10 * time.Second
	storePause = 500 * time.Millisecond
)

// locate finds the servers, which may be others than before. It waits until all roles are held and the store answers, as long as the user
// has processes wait for each other. w may be nil.
func (c *cluster) locate(ctx context.Context, p *plan, w *watcher) error {
	if c == nil || c.from == nil {
		return nil
	}
	r := c.from
	return r.patiently(ctx, p, w, func(ctx context.Context) (err error) {
		if r.members, err = coord.Find(ctx, r.store, r.cluster, r.servers); err != nil {
			return err
		}
		c.addrs, c.roles = nil, nil
		at := map[string]int{}
		for i, m := range r.members {
			if other, twice := at[m.Addr]; twice { // one of them is dead, and its lease may not have lapsed
				return fmt.Errorf("servers %d and %d of cluster %q have the same address, %s", other, i, r.cluster, m.Addr)
			}
			at[m.Addr] = i
			c.addrs, c.roles = append(c.addrs, m.Addr), append(c.roles, m.Epoch)
		}
		return nil
	})
}

// finder returns the new addresses of lost servers whose partitions another process has taken over.
type finder struct {
	r    *registry
	mu   sync.Mutex
	seen map[int]coord.Version // of the records of roles
}

// find sets how a client finds servers that were lost; they are always where they are if no store says otherwise.
func (c *cluster) find(o *ps.Options) {
	if c.from != nil {
		f := &finder{r: c.from, seen: map[int]coord.Version{}}
		o.Find, o.Moved = f.find, f.moved
	}
}

func (f *finder) find(ctx context.Context, server int) (string, uint64, error) {
	r := f.r
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	h, v, err := coord.Who(ctx, r.store, r.cluster, coord.Server(server))
	switch {
	case errors.Is(err, coord.ErrRecord):
		return "", 0, err
	case err != nil:
		return "", 0, fmt.Errorf("--coordinate %s: %w: %w", r.url, rpc.ErrUnreachable, err)
	case h == nil || !h.Holds(r.members[server].Epoch) || h.ID == "" && h.Log == "":
		return "", 0, fmt.Errorf("server %d of cluster %q was replaced, and what it held is lost: %w", server, r.cluster, rpc.ErrAborted)
	}
	f.mu.Lock()
	f.seen[server] = v
	f.mu.Unlock()
	if h.ID == "" {
		return "", 0, fmt.Errorf("no process runs server %d of cluster %q: %w", server, r.cluster, rpc.ErrUnreachable)
	}
	return h.Addr, h.Epoch, nil
}

// moved waits until the record of a server's role is another than find has seen.
func (f *finder) moved(ctx context.Context, server int) error {
	f.mu.Lock()
	seen := f.seen[server]
	f.mu.Unlock()
	return coord.Next(ctx, f.r.store, f.r.cluster, coord.Server(server), seen)
}

// retry is how long a task tries to reach a server again. One whose log goes on is waited for until its lease has lapsed, and somebody has
// replayed the log.
func (c *cluster) retry(p *plan) time.Duration {
	retry := p.retry
	if c.from == nil || p.given("retry") {
		return retry
	}
	for _, m := range c.from.members {
		if m.Log != "" {
			retry = max(retry, logRetry, 4*m.Lease)
		}
	}
	return retry
}

// firstAttempt is the number of the attempt with which this process comes to its job: the one that runs, or the one after a training that
// came to its end. w may be nil.
func (c *cluster) firstAttempt(ctx context.Context, p *plan, w *watcher) (first int, err error) {
	if c == nil || c.from == nil {
		return 1, nil
	}
	r := c.from
	err = r.patiently(ctx, p, w, func(ctx context.Context) error {
		last, err := coord.Last(ctx, r.store, r.cluster, p.name)
		if first = max(1, last.Attempt); last.Ended {
			first++
		}
		p.completed = last.Completed() && ssp.Agree(last.Settings, p.summary())
		return err
	})
	return first, err
}

// patiently does something in the store until it succeeds, or the user does not want to wait any longer.
func (r *registry) patiently(ctx context.Context, p *plan, w *watcher, do func(ctx context.Context) error) error {
	within, cancel := ctx, func() {}
	if p.wait > 0 {
		within, cancel = context.WithTimeout(ctx, p.wait)
	}
	defer cancel()
	var mu sync.Mutex
	why := ""
	defer w.waiting(func() string {
		mu.Lock()
		defer mu.Unlock()
		return fmt.Sprintf("%d servers of cluster %q in %s%s", r.servers, r.cluster, r.url, why)
	})()
	for {
		err := do(within)
		switch {
		case err == nil || errors.Is(err, coord.ErrRecord):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case within.Err() != nil:
			return awayError{fmt.Errorf("--coordinate %s: %w (--wait is how long to wait)", r.url, err)}
		}
		mu.Lock()
		why = ": " + err.Error()
		mu.Unlock()
		select {
		case <-within.Done():
		case <-time.After(storePause):
		}
	}
}

// watch is ctx until one of the servers is replaced, which is why it ends then. Roles are renewed all the time, so only the process of task
// 0 watches them; the others watch the job, whose next attempt that one begins then.
func (c *cluster) watch(ctx context.Context, p *plan) (within context.Context, stop func()) {
	if c == nil || c.from == nil || p.elsewhere && p.attempt == 0 {
		return ctx, func() {}
	}
	within, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		r := c.from
		if p.elsewhere {
			if later, err := coord.Superseded(within, r.store, r.cluster, p.name, p.attempt); err == nil {
				cancel(&ps.LaterAttempt{Job: p.name, Attempt: later})
			}
		} else if n, err := coord.Changed(within, r.store, r.cluster, r.members); err == nil {
			cancel(fmt.Errorf("server %d of cluster %q, at %s, was replaced or has ended: %w", n, r.cluster, r.members[n].Addr, rpc.ErrAborted))
		}
	}()
	return within, func() { cancel(nil); <-over }
}

// unfit is the error of a task that has joined in an attempt which ran before on other servers, or by other processes: it has to come
// with a higher number.
type unfit struct{ attempt int }

// Error implements error.
func (u *unfit) Error() string { return fmt.Sprintf("the job begins with attempt %d", u.attempt) }

// begin says in the store that the attempt runs, once the first task of the job has joined in it, and gives what was there before. A task
// that goes on in the place of another continues the attempt of that one.
func (c *cluster) begin(ctx context.Context, p *plan, client *ps.Client) (before coord.Job, err error) {
	r := c.from
	if r == nil || p.attempt == 0 {
		return before, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	before, err = coord.Last(ctx, r.store, r.cluster, p.name)
	if err == nil && (before.Attempt > p.attempt || before.Attempt == p.attempt && !client.Replaces()) {
		return before, &unfit{before.Attempt + 1}
	}
	if err == nil {
		_, err = coord.Begin(ctx, r.store, r.cluster, p.name, p.attempt, r.members)
	}
	return before, r.fault(err)
}

// fault is an error of the store as attempts take it: whoever was replaced comes back with another one.
func (r *registry) fault(err error) error {
	switch {
	case err == nil || errors.Is(err, coord.ErrRecord):
		return err
	case errors.Is(err, coord.ErrFenced):
		return fmt.Errorf("%w: %w", err, rpc.ErrAborted)
	}
	return &storeError{r.url, err}
}

// commit makes a checkpoint the one to go on from.
func (r *registry) commit(ctx context.Context, job string, c coord.Checkpoint) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return r.fault(coord.Commit(ctx, r.store, r.cluster, job, c))
}

// complete says in the store that the job has come to its end with the attempt. If it cannot, the next training of the name begins with
// one attempt more.
func (c *cluster) complete(ctx context.Context, p *plan) {
	r := c.from
	if r == nil || p.attempt == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	_ = coord.Complete(ctx, r.store, r.cluster, p.name, p.attempt, p.summary()) // no process waits for it
}
