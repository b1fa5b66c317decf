package server_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/blob"
	"thole.example/journal/journaltest"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/ssp"
)

// joiner joins tasks of a job after some moves of it.
type joiner struct {
	t   *testing.T
	net rpc.Network
}

func (j joiner) dial(task, attempt, moves int, servers ...string) (*ps.Client, error) {
	return ps.Dial(j.t.Context(), ps.Options{Network: j.net, Servers: servers, Job: "j", Task: task, Tasks: 2, Attempt: attempt, Moves: moves,
		Bound: ssp.ASP, Retry: time.Hour, Worker: fmt.Sprint(task)})
}

func (j joiner) must(task, attempt, moves int, servers ...string) *ps.Client {
	j.t.Helper()
	p, err := j.dial(task, attempt, moves, servers...)
	if err != nil {
		j.t.Fatalf("task %d in attempt %d: %v", task, attempt, err)
	}
	j.t.Cleanup(func() { p.Close() })
	return p
}

// moved wants a task to be told that the job has moved.
func (j joiner) moved(task, attempt, moves int, servers ...string) {
	j.t.Helper()
	p, err := j.dial(task, attempt, moves, servers...)
	if _, is := errors.AsType[*ps.Moved](err); !is || !ps.Recoverable(err) {
		j.t.Errorf("task %d in attempt %d after %d moves: %v, want that the job has moved", task, attempt, moves, err)
	}
	if p != nil {
		p.Close()
	}
}

// together has both tasks of an attempt leave it.
func (j joiner) together(a, b *ps.Client) {
	j.t.Helper()
	ctx := j.t.Context()
	if err := errors.Join(a.Clock(ctx, 0, 0), b.Clock(ctx, 0, 0), a.Barrier(ctx), b.Barrier(ctx), a.Leave(ctx), b.Leave(ctx)); err != nil {
		j.t.Errorf("the attempt that goes on: %v", err)
	}
}

// TestMovedJoins: of tasks that come to different servers in one attempt, because the job has moved in between, those that know of the move
// have the attempt of the others end, and the others hear of it. Tasks that know of as many moves are refused.
func TestMovedJoins(t *testing.T) {
	for name, to := range map[string][]int{"to the first": {0}, "to the second": {1}, "to another": {2, 1}} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, "mem", 3, &blob.Mem{}, nil)
			j := joiner{t, f.net}
			old, now := f.servers[:2], []string(nil)
			for _, i := range to {
				now = append(now, f.servers[i])
			}
			if name == "to another" { // on which both take the second server for the same
				old = []string{f.servers[1], f.servers[0]}
			}
			stale := j.must(1, 5, 0, old...)
			_, err := j.dial(0, 5, 1, now...)
			toldLater(t, err, 6)
			a := j.must(0, 6, 1, now...)
			if err := stale.Barrier(t.Context()); !ps.Recoverable(err) {
				t.Errorf("a task on the servers before the move: %v, want that it may come again", err)
			}
			stale.Close()
			for _, attempt := range []int{6, 9} { // a higher one does not end that which runs
				j.moved(1, attempt, 0, old...)
			}
			_, err = j.dial(1, 5, 0, old...)
			toldLater(t, err, 6)
			if _, err = j.dial(1, 6, 1, old...); !errors.Is(err, rpc.ErrRefused) || ps.Recoverable(err) {
				t.Errorf("a task with other servers after as many moves: %v, want that it is refused", err)
			}
			j.together(a, j.must(1, 6, 1, now...))
		})
	}
}

// TestBaseMoves: a server that is started again from a base still knows after which move its job came to it.
func TestBaseMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk, net, bucket := journaltest.NewDisk(1), &mem.Network{}, &blob.Mem{}
		l := startBased(t, disk, net, bucket, false)
		defer func() { l.Close() }()
		other, err := net.Listen(t.Context(), "other", &server.Server{Codecs: codecs, Bucket: bucket})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		j := joiner{t, net}
		p := j.must(0, 5, 1, "s")
		if err := p.Create(t.Context(), "", meta("m", 1, 40, matrix.RowDense)); err != nil {
			t.Fatal(err)
		}
		one := matrix.NewDense(matrix.F64, matrix.At(0, 1, 0, 40))
		for disk.Bases() == 0 {
			if err := errors.Join(p.Push("m", one), p.Flush(t.Context())); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		disk.Kill()
		_ = l.Close()
		l = startBased(t, disk, net, bucket, false)
		j.moved(1, 5, 0, "s", "other")
		j.together(p, j.must(1, 5, 1, "s"))
		time.Sleep(3 * time.Hour)
		synctest.Wait()
	})
}
