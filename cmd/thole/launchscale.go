package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/internal/number"
	"thole.example/launch/local"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/tcp"
	"thole.example/state"
)

func launchScaleCommand(e *env) *cobra.Command {
	var want local.Counts
	c := &cobra.Command{
		Use:   "scale DIR",
		Short: "Give a launch that runs more or fewer servers or workers",
		Long: `Gives the launch of a folder so many servers or workers, while its training goes on. New servers are started, the job moves to
those that it is to have, as by thole reshard, and servers that it has left are ended; it wants --checkpoint. Under BSP the model has
the same bits. Workers come and go between epochs, in a launch with --give-up: those that are too many end their epoch and leave, and the
others share their examples; more of them, up to --most-workers, want --checkpoint, too. The first worker stays.

Ctrl-C withdraws what has not happened yet. So does a new server that fails. When a server or worker dies meanwhile it is started again,
and the order goes on.`,
		Example: "  thole launch scale jobs/clicks --servers 3\n  thole launch scale jobs/clicks --servers 1 --workers 2",
		RunE: func(c *cobra.Command, args []string) error {
			for flag, n := range map[string]int{"servers": want.Servers, "workers": want.Workers} {
				if c.Flags().Changed(flag) && (n < 1 || n > serversLimit) {
					return usageError{fmt.Errorf("--%s %d, want 1 to %d", flag, n, serversLimit)}
				}
			}
			if want == (local.Counts{}) {
				return usageError{errors.New("neither --servers nor --workers, want how many there are to be")}
			}
			say := func(text string) { fmt.Fprintln(e.err, escaped(text)) }
			if err := local.Ask(c.Context(), args[0], want, say); err != nil {
				return err
			}
			r, err := local.Open(args[0])
			if err == nil {
				_, err = fmt.Fprintf(e.out, "%s: %s and %s\n", args[0], number.Of(r.Now.Servers, "server"), number.Of(r.Now.Workers, "worker"))
			}
			return err
		},
	}
	c.Flags().IntVar(&want.Servers, "servers", 0, "servers that there are to be (default: as many as there are)")
	c.Flags().IntVar(&want.Workers, "workers", 0, "workers that there are to be (default: as many as there are)")
	for _, flag := range []string{"servers", "workers"} {
		c.Flags().Lookup(flag).DefValue = ""
	}
	return c
}

// scale carries out an order: see local.Supervisor.
func (c *crew) scale(ctx, stands context.Context, o local.Order, say func(text string)) error {
	both := func(text string) {
		say(text)
		fmt.Fprintln(c.s.Err, escaped(text))
	}
	if err := c.checkScale(o.Counts); err != nil {
		return err
	}
	if o.Servers > 0 {
		if err := c.scaleServers(ctx, stands, o.Servers, both); err != nil {
			return err
		}
	}
	if o.Workers > 0 {
		return c.scaleWorkers(ctx, stands, o.Workers, both)
	}
	return nil
}

// checkScale tells what cannot be, before anything is done.
func (c *crew) checkScale(n local.Counts) error {
	moves := n.Servers > 0 && n.Servers != c.running
	switch {
	case moves && c.p.forest != nil:
		return fmt.Errorf("--servers %d for --algo %s, want another algorithm: boosted trees stay on their servers", n.Servers, c.p.algo)
	case moves && c.checkpoint == "":
		return fmt.Errorf("--servers %d for a launch without --checkpoint, want one with it: a job moves by its checkpoints", n.Servers)
	case n.Workers > c.most:
		return fmt.Errorf("--workers %d, want 1 to %d: more than the launch was given (--workers, or --most-workers) have no task", n.Workers,
			c.most)
	case n.Workers > 0 && n.Workers != c.workers && c.giveUp == 0:
		return fmt.Errorf("--workers %d for a launch without --give-up, want one with it: the job waits for all of its workers", n.Workers)
	case n.Workers > c.workers && c.checkpoint == "":
		return fmt.Errorf("--workers %d for a launch without --checkpoint, want one with it: workers come by way of a checkpoint", n.Workers)
	}
	return nil
}

// scaleServers starts servers, has the job move, and ends those that it has left.
func (c *crew) scaleServers(ctx, stands context.Context, n int, say func(text string)) error {
	began, most := c.running, max(n, c.running)
	all, err := c.processes(n, c.workers)
	if err != nil {
		return err
	}
	fresh := named(serverName, began, n)
	if len(fresh) > 0 {
		say("starts " + strings.Join(fresh, ", "))
		err := c.removeLogs(began, n)
		if err == nil {
			err = c.s.Join(stands, of(all, fresh), true)
		}
		if err == nil {
			err = c.s.Up(stands, fresh...)
		}
		if err != nil {
			return errors.Join(err, c.s.Leave(fresh...))
		}
	}
	to := c.addresses(n)
	if where, _ := c.where(ctx); !slices.Equal(where, to) {
		how, err := c.move(ctx, stands, where, to, say)
		switch how {
		case jobStays:
			return errors.Join(err, c.s.Leave(fresh...))
		case jobUnknown: // all of them may be needed
			c.running = most
			return errors.Join(err, c.s.Keep(of(all, fresh)))
		}
		c.told = to
		if all, err = c.processes(n, c.workers); err != nil {
			return err
		}
	}
	c.servers, c.running = n, n
	if err := c.s.Keep(all); err != nil {
		return err
	}
	left := named(serverName, n, most)
	if len(left) == 0 {
		return nil
	}
	say("ends " + strings.Join(left, ", "))
	err = c.s.Leave(left...)
	if err == nil {
		err = c.s.Left(ctx, left...)
	}
	if err == nil {
		err = c.removeLogs(n, most)
	}
	return err
}

