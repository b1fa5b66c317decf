package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/blob"
	"thole.example/budget"
	"thole.example/journal/journaltest"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/ssp"
)

// keptRole is a role that a server keeps, or waits for.
type keptRole struct {
	mu    sync.Mutex
	held  bool
	named []string
	gone  error // why it was given up
}

func (r *keptRole) Check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.held {
		return rpc.ErrStandby
	}
	return nil
}

func (r *keptRole) Epoch() uint64 { return 1 }

func (r *keptRole) Copied(_ context.Context, claims []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.named = slices.Clone(claims)
	return nil
}

func (r *keptRole) Resign(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held, r.gone = false, why
}

func (r *keptRole) names() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.named)
}

// pair is a server whose logs are copied and one that may copy them.
type pair struct {
	t       *testing.T
	net     *mem.Network
	at      [2]string // addresses
	disks   [2]*journaltest.Disk
	servers [2]*server.Server
	roles   [2]*keptRole
}

// pairOf runs a test with two servers, of which the first has the role.
func pairOf(t *testing.T, base int64, run func(t *testing.T, p *pair)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		p, end := newPair(ctx, t, &mem.Network{}, [2]string{"a", "b"}, base)
		defer end()
		run(t, p)
		stop()
		time.Sleep(time.Hour)
	})
}

// newPair starts two servers, of which the first has the role; end closes what they listen at.
func newPair(ctx context.Context, t *testing.T, net *mem.Network, at [2]string, base int64) (p *pair, end func()) {
	t.Helper()
	p = &pair{t: t, net: net, at: at}
	bucket, all := &blob.Mem{}, []rpc.Listener{}
	for i, addr := range at {
		p.disks[i], p.roles[i] = journaltest.NewDisk(uint64(i)), &keptRole{held: i == 0}
		s := &server.Server{Funcs: table(t), Codecs: codecs, Bucket: bucket, Logs: p.disks[i].Start(), LogBase: base, Replicas: 2, Role: p.roles[i],
			Ledger: budget.New(256 << 20)}
		go s.Relieve(ctx)
		l, err := net.Listen(ctx, addr, s)
		if err != nil {
			t.Fatal(err)
		}
		p.servers[i], all = s, append(all, l)
	}
	return p, func() {
		for _, l := range all {
			_ = l.Close()
		}
	}
}

// follow has the second server copy the logs of one that it dials, until the connection ends; then it says why it ended.
func (p *pair) follow(copying *server.Copying, at string) (rpc.Conn, chan error) {
	conn, err := p.net.Dial(p.t.Context(), at)
	if err != nil {
		p.t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- copying.From(p.t.Context(), conn) }()
	return conn, over
}

