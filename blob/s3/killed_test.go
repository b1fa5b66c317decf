package s3_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/blob/s3"
	"thole.example/blob/s3/s3test"
	"thole.example/internal/proc"
)

// contents is a tree as a reader finds it: "NAME=CONTENT NAME=CONTENT", with names in the tree.
func contents(t *testing.T, b blob.Bucket, tree string) string {
	t.Helper()
	infos, err := b.List(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, i := range infos {
		data, err := blob.ReadAll(t.Context(), b, i.Name, 1<<20)
		if err != nil || int64(len(data)) != i.Size {
			t.Errorf("%s is listed with %d bytes, and read: %q, %v", i.Name, i.Size, data, err)
		}
		all = append(all, strings.TrimPrefix(strings.TrimPrefix(i.Name, tree), "/")+"="+string(data))
	}
	return strings.Join(all, " ")
}

func write(t *testing.T, b blob.Bucket, all map[string]string) {
	t.Helper()
	for name, text := range all {
		if err := blob.WriteAll(t.Context(), b, name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
}

// dies is a plan by which a process ends while it waits for the answer to request n.
func dies(n int) func(int, *http.Request) s3test.Action {
	return func(i int, _ *http.Request) s3test.Action {
		switch {
		case i < n:
			return s3test.Pass
		case i == n:
			return s3test.Lost
		}
		return s3test.Cut
	}
}

// TestKilled ends the process of a writer at each of its requests. Readers then find the old or the new, whole, and nothing else; also
// by names that they know from before. When the writer has been gone for a while the next one brings to an end what was begun, and after
// a sweep nothing lies in the store but what it shows.
func TestKilled(t *testing.T) {
	const old, tree = "a=old a b/c=old c gone=old gone", "a=new a b/c=new c fresh=new fresh"
	for _, c := range []struct {
		name     string
		do       func(ctx context.Context, b *s3.Bucket, over blob.State) error
		want     string
		requests int // at most
	}{
		{"publish a tree", func(ctx context.Context, b *s3.Bucket, over blob.State) error {
			return b.Publish(ctx, "at/_tmp.m.1/m", "at/m", over)
		}, tree, 60},
		{"publish an object over a tree", func(ctx context.Context, b *s3.Bucket, over blob.State) error {
			return b.Publish(ctx, "at/_tmp.m.2", "at/m", over)
		}, "=single", 50},
		{"write over a tree", func(ctx context.Context, b *s3.Bucket, over blob.State) error {
			return blob.WriteOver(ctx, b, "at/m", []byte("single"), over)
		}, "=single", 60},
		{"remove", func(ctx context.Context, b *s3.Bucket, _ blob.State) error { return b.Remove(ctx, "at/m") }, "", 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			for n := -1; !killedAt(t, n, c.do, old, c.want); n++ {
				if n > c.requests {
					t.Fatalf("not done after %d requests", n)
				}
			}
		})
	}
}

// killedAt reports whether the writer came to its end before it was killed.
func killedAt(t *testing.T, n int, do func(context.Context, *s3.Bucket, blob.State) error, old, new string) (done bool) {
	s := serve(t)
	defer s.Plan(nil)
	reader := open(t, s, nil)
	write(t, reader, map[string]string{
		"at/m/a": "old a", "at/m/b/c": "old c", "at/m/gone": "old gone", "at/_tmp.m.2": "single",
		"at/_tmp.m.1/m/a": "new a", "at/_tmp.m.1/m/b/c": "new c", "at/_tmp.m.1/m/fresh": "new fresh",
	})
	over, err := reader.State(t.Context(), "at/m")
	if err != nil {
		t.Fatal(err)
	}
	s.Plan(dies(n))
	err = do(t.Context(), open(t, s, func(o *s3.Options) { o.Attempts, o.Concurrency = 1, 1 }), over)
	s.Plan(nil)
	found := contents(t, reader, "at/m")
	if found != old && found != new || err == nil && found != new {
		t.Errorf("killed at request %d (%v): %q, want the old or the new", n, err, found)
	}
	if around := contents(t, reader, "at"); around != within("m", found) {
		t.Errorf("killed at request %d: %q in %q", n, found, around)
	}
	for _, name := range []string{"", "/a", "/b/c", "/gone", "/fresh"} {
		data, err := blob.ReadAll(t.Context(), reader, "at/m"+name, 100)
		said := strings.Contains(" "+found+" ", " "+strings.TrimPrefix(name, "/")+"="+string(data)+" ")
		if err == nil && !said || err != nil && strings.Contains(" "+found, " "+strings.TrimPrefix(name, "/")+"=") {
			t.Errorf("killed at request %d: %s is %q, %v, but the tree is %q", n, name, data, err, found)
		}
	}
	s.Advance(2 * time.Minute)
	after := open(t, s, nil)
	if state, err := after.State(t.Context(), "at/m"); err != nil || (state == blob.Nothing) != (found == "") {
		t.Errorf("killed at request %d: state %q, %v of %q", n, state, err, found)
	}
	if now := contents(t, after, "at/m"); now != found {
		t.Errorf("killed at request %d: %q has become %q", n, found, now)
	}
	write(t, after, map[string]string{"at/_tmp.m.3/m/last": "last"})
	if err := after.Publish(t.Context(), "at/_tmp.m.3/m", "at/m", blob.Anything); err != nil {
		t.Errorf("killed at request %d: %v", n, err)
	}
	s.Advance(48 * time.Hour)
	if _, err := after.Sweep(t.Context(), "at/m"); err != nil {
		t.Error(err)
	}
	if keys := s.Keys(); !slices.Equal(keys, []string{"some/where/at/m/last"}) {
		t.Errorf("killed at request %d: %q remain", n, keys)
	}
	return err == nil
}

// TestKilledHere: what a writer leaves that was a process of this machine and is gone is ended at once, however new it is.
func TestKilledHere(t *testing.T) {
	me := proc.Name(os.Getpid())
	gone, end := process(t)
	end()
	for n := range 30 {
		s := serve(t)
		b := open(t, s, nil)
		write(t, b, map[string]string{"at/m/a": "old a", "at/m/gone": "old gone", "at/_tmp.m.1/m/a": "new a"})
		s.Plan(dies(n))
		err := open(t, s, func(o *s3.Options) { o.Attempts, o.Concurrency = 1, 1 }).Publish(t.Context(), "at/_tmp.m.1/m", "at/m", blob.Anything)
		s.Plan(nil)
		found := contents(t, b, "at/m")
		for _, name := range []string{"at/_tmp.m.publish", "at/_tmp.m.1/_tmp.m.publish"} {
			if text, err := blob.ReadAll(t.Context(), b, name, 1<<20); err == nil {
				mine, _ := json.Marshal(me)
				theirs, _ := json.Marshal(gone)
				if !bytes.Contains(text, mine) {
					t.Fatalf("%s does not name this process: %s", name, text)
				}
				write(t, b, map[string]string{name: string(bytes.ReplaceAll(text, mine, theirs))})
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // the clock of the store stands still
		write(t, b, map[string]string{"at/_tmp.m.2/m/a": "last"})
		if err := b.Publish(ctx, "at/_tmp.m.2/m", "at/m", blob.Anything); err != nil {
			t.Errorf("killed at request %d, with %q: %v", n, found, err)
		} else if got := contents(t, b, "at/m"); got != "a=last" {
			t.Errorf("killed at request %d: %q, want the last", n, got)
		}
		cancel()
		if err == nil {
			return
		}
	}
	t.Error("no publish came to its end")
}

// within are the contents of a tree as those of the tree around it.
func within(name, all string) string {
	if all == "" {
		return ""
	}
	if single, is := strings.CutPrefix(all, "="); is {
		return name + "=" + single
	}
	var out []string
	for _, f := range strings.Fields(all) {
		if strings.Contains(f, "=") {
			f = name + "/" + f
		}
		out = append(out, f)
	}
	return strings.Join(out, " ")
}

// TestPublishersAtOnce: of several that replace the same, one does, and the others hear so.
func TestPublishersAtOnce(t *testing.T) {
	for _, what := range []string{"tree", "object", "writer"} {
		t.Run(what, func(t *testing.T) {
			s := serve(t)
			for round := range 5 {
				b := open(t, s, func(o *s3.Options) { o.Prefix = fmt.Sprint("round", round) })
				var won []string
				var mu sync.Mutex
				var all sync.WaitGroup
				for i := range 4 {
					from := fmt.Sprintf("_tmp.m.%d", i)
					if what == "tree" {
						write(t, b, map[string]string{from + "/x": from, from + "/y": from})
					} else if what == "object" {
						write(t, b, map[string]string{from: from})
					}
					all.Go(func() {
						var err error
						if what == "writer" {
							err = blob.WriteOver(t.Context(), b, "m", []byte(from), blob.Nothing)
						} else {
							err = b.Publish(t.Context(), from, "m", blob.Nothing)
						}
						mu.Lock()
						defer mu.Unlock()
						if err == nil {
							won = append(won, from)
						} else if !errors.Is(err, blob.ErrChanged) {
							t.Error(err)
						}
					})
				}
				all.Wait()
				if len(won) != 1 {
					t.Fatalf("%q have published", won)
				}
				if got := contents(t, b, "m"); got != "="+won[0] && got != "x="+won[0]+" y="+won[0] {
					t.Errorf("%q, want that of %s", got, won[0])
				}
			}
		})
	}
}

// TestNoMixture reads a tree by its names while it is replaced again and again, also by publishers that are killed and by those that take
// over from them: who reads one object after another sees versions that only grow.
func TestNoMixture(t *testing.T) {
	for _, poor := range []bool{false, true} {
		t.Run(fmt.Sprintf("poor store: %t", poor), func(t *testing.T) {
			s := serve(t)
			s.Poor = poor
			b := open(t, s, nil)
			publish := func(version int) {
				text := fmt.Sprintf("%06d", version)
				stage := "_tmp.m." + text
				write(t, b, map[string]string{stage + "/a": text, stage + "/b": text, stage + "/c/d": text})
				if err := b.Publish(t.Context(), stage, "m", blob.Anything); err != nil {
					t.Error(err)
				}
			}
			publish(0)
			done := make(chan struct{})
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() {
					last := ""
					for i := 0; ; i++ {
						select {
						case <-done:
							return
						default:
						}
						name := []string{"m/a", "m/b", "m/c/d"}[i%3]
						data, err := blob.ReadAll(t.Context(), b, name, 100)
						if err != nil || string(data) < last {
							t.Errorf("%s is %q, %v, behind %q", name, data, err, last)
							return
						}
						last = string(data)
					}
				})
			}
			for version := 1; version <= 10; version++ {
				publish(version)
			}
			close(done)
			all.Wait()
		})
	}
}
