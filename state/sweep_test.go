package state_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"thole.example/blob"
	"thole.example/state"
)

// TestSweep: of what is not finished in a folder only that goes which is of checkpoints of a training, and which no process writes.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"000000000420/checkpoint", "_tmp.000000000420.a/x", "_tmp.000000000500.12.7/y", "_tmp.best.000003.b/z",
		"_tmp.1234567890123.c/z", "_tmp.000000000600.held/w", "_tmp.model.d/x", "_tmp.00042.e/x", "_tmp.000000000700/x", "notes"} {
		file := filepath.Join(dir, "ck", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	b := blob.NewDir(dir)
	release, err := b.Hold(t.Context(), "ck/_tmp.000000000600.held")
	if err != nil {
		t.Fatal(err)
	}
	left := func() (names []string) {
		entries, err := os.ReadDir(filepath.Join(dir, "ck"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	want := []string{"000000000420", "_tmp.000000000600.held", "_tmp.000000000700", "_tmp.00042.e", "_tmp.model.d", "notes"}
	if err := state.Sweep(t.Context(), b, "ck"); err != nil || !slices.Equal(left(), want) {
		t.Errorf("%v: left are %q, want %q", err, left(), want)
	}
	release()
	want = slices.Delete(want, 1, 2)
	if err := state.Sweep(t.Context(), b, "ck"); err != nil || !slices.Equal(left(), want) {
		t.Errorf("%v: left are %q, want %q", err, left(), want)
	}
	for _, folder := range []string{"none", "ck/notes"} {
		if err := state.Sweep(t.Context(), b, folder); err != nil {
			t.Errorf("%s: %v", folder, err)
		}
	}
	if err := state.Sweep(t.Context(), &blob.Mem{}, "ck"); err != nil {
		t.Error(err)
	}
}
