package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thole.example/admin"
)

// TestNames: a server has a name and, where it knows it, a number. Who names it twice, or in the place of another, hears it.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	examples(t, dir)
	_, one := startServer(t, dir, "--role", "ps-0", "--admin", "unix:"+filepath.Join(dir, "a0"))
	_, two := startServer(t, dir, "--role", "1", "--name", "the-other", "--admin", "unix:"+filepath.Join(dir, "a1"))
	_, port, err := net.SplitHostPort(one)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ servers, want string }{
		{one + ",localhost:" + port, "thole: " + one + " and localhost:" + port + " are one server ("},
		{two + "," + one, "thole: " + two + ", the address of server 0, leads to server 1 (the-other): want the addresses in the order of the servers"},
	} {
		p := newProcess(t, dir, "worker", "--servers", tc.servers, "--data", "small.dummy", "--format", "dummy", "--checkpoint", "ck")
		if err := p.Run(); err == nil || p.ProcessState.ExitCode() != exitUsage || !strings.Contains(p.err.String(), tc.want) {
			t.Errorf("%s: %v: %s, want %s", tc.servers, err, &p.err, tc.want)
		}
	}
	mustRun(t, dir, "worker", "--servers", one+","+two, "--data", "small.dummy", "--format", "dummy", "--epochs", "1")
	var status []admin.Status
	if err := json.Unmarshal([]byte(thole(t, "status", "--json", "unix:"+filepath.Join(dir, "a0"), "unix:"+filepath.Join(dir, "a1"))), &status); err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	for i, name := range []string{host, "the-other"} {
		if s := status[i]; s.Name != name || s.Number == nil || *s.Number != i {
			t.Errorf("server %d is %q, number %v, want %q", i, s.Name, s.Number, name)
		}
	}
	if text := thole(t, "status", "unix:"+filepath.Join(dir, "a1")); !strings.Contains(text, "\nname the-other, server 1\n") {
		t.Errorf("%s\nwant the name and the number in it", text)
	}
	p := newProcess(t, dir, "server", "--name", "a b")
	if err := p.Run(); err == nil || p.ProcessState.ExitCode() != exitUsage || !strings.Contains(p.err.String(), `--name "a b", want at most 100 bytes`) {
		t.Errorf("a name with a blank: %v: %s", err, &p.err)
	}
}
