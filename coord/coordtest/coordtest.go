// Package coordtest has the tests that every coord.Store passes.
package coordtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"thole.example/coord"
)

// Patience is how long a test waits for what has to come.
const Patience = 20 * time.Second

// Store runs the suite. Open gives a store over the same keys each time; each test uses a cluster of its own.
func Store(t *testing.T, open func(t *testing.T) coord.Store) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, key string, a, b coord.Store)
	}{
		{"values", values}, {"versions", versions}, {"keys", keys}, {"limits", limits}, {"list", list}, {"watch", watch}, {"cancel", cancel},
		{"counting", counting}, {"claims", claims}, {"jobs", jobs},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, "suite-"+c.name, open(t), open(t)) })
	}
}

func within(t *testing.T) context.Context {
	ctx, stop := context.WithTimeout(t.Context(), Patience)
	t.Cleanup(stop)
	return ctx
}

func put(t *testing.T, s coord.Store, key, text string, old coord.Version) coord.Version {
	t.Helper()
	v, err := s.Put(within(t), key, []byte(text), old)
	if err != nil || v == "" || v == old {
		t.Fatalf("put %s over %q: %q, %v", key, old, v, err)
	}
	return v
}

func get(t *testing.T, s coord.Store, key, want string) coord.Version {
	t.Helper()
	data, v, err := s.Get(within(t), key)
	if err != nil || string(data) != want || (v == "") != (want == "") || (data == nil) != (want == "") {
		t.Fatalf("get %s: %q, %q, %v, want %q", key, data, v, err, want)
	}
	return v
}

// values: what one wrote the other reads, at once.
func values(t *testing.T, key string, a, b coord.Store) {
	get(t, a, key, "")
	v := put(t, a, key, `{"n":1}`, "")
	if got := get(t, b, key, `{"n":1}`); got != v {
		t.Errorf("version %q, want %q", got, v)
	}
	v = put(t, b, key, `{"n":2}`, v)
	if got := get(t, a, key, `{"n":2}`); got != v {
		t.Errorf("version %q, want %q", got, v)
	}
}

// versions: a Put over anything but the present version changes nothing, also one over a version with the same value.
func versions(t *testing.T, key string, a, b coord.Store) {
	none := put(t, b, key+"/other", "{}", "")
	first := put(t, a, key, `{"n":1}`, "")
	second := put(t, b, key, `{"n":2}`, first)
	third := put(t, a, key, `{"n":1}`, second)
	for _, old := range []coord.Version{"", first, second, none} {
		if v, err := b.Put(within(t), key, []byte(`{"n":3}`), old); !errors.Is(err, coord.ErrChanged) || v != "" {
			t.Errorf("put over %q, where %q is: %q, %v, want that it has changed", old, third, v, err)
		}
	}
	if first == third || get(t, b, key, `{"n":1}`) != third {
		t.Errorf("versions %q, %q, %q", first, second, third)
	}
	if v, err := a.Put(within(t), key+"/no", []byte("{}"), third); !errors.Is(err, coord.ErrChanged) {
		t.Errorf("put over %q of a key that is not there: %q, %v, want that it has changed", third, v, err)
	}
	get(t, b, key+"/no", "")
}

// keys: those that are alike are different ones, whatever the letters; what is no key is refused.
func keys(t *testing.T, key string, a, b coord.Store) {
	all := []string{"a", "A", "a/b", "a.b", "a-b", "a_b", "a%2Fb", "a b", "ä", "日本", "a/b/c", "..a", "-", "%", "x=y,z;w", strings.Repeat("k", 150)}
	for _, k := range all {
		put(t, a, key+"/"+k, fmt.Sprintf("%q", k), "")
	}
	for _, k := range all {
		get(t, b, key+"/"+k, fmt.Sprintf("%q", k))
	}
	for _, k := range []string{"", "/", "a/", "/a", "a//b", "a/../b", ".", "a\nb", "a\x00b", "a\xffb", strings.Repeat("k", 201)} {
		if _, err := a.Put(within(t), k, []byte("{}"), ""); err == nil {
			t.Errorf("put %q is done", k)
		}
		if _, _, err := a.Get(within(t), k); err == nil {
			t.Errorf("get %q is answered", k)
		}
		if _, _, err := a.Watch(within(t), k, ""); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("watch %q: %v", k, err)
		}
	}
}

