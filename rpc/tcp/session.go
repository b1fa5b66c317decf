package tcp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"thole.example/access"
	"thole.example/budget"
	"thole.example/rpc"
)

// session is the server's end of a connection. Its reader calls the handler itself.
type session struct {
	l       *listener
	nc      net.Conn
	in      *reader
	out     *sender
	peer    rpc.Peer
	ctx     context.Context // ends with the connection
	cancel  context.CancelCauseFunc
	gone    chan struct{}
	limit   uint32 // the largest body that the client accepts
	greeted atomic.Bool
	last    uint64         // number of the latest request; the reader's
	queue   *budget.Credit // of answers
	meter   *rpc.Meter     // from the greeting on
	place   budget.Charge  // of the connection itself, from then on
	owed    atomic.Int64   // bytes taken for answers that are not there yet
	wait    access.Wait    // how requests wait for room in accounts
	eased   chan struct{}  // gets a token when the window, or the room for answers, may have become larger
	answer  func(*rpc.Exchange, *rpc.Response, error)
	work    sync.WaitGroup

	mu      sync.Mutex
	running map[uint64]*rpc.Exchange // not answered; nil once the connection has ended
}

func newSession(l *listener, nc net.Conn) *session {
	if l.ServerTLS != nil {
		nc = newLink(nc, tls.Server, l.ServerTLS)
	}
	s := &session{l: l, nc: nc, gone: make(chan struct{}), running: map[uint64]*rpc.Exchange{}, eased: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancelCause(l.base)
	s.out = newSender(nc, !l.NoChecksum, s.ease)
	s.queue = l.Ledger.NewCredit(budget.Queues, creditStep(l.Ledger, budget.Queues))
	s.answer = s.answered
	return s
}

// ease tells the reader that it may go on, if it waits.
func (s *session) ease() {
	select {
	case s.eased <- struct{}{}:
	default:
	}
}

// run serves the connection until it ends.
func (s *session) run() {
	why := s.serve()
	if s.meter == nil {
		s.l.refusals.connection(why)
	}
	s.tell(why)
	s.end(why)
	s.work.Wait()
	s.out.work.Wait()
	s.place.Release()
}

func (s *session) serve() error {
	addr := s.l.clientAddr(s.nc)
	s.peer = rpc.Peer{Name: addr, Gone: s.gone}
	if err := s.nc.SetDeadline(time.Now().Add(s.l.Timeout)); err != nil {
		return err
	}
	if err := s.secure("client " + addr); err != nil {
		return err
	}
	theirs, grant, err := s.l.welcome(s.nc, "client "+addr)
	if err != nil {
		return err
	}
	s.peer.Grant = grant
	if err := s.l.known(s); err != nil {
		return err
	}
	s.in = newReader(s.ctx, s.nc, s.l.FrameLimit, s.l.Ledger)
	s.in.before, s.in.mapped = s.out.flush, true
	if h, ok := s.l.handler.(rpc.Scheduler); ok {
		s.in.turn = func() (end func()) { return s.resumed(h.TurnToRead(&s.peer, s.waits)) }
	}
	s.greeted.Store(true)
	if u, ok := s.l.handler.(rpc.Urgent); ok {
		s.in.urgent = func() bool { return u.Urgent(&s.peer) }
	}
	s.wait = access.Wait{Gone: s.gone, Urgent: s.in.urgent, Begins: func() { s.in.pause(noRoom) }}
	s.limit = theirs.limit
	if theirs.name != "" {
		s.peer.Name = theirs.name + "@" + addr
	}
	p := newPulse(s.l.Network, theirs, s.in, s.out, s.queue)
	s.work.Go(func() {
		switch err := p.watch(s.gone, grant.Gone()); {
		case err == errRevoked:
			s.end(err)
		case err != nil:
			s.tell(&silence{err})
			s.end(&silence{err})
		}
	})
	for {
		if err := s.next(); err != nil {
			return err
		}
	}
}

// silence is the end of a connection whose client does not show that it lives.
type silence struct{ err error }

func (s *silence) Error() string { return s.err.Error() }

// tell logs the end of a connection that the other side is to blame for.
func (s *session) tell(why error) {
	var broken *breach
	var shake *HandshakeError
	var silent *silence
	var full *noPlace
	switch {
	case errors.As(why, &shake) && !s.l.mayTell():
	case errors.As(why, &full) && !s.l.mayTell():
	case errors.As(why, &broken) || errors.As(why, &shake) || errors.As(why, &silent) || errors.As(why, &full):
		s.l.Log.Warn("rpc: connection ended", "at", s.l.addr, "client", s.peer.Name, "err", why)
	}
}

// end ends the connection once, for the given reason, which the client is told if it is not the client's own.
func (s *session) end(why error) {
	s.mu.Lock()
	running := s.running
	s.running = nil
	s.mu.Unlock()
	if running == nil {
		return
	}
	var broken *breach
	var silent *silence
	var full *noPlace
	closing := errors.Is(why, rpc.ErrClosed)
	errors.As(why, &broken)
	errors.As(why, &silent)
	errors.As(why, &full)
	if full != nil || s.greeted.Load() && (broken != nil || silent != nil || closing || why == errRevoked) {
		s.out.lastWords(why)
		if broken != nil || full != nil {
			linger(s.nc)
		}
	}
	s.out.close()
	_ = s.nc.Close()
	if !closing {
		why = rpc.ErrLost
	}
	s.cancel(why)
	for _, x := range running {
		x.Cancel(why)
	}
	close(s.gone) // who sees it finds the contexts ended
	s.queue.Close()
	if s.greeted.Load() {
		s.in.credit.Close()
	}
}

// next takes one frame. While more have come already, answers wait for each other, to go out in one write.
func (s *session) next() error {
	if s.in.ready() {
		s.out.cork()
	} else {
		s.out.flush()
	}
	h, err := s.in.next()
	if err != nil {
		return err
	}
	switch h.kind {
	case kindRequest:
		return s.request(h)
	case kindAlive:
		if h.id != s.last {
			return &breach{fmt.Errorf("request %d was lost on the way", s.last+1)}
		}
		return s.in.follow(h)
	case kindCancel:
		s.mu.Lock()
		x := s.running[h.id]
		s.mu.Unlock()
		if x != nil {
			x.Cancel(rpc.ErrAborted)
		}
		return s.in.follow(h)
	}
	return &breach{fmt.Errorf("frame of kind %d from a client", h.kind)}
}

// request reads a request and gives it to the handler.
func (s *session) request(h head) error {
	switch {
	case h.id <= s.last:
		return &breach{fmt.Errorf("request %d came when %d was due", h.id, s.last+1)}
	case h.id > s.last+1:
		return &breach{fmt.Errorf("request %d was lost on the way", s.last+1)}
	}
	if err := s.in.follow(h); err != nil {
		return err
	}
	s.last++
	if err := s.await(); err != nil {
		return err
	}
	if err := s.pace(); err != nil {
		return err
	}
	flight, err := s.takeInFlight(h)
	body := (*rpc.Buffer)(nil)
	if err == nil {
		if body, err = s.in.body(h); err != nil {
			flight.Release()
		}
	}
	q := (*rpc.Request)(nil)
	switch {
	case exceedsLimit(err):
		q, err = &rpc.Request{}, fmt.Errorf("%w: a request of %d bytes: %w", rpc.ErrRefused, h.size, err)
	case err == nil:
		if q, err = rpc.ReadRequest(body.Bytes()); err != nil {
			q, err = &rpc.Request{}, fmt.Errorf("%w: %w", rpc.ErrMalformed, err)
		}
		q.Memory = body
	case tooLarge(err):
		q, err = &rpc.Request{}, fmt.Errorf("%w: %w", rpc.ErrTooLarge, err)
	default:
		return err
	}
	x := rpc.NewExchange(q, &s.peer, s.answer)
	x.ID, x.Began, x.InFlight = h.id, s.l.now(), flight
	if !s.add(x) {
		x.Fail(rpc.ErrLost)
		return net.ErrClosed
	}
	if err == nil {
		err = s.reserve(x)
	}
	if err != nil {
		x.Fail(err)
		return nil
	}
	end := s.turn(x)
	rpc.Serve(s.l.handler, x, s.l.Log)
	if end != nil {
		end()
	}
	return nil
}

// takeInFlight counts a request in the accounts of the other side, and waits until they have room for it. If they never have, the body is
// read and dropped.
func (s *session) takeInFlight(h head) (f access.InFlight, err error) {
	a, ok := s.l.handler.(rpc.Accountant)
	if !ok {
		return f, nil
	}
	f = access.NewInFlight(a.Accounts(&s.peer))
	if err = s.inFlight(&f, access.Requests, int64(h.size)); exceedsLimit(err) {
		err = cmp.Or(s.in.skip(h), err)
	}
	return f, err
}

// inFlight counts n bytes, and waits until there is room for them.
func (s *session) inFlight(f *access.InFlight, d access.Direction, n int64) error {
	err := f.Take(d, n, s.wait)
	s.in.resume()
	if errors.Is(err, access.ErrGone) {
		return net.ErrClosed
	}
	return err
}

// exceedsLimit reports whether a message never has room in an account.
func exceedsLimit(err error) bool {
	_, ok := errors.AsType[*access.LimitError](err)
	return ok
}

// turn waits until the handler lets the request be served.
func (s *session) turn(x *rpc.Exchange) (end func()) {
	h, ok := s.l.handler.(rpc.Scheduler)
	if !ok {
		return nil
	}
	return s.resumed(h.Turn(x, s.waits))
}

// waits notes that the reader waits for its turn.
func (s *session) waits() { s.in.pause(noRoom) }

// resumed notes that it has its turn.
func (s *session) resumed(end func()) func() {
	if end != nil {
		s.in.resume()
	}
	return end
}

// tooLarge reports whether a message never has room in the ledger.
func tooLarge(err error) bool {
	_, ok := errors.AsType[*budget.TooLarge](err)
	return ok
}

// add counts the exchange as under way; false if the connection has ended.
func (s *session) add(x *rpc.Exchange) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		return false
	}
	s.running[x.ID] = x
	return true
}

