package server_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"thole.example/blob"
	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/tcp"
	"thole.example/server"
	"thole.example/ssp"
)

// sockets is servers on real sockets, of which the second says what a test wants it to.
type sockets struct {
	t       *testing.T
	net     *tcp.Network
	servers []*server.Server
	addrs   []string

	mu  sync.Mutex
	lie func(x *rpc.Exchange, r *rpc.Response) (answers int) // how often it answers; nil: it is honest
}

func newSockets(t *testing.T, servers int) *sockets {
	s := &sockets{t: t, net: &tcp.Network{Log: slog.New(slog.DiscardHandler)}}
	for i := range servers {
		ledger := budget.New(1 << 30)
		one := &server.Server{Funcs: table(t), Codecs: codecs, Bucket: &blob.Mem{}, Ledger: ledger}
		net, handler := *s.net, rpc.Handler(one)
		if net.Ledger = ledger; i == 1 {
			handler = &liar{s, one}
		}
		l, err := net.Listen(t.Context(), "127.0.0.1:0", handler)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		var relieve sync.WaitGroup
		relieve.Go(func() { one.Relieve(ctx) })
		t.Cleanup(func() {
			_ = l.Close()
			stop()
			relieve.Wait()
		})
		s.servers, s.addrs = append(s.servers, one), append(s.addrs, l.Addr())
	}
	return s
}

// become says how the second server lies from now on.
func (s *sockets) become(lie func(x *rpc.Exchange, r *rpc.Response) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lie = lie
}

// dial is a client of all servers.
func (s *sockets) dial(task, tasks int, bound ssp.Bound) *ps.Client {
	s.t.Helper()
	p, err := ps.Dial(s.t.Context(), ps.Options{Network: s.net, Servers: s.addrs, Job: "j", Task: task, Tasks: tasks, Bound: bound})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = p.Close() })
	return p
}

// liar is a server whose answers are changed on their way out.
type liar struct {
	s    *sockets
	over *server.Server
}

// Serve implements rpc.Handler.
func (l *liar) Serve(x *rpc.Exchange) {
	l.s.mu.Lock()
	lie := l.s.lie
	l.s.mu.Unlock()
	if lie == nil {
		l.over.Serve(x)
		return
	}
	x.Memory.Retain() // the exchange within releases it, too
	l.over.Serve(rpc.NewExchange(x.Request, x.From, func(_ *rpc.Exchange, r *rpc.Response, err error) {
		if err != nil {
			x.Fail(err)
			return
		}
		for i := range lie(x, r) {
			if i > 0 {
				r = &rpc.Response{Clock: -1}
			}
			x.Answer(r)
		}
	}))
}

// lies are answers that do not fit what was asked, as the server gives them.
func lies() map[string]func(r *rpc.Response) {
	part := func(change func(p *rpc.Part)) func(*rpc.Response) {
		return func(r *rpc.Response) {
			for i := range r.Parts {
				change(&r.Parts[i])
			}
		}
	}
	return map[string]func(*rpc.Response){
		"shorter":        part(func(p *rpc.Part) { p.Values = p.Values[:len(p.Values)-8] }),
		"longer":         part(func(p *rpc.Part) { p.Values = append(slices.Clip(p.Values), make([]byte, 8)...) }),
		"nothing":        part(func(p *rpc.Part) { p.Keys, p.Values = nil, nil }),
		"kind":           part(func(p *rpc.Part) { p.Kind = p.Kind%3 + 1 }),
		"type":           part(func(p *rpc.Part) { p.DType = matrix.U64 }),
		"another matrix": part(func(p *rpc.Part) { p.Matrix = 3 - p.Matrix }),
		"keys unasked":   part(func(p *rpc.Part) { p.Keys = []int64{1 << 39, 1<<39 + 1} }),
		"a part more":    func(r *rpc.Response) { r.Parts = append(r.Parts, r.Parts[0]) },
		"a part less":    func(r *rpc.Response) { r.Parts = r.Parts[1:] },
		"no parts":       func(r *rpc.Response) { r.Parts = nil },
	}
}