// loaded is a task at the first server that has saved its model, and loaded it again.
func (p *pair) loaded() *ps.Client {
	c, err := p.task("a", "j")
	if err == nil {
		err = errors.Join(c.Save(p.t.Context(), ps.SaveOptions{Codec: "angel", Path: "model", Lossy: true}),
			c.Load(p.t.Context(), ps.LoadOptions{Path: "model"}))
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// task joins a job of one task, with a matrix of a row, at one of the servers.
func (p *pair) task(at, job string) (*ps.Client, error) {
	c, err := ps.Dial(p.t.Context(), ps.Options{Network: p.net, Servers: []string{at}, Job: job, Tasks: 1, Bound: ssp.ASP})
	if err == nil {
		err = c.Create(p.t.Context(), "", matrix.Meta{Name: "m", Rows: 1, Cols: wideRow, DType: matrix.F64, Layout: matrix.RowDense})
	}
	return c, err
}

// wideRow is how long a row is that has a record of its own memory in the log.
const wideRow = 64 << 10

// push adds a value to all of the row, and waits for the answer.
func push(ctx context.Context, c *ps.Client, v float64) error {
	m, err := c.Matrix("m")
	if err != nil {
		return err
	}
	row := make([]float64, wideRow)
	for i := range row {
		row[i] = v
	}
	block := matrix.Block{At: matrix.At(0, 1, 0, wideRow), Data: &matrix.Dense[float64]{Val: row}}
	return m.PushNow(ctx, block).Wait(ctx)
}

// raw asks as a standby, by hand.
type raw struct {
	conn rpc.Conn
	last rpc.Copied
}

func (p *pair) raw() *raw {
	conn, err := p.net.Dial(p.t.Context(), "a")
	if err != nil {
		p.t.Fatal(err)
	}
	return &raw{conn: conn}
}

func (r *raw) start(ctx context.Context, q *rpc.Copy) *rpc.Call {
	text, _ := json.Marshal(q)
	return r.conn.Start(ctx, &rpc.Request{Op: rpc.OpCopy, Arg: text})
}

// all says that all is there that came last.
func (r *raw) all(claim string) *rpc.Copy {
	q := &rpc.Copy{Claim: claim, Run: r.last.Run}
	for _, l := range r.last.Logs {
		q.Logs = append(q.Logs, rpc.CopyLog{Name: l.Name, End: l.To})
	}
	return q
}

// ask asks for more, for a minute.
func (r *raw) ask(ctx context.Context, q *rpc.Copy) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	a, err := r.start(ctx, q).Wait(ctx)
	if err != nil {
		return err
	}
	defer a.Release()
	r.last = rpc.Copied{}
	return json.Unmarshal(a.Results[0].Data, &r.last)
}

// TestCopyMemory: the memory in which a record came stays until the record is on the disk of the standby.
func TestCopyMemory(t *testing.T) {
	pairOf(t, 1<<40, func(t *testing.T, p *pair) {
		p.disks[1].Slow = time.Second
		const n = 8 << 10
		ledger := budget.New(1 << 20)
		memory := rpc.NewBuffer(n, ledger.Force(budget.Queues, n))
		copy(memory.Bytes(), append([]byte(`{"job":"j"}`), bytes.Repeat([]byte(" "), n)...))
		text, _ := json.Marshal(&rpc.Copied{Run: "r", Logs: []rpc.CopiedLog{{Name: "000001", To: n + 32}}})
		l, err := p.net.Listen(t.Context(), "other", &liesTo{left: []*rpc.Response{{Memory: memory,
			Results: []rpc.Result{{Data: text}, {Matrix: 1, Data: memory.Bytes()}}}}})
		if err != nil {
			t.Fatal(err)
		}
		copying := p.servers[1].NewCopying("b")
		conn, over := p.follow(copying, "other")
		for used, last := int64(n), time.Now(); ; time.Sleep(time.Millisecond) {
			if used = ledger.Used()[budget.Queues]; used == 0 {
				if d := p.disks[1].Longest("000001", ".log"); d < n {
					t.Errorf("memory is released when %d bytes are durable, want %d", d, n)
				}
				break
			}
			if time.Since(last) > time.Minute {
				t.Fatal("memory is never released")
			}
		}
		_ = conn.Close()
		<-over
		_ = copying.Drop()
		_ = l.Close()
	})
}

// TestCopyEmpties: what a standby has from before stays until a server has answered that has the role, and who is to know of it is told first.
func TestCopyEmpties(t *testing.T) {
	logs, err := server.OpenLogDir(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := logs.Folder("000001").Lock() // makes the folder
	if err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	role := &keptRole{}
	net := &mem.Network{}
	first := &server.Server{Funcs: table(t), Bucket: &blob.Mem{}, Logs: journaltest.NewDisk(1).Start(), Replicas: 2, Role: role}
	l, err := net.Listen(t.Context(), "first", first)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial(t.Context(), "first")
	if err != nil {
		t.Fatal(err)
	}
	copying := (&server.Server{Funcs: table(t), Bucket: &blob.Mem{}, Logs: logs}).NewCopying("b")
	told, answer := 0, errors.New("not now")
	copying.Empties = func() error {
		if names, err := logs.List(); err != nil || len(names) != 1 {
			t.Errorf("there is %q when the log is to go, %v", names, err)
		}
		told++
		return answer
	}
	if err := copying.From(t.Context(), conn); !errors.Is(err, rpc.ErrStandby) || told != 0 {
		t.Errorf("the server has no role: %v, and the log goes %d times", err, told)
	}
	role.held = true
	if err := copying.From(t.Context(), conn); !errors.Is(err, answer) || told != 1 {
		t.Errorf("the log is to stay: %v, and goes %d times", err, told)
	}
	answer = nil
	if err := copying.Drop(); err != nil || told != 2 {
		t.Errorf("dropped: %v, and goes %d times", err, told)
	}
	if names, err := logs.List(); err != nil || len(names) > 0 {
		t.Errorf("%q is left, %v", names, err)
	}
}

// TestCopyTakeFails: a standby that is named and whose disk fails before all that was acknowledged is there does not take the role over, and
// does not wait for ever.
func TestCopyTakeFails(t *testing.T) {
	pairOf(t, 1<<40, func(t *testing.T, p *pair) {
		p.disks[1].Slow = 10 * time.Second
		copying := p.servers[1].NewCopying("b")
		conn, over := p.follow(copying, "a")
		c, err := p.task("a", "j")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := push(t.Context(), c, 1); err != nil || p.roles[0].names() != 1 {
			t.Fatalf("pushed with %v, and %d standbys are named", err, p.roles[0].names())
		}
		_ = conn.Close()
		<-over
		p.disks[1].Start() // nothing comes there any more
		if err := copying.Take(t.Context()); err == nil {
			t.Error("a standby takes the role over that has not all on its disk")
		}
		_ = copying.Drop()
		if err := c.Leave(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestCopyDiskFails: what a standby that is named has not is not acknowledged when the server's own disk fails: the standby may take over.
func TestCopyDiskFails(t *testing.T) {
	pairOf(t, 1<<40, func(t *testing.T, p *pair) {
		var tasks [2]*ps.Client
		for i := range tasks {
			c, err := ps.Dial(t.Context(), ps.Options{Network: p.net, Servers: []string{"a"}, Job: "j", Task: i, Tasks: 2, Bound: ssp.ASP})
			if err == nil {
				err = c.Create(t.Context(), "", matrix.Meta{Name: "m", Rows: 1, Cols: wideRow, DType: matrix.F64, Layout: matrix.RowDense})
			}
			if err != nil {
				t.Fatal(err)
			}
			tasks[i] = c
		}
		r := p.raw()
		if err := r.ask(t.Context(), &rpc.Copy{Claim: "x"}); err != nil {
			t.Fatal(err)
		}
		waits := r.start(t.Context(), r.all("x"))
		if time.Sleep(time.Second); p.roles[0].names() != 1 {
			t.Fatal("a standby that has everything is not named")
		}
		var pushed [2]chan error
		for i, c := range tasks {
			pushed[i] = make(chan error, 1)
			go func() { pushed[i] <- push(t.Context(), c, 1) }()
			if i > 0 {
				continue
			}
			a, err := waits.Wait(t.Context()) // it is on the server's disk, and the standby does not say that it has it
			if err != nil {
				t.Fatal(err)
			}
			a.Release()
			p.disks[0].Start() // nothing comes there any more
		}
		for i, c := range tasks {
			if err := <-pushed[i]; err == nil {
				t.Errorf("push %d of 0, which the standby has not, and 1, which is on no disk, is acknowledged", i)
			}
			_ = c.Close()
		}
		_ = r.conn.Close()
	})
}

// TestCopyNamed: a standby that lacks what was acknowledged before anybody waited for it is not named before it has that.
func TestCopyNamed(t *testing.T) {
	pairOf(t, 1<<40, func(t *testing.T, p *pair) {
		c, err := p.task("a", "j")
		if err != nil {
			t.Fatal(err)
		}
		for range 16 { // twice what an answer has
			if err := push(t.Context(), c, 1); err != nil {
				t.Fatal(err)
			}
		}
		r := p.raw()
		if err := r.ask(t.Context(), &rpc.Copy{Claim: "x"}); err != nil {
			t.Fatal(err)
		}
		first := r.last.Logs[0].To
		if err := r.ask(t.Context(), r.all("x")); err != nil { // it counts
			t.Fatal(err)
		}
		if time.Sleep(time.Second); p.roles[0].names() > 0 || r.last.Logs[0].To == first {
			t.Errorf("a standby that has %d of at least %d bytes is named", first, r.last.Logs[0].To)
		}
		for range 4 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			a, err := r.start(ctx, r.all("x")).Wait(ctx)
			if cancel(); err != nil {
				break
			}
			_ = json.Unmarshal(a.Results[0].Data, &r.last)
			a.Release()
		}
		if p.roles[0].names() != 1 {
			t.Error("a standby that has everything is not named")
		}
		_ = r.conn.Close()
		_ = c.Close()
	})
}

// TestCopyCountsFromBegin: a log that begins while a standby counts comes to it from its begin on, and is waited for, even if it has a base before.
func TestCopyCountsFromBegin(t *testing.T) {
	pairOf(t, 1, func(t *testing.T, p *pair) {
		r := p.raw()
		if err := r.ask(t.Context(), &rpc.Copy{Claim: "x"}); err != nil {
			t.Fatal(err)
		}
		waits := r.start(t.Context(), r.all("x"))
		time.Sleep(time.Second)
		var jobs sync.WaitGroup
		join := func(job string) {
			c, err := p.task("a", job)
			if err != nil {
				t.Errorf("%s: %v", job, err)
				return
			}
			_ = c.Close()
		}
		jobs.Go(func() { join("one") })
		a, err := waits.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = json.Unmarshal(a.Results[0].Data, &r.last)
		a.Release()
		jobs.Go(func() { join("two") })
		time.Sleep(2 * time.Second)
		if p.disks[0].Bases() == 0 {
			t.Error("no log has a base")
		}
		if err := r.ask(t.Context(), r.all("x")); err != nil {
			t.Fatal(err)
		}
		for _, l := range r.last.Logs {
			if l.Base != 0 {
				t.Errorf("log %s comes with a base at position %d", l.Name, l.Base)
			}
		}
		_ = r.conn.Close()
		jobs.Wait()
	})
}

// TestCopyHostileStandby: standbys that lie hold a server up for a few seconds at most, and do not end it.
func TestCopyHostileStandby(t *testing.T) {
	for name, lie := range map[string]func(ctx context.Context, r *raw) error{
		"no JSON": func(ctx context.Context, r *raw) error {
			_, err := r.conn.Start(ctx, &rpc.Request{Op: rpc.OpCopy, Arg: []byte("{")}).Wait(ctx)
			return err
		},
		"no claim": func(ctx context.Context, r *raw) error { return r.ask(ctx, &rpc.Copy{}) },
		"less than it was sent": func(ctx context.Context, r *raw) error {
			q := r.all("x")
			q.Logs[0].End -= 8
			return r.ask(ctx, q)
		},
		"more than it was sent": func(ctx context.Context, r *raw) error {
			q := r.all("x")
			q.Logs[0].End += 8
			return r.ask(ctx, q)
		},
		"a log is left out": func(ctx context.Context, r *raw) error { return r.ask(ctx, &rpc.Copy{Claim: "x", Run: r.last.Run}) },
		"another run":       func(ctx context.Context, r *raw) error { return r.ask(ctx, &rpc.Copy{Claim: "x", Run: "other"}) },
		"another claim":     func(ctx context.Context, r *raw) error { return r.ask(ctx, r.all("y")) },
		"asks twice": func(ctx context.Context, r *raw) error {
			r.start(ctx, r.all("x"))
			return r.ask(ctx, r.all("x"))
		},
		"joins and goes": func(ctx context.Context, r *raw) error {
			text, _ := json.Marshal(&rpc.Join{Job: "k", Tasks: 1})
			_, _ = r.conn.Start(ctx, &rpc.Request{Op: rpc.OpJoin, Arg: text}).Wait(ctx)
			_ = r.conn.Close()
			return rpc.ErrAborted
		},
	} {
		t.Run(name, func(t *testing.T) {
			pairOf(t, 0, func(t *testing.T, p *pair) {
				c, err := p.task("a", "j")
				if err != nil {
					t.Fatal(err)
				}
				r := p.raw()
				if err := r.ask(t.Context(), &rpc.Copy{Claim: "x"}); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				if err := lie(ctx, r); err == nil || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a lie is answered with %v", err)
				}
				cancel()
				ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := push(ctx, c, 1); err != nil {
					t.Errorf("a push waits for who lies: %v", err)
				}
				if time.Sleep(time.Minute); p.roles[0].names() > 0 {
					t.Error("who lies is named")
				}
				_ = r.conn.Close()
				_ = c.Close()
			})
		})
	}
}

// liesTo is a server that gives these answers to who copies its logs, and then none.
type liesTo struct {
	mu   sync.Mutex
	left []*rpc.Response
}

func (a *liesTo) Serve(x *rpc.Exchange) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.left) == 0 {
		return
	}
	r := a.left[0]
	a.left = a.left[1:]
	x.Answer(r)
}

// TestCopyHostileServer: whatever comes from a server that lies is an error, and nothing is written but logs.
func TestCopyHostileServer(t *testing.T) {
	answer := func(head any, results ...rpc.Result) *rpc.Response {
		text, _ := json.Marshal(head)
		return &rpc.Response{Results: append([]rpc.Result{{Data: text}}, results...)}
	}
	head := func(logs ...rpc.CopiedLog) rpc.Copied { return rpc.Copied{Run: "r", Logs: logs} }
	garbage := bytes.Repeat([]byte("x"), 64)
	for name, all := range map[string][]*rpc.Response{
		"no result":          {{}},
		"no JSON":            {{Results: []rpc.Result{{Data: garbage}}}},
		"no run":             {answer(rpc.Copied{})},
		"a path":             {answer(head(rpc.CopiedLog{Name: "../x"}))},
		"no name":            {answer(head(rpc.CopiedLog{}))},
		"a size below 0":     {answer(head(rpc.CopiedLog{Name: "000001", Base: 8, Size: -1, From: 8, To: 8}))},
		"a size too large":   {answer(head(rpc.CopiedLog{Name: "000001", Base: 8, Size: 1 << 60, From: 8, To: 8}))},
		"begins later":       {answer(head(rpc.CopiedLog{Name: "000001", From: 64, To: 64}))},
		"ends elsewhere":     {answer(head(rpc.CopiedLog{Name: "000001", To: 800}))},
		"no such log":        {answer(head(rpc.CopiedLog{Name: "000001"}), rpc.Result{Matrix: 1, Partition: 7, Data: garbage})},
		"kind 0":             {answer(head(rpc.CopiedLog{Name: "000001", To: 96}), rpc.Result{Data: garbage})},
		"a record too early": {answer(head(rpc.CopiedLog{Name: "000001", Base: 8, Size: 99, From: 8, To: 8}), rpc.Result{Matrix: 1, Data: garbage})},
		"too much base":      {answer(head(rpc.CopiedLog{Name: "000001", Base: 8, Size: 9, From: 8, To: 8}), rpc.Result{Data: garbage})},
		"a base at 7":        {answer(head(rpc.CopiedLog{Name: "000001", Base: 7, Size: 64, From: 7, To: 7}), rpc.Result{Data: garbage})},
		"a base of garbage":  {answer(head(rpc.CopiedLog{Name: "000001", Base: 8, Size: 64, From: 8, To: 8}), rpc.Result{Data: garbage})},
		"garbage":            {answer(head(rpc.CopiedLog{Name: "000001", To: 96}), rpc.Result{Matrix: 1, Data: garbage})},
		"an unknown kind":    {answer(head(rpc.CopiedLog{Name: "000001", To: 96}), rpc.Result{Matrix: 1 << 30, Data: garbage})},
		"the base changes": {answer(head(rpc.CopiedLog{Name: "000001", Base: 8, Size: 99, From: 8, To: 8}), rpc.Result{Data: garbage}),
			answer(head(rpc.CopiedLog{Name: "000001", Base: 16, Size: 99, At: 64, From: 16, To: 16}))},
	} {
		t.Run(name, func(t *testing.T) {
			pairOf(t, 0, func(t *testing.T, p *pair) {
				l, err := p.net.Listen(t.Context(), "liar", &liesTo{left: all})
				if err != nil {
					t.Fatal(err)
				}
				conn, err := p.net.Dial(t.Context(), "liar")
				if err != nil {
					t.Fatal(err)
				}
				copying := p.servers[1].NewCopying("b")
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := copying.From(ctx, conn); err == nil || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("copied with %v", err)
				}
				names, _ := p.servers[1].Logs.List()
				for _, name := range names {
					if !regexp.MustCompile(`^[0-9]{6}$`).MatchString(name) {
						t.Errorf("there is a folder %q", name)
					}
				}
				if err := copying.Drop(); err != nil {
					t.Error(err)
				}
				if names, _ := p.servers[1].Logs.List(); len(names) > 0 {
					t.Errorf("%q stay", names)
				}
				_ = conn.Close()
				_ = l.Close()
			})
		})
	}
}
