package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"thole.example/coord"
	"thole.example/rpc"
	"thole.example/server"
)

// replication is the flags that say how many servers have what a role holds, and how a standby reaches the one that has it.
type replication struct {
	replicas      int
	slow          string // policy
	ca, tokenFile string
}

func (r *replication) flags(f *pflag.FlagSet) {
	f.IntVar(&r.replicas, "replicas", 1, "with --log and --coordinate: how many servers are to have what the log has, this one and the "+
		"standbys of its role, which copy the log; nothing is acknowledged that they have not, and one of them takes over without anybody "+
		"going back")
	f.StringVar(&r.slow, "slow-standby", slowStandbyDefault, "with --replicas: if a standby does not keep up, throttle: delay "+
		"acknowledgements until it has caught up, or drop: continue without it, and remove what only it needs of the log")
	f.StringVar(&r.ca, "tls-ca", "", "with --replicas: authorities that vouch for the server whose log a standby copies, a PEM file "+
		"(default: the system's, if --tls-cert is given)")
	f.StringVar(&r.tokenFile, "token-file", "", "with --replicas: file with the secret of a token with all rights, for copying the log of a "+
		"server with --tokens (default: the variable "+tokenVariable+" has it)")
}

// slowStandbyDefault is the default of --slow-standby.
const slowStandbyDefault = "throttle"

// replicasLimit is the most servers that have what a role holds.
const replicasLimit = coord.CopiesLimit + 1

// check checks what the user said.
func (r *replication) check(o *serverOptions) error {
	switch {
	case r.replicas < 1 || r.replicas > replicasLimit:
		return usageError{fmt.Errorf("--replicas %d, want 1 to %d servers", r.replicas, replicasLimit)}
	case r.replicas > 1 && (o.logs == "" || o.claiming.url == ""):
		return usageError{fmt.Errorf("--replicas %d without --log and --coordinate, want both: standbys of a role copy the log", r.replicas)}
	case !slices.Contains(server.SlowStandbyNames(), r.slow):
		return usageError{fmt.Errorf("--slow-standby %q, want %s", r.slow, strings.Join(server.SlowStandbyNames(), " or "))}
	case r.replicas == 1 && r.slow != slowStandbyDefault:
		return usageError{fmt.Errorf("--slow-standby %s without --replicas 2, want it: the server has no standbys that copy its log", r.slow)}
	case r.replicas == 1 && (r.ca != "" || r.tokenFile != ""):
		return usageError{errors.New("--tls-ca or --token-file without --replicas 2, want it: they are for copying the log of another server")}
	}
	return nil
}

// network is how a standby reaches the server whose log it copies.
func (r *replication) network(g *guard) (rpc.Network, error) {
	t := trust{tls: g.cert != "", ca: r.ca, tokenFile: r.tokenFile}
	if t.encrypted() {
		t.cert, t.key = g.cert, g.key
	}
	return t.network()
}

// line is the log of a server that has a role or waits for it: which one it continues, and where it comes from. A nil one is of a server
// without a log.
type line struct {
	s       *server.Server
	logs    *server.LogDir
	role    *roleHeld
	net     rpc.Network // nil: nothing is copied
	log     *slog.Logger
	claim   string
	old     string // identity of what is in the folder; "": it is not whole
	fresh   string // and of what will be, unless that is continued
	copying *server.Copying
}

// newLine is the log of a server in a folder, as the process before has left it.
func (o *serverOptions) newLine(s *server.Server, logs *server.LogDir, role *roleHeld, log *slog.Logger) (l *line, err error) {
	l = &line{s: s, logs: logs, role: role, log: log, claim: rand.Text(), fresh: rand.Text()}
	if o.replication.replicas > 1 {
		if l.net, err = o.replication.network(&o.guard); err != nil {
			return nil, err
		}
	}
	l.copying = s.NewCopying(l.claim)
	l.copying.Empties = func() error { return logs.SetIdentity("") }
	l.old, err = logs.Identity()
	return l, err
}

// reads says where readers reach the server while it is a standby.
func (l *line) reads(addr string) {
	if l != nil {
		l.copying.Reads = addr
	}
}

// claims says in a claim of the role what the server has.
func (l *line) claims(o *coord.Options) {
	if l != nil {
		o.ID, o.Log, o.NewLog, o.Standbys = l.claim, l.old, l.fresh, l.standbys
	}
}

// standbys is how far the standbys are behind, as the record of the role says it.
func (l *line) standbys() (all []coord.Standby) {
	now, _ := l.s.Standbys()
	for _, c := range now[:min(len(now), coord.CopiesLimit)] {
		if len(c.Reads) > coord.IDLimit {
			c.Reads = ""
		}
		all = append(all, coord.Standby{Addr: c.At[:min(len(c.At), coord.IDLimit)], Reads: c.Reads, Synchronous: c.Synchronous, Uncopied: c.Uncopied,
			Unreplayed: c.Unreplayed, Idle: c.Idle, Stalled: c.Stalled, Throttled: c.Throttled})
	}
	return all
}

// copyPause is how long a standby waits before it looks again for somebody to copy from.
const copyPause = 500 * time.Millisecond

// copy has the server copy the logs of whoever has the role, until ctx ends or stop is called, which waits for that.
func (l *line) copy(ctx context.Context) (stop func()) {
	if l == nil || l.net == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		said := ""
		for ctx.Err() == nil {
			err := l.copyOnce(ctx)
			if err != nil && ctx.Err() == nil && err.Error() != said {
				said = err.Error()
				l.log.Warn("the log is not copied", "role", coord.Server(l.role.number), "err", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(copyPause):
			}
		}
	}()
	return func() { cancel(); <-over }
}

// copyOnce copies until something is wrong. It does nothing as long as nobody has the role with a log, or this server had it last, which
// is where its own log ends.
func (l *line) copyOnce(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, storeTime)
	h, _, err := coord.Who(within, l.role.store, l.role.cluster, coord.Server(l.role.number))
	cancel()
	if err != nil || h == nil || h.ID == "" || h.ID == l.claim || h.Log == "" || h.Log == l.old {
		return err
	}
	conn, err := l.net.Dial(ctx, h.Addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // nothing is written to it
	return l.copying.From(ctx, conn)
}

// take makes the server what the role holds, which it has now. It is to answer nothing before, nor after an error.
func (l *line) take(ctx context.Context, h *coord.Held) (err error) {
	if l == nil {
		return nil
	}
	id, advice, began := l.fresh, "", time.Now()
	switch h.Continues() {
	case coord.FromCopy:
		advice = fmt.Sprintf(" (start the server again that had the role before, with its --log: it has what was held, and nobody who has not "+
			"takes the role over for three leases, %v)", 3*l.role.lease)
		err = l.copying.Take(ctx)
	case coord.FromLog:
		if id = l.old; h.Copied() {
			advice = " (a standby has a copy, and takes the role over)"
			err = l.s.RecoverWhole(ctx)
		} else {
			err = l.s.Recover(ctx)
		}
	default:
		err = l.copying.Drop() // also what is left of another time
	}
	if err == nil {
		err = l.logs.SetIdentity(id)
	}
	if err == nil {
		err = h.Own(ctx) // now that a server that is started again has what this one has
	}
	if err != nil {
		return fmt.Errorf("%s of cluster %q, %v: %w%s", coord.Server(l.role.number), l.role.cluster, h.Continues(), err, advice)
	}
	l.log.Info("the role is held", "epoch", h.Epoch(), "continued", h.Continues().String(), "took", time.Since(began).Round(time.Millisecond))
	return nil
}
