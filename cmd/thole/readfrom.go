package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"thole.example/coord"
	"thole.example/ps"
	"thole.example/rpc"
)

// reading is the flags of a command that reads from a running job: where its servers are, and whether their standbys may answer.
type reading struct {
	coordination
	from   string
	maxLag time.Duration
}

func (r *reading) flags(f *pflag.FlagSet) {
	r.coordination.flags(f, "SERVERS is how many there are")
	f.StringVar(&r.from, "read-from", ps.ReadPrimary.String(), "with --job: where to read, primary: the servers; nearest: what answers fastest, "+
		"a server or a standby that copies its log (--replicas); replica: a standby if one is up to date")
	f.DurationVar(&r.maxLag, "max-lag", rpc.ReplicaLag, "with --read-from nearest or replica: how far a standby may lag behind its server")
}

// follow connects to a job as a reader; end ends that. within is how long servers that have no holder are waited for.
func (r *reading) follow(ctx context.Context, servers string, o ps.Options) (c *ps.Client, end func(), err error) {
	if o.ReadFrom, err = ps.ParseReadFrom(r.from); err != nil {
		return nil, nil, usageError{fmt.Errorf("--read-from %w", err)}
	}
	switch {
	case r.maxLag <= 0:
		return nil, nil, usageError{fmt.Errorf("--max-lag %v, want a time like 5s", r.maxLag)}
	case r.maxLag != rpc.ReplicaLag && o.ReadFrom == ps.ReadPrimary:
		return nil, nil, usageError{fmt.Errorf("--max-lag %v without --read-from nearest or replica, want one of them", r.maxLag)}
	}
	o.MaxLag, o.Servers, end = r.maxLag, strings.Split(servers, ","), func() {}
	if _, err := strconv.Atoi(servers); err == nil || r.url != "" {
		from, err := r.registry(o.Servers, o.Job)
		if err != nil {
			return nil, nil, err
		}
		end = from.close
		if err := from.readBy(ctx, &o); err != nil {
			end()
			return nil, nil, err
		}
	}
	if c, err = ps.Follow(ctx, o); err != nil {
		end()
		return nil, nil, err
	}
	return c, func() { _ = c.Close(); end() }, nil
}

// readBy sets how a reader finds the servers and their standbys.
func (r *registry) readBy(ctx context.Context, o *ps.Options) (err error) {
	within, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	if r.members, err = coord.Find(within, r.store, r.cluster, r.servers); err != nil {
		return &storeError{r.url, err}
	}
	o.Servers = nil
	for _, m := range r.members {
		o.Servers = append(o.Servers, m.Addr)
	}
	(&cluster{from: r}).find(o)
	o.Retry = 3 * r.members[0].Lease
	o.Replicas = func(ctx context.Context, server int) (all []string, err error) {
		within, cancel := context.WithTimeout(ctx, storeTime)
		defer cancel()
		h, _, err := coord.Who(within, r.store, r.cluster, coord.Server(server))
		if err != nil || h == nil {
			return nil, err
		}
		for i := range h.Standbys {
			if h.Standbys[i].Reads != "" {
				all = append(all, h.Standbys[i].Reads)
			}
		}
		return all, nil
	}
	return nil
}
