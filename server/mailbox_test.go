package server

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"thole.example/rpc"
	"thole.example/ssp"
)

// newJob is a job that nobody has joined.
func newJob(t *testing.T) *job {
	t.Helper()
	s := &Server{Log: slog.New(slog.DiscardHandler)}
	j, err := s.enter(&rpc.Join{Job: "j"})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestCapture: who brings work is kept busy by the work of others only so long, though there is always more, and then somebody
// else goes on.
func TestCapture(t *testing.T) {
	boxes := map[string]func() (post func(w work) bool, run func()){
		"job": func() (func(w work) bool, func()) {
			j := newJob(t)
			return func(w work) bool { return j.box.post(w) }, j.run
		},
		"partition": func() (func(w work) bool, func()) {
			p := &partition{}
			return func(w work) bool { return p.post(w) }, p.run
		},
	}
	for name, box := range boxes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				post, run := box()
				returned := make(chan struct{})
				done := 0
				var more deed
				more = func() {
					if done++; done == 2*capture {
						<-returned
					}
					if done < 100*capture {
						post(more)
					}
				}
				if !post(more) {
					t.Fatal("the mailbox has an owner")
				}
				run()
				close(returned)
				synctest.Wait()
				if done != 100*capture || !post(deed(func() {})) {
					t.Errorf("%d of %d were done, or the mailbox has an owner", done, 100*capture)
				}
			})
		})
	}
}

// TestCorePanics: a mistake in what decides about a job fails that job, and leaves its mailbox to others.
func TestCorePanics(t *testing.T) {
	j := newJob(t)
	answers := make(chan error, 2)
	exchange := func() *rpc.Exchange {
		return rpc.NewExchange(&rpc.Request{}, &rpc.Peer{}, func(_ *rpc.Exchange, _ *rpc.Response, err error) { answers <- err })
	}
	q := &request{x: exchange()}
	q.ready = func(ssp.Answer[*request]) { panic("a mistake") }
	j.post(ssp.Join[*request]{Req: q, Conn: 1, Tasks: 2}, q)
	<-answers
	if failed := j.failed.Load(); failed == nil || !errors.Is(*failed, rpc.ErrInternal) {
		t.Fatalf("the job has failed with %v, want %v", failed, rpc.ErrInternal)
	}
	next := &request{x: exchange()}
	j.post(ssp.Pull[*request]{Req: next, Conn: 1}, next)
	if err := <-answers; !errors.Is(err, rpc.ErrInternal) {
		t.Errorf("what comes after is answered with %v", err)
	}
}