// pulls are calls that trust what a server answers, over all servers.
func pulls(ctx context.Context, w, k *ps.Matrix) map[string]func() error {
	plan, err := k.Plan(nil, []int64{7, 1 << 33, 7, 5, 12345, 99, 8, 4, 2, 1})
	return map[string]func() error{
		"row":     func() error { _, err := w.GetRow(ctx, 1); return err },
		"rows":    func() error { _, err := w.GetRows(ctx, []int64{1, 0}); return err },
		"columns": func() error { _, err := w.GetCols(ctx, []int64{0, 20, 39}); return err },
		"stored":  func() error { _, err := k.GetRow(ctx, 0); return err },
		"keys": func() error {
			return errors.Join(err, ps.PullKeys(ctx, k, plan, make([]float64, 20)))
		},
	}
}

// lyingMatrices creates two matrices, with values in them, and no zero.
func (s *sockets) lyingMatrices(p *ps.Client) (w, k *ps.Matrix) {
	s.t.Helper()
	ms := []matrix.Meta{{Name: "w", Rows: 2, Cols: 40, DType: matrix.F64, BlockCols: 10},
		{Name: "k", Rows: 2, Cols: 1 << 40, DType: matrix.F64, Layout: matrix.RowSparse}}
	err := p.Create(s.t.Context(), "", ms...)
	if err == nil {
		w, err = p.Matrix("w")
	}
	if err == nil {
		k, err = p.Matrix("k")
	}
	if err == nil {
		all := &matrix.Cols[float64]{}
		for i := range int64(64) {
			all.Idx, all.Val = append(all.Idx, i*i<<20), append(all.Val, 1, 2)
		}
		err = errors.Join(w.Increment(matrix.NewDense(matrix.F64, w.Meta().Rect())), p.Push("k", matrix.Block{At: k.Meta().Rect(), Data: all}), p.Flush(s.t.Context()))
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return w, k
}

// TestLyingServer (D5): whatever one of the servers answers over a real socket, the client hears which one it was, does not
// panic, and goes on when the server is honest again.
func TestLyingServer(t *testing.T) {
	s := newSockets(t, 3)
	p := s.dial(0, 1, ssp.ASP)
	w, k := s.lyingMatrices(p)
	for _, name := range slices.Sorted(maps.Keys(lies())) {
		change := lies()[name]
		for _, call := range slices.Sorted(maps.Keys(pulls(t.Context(), w, k))) {
			if name == "nothing" && call == "stored" {
				continue // nobody else knows what a server has stored
			}
			t.Run(name+"/"+call, func(t *testing.T) {
				var asked atomic.Bool // what is read in windows may be asked for again when the call has failed
				s.become(func(_ *rpc.Exchange, r *rpc.Response) int {
					asked.Store(true)
					change(r)
					return 1
				})
				err := pulls(t.Context(), w, k)[call]()
				if !asked.Load() || !errors.Is(err, ps.ErrAnswer) || !strings.Contains(err.Error(), "server "+s.addrs[1]) {
					t.Errorf("asked %v: %v, want an error that names server %s", asked.Load(), err, s.addrs[1])
				}
				s.become(nil)
				if err := pulls(t.Context(), w, k)[call](); err != nil {
					t.Errorf("after a lie: %v", err)
				}
			})
		}
	}
}

// TestSilentServer: a server that never answers, though its connection lives, holds a call up no longer than its context
// lasts; whoever waits hears for whom. One that answers twice does no harm.
func TestSilentServer(t *testing.T) {
	s := newSockets(t, 3)
	p := s.dial(0, 1, ssp.ASP)
	w, k := s.lyingMatrices(p)
	parked := make(chan *rpc.Exchange, 1)
	s.become(func(x *rpc.Exchange, _ *rpc.Response) int { parked <- x; return 0 })
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error)
	go func() { _, err := w.GetRow(ctx, 0); done <- err }()
	x := <-parked
	enough := errors.New("waited long enough")
	cancel(enough)
	if err := <-done; !errors.Is(err, enough) {
		t.Errorf("the call ended with %v, want the cause of its context", err)
	}
	<-x.Context().Done() // the server hears that nobody waits
	x.Fail(errors.New("late"))
	s.become(func(*rpc.Exchange, *rpc.Response) int { return 2 })
	for range 20 {
		for name, call := range pulls(t.Context(), w, k) {
			if err := call(); err != nil {
				t.Errorf("%s, answered twice: %v", name, err)
			}
		}
	}
}