// await waits until the window is not full and the client has taken enough of its answers.
func (s *session) await() error {
	for {
		s.mu.Lock()
		free := len(s.running) < s.l.Window
		s.mu.Unlock()
		if free && s.owed.Load()+s.out.queued.Load() <= s.l.share {
			return nil
		}
		s.in.pause(noTaker)
		select {
		case <-s.eased:
			s.in.resume()
		case <-s.gone:
			return net.ErrClosed
		}
	}
}

// pace waits as long as the handler says that the next request has to.
func (s *session) pace() error {
	p, ok := s.l.handler.(rpc.Pacer)
	if !ok {
		return nil
	}
	wait := p.Pace(&s.peer)
	if wait <= 0 {
		return nil
	}
	s.in.pause(noRoom)
	defer s.in.resume()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-s.gone:
		return net.ErrClosed
	}
}

// reserve takes room for the answer, if the handler knows how large it will be.
func (s *session) reserve(x *rpc.Exchange) error {
	sizer, ok := s.l.handler.(rpc.Sizer)
	n := int64(0)
	if ok && (s.queue != nil || x.InFlight.Counts()) {
		n = sizer.Size(x)
	}
	if err := s.inFlight(&x.InFlight, access.Answers, n); exceedsLimit(err) {
		return fmt.Errorf("%w: an answer of %d bytes: %w", rpc.ErrRefused, n, err)
	} else if err != nil {
		return err
	}
	room, has := budget.Charge{}, true
	if n > 0 {
		room, has = s.queue.TryTake(rpc.Taken(int(n)))
	}
	var err error
	if !has {
		s.in.pause(noRoom)
		room, err = s.queue.Take(s.ctx, rpc.Taken(int(n)), s.in.urgent)
		s.in.resume()
	}
	if tooLarge(err) {
		return fmt.Errorf("%w: the answer: %w", rpc.ErrTooLarge, err)
	}
	if err == nil {
		x.Reserve(room, n, s.queue)
		s.owed.Add(n)
	}
	return err
}

