package tcp

import (
	"slices"
	"sync"
	"time"

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

// known says that the session has greeted and proven what it must; false if it had to go before.
func (l *listener) known(s *session) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.forget(s) {
		return false
	}
	s.meter = &rpc.Meter{}
	return true
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
