package blob

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestFiles uses names as people write paths: what is written under one is found under all others, listed as asked for.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	var b Files
	put(t, b, "a/m/x", "./a/m/y", "../"+filepath.Base(dir)+"/a/n")
	abs := filepath.ToSlash(dir)
	for tree, want := range map[string]string{
		"a/m":                               "a/m/x a/m/y",
		abs + "/a/m":                        abs + "/a/m/x " + abs + "/a/m/y",
		"../" + filepath.Base(dir) + "/a/m": "../" + filepath.Base(dir) + "/a/m/x ../" + filepath.Base(dir) + "/a/m/y",
		"a/n":                               "a/n",
		"a/nothing":                         "",
	} {
		infos, err := b.List(t.Context(), tree)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, i := range infos {
			names = append(names, i.Name)
			if _, err := ReadAll(t.Context(), b, i.Name, 100); err != nil {
				t.Error(err)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("list %q: %s, want %s", tree, got, want)
		}
	}
	if err := b.Publish(t.Context(), "a/m", abs+"/b", Anything); err != nil {
		t.Fatal(err)
	}
	wantList(t, NewDir(dir), "", "a/n b/x b/y")
	if err := b.Remove(t.Context(), "./b"); err != nil {
		t.Fatal(err)
	}
	wantList(t, NewDir(dir), "", "a/n")
	if _, err := b.Open(t.Context(), "b/x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an object that is not there: %v", err)
	}
}

// TestFilesRefuses wants no name to mean the root or nothing.
func TestFilesRefuses(t *testing.T) {
	var b Files
	for _, name := range []string{"", "/"} {
		for what, err := range map[string]error{
			"open":    second(b.Open(t.Context(), name)),
			"create":  second(b.Create(t.Context(), name)),
			"list":    second(b.List(t.Context(), name)),
			"remove":  b.Remove(context.Background(), name),
			"publish": b.Publish(t.Context(), name, "x", Anything),
		} {
			if !errors.Is(err, ErrName) {
				t.Errorf("%s %q: %v, want %v", what, name, err, ErrName)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }
