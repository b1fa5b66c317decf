package coord_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"thole.example/coord"
	"thole.example/coord/coordtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	stores := map[*testing.T]*coord.Memory{}
	coordtest.Store(t, func(t *testing.T) coord.Store {
		if stores[t] == nil {
			stores[t] = &coord.Memory{}
		}
		return stores[t]
	})
}

// TestRecords: what is no record is refused, with the key and the place.
func TestRecords(t *testing.T) {
	for _, c := range []struct{ key, text, want string }{
		{"c/server/0", `{"id":"a"`, "c/server/0 at byte 9"},
		{"c/server/0", `{"id":7}`, "c/server/0 at byte 7"},
		{"c/server/0", `[]`, "c/server/0 at byte 1"},
		{"c/server/0", `{}`, "epoch 0, want 1"},
		{"c/server/0", `{"id":"a","epoch":1}`, "a lease of 0s"},
		{"c/server/0", `{"id":"a","epoch":1,"lease_ns":99999999999999}`, "want 100ms to 1h"},
		{"c/server/0", `{"id":"a","epoch":-1}`, "c/server/0 at byte 20"},
		{"c/server/0", `{"epoch":2,"since":3}`, "since 3 with epoch 2"},
		{"c/server/0", `{"epoch":2,"copies":["a","","b"]}`, "copy 1 has an identity of 0 bytes"},
		{"c/server/0", `{"epoch":2,"copies":["` + strings.Repeat(`a","`, coord.CopiesLimit) + `a"]}`, "17 copies, want at most 16"},
		{"c/server/0", `{"epoch":2,"log":"` + strings.Repeat("l", coord.IDLimit+1) + `"}`, "an identity of 257 bytes, want at most 256"},
		{"c/job/j", `{}`, "attempt 0"},
		{"c/job/j", `{"attempt":2,"servers":[1,0]}`, "a server of epoch 0"},
		{"c/job/j", `{"attempt":2,"checkpoint":{"path":"p","attempt":3}}`, "a checkpoint \"p\" of step 0 and attempt 3"},
		{"c/job/j", `{"attempt":1,"servers":[` + strings.Repeat("1,", coord.ServerLimit) + `1]}`, "at most 1024"},
	} {
		s := &coord.Memory{}
		if _, err := s.Put(t.Context(), c.key, []byte(c.text), ""); err != nil {
			t.Fatal(err)
		}
		var errs []error
		if c.key == "c/job/j" {
			_, err := coord.Last(t.Context(), s, "c", "j")
			_, berr := coord.Begin(t.Context(), s, "c", "j", 9, nil)
			errs = append(errs, err, berr)
		} else {
			_, err := coord.Find(t.Context(), s, "c", 1)
			_, cerr := coord.Claim(t.Context(), s, "c", coord.Server(0), "host:1", coord.Options{})
			errs = append(errs, err, cerr)
		}
		for _, err := range errs {
			if !errors.Is(err, coord.ErrRecord) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.text, err, c.want)
			}
		}
	}
}

