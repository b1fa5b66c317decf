package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/internal/number"
	"thole.example/ps"
	"thole.example/rpc"
)

// reshard is a job that is moved to other servers while it runs.
type reshard struct {
	trust   trust
	servers []string
	job     string
	json    bool
	wait    time.Duration

	withdrawn bool // nothing comes of the order
}

func reshardCommand(e *env) *cobra.Command {
	var f reshard
	c := &cobra.Command{
		Use:   "reshard NOW",
		Short: "Move a running job to other servers: more, fewer or others",
		Long: `Moves a job that writes checkpoints (--checkpoint) to the servers of --servers, which run already and have the same --store.
NOW is the address of a server on which it is. No process of it is started again, nothing that was learned is lost, and under BSP it
ends with the bits of one that was not moved. Its values are written while it goes on; then it stops for as long as it takes to write
what has changed since, and to read all of it on the other servers. Those that it has left can be stopped.

Ctrl-C withdraws the order, unless the job has stopped for it already. It is void, too, when a server or worker is lost before.
Workers that are started later may be told the servers as they were, as long as one of those runs. Boosted trees cannot be moved.`,
		Example: `  thole reshard host1:7001 --servers host1:7001,host2:7001,host3:7001 --job ctr
  thole reshard host3:7001 --servers host1:7001 --job ctr --json`,
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), e, args[0]) },
	}
	fl := c.Flags()
	fl.StringSliceVar(&f.servers, "servers", nil, "servers to move to, as workers reach them, in their order: "+addressesHelp)
	fl.StringVar(&f.job, "job", "job", "name of the job")
	fl.BoolVar(&f.json, "json", false, "print what came of it as JSON")
	fl.DurationVar(&f.wait, "wait", defaultWait, "how long to wait until the job goes on, once it has moved")
	f.trust.flags(fl)
	return c
}

// resharded is what came of it.
type resharded struct {
	Job        string     `json:"job"`
	Attempt    int        `json:"attempt"` // that goes on
	Checkpoint string     `json:"checkpoint"`
	Seconds    float64    `json:"seconds"` // from the order until it goes on
	Partitions int        `json:"partitions"`
	Ended      bool       `json:"ended,omitempty"` // it has gone on there, and is over
	Servers    []newOwner `json:"servers"`
}

// newOwner is a server that the job is on now.
type newOwner struct {
	Server     string `json:"server"`
	Partitions int    `json:"partitions"`
}

// lookEvery is how often somebody who has ordered looks how far it is.
const lookEvery = 200 * time.Millisecond

func (f *reshard) run(ctx context.Context, e *env, now string) error {
	switch {
	case len(f.servers) == 0:
		return usageError{errors.New("no --servers, want the addresses of those that the job is to move to")}
	case f.wait < 0:
		return usageError{fmt.Errorf("--wait %v, want 0 or more", f.wait)}
	}
	net, err := f.trust.network()
	if err == nil {
		f.servers, err = e.serverAddresses(ctx, "--servers", f.servers, f.wait)
	}
	if err != nil {
		return err
	}
	began := e.now()
	moved, err := f.order(ctx, e, net, now)
	if err != nil {
		return err
	}
	out := resharded{Job: f.job, Attempt: moved.Attempt, Checkpoint: moved.Checkpoint}
	if out.Servers, out.Ended, err = f.goesOn(ctx, net, moved.Checkpoint); err != nil {
		return fmt.Errorf("job %q has moved to %s with the checkpoint %s, and has not been seen there: %w", f.job,
			strings.Join(f.servers, ", "), moved.Checkpoint, err)
	}
	out.Seconds = e.now().Sub(began).Seconds()
	for _, s := range out.Servers {
		out.Partitions += s.Partitions
	}
	if f.json {
		return json.NewEncoder(e.out).Encode(out)
	}
	fmt.Fprintf(e.out, "job %s goes on on %s, in attempt %d, from %s\n", escaped(f.job), number.Of(len(out.Servers), "server"),
		out.Attempt, escaped(out.Checkpoint))
	if out.Ended {
		fmt.Fprintln(e.out, "where it is over already")
		return nil
	}
	for _, s := range out.Servers {
		fmt.Fprintf(e.out, "  %s  %s\n", escaped(s.Server), number.Of(s.Partitions, "partition"))
	}
	return nil
}

// ordered is what came of an order.
type ordered struct {
	moved *rpc.Moved
	err   error
}

// order gives the order, says how far it is, and answers when the job has moved.
func (f *reshard) order(ctx context.Context, e *env, net rpc.Network, now string) (*rpc.Moved, error) {
	done := make(chan ordered, 1)
	go func() {
		moved, err := ps.Move(ctx, net, now, rpc.Move{Job: f.job, Servers: f.servers})
		done <- ordered{moved, err}
	}()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	said := ""
	for {
		select {
		case o := <-done:
			if ctx.Err() != nil {
				return nil, f.gaveUp(ctx, e, net, now)
			}
			return o.moved, o.err
		case <-tick.C:
			look, err := ps.Move(ctx, net, now, rpc.Move{Job: f.job})
			if err != nil || look.Moving == nil {
				continue // the order itself is answered
			}
			if text := look.Moving.String(); text != said {
				said = text
				fmt.Fprintf(e.err, "job %s %s\n", escaped(f.job), escaped(text))
			}
		}
	}
}

// gaveUp says what becomes of an order that is not waited for any more.
func (f *reshard) gaveUp(ctx context.Context, e *env, net rpc.Network, now string) error {
	why := context.Cause(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	for {
		look, err := ps.Move(ctx, net, now, rpc.Move{Job: f.job})
		switch {
		case err != nil:
			fmt.Fprintf(e.err, "it is not known whether job %s moves: %v\n", escaped(f.job), err)
			return why
		case look.Moving == nil || !slices.Equal(look.Moving.To, f.servers):
			f.withdrawn = true
			fmt.Fprintf(e.err, "withdrawn: job %s stays where it is\n", escaped(f.job))
			return why
		case look.Moving.Committed:
			fmt.Fprintf(e.err, "too late to withdraw: job %s moves\n", escaped(f.job))
			return why
		}
		select { // the server has not heard it yet
		case <-ctx.Done():
		case <-time.After(lookEvery / 10):
		}
	}
}

// goesOn waits until the job has all of its matrices on the other servers, and its tasks go on; or have gone on from the checkpoint, and it
// is over.
func (f *reshard) goesOn(ctx context.Context, net rpc.Network, from string) (_ []newOwner, ended bool, err error) {
	if f.wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.wait, fmt.Errorf("waited for %v", f.wait))
		defer cancel()
	}
	for {
		c, err := ps.Follow(ctx, ps.Options{Network: net, Servers: f.servers, Job: f.job})
		if err == nil {
			owners := ownersIn(c, f.servers)
			c.Close()
			if owners != nil {
				return owners, false, nil
			}
		} else if errors.Is(err, rpc.ErrNotFound) && f.hasGoneOn(ctx, net, from) {
			return ownersOf(f.servers), true, nil
		}
		select {
		case <-ctx.Done():
			return nil, false, errors.Join(context.Cause(ctx), err)
		case <-time.After(lookEvery / 10):
		}
	}
}

// hasGoneOn reports whether there is a later checkpoint than that from which the job was to go on: each training ends with one.
func (f *reshard) hasGoneOn(ctx context.Context, net rpc.Network, from string) bool {
	all, err := ps.CheckpointsAt(ctx, net, f.servers[0], blob.Parent(from))
	return err == nil && slices.ContainsFunc(all, func(k rpc.Kept) bool {
		e, err := entryOf(k, "")
		return err == nil && e.Stepped() && k.Path > from
	})
}

func ownersOf(servers []string) []newOwner {
	owners := make([]newOwner, len(servers))
	for i, addr := range servers {
		owners[i].Server = addr
	}
	return owners
}

// ownersIn are the servers of a job with how much they have; nil: it does not go on yet.
func ownersIn(c *ps.Client, servers []string) []newOwner {
	owners, goes := ownersOf(servers), false
	for _, m := range c.Matrices() {
		goes = goes || m.Reached() > 0
		for i := range servers {
			owners[i].Partitions += len(m.Parts().Owned(i))
		}
	}
	if !goes {
		return nil
	}
	return owners
}
