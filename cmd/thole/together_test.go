package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thole.example/blob"
)

// Where the second of two files cannot appear the first one is gone again, what it replaced is back, and nothing else is left.
func TestTogether(t *testing.T) {
	for _, over := range []bool{false, true} {
		dir := t.TempDir()
		one, two := filepath.Join(dir, "new", "one"), filepath.Join(dir, "two")
		if over {
			if err := os.MkdirAll(filepath.Dir(one), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(one, []byte("old"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var all together
		for _, path := range []string{one, two} {
			s, err := (&env{}).sink(path, true)
			if err != nil {
				t.Fatal(err)
			}
			w, err := all.create(context.Background(), s)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte("new")); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(two, []byte("of somebody else"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := all.Commit(); !errors.Is(err, blob.ErrChanged) {
			t.Fatalf("error %v, want that the second one has changed", err)
		}
		all.Abort()
		if got, err := os.ReadFile(one); over && string(got) != "old" || !over && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the first file is %q, %v", got, err)
		}
		if entries, err := os.ReadDir(filepath.Dir(one)); over && len(entries) != 1 || !over && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("left are %v, %v", entries, err)
		}
		if got, err := os.ReadFile(two); string(got) != "of somebody else" {
			t.Errorf("the second file is %q, %v", got, err)
		}
	}
}

// TestTogetherKeeps: what was replaced is not lost where it cannot be put back, and the error says where it is.
func TestTogetherKeeps(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	if err := os.WriteFile(one, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	var all together
	for _, path := range []string{one, two} {
		s, err := (&env{}).sink(path, true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := all.create(context.Background(), s); err != nil {
			t.Fatal(err)
		}
	}
	all.files[1].commit = func() error { return errors.Join(os.Remove(one), os.Mkdir(one, 0o777), os.ErrPermission) }
	err := all.Commit()
	all.Abort()
	kept, globErr := filepath.Glob(filepath.Join(dir, "_tmp.one.*"))
	if globErr != nil || len(kept) != 1 || !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), kept[0]) {
		t.Fatalf("%v are left, error %v, want one file that it names", kept, err)
	}
	if got, err := os.ReadFile(kept[0]); string(got) != "old" {
		t.Errorf("%s is %q, %v", kept[0], got, err)
	}
}
