package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"thole.example/blob"
	"thole.example/ps"
	"thole.example/rpc"
)

// TestClaimFolder: one job at a time writes checkpoints to a folder, whichever servers of the bucket it is on. The next attempt of it may,
// and another job when it has ended.
func TestClaimFolder(t *testing.T) {
	dir := t.TempDir()
	f, other := newFleet(t, "mem", 1, blob.NewDir(dir), nil), newFleet(t, "mem", 1, blob.NewDir(dir), nil)
	ctx := t.Context()
	dial := func(f *fleet, job string, attempt int) *ps.Client {
		t.Helper()
		p, err := ps.Dial(ctx, ps.Options{Network: f.net, Servers: f.servers, Job: job, Tasks: 1, Attempt: attempt})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		return p
	}
	a := dial(f, "a", 1)
	for range 2 {
		if _, err := a.ClaimCheckpoints(ctx, "run/ck"); err != nil {
			t.Fatal(err)
		}
	}
	for i, of := range []*fleet{f, other} {
		b := dial(of, "b", 0)
		if _, err := b.ClaimCheckpoints(ctx, "run/ck"); !errors.Is(err, rpc.ErrRefused) || !strings.Contains(err.Error(), `job "a"`) {
			t.Errorf("another job: %v, want that job a has the folder", err)
		}
		if _, err := b.Checkpoints(ctx, "run/ck"); err != nil {
			t.Errorf("to look is refused: %v", err)
		}
		if _, err := b.ClaimCheckpoints(ctx, fmt.Sprint("run/other", i)); err != nil {
			t.Errorf("another folder: %v", err)
		}
		if err := b.Leave(ctx); err != nil {
			t.Error(err)
		}
	}
	a = dial(f, "a", 2)
	if _, err := a.ClaimCheckpoints(ctx, "run/ck"); err != nil {
		t.Errorf("the next attempt: %v", err)
	}
	if err := a.Leave(ctx); err != nil {
		t.Fatal(err)
	}
	b, err := dial(other, "b", 0), rpc.ErrRefused
	for errors.Is(err, rpc.ErrRefused) && t.Context().Err() == nil { // a job that has ended gives its folder back in the background
		_, err = b.ClaimCheckpoints(ctx, "run/ck")
	}
	if err != nil {
		t.Errorf("after its end: %v", err)
	}
}

// slowClaims is a bucket whose claims take until somebody says so to give back.
type slowClaims struct {
	*blob.Dir
	began, proceed chan struct{}
}

func (c slowClaims) Claim(ctx context.Context, tree, who string) (func(), error) {
	release, err := c.Dir.Claim(ctx, tree, who)
	return func() { c.began <- struct{}{}; <-c.proceed; release() }, err
}

// TestSlowRelease: while the files of an ended job's claims are removed, which may take long, the server serves others; the folder is the
// job's until then.
func TestSlowRelease(t *testing.T) {
	bucket := slowClaims{blob.NewDir(t.TempDir()), make(chan struct{}, 2), make(chan struct{})}
	goOn := sync.OnceFunc(func() { close(bucket.proceed) })
	f := newFleet(t, "mem", 1, bucket, nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience) // a server that serves nobody meanwhile is let go on then
	defer cancel()
	context.AfterFunc(ctx, goOn)
	dial := func(job string) *ps.Client {
		t.Helper()
		p, err := ps.Dial(ctx, ps.Options{Network: f.net, Servers: f.servers, Job: job, Tasks: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		return p
	}
	a := dial("a")
	if _, err := a.ClaimCheckpoints(ctx, "run/ck"); err != nil {
		t.Fatal(err)
	}
	if err := a.Leave(ctx); err != nil {
		t.Fatal(err)
	}
	<-bucket.began
	b := dial("b")
	if _, err := b.ClaimCheckpoints(ctx, "run/ck"); !errors.Is(err, rpc.ErrRefused) || !strings.Contains(err.Error(), `job "a"`) {
		t.Errorf("before it is given back: %v, want that job a has the folder", err)
	}
	goOn()
	err := rpc.ErrRefused
	for errors.Is(err, rpc.ErrRefused) && ctx.Err() == nil {
		_, err = b.ClaimCheckpoints(ctx, "run/ck")
	}
	if err != nil {
		t.Errorf("after it was given back: %v", err)
	}
}

// lapsing is a bucket with a claim of somebody who does not renew it, until it is free.
type lapsing struct {
	*blob.Dir
	looks chan struct{}
	free  chan struct{}
}

func (c lapsing) Claim(ctx context.Context, tree, who string) (func(), error) {
	select {
	case <-c.free:
		return c.Dir.Claim(ctx, tree, who)
	default:
		c.looks <- struct{}{}
		return nil, &blob.Claimed{Tree: tree, Who: "process 7", Lapses: patience, Beat: "1"}
	}
}

// TestClaimLapses: a job waits for the claim of a killed server to lapse. A second task that asks meanwhile is answered when it is known
// whether the job has the claim, also if the first task gave up.
func TestClaimLapses(t *testing.T) {
	bucket := lapsing{blob.NewDir(t.TempDir()), make(chan struct{}, 100), make(chan struct{})}
	f := newFleet(t, "mem", 1, bucket, nil)
	var tasks [2]*ps.Client
	for i := range tasks {
		p, err := ps.Dial(t.Context(), ps.Options{Network: f.net, Servers: f.servers, Job: "a", Task: i, Tasks: len(tasks)})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		tasks[i] = p
	}
	first, giveUp := context.WithCancel(t.Context())
	answers := make(chan error, 2)
	go func() {
		_, err := tasks[0].ClaimCheckpoints(first, "run/ck")
		answers <- err
	}()
	<-bucket.looks
	go func() {
		_, err := tasks[1].ClaimCheckpoints(t.Context(), "run/ck")
		answers <- err
	}()
	giveUp()
	if err := <-answers; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that the first gave up", err)
	}
	select {
	case <-bucket.looks: // for the second
	case err := <-answers:
		t.Fatalf("%v before the claim has lapsed", err)
	}
	close(bucket.free)
	if err := <-answers; err != nil {
		t.Error(err)
	}
	_, err := bucket.Claim(t.Context(), "run/ck", "another")
	if is, ok := errors.AsType[*blob.Claimed](err); !ok || !strings.HasPrefix(is.Who, `job "a"`) {
		t.Errorf("%v, want that job a has it", err)
	}
}

// TestEndSavesGivesBack: a server whose process ends gives the folders back, though its jobs have not ended: in a store nothing else does.
func TestEndSavesGivesBack(t *testing.T) {
	dir := t.TempDir()
	f := newFleet(t, "mem", 1, blob.NewDir(dir), nil)
	p, err := ps.Dial(t.Context(), ps.Options{Network: f.net, Servers: f.servers, Job: "a", Tasks: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.ClaimCheckpoints(t.Context(), "run/ck"); err != nil {
		t.Fatal(err)
	}
	claim := func() error {
		release, err := blob.NewDir(dir).Claim(t.Context(), "run/ck", "another")
		if err == nil {
			release()
		}
		return err
	}
	if err := claim(); err == nil {
		t.Error("another has the folder of a job that runs")
	}
	f.served[0].EndSaves(t.Context())
	if err := claim(); err != nil {
		t.Error(err)
	}
}