// TestMalformedBeside: while one client of a server sends everything that is wrong, two others train over the same sockets,
// and no bit of what they make is another than without it.
func TestMalformedBeside(t *testing.T) {
	want := trainBeside(t, false)
	if got := trainBeside(t, true); !slices.Equal(got, want) {
		t.Errorf("beside a client that sends what is wrong the values are %v, want %v", got, want)
	}
}

func trainBeside(t *testing.T, beside bool) []float64 {
	s := newSockets(t, 1)
	over := make(chan struct{})
	var wg sync.WaitGroup
	if beside {
		bad := s.stranger("bad")
		m := newScene(bad)
		all := map[string]wrong{}
		for _, group := range []func(m *scene) map[string]wrong{wrongOperations, wrongCreates, wrongPlaces, wrongPulls, wrongDeltas, wrongTicks} {
			maps.Copy(all, group(m))
		}
		delete(all, "push unaligned")                                             // over a socket it is aligned
		maps.DeleteFunc(all, func(_ string, w wrong) bool { return w.q.Seq > 1 }) // numbers are given below
		wg.Go(func() {
			for i := 0; ; i++ {
				for name, w := range all {
					if w.q.Seq > 0 {
						w.q.Seq = bad.seq + 1
						if readable(&w.q) { // else it is refused before the job sees it
							bad.seq++
						}
					}
					if _, err := bad.ask(w.q); err == nil || errors.Is(err, rpc.ErrLost) {
						t.Errorf("%s: %v, want it refused over a connection that goes on", name, err)
						return
					}
				}
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	var tasks sync.WaitGroup
	var end []float64
	for task := range 2 {
		p := s.dial(task, 2, ssp.BSP)
		tasks.Go(func() {
			err := trainSteps(t.Context(), p, task)
			if got, perr := p.Pull(t.Context(), []matrix.Lookup{{Matrix: "w"}}); perr == nil && task == 0 {
				end = got[0].Data.Values().([]float64)
			} else {
				err = errors.Join(err, perr)
			}
			if err = errors.Join(err, p.Leave(t.Context())); err != nil {
				t.Errorf("task %d: %v", task, err)
			}
		})
	}
	tasks.Wait()
	close(over)
	wg.Wait()
	return end
}

// readable reports whether the bytes of a request are those of one.
func readable(q *rpc.Request) bool {
	var g rpc.Gather
	if err := q.Append(&g); err != nil {
		return false
	}
	_, err := rpc.ReadRequest(g.Bytes())
	return err == nil
}

// stranger is a connection that a task of a job of its own has joined.
func (s *sockets) stranger(job string) *conn {
	s.t.Helper()
	c, err := s.net.Dial(s.t.Context(), s.addrs[0])
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	over := &conn{Conn: c, s: &site{t: s.t, server: s.servers[0], addr: s.addrs[0]}}
	over.must(rpc.Request{Op: rpc.OpJoin, Arg: arg(rpc.Join{Job: job, Tasks: 2})})
	return over
}

func trainSteps(ctx context.Context, p *ps.Client, task int) error {
	m := matrix.Meta{Name: "w", Rows: 1, Cols: 40, DType: matrix.F64, BlockCols: 10, Rule: "adam"}
	if err := p.Create(ctx, "", m); err != nil {
		return err
	}
	for step := range 200 {
		got, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "w"}})
		if err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		g := got[0]
		for i, v := range g.Data.Values().([]float64) {
			g.Data.Values().([]float64)[i] = v/3 + float64((i+step)%7-task)/10
		}
		if err := errors.Join(p.Push("w", g), p.Clock(ctx, 1, 0.1)); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
	}
	return nil
}
