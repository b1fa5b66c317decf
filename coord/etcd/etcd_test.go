package etcd_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"thole.example/coord"
	"thole.example/coord/coordtest"
	"thole.example/coord/etcd"
	"thole.example/coord/node"
)

func start(t *testing.T, c node.Config) *node.Node {
	t.Helper()
	n, err := node.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

func open(t *testing.T, addr, prefix string) *etcd.Store {
	t.Helper()
	s, err := etcd.Open([]string{addr}, prefix, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestStore(t *testing.T) {
	n := start(t, node.Config{Dir: filepath.Join(t.TempDir(), "etcd"), Listen: "127.0.0.1:0"})
	coordtest.Store(t, func(t *testing.T) coord.Store { return open(t, n.Addr(), "/models/") })
	if keys, err := open(t, n.Addr(), "").List(t.Context(), "models/suite-list/b/"); err != nil || len(keys) != 3 {
		t.Errorf("below the prefix are %q, %v", keys, err)
	}
}

// TestRestart: the store is away for a while and comes back with what it had. A role stays with who holds it.
func TestRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "etcd")
	n := start(t, node.Config{Dir: dir, Listen: "127.0.0.1:0"})
	addr, s := n.Addr(), open(t, n.Addr(), "")
	h, err := coord.Claim(t.Context(), s, "c", coord.Server(0), "host:1", coord.Options{Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	n.Close()
	start(t, node.Config{Dir: dir, Listen: addr})
	found, err := coord.Find(t.Context(), open(t, addr, ""), "c", 1)
	if err != nil || found[0].Addr != "host:1" || h.Err() != nil {
		t.Errorf("found %v, %v; %v", found, err, h.Err())
	}
	if err := h.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestNobodyThere: a cluster that does not answer is told by its address.
func TestNobodyThere(t *testing.T) {
	if _, _, err := open(t, "127.0.0.1:1", "").Get(t.Context(), "k"); err == nil || !strings.Contains(err.Error(), "etcd at 127.0.0.1:1: ") {
		t.Errorf("get: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := open(t, "127.0.0.1:1", "").Watch(ctx, "k", ""); err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("watch: %v", err)
	}
	if _, err := etcd.Open([]string{"127.0.0.1:1"}, "a//b", nil); err == nil {
		t.Error("a prefix with an empty part")
	}
}