// limits: the largest value is kept, a larger one and an empty one are refused.
func limits(t *testing.T, key string, a, b coord.Store) {
	large := `"` + strings.Repeat("x", coord.ValueLimit-2) + `"`
	v := put(t, a, key, large, "")
	for _, data := range []string{"", large + " ", "\"\xff\""} {
		if _, err := a.Put(within(t), key, []byte(data), v); err == nil || errors.Is(err, coord.ErrChanged) {
			t.Errorf("put of %d bytes: %v, want that it is refused", len(data), err)
		}
	}
	get(t, b, key, large)
}

func list(t *testing.T, key string, a, b coord.Store) {
	for _, k := range []string{"/b/2", "/a", "/b/1", "/bc", "/b/1/x"} {
		put(t, a, key+k, key+k, "")
	}
	for prefix, want := range map[string][]string{
		key + "/b/": {key + "/b/1", key + "/b/1/x", key + "/b/2"}, key + "/b": {key + "/b/1", key + "/b/1/x", key + "/b/2", key + "/bc"},
		key + "/c": nil, key + "/a": {key + "/a"},
	} {
		got, err := b.List(within(t), prefix)
		if err != nil || !slices.Equal(keysOf(got), want) {
			t.Errorf("list %s: %q, %v, want %q", prefix, keysOf(got), err, want)
		}
		for _, e := range got {
			data, v, err := a.Get(within(t), e.Key)
			if err != nil || string(e.Data) != e.Key || string(data) != e.Key || e.Version != v {
				t.Errorf("list %s: %s is %q of version %q, want %q of %q: %v", prefix, e.Key, e.Data, e.Version, data, v, err)
			}
		}
	}
	all, err := b.List(within(t), "")
	if err != nil || !slices.Contains(keysOf(all), key+"/bc") || !slices.IsSorted(keysOf(all)) {
		t.Errorf("list of all: %q, %v", all, err)
	}
}

func keysOf(all []coord.Entry) (keys []string) {
	for _, e := range all {
		keys = append(keys, e.Key)
	}
	return keys
}

// watch: it answers at once if the version is another already, and otherwise when it becomes one.
func watch(t *testing.T, key string, a, b coord.Store) {
	v := put(t, a, key, "1", "")
	for _, seen := range []coord.Version{"", "99999999"} {
		if data, got, err := b.Watch(within(t), key, seen); err != nil || string(data) != "1" || got != v {
			t.Errorf("watch after %q: %q, %q, %v", seen, data, got, err)
		}
	}
	noise := coord.Version("")
	for _, c := range []struct {
		key  string
		seen coord.Version
	}{{key, v}, {key + "/new", ""}} {
		for n := range 3 {
			got := make(chan answer, 1)
			go func() {
				data, v, err := b.Watch(within(t), c.key, c.seen)
				got <- answer{string(data), v, err}
			}()
			noise = put(t, a, key+"/noise", "{}", noise)
			select {
			case x := <-got:
				t.Fatalf("watch %s after %q: %+v before it has changed", c.key, c.seen, x)
			case <-time.After(20 * time.Millisecond):
			}
			text := fmt.Sprintf(`"v%d"`, n)
			next := put(t, a, c.key, text, c.seen)
			if x := <-got; x != (answer{text, next, nil}) {
				t.Fatalf("watch %s after %q: %+v, want %s of version %q", c.key, c.seen, x, text, next)
			}
			c.seen = next
		}
	}
}

type answer struct {
	data string
	v    coord.Version
	err  error
}

// cancel: who waits ends when its context does, and what is called then does nothing.
func cancel(t *testing.T, key string, a, b coord.Store) {
	v := put(t, a, key, "1", "")
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, stop)
	if data, _, err := b.Watch(ctx, key, v); !errors.Is(err, context.Canceled) {
		t.Errorf("watch: %q, %v", data, err)
	}
	if _, err := b.Put(ctx, key, []byte("2"), v); err == nil {
		t.Error("a put after the end is done")
	}
	if _, _, err := b.Get(ctx, key); err == nil {
		t.Error("a get after the end is answered")
	}
	if _, err := b.List(ctx, key); err == nil {
		t.Error("a list after the end is answered")
	}
	get(t, a, key, "1")
}

