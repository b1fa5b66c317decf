package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"thole.example/coord"
	"thole.example/internal/number"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/tcp"
)

// waitFlags are what the user said.
type waitFlags struct {
	servers []string
	at      coordination
	timeout time.Duration
	json    bool
	trust   trust
}

func waitCommand(e *env) *cobra.Command {
	var f waitFlags
	c := &cobra.Command{
		Use:   "wait",
		Short: "Wait until all servers are ready",
		Long: `Waits until every server answers, lets this side in (--token-file, --tls-ca) and holds its role, if it has one; no two addresses
may lead to one server, and servers that know their number must be in its place. It says on standard error which are missing.
Exit codes: 0 all are ready; 75 they are not, and --timeout is over; 1 one refuses this side, or is no server: that does not get better
by waiting. With --coordinate, --servers is how many roles of the cluster have to be held.`,
		Example: `  thole wait --servers 'ps-{0..2}.ps:7001' --timeout 5m
  thole wait --servers host1:7001,host2:7001 --tls-ca ca.pem --token-file ctr.secret --json
  thole wait --coordinate kube:///jobs/thole --servers 3`,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), e) },
	}
	fl := c.Flags()
	fl.StringSliceVar(&f.servers, "servers", nil, "servers: "+addressesHelp+"; with --coordinate how many there are")
	f.at.flags(fl, "find the servers there")
	fl.DurationVar(&f.timeout, "timeout", defaultWait, "how long to wait; 0: as long as it takes")
	fl.BoolVar(&f.json, "json", false, "print what is known of the servers as JSON")
	f.trust.flags(fl)
	return c
}

// waited is a server that is waited for, as --json shows it.
type waited struct {
	Address string `json:"address,omitempty"` // "": not known
	Name    string `json:"name,omitempty"`
	Number  *int   `json:"number,omitempty"`
	Ready   bool   `json:"ready"`
	Error   string `json:"error,omitempty"` // why it is not

	is  rpc.Server
	err error
}

// Times of waiting.
const (
	waitPause = 300 * time.Millisecond // before servers are asked again
	waitTry   = 3 * time.Second        // that one has to answer
	waitRoles = time.Second            // that roles are watched before it is said which nobody has
)

func (f *waitFlags) run(ctx context.Context, e *env) error {
	switch {
	case len(f.servers) == 0:
		return usageError{errors.New("no --servers, want their addresses, or with --coordinate how many there are")}
	case f.timeout < 0:
		return usageError{fmt.Errorf("--timeout %v, want 0 or more", f.timeout)}
	}
	net, err := f.trust.network()
	if err != nil {
		return err
	}
	from, err := f.at.registry(f.servers, "none")
	if err != nil {
		return err
	}
	defer from.close()
	within, cancel := ctx, context.CancelFunc(func() {})
	if f.timeout > 0 {
		within, cancel = context.WithTimeout(ctx, f.timeout)
	}
	defer cancel()
	began := e.now()
	all, err := f.untilReady(within, e, net, from)
	if err == nil {
		err = f.consistent(all)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if f.json {
		took := e.now().Sub(began).Seconds()
		return errors.Join(json.NewEncoder(e.out).Encode(map[string]any{"ready": err == nil, "seconds": took, "servers": all}), err)
	}
	if err == nil {
		_, err = fmt.Fprintf(e.out, "ready: %s\n", number.Of(len(all), "server"))
	}
	return err
}

// consistent checks that the servers are as they were named.
func (f *waitFlags) consistent(all []waited) error {
	var addrs []string
	var are []rpc.Server
	for i := range all {
		addrs, are = append(addrs, all[i].Address), append(are, all[i].is)
	}
	return ps.CheckServers(addrs, are, true)
}

// untilReady waits until all servers are ready, says which are not, and answers what is known of them, also when it gives up.
func (f *waitFlags) untilReady(ctx context.Context, e *env, net rpc.Network, from *registry) (all []waited, err error) {
	if from == nil {
		addrs, err := e.serverAddresses(ctx, "--servers", f.servers, 0)
		if err != nil {
			return []waited{}, err
		}
		all = waitedAt(addrs)
	}
	for said := ""; ; {
		missing := f.look(ctx, net, from, &all)
		for i := range all {
			if shake := (*tcp.HandshakeError)(nil); errors.As(all[i].err, &shake) {
				return all, all[i].err
			}
		}
		if missing == "" {
			return all, nil
		}
		if ctx.Err() == nil && missing != said {
			said = missing
			e.says("waiting for %s", missing)
		}
		select {
		case <-ctx.Done():
			return all, awayError{fmt.Errorf("waited %v in vain for %s (--timeout is how long to wait)", f.timeout, cmp.Or(said, missing))}
		case <-time.After(waitPause):
		}
	}
}

func waitedAt(addrs []string) []waited {
	all := make([]waited, len(addrs))
	for i, addr := range addrs {
		all[i].Address = addr
	}
	return all
}

// look asks the servers that are not ready whether they are by now, and tells which still are not.
func (f *waitFlags) look(ctx context.Context, net rpc.Network, from *registry, all *[]waited) (missing string) {
	ctx, cancel := context.WithTimeout(ctx, waitTry)
	defer cancel()
	if from != nil { // who has a role now may not have had it before
		within, cancel := context.WithTimeout(ctx, waitRoles)
		members, err := coord.Find(within, from.store, from.cluster, from.servers)
		cancel()
		if err != nil {
			*all = []waited{}
			return fmt.Sprintf("--coordinate %s: %v", from.url, err)
		}
		var addrs []string
		for _, m := range members {
			addrs = append(addrs, m.Addr)
		}
		*all = waitedAt(addrs)
	}
	var asked sync.WaitGroup
	for i := range *all {
		if one := &(*all)[i]; !one.Ready {
			asked.Go(func() { one.ask(ctx, net) })
		}
	}
	asked.Wait()
	var names []string
	for _, one := range *all {
		if !one.Ready {
			names = append(names, one.Error)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s: %s", len(names), number.Of(len(*all), "server"), strings.Join(names[:min(waitNames, len(names))], "; "))
}

// waitNames is how many servers are named that are not ready.
const waitNames = 4

// ask finds out whether a server is ready: it lets this side in, and serves requests, be it by saying that a job is not there.
func (s *waited) ask(ctx context.Context, net rpc.Network) {
	conn, err := net.Dial(ctx, s.Address)
	if err == nil {
		s.is = rpc.ServerOf(conn)
		if s.Name = s.is.Name; s.is.Number >= 0 {
			s.Number = &s.is.Number
		}
		err = standsBy(ctx, conn)
		_ = conn.Close() // nothing is under way
	}
	if s.Ready, s.Error, s.err = err == nil, "", err; err != nil {
		s.Error = err.Error()
	}
}

// standsBy tells that a server does not serve, as one that waits for its role, or that does not answer.
func standsBy(ctx context.Context, conn rpc.Conn) error {
	arg, err := json.Marshal(rpc.Follow{})
	if err != nil {
		return err
	}
	r, err := conn.Start(ctx, &rpc.Request{Op: rpc.OpFollow, Arg: arg}).Wait(ctx)
	r.Release()
	if _, answered := errors.AsType[*rpc.Fault](err); answered && !errors.Is(err, rpc.ErrStandby) {
		return nil // that there is no job without a name, or that the token may not look at it
	}
	return err
}
