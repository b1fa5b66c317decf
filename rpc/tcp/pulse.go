package tcp

import (
	"fmt"
	"time"

	"thole.example/budget"
	"thole.example/rpc"
)

// patience is how many timeouts a peer has that is alive, or may be, but keeps others waiting.
const patience = 6

// leastCome is how many bytes of a body must come within that time: whoever brings a frame slower only wants it kept.
const leastCome = 64 << 10

// pulse looks after one end of a connection: it shows the other side signs of life, whether or not there is anything else
// to send, and notices when none come. Time is counted in ticks, so that a process that was stopped for long does not
// blame the other side.
//
// An end that does not read, because it has no room, hears nothing and blames nobody. One that does not read because the
// other side takes no answers cannot hear whether that lives; then it must take something within a longer time.
type pulse struct {
	every, timeout time.Duration
	in             *reader
	out            *sender

	queue              *budget.Credit // of a server's answers, or nil
	heard, sent, taken uint64         // at the last tick
	quiet              time.Duration  // since the last byte
	stuck              time.Duration  // since the other side took something, while its answers are waited for
	slow               time.Duration  // since the first tick within a body, or since it brought enough
	start              uint64         // heard at that time
}

// newPulse makes sure that each side shows more than one sign of life within the timeouts of both.
func newPulse(n Network, theirs hello, in *reader, out *sender, queue *budget.Credit) *pulse {
	every := min(n.PingEvery, n.Timeout/3)
	if theirs.timeout > 0 {
		every = min(every, time.Duration(theirs.timeout)*time.Millisecond/3)
	}
	return &pulse{every: max(every, time.Millisecond), timeout: n.Timeout, in: in, out: out, queue: queue}
}

// errRevoked ends the connections of a token that the server does not know any more.
var errRevoked = fmt.Errorf("the token is not valid any more: %w", rpc.ErrRefused)

// watch ticks until the connection has ended. An error says that it must end; revoked, which may be nil, is closed when its
// token is not valid any more.
func (p *pulse) watch(gone, revoked <-chan struct{}) error {
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		select {
		case <-gone:
			return nil
		case <-revoked:
			return errRevoked
		case <-tick.C:
		}
		if err := p.tick(); err != nil {
			return err
		}
	}
}

func (p *pulse) tick() error {
	sent, heard, taken := p.out.sent.Load(), p.in.heard.Load(), p.out.taken.Load()
	state, inside := p.in.state.Load(), p.in.inside.Load()
	if sent == p.sent && !p.out.busy() { // what is being written is a sign of life too
		p.out.send(p.out.frame(kindAlive, 0), false)
	}
	p.in.credit.Trim() // what a connection took in advance and does not use is for others
	p.queue.Trim()
	p.quiet += p.every
	if heard != p.heard || state != reading {
		p.quiet = 0
	}
	p.stuck += p.every
	if state != noTaker || sent != p.sent || taken != p.taken {
		p.stuck = 0
	}
	p.slow += p.every
	if !inside || state != reading || heard-p.start >= leastCome {
		p.slow, p.start = 0, heard
	}
	p.heard, p.sent, p.taken = heard, sent, taken
	switch {
	case p.quiet >= p.timeout:
		return fmt.Errorf("nothing heard for %v", p.quiet)
	case p.stuck >= patience*p.timeout:
		return fmt.Errorf("nothing taken of %d bytes of answers for %v", p.out.queued.Load(), p.stuck)
	case p.slow >= patience*p.timeout:
		return fmt.Errorf("%d bytes of a frame came within %v, want at least %d", heard-p.start, p.slow, leastCome)
	}
	return nil
}
