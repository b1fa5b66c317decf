package tcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"thole.example/rpc"
)

// free is up to how many bytes a request is not counted against what a listener holds, so that small requests get
// through, and with them those that let others end, however full it is. The window bounds them.
const free = 64 << 10

// session is the server's end of a connection.
type session struct {
	l       *listener
	nc      net.Conn
	out     *sender
	in      *reader
	peer    rpc.Peer
	base    context.Context // of its handlers; ends with the connection
	cancel  context.CancelCauseFunc
	gone    chan struct{}
	slot    chan struct{} // one token for each handler at work
	limit   uint32        // the largest body that the client accepts
	greeted atomic.Bool
	stalled atomic.Bool // the reader waits for room
	within  atomic.Bool // the reader is within a body
	work    sync.WaitGroup

	read, wrote     atomic.Uint64 // signs that bytes move
	reading, taking still

	mu      sync.Mutex
	ended   bool
	running map[uint64]context.CancelCauseFunc
}

func newSession(l *listener, nc net.Conn) *session {
	s := &session{l: l, nc: nc, gone: make(chan struct{}), slot: make(chan struct{}, l.Window),
		running: map[uint64]context.CancelCauseFunc{}}
	s.base, s.cancel = context.WithCancelCause(l.base)
	s.out = newSender(nc, l.QueueLimit, &s.wrote)
	return s
}

// run serves the connection until it ends and all its handlers have returned.
func (s *session) run() {
	err := s.serve()
	var breach *breach
	var shake *HandshakeError
	if errors.As(err, &breach) || errors.As(err, &shake) {
		s.l.Log.Warn("rpc: connection ended", "at", s.l.addr, "client", s.peer.Name, "err", err)
	}
	s.end(err)
	s.work.Wait()
	s.out.work.Wait()
}

func (s *session) serve() error {
	addr := s.l.clientAddr(s.nc)
	s.peer = rpc.Peer{Name: addr, Gone: s.gone}
	theirs, err := s.l.welcome(s.nc, "client "+addr)
	if err != nil {
		return err
	}
	s.greeted.Store(true)
	s.in = newReader(s.nc, s.l.FrameLimit, &s.read)
	s.limit = theirs.limit
	if theirs.name != "" {
		s.peer.Name = theirs.name + "@" + addr
	}
	for {
		if err := s.next(); err != nil {
			return err
		}
	}
}

// end ends the connection once, for the given reason, which the client is told if it is not the client's own.
func (s *session) end(why error) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	s.mu.Unlock()
	closing := errors.Is(why, rpc.ErrClosed)
	var breach *breach
	if s.greeted.Load() && (errors.As(why, &breach) || closing) {
		f := s.out.frame()
		rpc.NewFault("", why).Append(&f.Gather)
		f.seal(kindFault, 0, s.l.FrameLimit)
		s.out.lastWords(f)
		if !closing {
			linger(s.nc)
		}
	}
	s.out.close()
	_ = s.nc.Close()
	close(s.gone)
	if !closing {
		why = rpc.ErrAborted
	}
	s.cancel(why)
}

// breach says that the client broke the protocol.
type breach struct{ err error }

func (b *breach) Error() string { return b.err.Error() }

func (b *breach) Unwrap() error { return b.err }

// next takes one frame. An error ends the connection.
func (s *session) next() error {
	h, err := s.in.next()
	if err != nil {
		if _, ok := errors.AsType[net.Error](err); ok || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		return &breach{err}
	}
	switch h.kind {
	case kindPing:
		f := s.out.frame()
		f.seal(kindPong, h.id, s.limit)
		s.out.send(f)
		return nil
	case kindCancel:
		s.mu.Lock()
		cancel := s.running[h.id]
		s.mu.Unlock()
		if cancel != nil {
			cancel(rpc.ErrAborted)
		}
		return nil
	case kindRequest:
		return s.request(h)
	}
	return &breach{fmt.Errorf("frame of kind %d from a client", h.kind)}
}

