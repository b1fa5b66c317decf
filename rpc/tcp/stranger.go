package tcp

import (
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"thole.example/budget"
	"thole.example/rpc"
)

// crowd counts a session that has not greeted. If there are too many of those the oldest one goes: whoever is in earnest greets
// within a round trip or two, and is old only among strangers who keep places. The listener is locked.
func (l *listener) crowd(s *session) {
	if len(l.unknown) >= l.Strangers {
		_ = l.unknown[0].nc.Close() // it ends itself
		l.refusals.count(tooManyStrangers)
		l.unknown = slices.Delete(l.unknown, 0, 1)
	}
	l.unknown = append(l.unknown, s)
}

// connectionBytes and encryptionBytes are what a connection takes that does nothing: its reader, its two goroutines, its place as a
// task, and TLS's own buffers.
const (
	connectionBytes = 28 << 10
	encryptionBytes = 32 << 10
)

// noPlace ends a connection that there is no memory for.
type noPlace struct{ err error }

func (n *noPlace) Error() string {
	return fmt.Sprintf("no memory for another connection: %v: %v", n.err, rpc.ErrRefused)
}

// Is says that the connection was refused.
func (n *noPlace) Is(kind error) bool { return kind == rpc.ErrRefused }

// known says that the session has greeted and proven what it must. It is an error if it had to go before, or has no room.
func (l *listener) known(s *session) error {
	n := int64(connectionBytes)
	if l.ServerTLS != nil {
		n += encryptionBytes
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.forget(s) {
		return net.ErrClosed
	}
	var err error
	if s.place, err = l.Ledger.Hold(budget.Connections, n); err != nil {
		return &noPlace{err}
	}
	s.meter = &rpc.Meter{}
	return nil
}

// forget counts the session as a stranger no more; false if it was none. The listener is locked.
func (l *listener) forget(s *session) bool {
	i := slices.Index(l.unknown, s)
	if i >= 0 {
		l.unknown = slices.Delete(l.unknown, i, i+1)
	}
	return i >= 0
}

// mayTell reports whether one more line about a stranger may be logged: they must not fill the log.
func (l *listener) mayTell() bool { return l.told.take(time.Now()) }

// toldAtOnce and toldEvery are how many lines about strangers come at once, and how soon one more.
const (
	toldAtOnce = 20
	toldEvery  = time.Second
)

// quota lets through toldAtOnce of what comes, and then one each toldEvery.
type quota struct {
	mu  sync.Mutex
	due time.Time // when all that were let through are made up for
}

func (q *quota) take(now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	due := q.due
	if due.Before(now) {
		due = now
	}
	if due.Sub(now) > (toldAtOnce-1)*toldEvery {
		return false
	}
	q.due = due.Add(toldEvery)
	return true
}