// counting: of those who write over one version one succeeds, so that no step of a count is lost.
func counting(t *testing.T, key string, a, b coord.Store) {
	const each = 10
	var all sync.WaitGroup
	var changed atomic.Int64
	for _, s := range []coord.Store{a, b, a, b} {
		all.Go(func() {
			for done := 0; done < each; {
				data, v, err := s.Get(within(t), key)
				n := 0
				if data != nil {
					_, err = fmt.Sscan(string(data), &n)
				}
				if err != nil {
					t.Error(err)
					return
				}
				_, err = s.Put(within(t), key, []byte(fmt.Sprint(n+1)), v)
				switch {
				case err == nil:
					done++
				case errors.Is(err, coord.ErrChanged):
					changed.Add(1)
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	get(t, b, key, fmt.Sprint(4*each))
	t.Logf("%d of %d came too late", changed.Load(), changed.Load()+4*each)
}

// claims: a role is held by one, found by others, and goes to the next when it is given back or its holder is silent.
func claims(t *testing.T, cluster string, a, b coord.Store) {
	o := coord.Options{Lease: time.Second}
	ctx, die := context.WithCancel(within(t))
	first, err := coord.Claim(ctx, a, cluster, coord.Server(0), "host:1", o)
	if err != nil {
		t.Fatal(err)
	}
	if !first.Valid(time.Now()) || first.Epoch() != 1 {
		t.Errorf("epoch %d, valid %v", first.Epoch(), first.Valid(time.Now()))
	}
	found, err := coord.Find(within(t), b, cluster, 1)
	if err != nil || !slices.Equal(found, []coord.Member{{Addr: "host:1", Epoch: 1, Since: 1, Lease: time.Second}}) {
		t.Errorf("found %v, %v", found, err)
	}
	die()
	<-first.Lost()
	second, err := coord.Claim(within(t), b, cluster, coord.Server(0), "host:2", o)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := coord.Changed(within(t), a, cluster, found); n != 0 || err != nil {
		t.Errorf("changed: %d, %v", n, err)
	}
	if err := second.Release(within(t)); err != nil || second.Valid(time.Now()) {
		t.Errorf("released: %v, valid %v", err, second.Valid(time.Now()))
	}
	third, err := coord.Claim(within(t), a, cluster, coord.Server(0), "host:3", o)
	if err != nil || second.Epoch() != 2 || third.Epoch() != 3 {
		t.Fatalf("epochs %d, %d, %v", second.Epoch(), third.Epoch(), err)
	}
	if err := third.Release(within(t)); err != nil {
		t.Error(err)
	}
}

// jobs: a checkpoint of an older attempt is refused.
func jobs(t *testing.T, cluster string, a, b coord.Store) {
	first := coord.Checkpoint{Path: "out/000000000010", ID: "x", Step: 10, Attempt: 1}
	begin := func(s coord.Store, attempt int) coord.Job {
		j, err := coord.Begin(within(t), s, cluster, "ctr/model 1", attempt, nil)
		if err != nil || j.Attempt != attempt {
			t.Fatalf("attempt %d: %+v, %v", attempt, j, err)
		}
		return j
	}
	begin(a, 1)
	if err := coord.Commit(within(t), a, cluster, "ctr/model 1", first); err != nil {
		t.Error(err)
	}
	if j := begin(b, 2); j.Checkpoint == nil || *j.Checkpoint != first {
		t.Errorf("goes on from %+v, want %+v", j.Checkpoint, first)
	}
	if err := coord.Commit(within(t), a, cluster, "ctr/model 1", first); !errors.Is(err, coord.ErrFenced) {
		t.Errorf("commit of attempt 1: %v", err)
	}
	if names, err := coord.Jobs(within(t), b, cluster); err != nil || !slices.Equal(names, []string{"ctr/model 1"}) {
		t.Errorf("jobs %q, %v", names, err)
	}
}
