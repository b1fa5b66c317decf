package s3_test

import (
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/blob/s3"
	"thole.example/blob/s3/s3test"
	"thole.example/internal/proc"
)

// await claims a tree for job b, and tells what was waited for. Whenever it waits, so much time passes.
func await(t *testing.T, b *s3.Bucket, pass func()) (waited []blob.Claimed, err error) {
	t.Helper()
	release, err := blob.Await(t.Context(), b, "out/ck", "job b", func(c *blob.Claimed) {
		waited = append(waited, *c)
		pass()
	})
	if err == nil {
		release()
	}
	return waited, err
}

// process starts a process and gives its name; end kills it. The test skips on systems that do not name processes: there, only the age of
// what they leave counts.
func process(t *testing.T) (name string, end func()) {
	t.Helper()
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		c.Process.Kill()
		c.Wait()
	})
	t.Cleanup(end)
	if name = proc.Name(c.Process.Pid); name == "" {
		t.Skip("this system does not tell whether a process lives")
	}
	return name, end
}

// TestAwait: whoever is started again waits for the claim of a process that was killed elsewhere, until it lapses, and hears of one that is
// renewed whose it is. Of a process of this machine it is seen whether it lives: then nobody waits.
func TestAwait(t *testing.T) {
	s := serve(t)
	b := open(t, s, func(o *s3.Options) { o.Lease = 300 * time.Millisecond })
	left := func(of string) {
		write(t, b, map[string]string{"out/_tmp.ck.claim": "process 7 of elsewhere\nABC 5\n" + of + "\n"})
	}
	for what, of := range map[string]string{"of another machine": "8a1e 4026531836 7 12", "of a version that did not say": ""} {
		left(of)
		waited, err := await(t, b, func() { s.Advance(2 * time.Second) })
		if err != nil || len(waited) != 1 || waited[0].Who != "process 7 of elsewhere" || waited[0].Lapses <= 0 || waited[0].Lapses > 300*time.Millisecond {
			t.Errorf("%s: %+v, %v, want to wait for process 7 once, and the claim", what, waited, err)
		}
	}

	left("8a1e 4026531836 7 12")
	_, err := await(t, b, func() {
		write(t, b, map[string]string{"out/_tmp.ck.claim": "process 7 of elsewhere\nABC 6\n"})
	})
	if is, ok := errors.AsType[*blob.Claimed](err); !ok || is.Who != "process 7 of elsewhere" {
		t.Errorf("%v, want that process 7 has it, which renews it", err)
	}

	name, end := process(t)
	left(name)
	if waited, err := await(t, b, func() {}); len(waited) != 0 || err == nil || !strings.Contains(err.Error(), "process 7") {
		t.Errorf("waited for %v, %v, want that process 7 lives", waited, err)
	}
	end()
	if waited, err := await(t, b, func() {}); len(waited) != 0 || err != nil {
		t.Errorf("waited for %v, %v, want the claim of a process that is gone", waited, err)
	}
	if keys := s.Keys(); len(keys) != 0 {
		t.Errorf("%q remain", keys)
	}
}

// TestReleaseFails: a claim that could not be released because the store did not answer is free for the process that had it once the store
// answers, and for others when it lapses.
func TestReleaseFails(t *testing.T) {
	s := serve(t)
	change := func(o *s3.Options) { o.Attempts = 1 }
	b := open(t, s, change)
	release, err := b.Claim(t.Context(), "out/ck", "job a")
	if err != nil {
		t.Fatal(err)
	}
	s.Plan(s3test.After(0, s3test.Cut))
	release()
	s.Plan(nil)
	other := open(t, s, change)
	if _, err := other.Claim(t.Context(), "out/ck", "job c"); !errors.As(err, new(*blob.Claimed)) {
		t.Errorf("%v, want that another still sees the claim", err)
	}
	release, err = b.Claim(t.Context(), "out/ck", "job b")
	if err != nil {
		t.Fatalf("%v, want the claim that was released", err)
	}
	if _, err := b.Claim(t.Context(), "out/ck", "job c"); !errors.As(err, new(*blob.Claimed)) {
		t.Errorf("%v, want that job b has it", err)
	}
	release()
	if keys := s.Keys(); len(keys) != 0 {
		t.Errorf("%q remain", keys)
	}
}

// TestAwaitRenewed: a claim that a bucket renews is seen to be so.
func TestAwaitRenewed(t *testing.T) {
	s := serve(t)
	b := open(t, s, func(o *s3.Options) { o.Lease = 120 * time.Millisecond })
	release, err := b.Claim(t.Context(), "out/ck", "job a")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	waited, err := await(t, b, func() {})
	if is, ok := errors.AsType[*blob.Claimed](err); !ok || is.Who != "job a" || len(waited) != 1 {
		t.Errorf("waited for %v, %v, want that job a has it", waited, err)
	}
}
