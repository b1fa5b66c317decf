package ps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"thole.example/rpc"
)

// ReadFrom says from where a client of [Follow] reads what a server holds: from the server, or from standbys that copy its log and may lag
// a little behind it ([Options.Replicas]).
type ReadFrom uint8

// The choices.
const (
	// ReadPrimary reads from the server alone.
	ReadPrimary ReadFrom = iota
	// ReadNearest reads from what answers fastest. A standby has to be faster than the server by a fifth.
	ReadNearest
	// ReadReplica reads from the standby that answers fastest, and from the server if no standby answers or all lag too far.
	ReadReplica
)

// ReadFromNames are the names of the choices, by number.
func ReadFromNames() []string { return []string{"primary", "nearest", "replica"} }

// String is the name of the choice.
func (f ReadFrom) String() string { return ReadFromNames()[f] }

// ParseReadFrom is the choice of a name. The error says which names there are.
func ParseReadFrom(name string) (ReadFrom, error) {
	i := slices.Index(ReadFromNames(), name)
	if i < 0 {
		return 0, fmt.Errorf("%q, want %s", name, strings.Join(ReadFromNames(), ", "))
	}
	return ReadFrom(i), nil
}

// Source is where a client of Follow reads what one server holds.
type Source struct {
	Addr string
	Lag  *rpc.Lag // of a copy, when the client connected or last cut; nil: the values are the server's own
	// Checkpoint is the one that a server of checkpoints had loaded then; nil for a server of another kind.
	Checkpoint *rpc.ServedCheckpoint
	// RoundTrip is the lowest of a few small requests, when the source was chosen; 0: there was no choice.
	RoundTrip time.Duration
}

// Sources is where the client reads, by server. A source without an address was lost and is chosen again by the next call.
func (c *Client) Sources() []Source {
	out := make([]Source, len(c.links))
	for i, l := range c.links {
		if l.conn != nil {
			out[i] = Source{Addr: l.addr, Lag: l.lag, Checkpoint: l.served, RoundTrip: l.near.roundTrip}
		}
	}
	return out
}

// nearby is what a link of a reader knows of the places from which it may read.
type nearby struct {
	roundTrip time.Duration
	pinned    bool                 // only the server will do: the client has changed something there
	avoid     map[string]time.Time // standbys that did not answer, by address: until when they are not asked
	again     time.Time            // when the choice is made again; zero: when the connection is lost
}

const (
	// probes is how many requests are measured, and probeTime how long a standby has for them.
	probes    = 3
	probeTime = time.Second
	// avoidTime is how long a standby that did not answer is not asked.
	avoidTime = 10 * time.Second
	// againTime is how long a reader stays with the server before it looks again for a standby.
	againTime = 30 * time.Second
)

// chooses reports whether the link may read from standbys.
func (l *link) chooses() bool {
	return l.c.follows && l.c.o.ReadFrom != ReadPrimary && !l.near.pinned
}

// candidate is a place from which a link may read.
type candidate struct {
	addr      string
	primary   bool
	conn      rpc.Conn
	lag       *rpc.Lag
	roundTrip time.Duration
	err       error // it does not answer
}

// choose connects to where the link is to read from. The error is the server's own, if that and all standbys do not answer.
func (l *link) choose(ctx context.Context) (rpc.Conn, error) {
	all := []*candidate{{addr: l.addr, primary: true}}
	for _, addr := range l.replicas(ctx) {
		if addr != l.addr {
			all = append(all, &candidate{addr: addr})
		}
	}
	done := make(chan struct{}, len(all))
	for _, one := range all {
		go func() {
			within := ctx
			if len(all) > 1 {
				var cancel context.CancelFunc
				within, cancel = context.WithTimeout(ctx, probeTime)
				defer cancel()
			}
			l.probe(within, one)
			done <- struct{}{}
		}()
	}
	for range all {
		<-done
	}
	best := l.best(all)
	for _, one := range all {
		if one.err != nil && !one.primary {
			l.near.shun(one.addr)
		}
		if one.conn != nil && one != best {
			_ = one.conn.Close() // nothing was said over it but that a reader is there
		}
	}
	if best == nil {
		return nil, all[0].err
	}
	l.addr, l.lag, l.near.roundTrip = best.addr, best.lag, best.roundTrip
	if best.primary && l.near.again.IsZero() { // a standby may come
		l.near.again = time.Now().Add(againTime)
	}
	return best.conn, nil
}

// replicas are the standbys that may be asked now. Without an answer there are none.
func (l *link) replicas(ctx context.Context) (all []string) {
	if l.c.o.Replicas == nil {
		return nil
	}
	addrs, _ := l.c.o.Replicas(ctx, l.index) // the server itself is asked in any case
	for _, addr := range addrs {
		if time.Now().After(l.near.avoid[addr]) && !slices.Contains(all, addr) {
			all = append(all, addr)
		}
	}
	return all
}

