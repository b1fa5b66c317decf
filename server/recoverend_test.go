package server_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
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

// TestRecoverInterrupted: a server that is interrupted reads no more of its logs, says so, and leaves them as they are.
func TestRecoverInterrupted(t *testing.T) { untilAllEnds(t, recoverInterrupted) }

func recoverInterrupted(t *testing.T) {
	bucket := &blob.Mem{}
	disk := loggedJob(t, bucket, 0)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for name, recovers := range map[string]func(s *server.Server) error{
		"Recover":      func(s *server.Server) error { return s.Recover(ctx) },
		"RecoverWhole": func(s *server.Server) error { return s.RecoverWhole(ctx) },
	} {
		if err := recovers(newLogged(t, disk, bucket)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s that is interrupted gives %v", name, err)
		}
		time.Sleep(time.Hour)
		if names, err := disk.Now().List(); err != nil || !slices.Equal(names, []string{"000001"}) {
			t.Errorf("%s that is interrupted leaves %q, %v", name, names, err)
		}
	}
	if _, said := recovers(t, disk, bucket); !strings.Contains(said, "job continues where") {
		t.Errorf("a log that was not read to its end is not made again: %s", said)
	}
}

// stuck is a bucket that does not answer, until whoever asks gives up.
type stuck struct {
	blob.Bucket
	asked atomic.Int32
}

func (b *stuck) State(ctx context.Context, _ string) (blob.State, error) {
	b.asked.Add(1)
	<-ctx.Done()
	return blob.Nothing, context.Cause(ctx)
}

// TestRecoverStuck: a server that is interrupted does not wait for a load that it makes again.
func TestRecoverStuck(t *testing.T) { untilAllEnds(t, recoverStuck) }

func recoverStuck(t *testing.T) {
	bucket := &blob.Mem{}
	disk := loggedJob(t, bucket, 0)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	s := newLogged(t, disk, &stuck{Bucket: bucket})
	s.Ledger = budget.New(64 << 20)
	if err := s.Recover(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that is interrupted in a load gives %v", err)
	}
	time.Sleep(time.Hour)
	if used := s.Ledger.Used(); used.Total() != 0 {
		t.Errorf("%v are in use when it has ended", used)
	}
	if names, err := disk.Now().List(); err != nil || !slices.Equal(names, []string{"000001"}) {
		t.Errorf("it leaves %q, %v", names, err)
	}
}

// TestCopyTakeStuck: a standby that shall take over, and that is interrupted, does not wait for a load that it makes again; nor does it when
// the copy ends.
func TestCopyTakeStuck(t *testing.T) {
	pairOf(t, 1<<40, func(t *testing.T, p *pair) {
		stuck := &stuck{Bucket: p.servers[1].Bucket}
		p.servers[1].Bucket = stuck
		copying := p.servers[1].NewCopying("b")
		conn, over := p.follow(copying, "a")
		c := p.loaded()
		time.Sleep(time.Minute)
		_ = conn.Close()
		<-over
		if stuck.asked.Load() == 0 {
			t.Error("the standby has not come to the load")
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := copying.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a standby that is interrupted takes over with %v", err)
		}
		if err := copying.Drop(); err != nil {
			t.Error(err)
		}
		if names, err := p.disks[1].Now().List(); err != nil || len(names) != 0 {
			t.Errorf("%q is left, %v", names, err)
		}
		if err := c.Leave(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// mistaken is a bucket that panics once when it is asked.
type mistaken struct {
	blob.Bucket
	asked atomic.Int32
}

func (b *mistaken) State(ctx context.Context, name string) (blob.State, error) {
	if b.asked.Add(1) == 1 {
		panic("a mistake")
	}
	return b.Bucket.State(ctx, name)
}

// TestCopyPanics: a standby in which something panics while it makes a log's changes begins that log anew.
func TestCopyPanics(t *testing.T) {
	pairOf(t, 1<<40, func(t *testing.T, p *pair) {
		bucket := &mistaken{Bucket: p.servers[1].Bucket}
		p.servers[1].Bucket = bucket
		copying := p.servers[1].NewCopying("b")
		conn, over := p.follow(copying, "a")
		c := p.loaded()
		if err := <-over; !errors.Is(err, rpc.ErrInternal) {
			t.Errorf("a copy ends with %v", err)
		}
		_ = conn.Close()
		time.Sleep(time.Second)
		conn, over = p.follow(copying, "a")
		time.Sleep(time.Minute)
		if p.roles[0].names() != 1 || bucket.asked.Load() < 2 {
			t.Errorf("%d standbys are named, after the bucket was asked %d times", p.roles[0].names(), bucket.asked.Load())
		}
		_ = conn.Close()
		<-over
		if err := errors.Join(copying.Drop(), c.Leave(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// TestRecoverReplaced: the log of a job in which a process took the place of a lost one is replayed, by a server that was killed; a log does
// not say that a connection ended.
func TestRecoverReplaced(t *testing.T) { untilAllEnds(t, recoverReplaced) }

func recoverReplaced(t *testing.T) {
	disk, net := journaltest.NewDisk(1), &mem.Network{}
	ctx := t.Context()
	s := newLogged(t, disk, &blob.Mem{})
	serve := func() rpc.Listener {
		t.Helper()
		l, err := net.Listen(ctx, "s", s)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := serve()
	dial := func(task int, worker string) *ps.Client {
		t.Helper()
		c, err := ps.Dial(ctx, ps.Options{Network: net, Servers: []string{"s"}, Job: "j", Task: task, Tasks: 3, Bound: ssp.ASP, Retry: time.Hour,
			Worker: worker, Mine: map[string][]int{"one": {0, 1}, "another": {0, 1}, "two": {2}}[worker], Replace: true, Attempt: 1})
		if err == nil {
			err = c.Create(ctx, "", meta("m", 1, 4, matrix.RowDense))
		}
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	adds := func(c *ps.Client) {
		t.Helper()
		if err := errors.Join(c.Push("m", cells(1)), c.Clock(ctx, 1, 1), c.Flush(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	clients := []*ps.Client{dial(0, "one"), dial(1, "one"), dial(2, "two")}
	for _, c := range clients {
		adds(c)
	}
	for task := range 2 {
		if err := clients[task].Part(); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Second)
	for task := range 2 {
		clients[task] = dial(task, "another")
		adds(clients[task])
	}
	_ = l.Close()
	disk.Start()
	names, said := recovers(t, disk, &blob.Mem{})
	if !slices.Equal(names, []string{"000001"}) || !strings.Contains(said, "job continues where") {
		t.Fatalf("the log is not replayed: %q: %s", names, said)
	}
	s = newLogged(t, disk, &blob.Mem{})
	if err := s.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	l = serve()
	defer l.Close()
	for _, c := range clients {
		adds(c)
	}
	if got := held(t, clients[2]); got != 8 {
		t.Errorf("the parameters are %v, want the 8 that were added", got)
	}
	for _, c := range clients {
		_ = c.Close()
	}
}
