package node_test

import (
	"path/filepath"
	"strings"
	"testing"

	"thole.example/coord/node"
)

// TestRefused: what cannot serve is told; a folder that another member serves is not waited for.
func TestRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "etcd")
	n, err := node.Start(node.Config{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	other := filepath.Join(t.TempDir(), "other")
	for _, c := range []struct {
		config node.Config
		want   string
	}{
		{node.Config{Dir: dir, Listen: "127.0.0.1:0"}, "another process serves it"},
		{node.Config{Dir: other, Listen: "127.0.0.1"}, "want host:port"},
		{node.Config{Dir: other, Listen: n.Addr()}, "address already in use"},
		{node.Config{Dir: other, Listen: "127.0.0.1:0", Cert: "c.pem"}, "go together"},
		{node.Config{Dir: other, Listen: "127.0.0.1:0", ClientCA: "c.pem"}, "go together"},
		{node.Config{Dir: other, Listen: "127.0.0.1:0", Cert: "c.pem", Key: "k.pem"}, "c.pem"},
	} {
		if n, err := node.Start(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.config, err, c.want)
			if err == nil {
				n.Close()
			}
		}
	}
}
