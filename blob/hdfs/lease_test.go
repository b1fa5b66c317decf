package hdfs

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"slices"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/internal/proc"
)

// two are buckets of one folder, as those of two processes.
func two(t *testing.T, o Options) (a, b *Bucket) {
	t.Helper()
	return open(t, o), open(t, o)
}

// TestClaim: one at a time has a tree; the others hear who it is, until it is released.
func TestClaim(t *testing.T) {
	o := given(t)
	leakless(t)
	a, b := two(t, o)
	release, err := a.Claim(t.Context(), "out/ck", "job a")
	if err != nil {
		t.Fatal(err)
	}
	for who, other := range map[string]*Bucket{"another process": b, "the same": a} {
		_, err = other.Claim(t.Context(), "out/ck", "job b")
		if is, ok := errors.AsType[*blob.Claimed](err); !ok || is.Who != "job a" || is.Tree != "out/ck" {
			t.Errorf("%s: %v, want that job a has it", who, err)
		}
	}
	if other, err := b.Claim(t.Context(), "out/ck2", "job b"); err != nil {
		t.Errorf("another tree: %v", err)
	} else {
		other()
	}
	release()
	wantEntries(t, a, "out", "")
	again, err := b.Claim(t.Context(), "out/ck", "")
	if err != nil {
		t.Fatal(err)
	}
	release() // once more, when it is another's
	_, err = a.Claim(t.Context(), "out/ck", "job d")
	if is, ok := errors.AsType[*blob.Claimed](err); !ok || is.Who != "somebody who has not said yet who it is" {
		t.Errorf("%v, want that somebody has it", err)
	}
	again()
	if _, err := a.Claim(t.Context(), "../x", ""); !errors.Is(err, blob.ErrName) {
		t.Errorf("%v, want that the name is wrong", err)
	}
}

// TestReadersSeeNoGap replaces a tree while others read it: they see the old or the new one, always.
func TestReadersSeeNoGap(t *testing.T) {
	o := given(t)
	leakless(t)
	a, b := two(t, o)
	tree := func(n int) string { return fmt.Sprintf("_tmp.m.%d/m", n) }
	write(t, a, "m/x", []byte("in m/x"))
	done := make(chan error)
	go func() {
		var err error
		for n := range 100 {
			if err == nil {
				err = blob.WriteAll(t.Context(), a, tree(n)+"/x", []byte("in m/x"))
			}
			if err == nil {
				err = a.Publish(t.Context(), tree(n), "m", blob.Anything)
			}
		}
		done <- err
	}()
	for reads := 0; ; reads++ {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			t.Logf("%d reads", reads)
			return
		default:
		}
		if _, err := b.Open(t.Context(), "m/x"); err != nil {
			t.Errorf("open: %v", err)
		}
		if infos, err := b.List(t.Context(), ""); err != nil || len(infos) != 1 {
			t.Errorf("list: %v, %v", infos, err)
		}
		if s, err := b.State(t.Context(), "m"); s == blob.Nothing || err != nil {
			t.Errorf("state %q, %v", s, err)
		}
	}
}

