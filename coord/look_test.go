package coord_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/coord"
)

// TestClusters: a store is shown with all clusters, roles by number, jobs by name; what is of neither kind is left out.
func TestClusters(t *testing.T) {
	s := &coord.Memory{}
	for key, text := range map[string]string{
		"b/server/10": `{"epoch":4}`, "b/server/9": `{"id":"a","addr":"host:9","epoch":2,"lease_ns":1000000000}`, "a-b/job/x%2Fy": `{"attempt":3}`,
		"a/server/0": `{"epoch":1}`, "b/server/01": "?", "b/server/x": "?", "b/other": "?", "lone": "?", "c/server": "?",
	} {
		if _, err := s.Put(t.Context(), key, []byte(text), ""); err != nil {
			t.Fatal(err)
		}
	}
	all, err := coord.Clusters(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, c := range all {
		text += c.Name + ":"
		for _, p := range c.Roles {
			text += fmt.Sprintf(" %s %d %q", p.Role, p.Holder.Epoch, p.Holder.Addr)
		}
		for _, j := range c.Jobs {
			text += fmt.Sprintf(" %s %d", j.Name, j.Attempt)
		}
		text += "\n"
	}
	want := "a-b: x/y 3\na: server 0 1 \"\"\nb: server 9 2 \"host:9\" server 10 4 \"\"\n"
	if text != want {
		t.Errorf("there is\n%swant\n%s", text, want)
	}
	for key, text := range map[string]string{"d/job/a b": `{"attempt":1}`, "d/job/%zz": `{"attempt":1}`, "d/job/x": "?", "d/server/0": "?"} {
		s := &coord.Memory{}
		if _, err := s.Put(t.Context(), key, []byte(text), ""); err != nil {
			t.Fatal(err)
		}
		if _, err := coord.Clusters(t.Context(), s); !errors.Is(err, coord.ErrRecord) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestRenewed: a holder that renews is told from one that is silent.
func TestRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &coord.Memory{}
		ctx, die := context.WithCancel(t.Context())
		defer die()
		h, err := coord.Claim(ctx, s, "c", coord.Server(0), "host:1", coord.Options{Lease: lease})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []bool{true, false} {
			all, err := coord.Clusters(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			p := &all[0].Roles[0]
			if got, err := p.Renewed(t.Context(), s, "c", p.Holder.Lease); got != want || err != nil {
				t.Errorf("renewed %v, %v, want %v", got, err, want)
			}
			die()
			<-h.Lost()
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		all, err := coord.Clusters(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := all[0].Roles[0].Renewed(ctx, s, "c", lease); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended: %v", err)
		}
	})
}
