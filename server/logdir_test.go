package server_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"thole.example/server"
)

// TestLogDirAgain: a log is kept also when one of its name was before, as on a standby whose logs have the names of another server's; and it
// is removed also when one of its name could not be removed to the end.
func TestLogDirAgain(t *testing.T) {
	dir := t.TempDir()
	logs, err := server.OpenLogDir(dir, "test")
	if err != nil {
		t.Fatal(err)
	}
	fill := func(name string) {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "file"), []byte("text"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var kept []string
	for range 3 {
		fill("000001")
		where, err := logs.Keep("000001")
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(where, "file")); err != nil || string(text) != "text" || slices.Contains(kept, where) {
			t.Errorf("%q at %s, %v, after %q", text, where, err, kept)
		}
		kept = append(kept, where)
	}
	fill("000002")
	fill("removed.000002")
	if err := logs.Remove("000002"); err != nil {
		t.Error(err)
	}
	names, err := logs.List()
	if err != nil || len(names) != len(kept) {
		t.Errorf("there is %q, %v, want what was kept", names, err)
	}
	s := &server.Server{Logs: logs}
	if err := s.Recover(t.Context()); err != nil {
		t.Errorf("a server with logs that were kept starts with %v", err)
	}
	if err := logs.Close(); err != nil {
		t.Error(err)
	}
}