// answered sends an answer, whichever goroutine it comes from.
func (s *session) answered(x *rpc.Exchange, r *rpc.Response, err error) {
	s.mu.Lock()
	gone := s.running == nil
	full := len(s.running) >= s.l.Window
	delete(s.running, x.ID)
	alone := len(s.running) == 0
	s.mu.Unlock()
	s.owed.Add(-x.Reserved())
	s.meter.Count(x.Op, err != nil, s.l.now()-x.Began)
	if err != nil {
		s.l.refusals.request(err)
	}
	if full {
		s.ease()
	}
	x.InFlight.Set(access.Requests, 0)
	if gone {
		x.InFlight.Release()
		r.Release()
		return
	}
	f := s.out.frame(kindResponse, x.ID)
	if err == nil {
		if err = r.Append(&f.Gather); err == nil && f.body() > int(s.limit) {
			err = fmt.Errorf("response of %d bytes, want at most %d: %w", f.body(), s.limit, rpc.ErrTooLarge)
		}
		if err == nil {
			f.memory = r.Memory
		} else {
			r.Release()
			f.begin()
		}
	}
	if err != nil {
		f.kind = kindFault
		rpc.NewFault("", err).Append(&f.Gather)
	}
	f.charge = s.queue.Force(int64(f.Own()))
	x.InFlight.Set(access.Answers, int64(f.body()))
	f.inFlight, x.InFlight = x.InFlight, access.InFlight{}
	s.out.send(f, alone)
}