// request reads a request and starts its handler. While the window or the listener is full it reads nothing more.
func (s *session) request(h head) error {
	select {
	case s.slot <- struct{}{}:
	default:
		s.stalled.Store(true)
		select {
		case s.slot <- struct{}{}:
		case <-s.gone:
			return net.ErrClosed
		}
		s.stalled.Store(false)
	}
	held := int64(0)
	if h.size > free {
		s.stalled.Store(true)
		var ok bool
		if held, ok = s.l.hold.take(s.base, s.gone, int64(h.size)); !ok {
			return net.ErrClosed
		}
		s.stalled.Store(false)
	}
	s.within.Store(true)
	body, err := s.in.body(h.size)
	s.within.Store(false)
	if err == nil {
		err = s.start(h.id, body, held)
	}
	if err != nil {
		s.l.hold.give(held)
	}
	return err
}

// start runs the handler in a goroutine, because it may block.
func (s *session) start(id uint64, body []byte, held int64) error {
	ctx, cancel := context.WithCancelCause(s.base)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		cancel(nil)
		return net.ErrClosed
	}
	if s.running[id] != nil || id == 0 {
		cancel(nil)
		return &breach{fmt.Errorf("request %d is under way already or has no number", id)}
	}
	s.running[id] = cancel
	s.work.Go(func() { s.handle(ctx, id, body, held) })
	return nil
}

// handle answers a request.
func (s *session) handle(ctx context.Context, id uint64, body []byte, held int64) {
	var r *rpc.Response
	q, err := rpc.ReadRequest(body)
	if err != nil {
		err = fmt.Errorf("%w: %w", rpc.ErrMalformed, err)
	} else {
		r, err = rpc.Serve(ctx, s.l.handler, &s.peer, q, s.l.Log)
	}
	if held > 0 {
		s.l.hold.give(held)
	}
	s.mu.Lock()
	cancel := s.running[id]
	delete(s.running, id)
	s.mu.Unlock()
	cancel(nil)
	f := s.out.frame()
	if s.fill(f, id, r, err) {
		s.out.send(f)
	} else {
		s.out.drop(f)
	}
	<-s.slot
}

// fill makes the answer's frame; false if the connection has ended.
func (s *session) fill(f *frame, id uint64, r *rpc.Response, err error) bool {
	if err == nil {
		if err = r.Append(&f.Gather); err == nil && !f.seal(kindResponse, id, s.limit) {
			err = fmt.Errorf("response of %d bytes, want at most %d: %w", f.Len()-headSize, s.limit, rpc.ErrTooLarge)
		}
		if err != nil {
			f.begin()
		}
	}
	if err != nil {
		rpc.NewFault("", err).Append(&f.Gather)
		f.seal(kindFault, id, ^uint32(0))
	}
	var ok bool
	f.charge, ok = s.out.budget.take(s.base, s.gone, int64(f.Len())+frameCost)
	return ok
}

// still measures how long something that is under way has not moved.
type still struct {
	seen  uint64
	quiet time.Duration
}

// step is told, once every interval, whether something is under way and how often it has moved so far.
func (s *still) step(every time.Duration, busy bool, moved uint64) time.Duration {
	if !busy || moved != s.seen {
		s.quiet = 0
	} else {
		s.quiet += every
	}
	s.seen = moved
	return s.quiet
}

// check is called once every interval. A connection that is stuck within a frame for too long is ended.
func (s *session) check(every, stuck time.Duration) {
	if s.stalled.Load() {
		f := s.out.frame()
		f.seal(kindPong, 0, ^uint32(0))
		s.out.send(f)
	}
	in := s.reading.step(every, s.within.Load(), s.read.Load())
	out := s.taking.step(every, s.out.busy(), s.wrote.Load())
	if max(in, out) >= stuck {
		s.l.work.Go(func() { s.end(fmt.Errorf("stuck for %v", stuck)) })
	}
}
