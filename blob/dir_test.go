package blob

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a killed process leaves behind is invisible and in nobody's way.
func TestCrashLeftovers(t *testing.T) {
	root := t.TempDir()
	b := NewDir(root)
	put(t, b, "m/w")
	for range 3 { // writers that never end
		w, err := b.Create(t.Context(), "m/w")
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte("half of it"))
		w.(*dirWriter).File.Close()
	}
	if err := os.MkdirAll(filepath.Join(root, "_tmp.m.7.7", "old"), 0o777); err != nil { // a tree moved away
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(root, "m", "_tmp.*")); len(left) != 3 {
		t.Fatalf("%d files left behind, want 3: the test tests nothing", len(left))
	}
	wantList(t, b, "", "m/w")
	wantContent(t, b, "m/w", "in m/w")
	put(t, b, "m/w", "m/v")
	wantList(t, b, "", "m/v m/w")
	if err := b.Remove(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	wantList(t, b, "", "")
}

func TestNoTemporaryFilesRemain(t *testing.T) {
	root := t.TempDir()
	b := NewDir(root)
	put(t, b, "a", "t/x", "a", "n/x")
	for _, p := range [][2]string{{"n", "t"}, {"t", "a"}} {
		if err := b.Publish(t.Context(), p[0], p[1], Anything); err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteAll(t.Context(), b, "a", []byte("object over tree")); err != nil {
		t.Fatal(err)
	}
	w, _ := b.Create(t.Context(), "b")
	w.Abort()
	err := filepath.WalkDir(root, func(file string, _ os.DirEntry, err error) error {
		if strings.Contains(file, tmpMark) {
			t.Errorf("%s remains", file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDirFollowsLinks(t *testing.T) {
	root := t.TempDir()
	b := NewDir(root)
	put(t, b, "epoch3/w", "epoch3/graph.json")
	for link, to := range map[string]string{"latest": "epoch3", "w": "epoch3/w", "broken": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	wantList(t, b, "latest", "latest/graph.json latest/w")
	wantList(t, b, "w", "w")
	wantList(t, b, "broken", "")
	wantMissing(t, b, "broken", "latest")
	wantContent(t, b, "latest/w", "in epoch3/w")
}

// Without an exchange of names by the system the old tree is moved away first.
func TestReplaceWithoutExchange(t *testing.T) {
	root := t.TempDir()
	b := NewDir(root)
	put(t, b, "old/x", "new/y", "single")
	was := system
	defer func() { system = was }()
	system.exchange, system.free = unsupported, unsupported
	if err := b.Publish(t.Context(), "new", "old", Anything); err != nil {
		t.Fatal(err)
	}
	wantList(t, b, "", "old/y single")
	if err := b.Publish(t.Context(), "single", "old", Anything); err != nil {
		t.Fatal(err)
	}
	wantList(t, b, "", "old")
	if left, _ := filepath.Glob(filepath.Join(root, "_tmp.*")); len(left) != 0 {
		t.Errorf("%v remain", left)
	}
}

func TestLocal(t *testing.T) {
	dir := t.TempDir()
	put(t, NewDir(dir), "m/w")
	b, name, err := Local(filepath.Join(dir, "m") + "/../m/w")
	if err != nil || name != "w" {
		t.Fatalf("%q, %v", name, err)
	}
	wantContent(t, b, name, "in m/w")
	if _, name, err := Local("/"); !errors.Is(err, ErrName) {
		t.Errorf("the root is %q, %v; want ErrName", name, err)
	}
}

// TestAbortAfterCommit checks that the deferred Abort leaves alone what got the temporary name afterwards, as in another container
// whose processes have the same numbers.
func TestAbortAfterCommit(t *testing.T) {
	w, err := NewDir(t.TempDir()).Create(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	other := w.(*dirWriter).Name()
	if err := os.WriteFile(other, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	w.Abort()
	if err := w.Commit(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("second commit: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

// TestOpenRefusesDevices checks that nothing is opened that has no size or no end.
func TestOpenRefusesDevices(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(os.DevNull, filepath.Join(dir, "null")); err != nil {
		t.Skip("no links")
	}
	if _, err := NewDir(dir).Open(t.Context(), "null"); !errors.Is(err, errIrregular) {
		t.Errorf("%v, want errIrregular", err)
	}
}
