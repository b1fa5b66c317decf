package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/journal"
	"thole.example/rpc"
)

// liesLater is liesTo that takes its time.
type liesLater struct{ liesTo }

func (a *liesLater) Serve(x *rpc.Exchange) { time.AfterFunc(time.Second, func() { a.liesTo.Serve(x) }) }

// TestCopyReplaced: a standby that is sent the log of the next attempt of a job before it hears that the log of the attempt before is gone
// ends its copy of that one, and goes on.
func TestCopyReplaced(t *testing.T) {
	const begin, join = 1, 2 // kinds of records
	length := func(body []byte) uint64 { return uint64(32+len(body)+7) &^ 7 }
	answer := func(logs []rpc.CopiedLog, records ...rpc.Result) *rpc.Response {
		text, _ := json.Marshal(rpc.Copied{Run: "r", Logs: logs})
		return &rpc.Response{Results: append([]rpc.Result{{Data: text}}, records...)}
	}
	began := []byte(`{"job":"j"}`)
	joined := func(attempt int) []byte {
		text, _ := json.Marshal(struct {
			rpc.Join
			Name string `json:"name"`
		}{rpc.Join{Job: "j", Tasks: 1, Attempt: attempt, Client: "c", Grace: int64(time.Hour)}, "worker"})
		return text
	}
	first, second := joined(1), joined(2)
	end := []uint64{length(began) + length(first), length(began) + length(second)}
	pairOf(t, 0, func(t *testing.T, p *pair) {
		l, err := p.net.Listen(t.Context(), "holder", &liesLater{liesTo{left: []*rpc.Response{
			answer([]rpc.CopiedLog{{Name: "000001", To: end[0]}}, rpc.Result{Matrix: begin, Data: began}, rpc.Result{Matrix: join, Data: first}),
			answer([]rpc.CopiedLog{{Name: "000001", From: end[0], To: end[0]}, {Name: "000002", To: end[1]}},
				rpc.Result{Matrix: begin, Partition: 1, Data: began}, rpc.Result{Matrix: join, Partition: 1, Data: second}),
			answer([]rpc.CopiedLog{{Name: "000002", From: end[1], To: end[1]}}),
		}}})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := p.net.Dial(t.Context(), "holder")
		if err != nil {
			t.Fatal(err)
		}
		copying := p.servers[1].NewCopying("b")
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- copying.From(ctx, conn) }()
		time.Sleep(10 * time.Second)
		if names := p.disks[1].Going(); !slices.Equal(names, []string{"000002"}) {
			t.Errorf("the standby has logs %q, want the second one", names)
		}
		cancel()
		<-over
		dropped := make(chan error, 1)
		go func() { dropped <- copying.Drop() }()
		select {
		case err := <-dropped:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Hour):
			t.Error("what the standby copied does not end")
		}
		_ = conn.Close()
		_ = l.Close()
	})
}

// TestCopyTakeFull: a standby whose disk is full when it is to take the role over fails with a temporary error, whether its log has already
// given up waiting for room or not.
func TestCopyTakeFull(t *testing.T) {
	for _, wait := range []time.Duration{time.Second, time.Minute} {
		pairOf(t, 1<<40, func(t *testing.T, p *pair) {
			p.servers[1].LogPatience = wait
			copying := p.servers[1].NewCopying("b")
			conn, over := p.follow(copying, "a")
			c, err := p.task("a", "j")
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			p.disks[1].SetRoom(p.disks[1].Used())
			if err := push(t.Context(), c, 1); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			_ = conn.Close()
			<-over
			if err := copying.Take(t.Context()); !errors.Is(err, blob.ErrUnavailable) || !errors.Is(err, journal.ErrFull) {
				t.Errorf("it takes over with %v, want a temporary error of a full disk", err)
			}
			_ = copying.Drop()
			if err := c.Leave(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
