package server

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"thole.example/access"
	"thole.example/rpc"
	"thole.example/ssp"
)

// newJob is a job that nobody has joined.
func newJob(t *testing.T) *job {
	t.Helper()
	s := &Server{Log: slog.New(slog.DiscardHandler)}
	j, err := s.enter(&joinArgs{Join: rpc.Join{Job: "j"}, full: access.JobName{Name: "j"}}, nil)
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

// logged is a job that nobody has joined, and the log of its server.
func logged(t *testing.T) (*job, *bytes.Buffer) {
	t.Helper()
	j, log := newJob(t), &bytes.Buffer{}
	j.server.Log = slog.New(slog.NewTextHandler(log, nil))
	return j, log
}

// exchange is one whose error goes to the channel.
func exchange(answers chan<- error) *rpc.Exchange {
	return rpc.NewExchange(&rpc.Request{}, &rpc.Peer{}, func(_ *rpc.Exchange, _ *rpc.Response, err error) { answers <- err })
}

// panicked wants an error that has the value of a panic and not the stack, which the log has.
func panicked(t *testing.T, err error, value string, log *bytes.Buffer) {
	t.Helper()
	if !errors.Is(err, rpc.ErrInternal) || !strings.Contains(err.Error(), value) || strings.Contains(err.Error(), "goroutine") {
		t.Errorf("answered is %v, want %v with %q and no stack", err, rpc.ErrInternal, value)
	}
	if text := log.String(); !strings.Contains(text, value) || !strings.Contains(text, "mailbox_test.go") {
		t.Errorf("the log has %q, want %q and the stack", text, value)
	}
}

// TestCorePanics: a mistake in what decides about a job fails that job, and leaves its mailbox to others.
func TestCorePanics(t *testing.T) {
	j, log := logged(t)
	answers := make(chan error, 2)
	q := &request{x: exchange(answers)}
	q.ready = func(ssp.Answer[*request]) { panic("a mistake") }
	j.post(ssp.Join[*request]{Req: q, Conn: 1, Tasks: 2}, q)
	panicked(t, <-answers, "a mistake", log)
	if failed := j.failed.Load(); failed == nil || !errors.Is(*failed, rpc.ErrInternal) {
		t.Fatalf("the job has failed with %v, want %v", failed, rpc.ErrInternal)
	}
	next := &request{x: exchange(answers)}
	j.post(ssp.Pull[*request]{Req: next, Conn: 1}, next)
	if err := <-answers; !errors.Is(err, rpc.ErrInternal) {
		t.Errorf("what comes after is answered with %v", err)
	}
}

// TestCoreGone: everybody is answered by a job whose core is so wrong that it cannot even fail.
func TestCoreGone(t *testing.T) {
	j, log := logged(t)
	j.core = nil
	answers := make(chan error, 2)
	for range 2 {
		q := &request{x: exchange(answers)}
		j.post(ssp.Pull[*request]{Req: q, Conn: 1}, q)
		panicked(t, <-answers, "nil pointer", log)
		if failed := j.failed.Load(); failed == nil || !errors.Is(*failed, rpc.ErrInternal) || j.ctx.Err() == nil {
			t.Errorf("the job has failed with %v, want %v", failed, rpc.ErrInternal)
		}
	}
}

// TestWorkPanics: so is other work of a job's mailbox, and of a partition's.
func TestWorkPanics(t *testing.T) {
	j, log := logged(t)
	answers := make(chan error, 1)
	j.submit(&creation{j: j, m: &member{job: j}, q: &request{x: exchange(answers)}, stores: []*store{nil}})
	panicked(t, <-answers, "nil pointer", log)

	synctest.Test(t, func(t *testing.T) {
		j, log := logged(t)
		p := &partition{of: &store{job: j}}
		p.wait(func() { panic("a mistake") })
		p.wait(func() {}) // the mailbox goes on
		synctest.Wait()
		if failed := j.failed.Load(); failed == nil {
			t.Error("the job goes on")
		} else {
			panicked(t, *failed, "a mistake", log)
		}
	})
}
