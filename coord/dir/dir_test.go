package dir_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"thole.example/coord"
	"thole.example/coord/coordtest"
	"thole.example/coord/dir"
)

func open(t *testing.T, root string) *dir.Store {
	t.Helper()
	s, err := dir.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	root := filepath.Join(t.TempDir(), "store")
	coordtest.Store(t, func(t *testing.T) coord.Store { return open(t, root) })
}

// TestFolder: what others put into the folder is neither read nor listed; old versions go, and so does what dead processes were writing.
func TestFolder(t *testing.T) {
	root := t.TempDir()
	s := open(t, root)
	var v coord.Version
	var err error
	for n := range 40 {
		if v, err = s.Put(t.Context(), "c/server/0", []byte(fmt.Sprint(n)), v); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(root, "c%2Fserver%2F0")
	for _, file := range []string{
		root + "/notes.txt", root + "/c%2fx", root + "/%zz", folder + "/99", folder + "/00000000000000000999.bak", folder + "/_tmp.dead", folder + "/_tmp.alive",
	} {
		if err := os.WriteFile(file, []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, made := range []string{root + "/empty", folder + "/00000000000000000998"} {
		if err := os.Mkdir(made, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(folder+"/_tmp.dead", old, old); err != nil {
		t.Fatal(err)
	}
	if keys, err := s.List(t.Context(), ""); err != nil || len(keys) != 1 || keys[0].Key != "c/server/0" {
		t.Errorf("list %q, %v", keys, err)
	}
	if data, got, err := s.Get(t.Context(), "c/server/0"); err != nil || string(data) != "39" || got != v {
		t.Errorf("get %q, %q, %v", data, got, err)
	}
	if _, err := s.Put(t.Context(), "c/server/0", []byte("x"), v); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	versions := 0
	for _, e := range entries {
		if e.Name() == "_tmp.dead" {
			t.Error("_tmp.dead is there")
		}
		if len(e.Name()) == 20 && e.Type().IsRegular() {
			versions++
		}
	}
	if versions != 16 {
		t.Errorf("%d versions, want 16: %v", versions, entries)
	}
	if _, err := os.Stat(folder + "/_tmp.alive"); err != nil {
		t.Error(err)
	}
}

// TestWrong: what cannot be a value or a store is refused.
func TestWrong(t *testing.T) {
	root := t.TempDir()
	s := open(t, root)
	folder := filepath.Join(root, "k")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder+"/00000000000000000001", []byte(strings.Repeat("x", coord.ValueLimit+1)), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Get(t.Context(), "k"); !errors.Is(err, coord.ErrRecord) {
		t.Errorf("get: %v", err)
	}
	if _, err := s.Put(t.Context(), "k", []byte("x"), "one"); err == nil || !strings.Contains(err.Error(), `version "one"`) {
		t.Errorf("put: %v", err)
	}
	if err := os.WriteFile(root+"/file", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{root + "/file", root + "/no/folder"} {
		if _, err := dir.Open(at); err == nil {
			t.Errorf("open %s: no error", at)
		}
	}
}

// TestAway: a folder that is not mounted, or another in its place, is a store that does not answer, and not one in which nobody has any role.
func TestAway(t *testing.T) {
	root := filepath.Join(t.TempDir(), "store")
	s := open(t, root)
	v, err := s.Put(t.Context(), "k", []byte("x"), "")
	if err != nil {
		t.Fatal(err)
	}
	fails := func(how, text string) {
		t.Helper()
		_, _, gerr := s.Get(t.Context(), "k")
		_, perr := s.Put(t.Context(), "k", []byte("y"), "")
		_, lerr := s.List(t.Context(), "")
		for what, err := range map[string]error{"get": gerr, "put": perr, "list": lerr} {
			if err == nil || !strings.Contains(err.Error(), text) || errors.Is(err, coord.ErrChanged) || errors.Is(err, coord.ErrRecord) {
				t.Errorf("%s, %s: %v, want an error with %q", how, what, err, text)
			}
		}
	}
	if err := os.Rename(root, root+".away"); err != nil {
		t.Fatal(err)
	}
	fails("not there", "the store is away")
	if err := os.Mkdir(root, 0o777); err != nil {
		t.Fatal(err)
	}
	fails("empty", "the store is away")
	other := open(t, root)
	fails("another", "is another store than it was")
	if _, err := other.Put(t.Context(), "k", []byte("z"), ""); err != nil {
		t.Error(err)
	}
	if err := errors.Join(os.RemoveAll(root), os.Rename(root+".away", root)); err != nil {
		t.Fatal(err)
	}
	if data, got, err := s.Get(t.Context(), "k"); err != nil || string(data) != "x" || got != v {
		t.Errorf("back: %q, %q, %v", data, got, err)
	}
}