// probe measures how fast a place answers a reader of the job.
func (l *link) probe(ctx context.Context, one *candidate) {
	if one.conn, one.err = l.c.o.Network.Dial(ctx, one.addr); one.err != nil {
		return
	}
	for range probes {
		began := time.Now()
		now, err := l.followOver(ctx, one.conn)
		if err != nil {
			_ = one.conn.Close() // the error says more
			one.conn, one.err = nil, err
			return
		}
		one.lag = now.Replica
		if took := time.Since(began); one.roundTrip == 0 || took < one.roundTrip {
			one.roundTrip = took
		}
	}
}

// followOver says over a connection that a reader is there.
func (l *link) followOver(ctx context.Context, conn rpc.Conn) (now rpc.Followed, err error) {
	q, err := control(rpc.OpFollow, l.following())
	if err != nil {
		return now, err
	}
	r, err := conn.Start(ctx, q).Wait(ctx)
	if err != nil {
		return now, err
	}
	return now, l.read(r, &now)
}

// following is what the link says of its reader.
func (l *link) following() rpc.Follow {
	return rpc.Follow{Job: l.c.o.Job, Replica: l.chooses(), MaxLag: int64(l.c.o.MaxLag)}
}

// best is the candidate from which to read, nil if none answers.
func (l *link) best(all []*candidate) *candidate {
	answer := slices.DeleteFunc(slices.Clone(all), func(one *candidate) bool { return one.err != nil })
	if len(answer) == 0 {
		return nil
	}
	return slices.MinFunc(answer, func(a, b *candidate) int {
		switch {
		case l.c.o.ReadFrom == ReadNearest || a.primary == b.primary:
			return cmp.Compare(distance(a), distance(b))
		case a.primary:
			return 1
		}
		return -1
	})
}

// distance is the round trip, of a standby a quarter more.
func distance(one *candidate) time.Duration {
	if one.primary {
		return one.roundTrip
	}
	return one.roundTrip * 5 / 4
}

// shun has a standby not be asked for some time, and the choice be made again then.
func (n *nearby) shun(addr string) {
	if n.avoid == nil {
		n.avoid = map[string]time.Time{}
	}
	n.again = time.Now().Add(avoidTime)
	n.avoid[addr] = n.again
}

// leaves reports whether an error of a copy means that another place may do better: all but what is wrong with the request itself.
func (l *link) leaves(err error) bool {
	if l.lag == nil || err == nil {
		return false
	}
	return isFault(err) && !errors.Is(err, rpc.ErrPassed) && !errors.Is(err, rpc.ErrMalformed) && !errors.Is(err, rpc.ErrTooLarge) ||
		errors.Is(err, rpc.ErrLost) && !errors.Is(err, rpc.ErrClosed)
}

// leave leaves a copy for another place, which takes the request.
func (l *link) leave(x *exchange, why error) {
	if l.conn != x.conn {
		return // for another request
	}
	l.near.shun(l.addr)
	makes := slices.ContainsFunc(x.q.Parts, func(p rpc.Part) bool { return p.Make })
	if makes || x.q.Op == rpc.OpUpdate || x.q.Op == rpc.OpDefine {
		l.near.pinned = true // what it changes is not in copies at once
	}
	l.chooseAgain(why)
}

// chooseAgain ends the link's connection and has the next request choose another, which may be over the same place.
func (l *link) chooseAgain(why error) {
	l.disconnect(l.conn)
	l.lost = why
	l.try(max(l.c.o.Retry, lastPause))
}

// fails notes that a copy did not answer the reader that was to read from it: another place may.
func (l *link) fails(why error) error {
	l.near.shun(l.addr)
	l.lag = nil
	return fmt.Errorf("%w: %w", rpc.ErrUnreachable, why)
}

// disconnect ends the link's connection.
func (l *link) disconnect(conn rpc.Conn) {
	_ = conn.Close() // nothing more is written to it
	l.c.mu.Lock()
	l.conn, l.lag = nil, nil
	l.c.mu.Unlock()
}

// reconsider has links choose again that read from the server, or have left a standby some time ago.
func (c *Client) reconsider() {
	for _, l := range c.links {
		if l.conn == nil || !l.chooses() || l.near.again.IsZero() || time.Now().Before(l.near.again) {
			continue
		}
		l.near.again = time.Time{}
		l.chooseAgain(fmt.Errorf("ps: looking for a nearer server: %w", rpc.ErrLost))
	}
}

// attempt is the attempt of the job that all links read. The error is rpc.ErrPassed if some read copies that are still of an earlier one:
// these choose another place when the client looks around again. It is rpc.ErrAborted if a server itself is in an earlier attempt.
func (c *Client) attempt() (int, error) {
	latest := slices.MaxFunc(c.links, func(a, b *link) int { return cmp.Compare(a.of, b.of) }).of
	var behind error
	for _, l := range c.links {
		if l.of == latest {
			continue
		}
		kind := rpc.ErrPassed
		if l.conn != nil && l.lag == nil {
			kind = rpc.ErrAborted
		}
		behind = fmt.Errorf("ps: %s is in attempt %d of job %q, another server is in attempt %d: %w", l.addr, l.of, c.o.Job, latest, kind)
		if kind == rpc.ErrAborted {
			break
		}
		if l.conn != nil {
			l.near.shun(l.addr)
			l.chooseAgain(behind)
		}
	}
	return latest, behind
}
