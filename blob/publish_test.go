package blob

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func put(t *testing.T, b Bucket, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := WriteAll(t.Context(), b, name, []byte("in "+name)); err != nil {
			t.Fatal(err)
		}
	}
}

// wantList holds the listing to "name name …", and every object to "in name" with its prefix replaced as said.
func wantList(t *testing.T, b Bucket, tree, want string) {
	t.Helper()
	infos, err := b.List(t.Context(), tree)
	if err != nil {
		t.Errorf("list %q: %v", tree, err)
	}
	var names []string
	for _, i := range infos {
		names = append(names, i.Name)
		if data, err := ReadAll(t.Context(), b, i.Name, 1<<20); err != nil || int64(len(data)) != i.Size {
			t.Errorf("%s: %d bytes, %v; want %d as listed", i.Name, len(data), err, i.Size)
		}
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("list %q: %q, want %q", tree, got, want)
	}
}

func wantContent(t *testing.T, b Bucket, name, want string) {
	t.Helper()
	if data, err := ReadAll(t.Context(), b, name, 1<<20); err != nil || string(data) != want {
		t.Errorf("%s holds %q, %v; want %q", name, data, err, want)
	}
}

func wantMissing(t *testing.T, b Bucket, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := b.Open(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("open %q: %v, want one that wraps fs.ErrNotExist", name, err)
		}
	}
}

func state(t *testing.T, b Bucket, name string) State {
	t.Helper()
	s, err := b.State(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPublishGivesBack changes the target after the last look at it, as somebody in another process may: he keeps what he has.
func TestPublishGivesBack(t *testing.T) {
	for name, exchanges := range map[string]bool{"exchange": true, "no exchange": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := NewDir(dir)
			put(t, b, "m/a", "stage/new")
			over := state(t, b, "m")
			late := func() { put(t, b, "m/late") }
			was := system
			defer func() { system = was }()
			system.exchange = func(a, b string) error {
				if late != nil {
					late()
					late = nil
				}
				if !exchanges {
					return errors.ErrUnsupported
				}
				return was.exchange(a, b)
			}
			if err := b.Publish(t.Context(), "stage", "m", over); !errors.Is(err, ErrChanged) {
				t.Errorf("%v, want ErrChanged", err)
			}
			wantList(t, b, "", "m/a m/late stage/new")
			if left, _ := filepath.Glob(filepath.Join(dir, "_tmp.*")); len(left) != 0 {
				t.Errorf("%v remain", left)
			}
		})
	}
}

// TestStateMeanwhile looks at a tree in which files and folders come and go.
func TestStateMeanwhile(t *testing.T) {
	b := NewDir(t.TempDir())
	put(t, b, "m/x")
	over := make(chan struct{})
	go func() {
		defer close(over)
		for range 300 {
			put(t, b, "m/sub/y", "m/z")
			if err := errors.Join(b.Remove(t.Context(), "m/sub"), b.Remove(t.Context(), "m/z")); err != nil {
				t.Error(err)
			}
		}
	}()
	for {
		if _, err := b.State(t.Context(), "m"); err != nil {
			t.Error(err)
		}
		select {
		case <-over:
			return
		default:
		}
	}
}

// TestStateOfLinks tells a link from what it points to.
func TestStateOfLinks(t *testing.T) {
	dir := t.TempDir()
	b := NewDir(dir)
	put(t, b, "m")
	if err := os.Symlink("m", filepath.Join(dir, "link")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if one, two := state(t, b, "m"), state(t, b, "link"); one == two || two == Nothing {
		t.Errorf("%q and %q", one, two)
	}
}
