package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMomentFolder: what killed processes left goes, what a living one has and what is somebody else's stays.
func TestMomentFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{momentPrefix + "left/epoch", "thole-best-123/epoch", "other/x"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	held, remove, err := momentFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	other, removeOther, err := momentFolder(dir)
	if err != nil || other == held {
		t.Fatal(other, err)
	}
	there := func(name string) bool {
		_, err := os.Stat(name)
		return err == nil
	}
	for name, want := range map[string]bool{held: true, other: true, filepath.Join(dir, momentPrefix+"left"): false,
		filepath.Join(dir, "thole-best-123"): true, filepath.Join(dir, "other"): true} {
		if there(name) != want {
			t.Errorf("%s is there: %v, want %v", name, !want, want)
		}
	}
	remove()
	removeOther()
	if there(held) || there(other) {
		t.Error("a folder that was given back is left")
	}
}
