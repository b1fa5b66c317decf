package coord_test

import (
	"context"
	"testing"

	"thole.example/coord"
)

// listed counts requests of all kinds to a store.
type listed struct {
	asked
	lists int
}

func (l *listed) List(ctx context.Context, prefix string) ([]coord.Entry, error) {
	l.lists++
	return l.Store.List(ctx, prefix)
}

// TestFindOnce: to find many servers, or to look whether one of them was replaced, is one request, whatever else the store has.
func TestFindOnce(t *testing.T) {
	const servers = 12
	s := &coord.Memory{}
	for i := range servers {
		hold(t, s, i, coord.Server(i).String())
	}
	for key, text := range map[string]string{"c/server/x": "{}", "c/server/12": "no record", "c2/server/0": "no record"} {
		if _, err := s.Put(t.Context(), key, []byte(text), ""); err != nil {
			t.Fatal(err)
		}
	}
	l := &listed{asked: asked{Store: s}}
	all, err := coord.Find(t.Context(), l, "c", servers)
	if err != nil || l.n.Load() != 0 || l.lists != 1 {
		t.Fatalf("found %v, %v, with %d requests for keys and %d lists, want one list", all, err, l.n.Load(), l.lists)
	}
	for i, m := range all {
		if m.Addr != coord.Server(i).String() || m.Epoch != 1 {
			t.Errorf("server %d is %+v", i, m)
		}
	}
	if _, err := coord.Begin(t.Context(), l, "c", "j", 1, all); err != nil || l.n.Load() != 1 || l.lists != 2 {
		t.Errorf("an attempt begins with %v, after %d requests for keys and %d lists, want one more of each", err, l.n.Load(), l.lists)
	}
}