// TestPublishersTakeTurns has two publish over what they saw, again and again: nobody's is lost.
func TestPublishersTakeTurns(t *testing.T) {
	o := given(t)
	a, b := two(t, o)
	write(t, a, "n", []byte{0})
	const rounds = 15
	add := func(b *Bucket) error {
		for done := 0; done < rounds; {
			over, err := b.State(t.Context(), "n")
			if err != nil {
				return err
			}
			data, err := blob.ReadAll(t.Context(), b, "n", 1)
			if errors.Is(err, blob.ErrChanged) {
				continue
			}
			if err != nil {
				return err
			}
			switch err := blob.WriteOver(t.Context(), b, "n", []byte{data[0] + 1}, over); {
			case err == nil:
				done++
			case !errors.Is(err, blob.ErrChanged):
				return err
			}
		}
		return nil
	}
	done := make(chan error)
	for _, bucket := range []*Bucket{a, b} {
		go func() { done <- add(bucket) }()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	wantBytes(t, a, "n", []byte{2 * rounds})
	wantEntries(t, a, "", "n")
}

// TestKilled lets clients end without releasing what they have: it is others' when the lease has ended.
func TestKilled(t *testing.T) {
	leakless(t)
	c := start(t, 1, 1)
	c.ask("leases 3000 60000")
	for _, f := range []struct {
		name string
		test func(t *testing.T, c *cluster)
	}{{"a claim", claimOfDead}, {"a claim of this machine", claimOfGone}, {"a publisher", publisherDies}, {"a holder", holderDies}, {"a writer", writerDies}} {
		t.Run(f.name, func(t *testing.T) { c.t = t; f.test(t, c) })
	}
}

// pair is a bucket that the test kills, and another of the same folder.
func (c *cluster) pair(t *testing.T, age time.Duration) (dies *Bucket, lives *Bucket) {
	t.Helper()
	o := options(t, c.addresses)
	o.Age = age
	dies, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return dies, open(t, o)
}

func claimOfDead(t *testing.T, c *cluster) {
	a, b := c.pair(t, time.Hour)
	_, err := a.Claim(t.Context(), "ck", "job a")
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(4 * time.Second) // longer than a lease: it is renewed
	if _, err = b.Claim(t.Context(), "ck", "job b"); err == nil {
		t.Fatal("claimed while job a lives")
	}
	a.Close()
	for {
		release, err := b.Claim(t.Context(), "ck", "job b")
		if err == nil {
			defer release()
			break
		}
		if _, ok := errors.AsType[*blob.Claimed](err); !ok {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	_, err = b.Claim(t.Context(), "ck", "job c")
	if is, ok := errors.AsType[*blob.Claimed](err); !ok || is.Who != "job b" {
		t.Errorf("%v, want that job b has it", err)
	}
}

// claimOfGone: whoever waits takes the claim of a process that is seen to be gone at once, though the lease stands; of one that lives
// elsewhere it hears when the claim is renewed.
func claimOfGone(t *testing.T, c *cluster) {
	c.ask("leases 60000 600000")
	defer c.ask("leases 3000 60000")
	a, b := c.pair(t, time.Hour)
	defer a.Close()
	gone := exec.Command("sleep", "1000")
	if err := gone.Start(); err != nil {
		t.Fatal(err)
	}
	name := proc.Name(gone.Process.Pid)
	gone.Process.Kill()
	gone.Wait()
	if name == "" {
		t.Skip("this system does not tell whether a process lives")
	}
	if err := a.folders(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	l, err := a.acquire(t.Context(), "_tmp.ck.claim", "job a\n"+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	none := func(c *blob.Claimed) { t.Errorf("waits for %v", c) }
	release, err := blob.Await(t.Context(), b, "ck", "job b", none)
	if err != nil {
		t.Fatal(err)
	}
	l.release(t.Context()) // it is another's
	if err := l.say(t.Context(), attrWho, "job b\nof another machine"); err != nil {
		t.Fatal(err)
	}
	waits := 0
	_, err = blob.Await(t.Context(), a, "ck", "job c", func(*blob.Claimed) { waits++ })
	if is, ok := errors.AsType[*blob.Claimed](err); !ok || is.Who != "job b" || waits != 1 {
		t.Errorf("%v after %d waits, want that job b has it", err, waits)
	}
	release()
	wantEntries(t, b, "", "")
}

// publisherDies kills one after each step of a publish: readers find the old or the new tree, whole, when they come.
func publisherDies(t *testing.T, c *cluster) {
	for _, s := range []struct {
		name string
		do   func(ctx context.Context, b *Bucket, m move) error // what it came to
		want string
		left string
	}{
		{"before it began", func(context.Context, *Bucket, move) error { return nil }, "old", "_tmp.s m"},
		{"in the gap", func(ctx context.Context, b *Bucket, m move) error {
			return b.client.Rename(b.path(m.to), b.path(m.away))
		},
			"new", "_tmp.s m"},
		{"in the gap, and what it published is gone", func(ctx context.Context, b *Bucket, m move) error {
			return errors.Join(b.client.Rename(b.path(m.to), b.path(m.away)), b.client.RemoveAll(b.path(m.from)))
		}, "old", "_tmp.s m"},
		{"after the gap", func(ctx context.Context, b *Bucket, m move) error {
			return errors.Join(b.client.Rename(b.path(m.to), b.path(m.away)), b.client.Rename(b.path(m.from), b.path(m.to)))
		}, "new", "_tmp.s m"},
	} {
		t.Run(s.name, func(t *testing.T) {
			a, b := c.pair(t, time.Hour)
			write(t, a, "d/m/x", []byte("old"))
			write(t, a, "d/_tmp.s/m/x", []byte("new"))
			l, err := a.lock(t.Context(), "d/m")
			if err != nil {
				t.Fatal(err)
			}
			m := move{"d/_tmp.s/m", "d/m", tmpName("d/m")}
			if err := errors.Join(l.say(t.Context(), attrMove, m.String()), s.do(t.Context(), a, m)); err != nil {
				t.Fatal(err)
			}
			a.Close()
			wantBytes(t, b, "d/m/x", []byte(s.want))
			write(t, b, "d/_tmp.s/k", []byte("newest"))
			over, err := b.State(t.Context(), "d/m")
			if err != nil || over == blob.Nothing {
				t.Fatal(over, err)
			}
			if err := b.Publish(t.Context(), "d/_tmp.s/k", "d/m", over); err != nil { // waits for the end of the lock
				t.Fatal(err)
			}
			wantBytes(t, b, "d/m", []byte("newest"))
			wantEntries(t, b, "d", s.left)
		})
	}
}

func holderDies(t *testing.T, c *cluster) {
	a, b := c.pair(t, time.Millisecond)
	one, err := a.Hold(t.Context(), "at/_tmp.m.x")
	if err != nil {
		t.Fatal(err)
	}
	write(t, a, "at/_tmp.m.x/m/w", []byte("w"))
	two, err := b.Hold(t.Context(), "at/_tmp.m.x")
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Millisecond)
	one()
	if swept, err := b.Sweep(t.Context(), "at/m"); len(swept) != 0 || err != nil {
		t.Errorf("%v, %v, want it held still", swept, err)
	}
	if _, err := a.Hold(t.Context(), "at/_tmp.m.x"); err != nil { // never released
		t.Fatal(err)
	}
	two()
	a.Close()
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		left, err := b.Leftovers(t.Context(), "at/m")
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 2 && path.Base(left[0]) == "_tmp.m.x" {
			break // and what held it
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("leftovers %v", left)
		}
	}
	swept, err := b.Sweep(t.Context(), "at/m")
	if !slices.Contains(swept, "at/_tmp.m.x") || err != nil {
		t.Errorf("%v, %v", swept, err)
	}
	wantEntries(t, b, "at", "")
}

func writerDies(t *testing.T, c *cluster) {
	a, b := c.pair(t, time.Millisecond)
	if err := b.folders(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	f, err := a.client.CreateFile(a.path("_tmp.m.1"), 1, a.opts.BlockSize, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(noise(1 << 20)); err != nil {
		t.Fatal(err)
	}
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	write(t, b, "_tmp.m.2", []byte("closed"))
	write(t, b, "_tmp.mm.3", []byte("another's"))
	time.Sleep(10 * time.Millisecond)
	if swept, err := b.Sweep(t.Context(), "m"); !slices.Equal(swept, []string{"_tmp.m.2"}) || err != nil {
		t.Errorf("%v, %v, want what is open kept", swept, err)
	}
	if names, err := b.Unfinished(t.Context(), "."); !slices.Equal(names, []string{"m.1", "mm.3"}) || err != nil {
		t.Errorf("%v, %v are unfinished", names, err)
	}
	f.Close()
	a.Close()
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		swept, err := b.Sweep(t.Context(), "m")
		if err != nil {
			t.Fatal(err)
		}
		if len(swept) == 1 {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatal("never swept")
		}
	}
	wantEntries(t, b, "", "_tmp.mm.3")
}