// where is on which servers the job is, as its last checkpoint says, and the path of that in the store; "": there is none.
func (c *crew) where(ctx context.Context) (servers []string, last string) {
	store, err := c.storeFolder()
	if err != nil {
		return c.told, ""
	}
	folder := inBucket(c.checkpoint)
	if !blob.IsURL(folder) {
		if folder, err = nameBelow(store, folder); err != nil {
			return c.told, ""
		}
	}
	all, err := state.List(ctx, c.paths.Below(store, folder), folder)
	if err != nil {
		return c.told, ""
	}
	for _, e := range slices.Backward(all) {
		if e.Err != nil || !e.Stepped() {
			continue
		}
		if to := e.Head.Moment.Elsewhere(c.told); to != nil {
			return to, e.Path
		}
		return c.told, e.Path
	}
	return c.told, ""
}

// isOn reports whether the job is on these servers.
func (c *crew) isOn(ctx context.Context, servers []string) bool {
	where, _ := c.where(ctx)
	return slices.Equal(where, servers)
}

// comesTo waits until the job is on these servers, as long as it waits for anything.
func (c *crew) comesTo(ctx context.Context, servers []string) bool {
	for began := time.Now(); c.wait == 0 || time.Since(began) < c.wait; {
		if c.isOn(ctx, servers) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(lookEvery):
		}
	}
	return false
}

// jobMove is what has become of a job that was told to move.
type jobMove int

const (
	jobStays jobMove = iota
	jobUnknown
	jobMoved
)

// move has the job move. What has failed because somebody was lost is tried again.
func (c *crew) move(ctx, stands context.Context, from, to []string, say func(text string)) (jobMove, error) {
	net := &tcp.Network{NoChecksum: c.noChecksum}
	f := &reshard{servers: to, job: c.name, wait: c.wait}
	told := &env{out: io.Discard, err: lineWriter(say), clock: c.e.clock}
	handOver := ""
	for began := time.Now(); ; {
		at, err := f.order(stands, told, net, from[0])
		if err == nil {
			handOver = at.Checkpoint
			break
		}
		if c.isOn(ctx, to) {
			break
		}
		if stands.Err() != nil {
			if f.withdrawn {
				return jobStays, context.Cause(stands)
			}
			if c.comesTo(ctx, to) {
				break
			}
			return jobUnknown, fmt.Errorf("it is not known whether the job moves, and all servers stay: %w", context.Cause(stands))
		}
		if !ps.Recoverable(err) && !errors.Is(err, rpc.ErrNotFound) { // else nobody has said what came of it
			return jobStays, err
		}
		if c.wait > 0 && time.Since(began) > c.wait {
			return jobUnknown, fmt.Errorf("%w; tried for %v (--wait of the launch), and all servers stay", err, c.wait)
		}
		select {
		case <-stands.Done():
		case <-time.After(lookEvery):
		}
	}
	if handOver == "" {
		_, handOver = c.where(ctx)
	}
	if _, _, err := f.goesOn(ctx, net, handOver); err != nil {
		return jobUnknown, fmt.Errorf("the job has moved, and has not been seen there: %w", err)
	}
	say("the job goes on on " + number.Of(len(to), "server"))
	return jobMoved, nil
}

// lineWriter gets lines that are written, each at once.
type lineWriter func(text string)

// Write implements io.Writer.
func (w lineWriter) Write(b []byte) (int, error) {
	w(string(bytes.TrimSuffix(b, []byte("\n"))))
	return len(b), nil
}

// scaleWorkers starts workers, or asks some to leave and waits until they have.
func (c *crew) scaleWorkers(ctx, stands context.Context, n int, say func(text string)) error {
	before := c.workers
	c.workers = n
	all, err := c.processes(c.servers, n)
	if err != nil {
		return err
	}
	if err := c.s.Keep(all); err != nil {
		return err
	}
	if come := named(workerName, before, n); len(come) > 0 {
		say("starts " + strings.Join(come, ", ") + ", which shares the examples from the end of an epoch on")
		return c.s.Join(stands, of(all, come), false)
	}
	leave := named(workerName, n, before)
	if len(leave) == 0 {
		return nil
	}
	names := strings.Join(leave, ", ")
	say("asks " + names + " to leave at the end of the epoch")
	if err := c.s.Leave(leave...); err != nil {
		return err
	}
	if err := c.s.Left(stands, leave...); err != nil {
		return fmt.Errorf("%s was asked to leave, and does when the epoch ends: %w", names, err)
	}
	return nil
}
