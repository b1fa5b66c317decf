package tcp

import (
	"errors"
	"os"
	"sync/atomic"

	"thole.example/access"
	"thole.example/rpc"
)

// Stats are what a listener has seen, and what it does now.
type Stats struct {
	Connections int               `json:"connections"` // open, with their greeting done
	Strangers   int               `json:"strangers"`   // open, without
	Accepted    uint64            `json:"accepted"`    // ever
	Running     int               `json:"running"`     // requests that are not answered
	Queued      int64             `json:"queued"`      // bytes of answers that wait to be written
	Refused     map[string]uint64 `json:"refused"`     // ever, by [Reasons]
	Tokens      map[string]Use    `json:"-"`           // by name
	Measures    rpc.Measures      `json:"-"`
}

// Use is what came with a token.
type Use struct {
	Connections int    `json:"connections"`
	Requests    uint64 `json:"requests"` // answered, ever
}

// What somebody is refused for.
const (
	notUnderstood = iota
	otherVersion
	noTLS
	noToken
	tooLate
	tooManyStrangers
	noRight
	overLimit
	reasons
)

// Reasons names what connections and requests are refused for: magic (another protocol), version, tls, token, late (no greeting
// or proof in time), crowd (too many strangers), right (of the token), limit (of the token or job).
func Reasons() []string {
	return []string{"magic", "version", "tls", "token", "late", "crowd", "right", "limit"}
}

// refusals counts by reason.
type refusals [reasons]atomic.Uint64

func (r *refusals) count(reason int) { r[reason].Add(1) }

// connection counts a connection that ended before its greeting was done.
func (r *refusals) connection(why error) {
	var shake *HandshakeError
	switch {
	case errors.As(why, &shake):
		r.count(map[error]int{ErrMagic: notUnderstood, ErrVersion: otherVersion, ErrTLS: noTLS, ErrToken: noToken}[shake.Kind])
	case errors.Is(why, os.ErrDeadlineExceeded):
		r.count(tooLate)
	}
}

// request counts a request that was answered with an error.
func (r *refusals) request(err error) {
	var right *access.LackError
	var limit *access.LimitError
	switch {
	case errors.As(err, &right):
		r.count(noRight)
	case errors.As(err, &limit):
		r.count(overLimit)
	}
}

// past is what is kept of sessions that are over. The listener is locked.
type past struct {
	accepted uint64
	tokens   map[string]uint64 // requests
	measures rpc.Measures
}

func (p *past) add(s *session) {
	if s.meter == nil {
		return
	}
	var m rpc.Measures
	s.meter.AddTo(&m)
	p.measures.Add(&m)
	if name := s.peer.Grant.Name(); name != "" {
		if p.tokens == nil {
			p.tokens = map[string]uint64{}
		}
		p.tokens[name] += m.Requests()
	}
}

// StatsOf is what a listener of this package has seen; false if it is another's. It may be called by any goroutine; it keeps no
// request waiting.
func StatsOf(of rpc.Listener) (Stats, bool) {
	l, ok := of.(*listener)
	if !ok {
		return Stats{}, false
	}
	out := Stats{Refused: map[string]uint64{}, Tokens: map[string]Use{}}
	for i, name := range Reasons() {
		out.Refused[name] = l.refusals[i].Load()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	out.Accepted, out.Measures, out.Strangers = l.ended.accepted, l.ended.measures, len(l.unknown)
	for name, n := range l.ended.tokens {
		out.Tokens[name] = Use{Requests: n}
	}
	for s := range l.sessions {
		if s.meter == nil {
			continue
		}
		var m rpc.Measures
		s.meter.AddTo(&m)
		out.Measures.Add(&m)
		out.Connections++
		out.Queued += s.out.queued.Load()
		s.mu.Lock()
		out.Running += len(s.running)
		s.mu.Unlock()
		if name := s.peer.Grant.Name(); name != "" {
			use := out.Tokens[name]
			use.Connections++
			use.Requests += m.Requests()
			out.Tokens[name] = use
		}
	}
	return out, true
}