// FuzzRecords: whatever bytes are in a store, reading them ends with a record that can be written again, or with ErrRecord.
func FuzzRecords(f *testing.F) {
	f.Add([]byte(`{"id":"a","addr":"host:1","epoch":1,"beat":3,"lease_ns":10000000000}`))
	f.Add([]byte(`{"id":"a","addr":"host:1","epoch":3,"lease_ns":10000000000,"log":"l","copies":["b","c"],"since":2}`))
	f.Add([]byte(`{"attempt":2,"servers":[1,2],"checkpoint":{"path":"p","id":"i","step":4,"attempt":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &coord.Memory{}
		for _, key := range []string{"c/server/0", "c/job/j"} {
			if _, err := s.Put(t.Context(), key, data, ""); err != nil {
				return
			}
		}
		if _, _, err := coord.Who(t.Context(), s, "c", coord.Server(0)); err != nil && !errors.Is(err, coord.ErrRecord) {
			t.Error(err)
		}
		j, err := coord.Last(t.Context(), s, "c", "j")
		if err != nil && !errors.Is(err, coord.ErrRecord) {
			t.Error(err)
		}
		if err == nil {
			if _, err := coord.Begin(t.Context(), s, "c", "j", j.Attempt+1, nil); err != nil && j.Attempt+1 > 0 {
				t.Errorf("begin after %+v: %v", j, err)
			}
		}
	})
}

// hold claims server n for a test.
func hold(t *testing.T, s coord.Store, n int, addr string) *coord.Held {
	t.Helper()
	h, err := coord.Claim(t.Context(), s, "c", coord.Server(n), addr, coord.Options{Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Release(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

// TestCatalogue: only the present attempt, on servers that were not replaced, commits.
func TestCatalogue(t *testing.T) {
	s := &coord.Memory{}
	zero, one := hold(t, s, 0, "host:0"), hold(t, s, 1, "host:1")
	servers, err := coord.Find(t.Context(), s, "c", 2)
	if err != nil || servers[0].Epoch != zero.Epoch() || servers[1].Addr != "host:1" {
		t.Fatalf("%v, %v", servers, err)
	}
	begin := func(attempt int, want error, text string) {
		t.Helper()
		if _, err := coord.Begin(t.Context(), s, "c", "j", attempt, servers); !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("attempt %d: %v, want %v: %q", attempt, err, want, text)
		}
	}
	commit := func(attempt int, step int64, want error, text string) {
		t.Helper()
		c := coord.Checkpoint{Path: fmt.Sprintf("out/%012d", step), ID: "x", Step: step, Attempt: attempt}
		if err := coord.Commit(t.Context(), s, "c", "j", c); !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("commit of attempt %d at %d: %v, want %v: %q", attempt, step, err, want, text)
		}
		j, err := coord.Last(t.Context(), s, "c", "j")
		if done := j.Checkpoint != nil && *j.Checkpoint == c; err != nil || done != (want == nil) {
			t.Errorf("after the commit of attempt %d at %d: %+v, %v", attempt, step, j.Checkpoint, err)
		}
	}
	commit(1, 10, coord.ErrFenced, "attempt 0 runs")
	begin(1, nil, "")
	begin(1, nil, "") // the answer was lost
	commit(1, 20, nil, "")
	commit(1, 20, nil, "")
	commit(1, 10, coord.ErrEarlier, "is of step 10, that at out/000000000020 of step 20")
	commit(2, 30, coord.ErrFenced, "is of attempt 2, and attempt 1 runs")
	begin(2, nil, "")
	begin(1, coord.ErrFenced, "attempt 2 has begun")
	commit(1, 30, coord.ErrFenced, "is of attempt 1, and attempt 2 runs")
	commit(2, 10, nil, "") // another run begins where it wants to

	if err := one.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	hold(t, s, 1, "host:2")
	commit(2, 40, coord.ErrFenced, "server 1 has epoch 1, want 2 to 2")
	begin(3, coord.ErrFenced, "server 1 has epoch 1, want 2 to 2")
	if n, err := coord.Changed(t.Context(), s, "c", servers); n != 1 || err != nil {
		t.Errorf("changed: %d, %v", n, err)
	}
	old := servers
	if servers, err = coord.Find(t.Context(), s, "c", 2); err != nil {
		t.Fatal(err)
	}
	begin(2, coord.ErrFenced, "attempt 2 has begun on servers of the epochs [1 1], not [1 2]")
	begin(3, nil, "")
	servers = old
	begin(3, coord.ErrFenced, "server 1 has epoch 1, want 2 to 2")

	if err := coord.Complete(t.Context(), s, "c", "j", 2, "x"); !errors.Is(err, coord.ErrFenced) {
		t.Errorf("attempt 2 is complete: %v", err)
	}
	ended := func(want, over bool) {
		t.Helper()
		if j, err := coord.Last(t.Context(), s, "c", "j"); err != nil || j.Ended != want || j.Completed() != over || over && j.Settings != "x" || j.Checkpoint == nil {
			t.Errorf("%+v, %v, want it ended: %v, completed: %v", j, err, want, over)
		}
	}
	ended(false, false)
	if err := coord.Complete(t.Context(), s, "c", "j", 3, "x"); err != nil {
		t.Error(err)
	}
	ended(true, true)
	servers[1].Epoch = 2
	begin(4, nil, "")
	ended(false, true)
	commit(4, 50, nil, "")
	ended(false, false)
}

// TestNames: what cannot be a key is refused before anything is asked.
func TestNames(t *testing.T) {
	s := &coord.Memory{}
	for _, cluster := range []string{"", "a/b", "..", strings.Repeat("c", 300)} {
		_, err := coord.Claim(t.Context(), s, cluster, coord.Server(0), "host:1", coord.Options{})
		_, ferr := coord.Find(t.Context(), s, cluster, 0)
		_, jerr := coord.Last(t.Context(), s, cluster, "j")
		if err == nil || ferr == nil || jerr == nil {
			t.Errorf("cluster %.20q: %v, %v, %v", cluster, err, ferr, jerr)
		}
	}
	for job, good := range map[string]bool{"ctr model/1": true, "": false, strings.Repeat("j", 300): false} {
		if err := coord.CheckNames("c", job); (err == nil) != good || coord.CheckNames("a/b", job) == nil {
			t.Errorf("job %.20q: %v", job, err)
		}
	}
	for _, o := range []coord.Options{{Lease: time.Millisecond}, {Lease: -1}, {Lease: 2 * time.Hour}} {
		if _, err := coord.Claim(t.Context(), s, "c", coord.Server(0), "host:1", o); err == nil || !strings.Contains(err.Error(), "want 100ms to 1h") {
			t.Errorf("lease %v: %v", o.Lease, err)
		}
	}
	if _, err := coord.Claim(t.Context(), s, "c", coord.Server(0), "", coord.Options{}); err == nil {
		t.Error("a claim without an address")
	}
	if _, err := coord.Begin(t.Context(), s, "c", "", 1, nil); err == nil {
		t.Error("a job without a name")
	}
	if _, err := coord.Begin(t.Context(), s, "c", "j", 0, nil); err == nil {
		t.Error("attempt 0")
	}
}
