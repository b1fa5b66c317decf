package node_test

import (
	"os"
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

// TestDamaged: data that cannot be read are told, with the folder; etcd itself would panic, or end the process without a word.
func TestDamaged(t *testing.T) {
	for _, name := range []string{"member/wal/*.wal", "member/snap/db"} {
		dir := filepath.Join(t.TempDir(), "etcd")
		n, err := node.Start(node.Config{Dir: dir, Listen: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		n.Close()
		files, err := filepath.Glob(filepath.Join(dir, name))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		data, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		for i := range min(len(data), 10000) {
			data[i] ^= 0x55
		}
		if err := os.WriteFile(files[0], data, 0o600); err != nil {
			t.Fatal(err)
		}
		if n, err := node.Start(node.Config{Dir: dir, Listen: "127.0.0.1:0"}); err == nil || !strings.Contains(err.Error(), "etcd in "+dir+": ") {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				n.Close()
			}
		} else {
			t.Log(err)
		}
	}
}
