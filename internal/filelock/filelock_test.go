package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestLocks: a lock keeps off those who opened the file by themselves, until it is closed; in one process, too.
func TestLocks(t *testing.T) {
	for name, of := range map[string]struct {
		lock  func(*os.File) error
		alone error // that somebody else gets
		held  bool  // as somebody else finds
	}{
		"nobody": {func(*os.File) error { return nil }, nil, false},
		"shared": {Shared, ErrHeld, false},
		"alone":  {Alone, ErrHeld, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lock")
			f := open(t, path)
			err := of.lock(f)
			if errors.Is(err, ErrNoLocks) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			others(t, path, of.alone, of.held)
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			others(t, path, nil, false)
		})
	}
}

// others wants that somebody else finds the file locked so.
func others(t *testing.T, path string, alone error, held bool) {
	t.Helper()
	a, h := open(t, path), open(t, path)
	defer h.Close()
	if err := Alone(a); !errors.Is(err, alone) {
		t.Errorf("alone: %v, want %v", err, alone)
	}
	a.Close()
	if got, err := Held(h); got != held || err != nil {
		t.Errorf("held: %v, %v, want %v", got, err, held)
	}
}

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
