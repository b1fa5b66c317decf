package blob

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func unsupported(_, _ string) error { return errors.ErrUnsupported }

// onEachSystem runs the test on every kind of bucket, and on a directory of a system that can neither exchange names nor
// rename to free ones only.
func onEachSystem(t *testing.T, test func(*testing.T, Bucket)) {
	onEach(t, test)
	t.Run("dir of a poorer system", func(t *testing.T) {
		was := system
		system.exchange, system.free = unsupported, unsupported
		defer func() { system = was }()
		test(t, NewDir(t.TempDir()))
	})
}

func state(t *testing.T, b Bucket, name string) State {
	t.Helper()
	s, err := b.State(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPublishOver publishes over what was seen: what changed meanwhile is neither replaced nor touched.
func TestPublishOver(t *testing.T) {
	for _, c := range []struct {
		name    string
		before  []string                     // lies there when the target is looked at
		between func(t *testing.T, b Bucket) // what somebody else does then
		refused bool
		after   string // the list afterwards
	}{
		{"nothing there", nil, nil, false, "m/new"},
		{"an object appeared", nil, func(t *testing.T, b Bucket) { put(t, b, "m") }, true, "m stage/new"},
		{"a tree appeared", nil, func(t *testing.T, b Bucket) { put(t, b, "m/foreign") }, true, "m/foreign stage/new"},
		{"the same object", []string{"m"}, nil, false, "m/new"},
		{"the same tree", []string{"m/a", "m/b/c"}, nil, false, "m/new"},
		{"an object written anew", []string{"m"}, func(t *testing.T, b Bucket) { put(t, b, "m") }, true, "m stage/new"},
		{"a tree with another file", []string{"m/a"}, func(t *testing.T, b Bucket) { put(t, b, "m/deep/notes") }, true,
			"m/a m/deep/notes stage/new"},
		{"a tree with a file less", []string{"m/a", "m/b"}, func(t *testing.T, b Bucket) { remove(t, b, "m/b") }, true, "m/a stage/new"},
		{"a file of the tree written anew", []string{"m/a"}, func(t *testing.T, b Bucket) { put(t, b, "m/a") }, true, "m/a stage/new"},
		{"removed", []string{"m/a"}, func(t *testing.T, b Bucket) { remove(t, b, "m") }, true, "stage/new"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEachSystem(t, func(t *testing.T, b Bucket) {
				put(t, b, append(c.before, "stage/new")...)
				over := state(t, b, "m")
				if (over == Nothing) != (c.before == nil) {
					t.Fatalf("state %q of %v", over, c.before)
				}
				if c.between != nil {
					c.between(t, b)
				}
				err := b.Publish(t.Context(), "stage", "m", over)
				if errors.Is(err, ErrChanged) != c.refused || !c.refused && err != nil {
					t.Errorf("%v, want refused %v", err, c.refused)
				}
				wantList(t, b, "", c.after)
			})
		})
	}
}

func remove(t *testing.T, b Bucket, name string) {
	t.Helper()
	if err := b.Remove(t.Context(), name); err != nil {
		t.Fatal(err)
	}
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

// TestWriteOver writes where nothing may be, and over what was seen.
func TestWriteOver(t *testing.T) {
	onEachSystem(t, func(t *testing.T, b Bucket) {
		write := func(text string, over State) error { return WriteOver(t.Context(), b, "d/x", []byte(text), over) }
		if err := write("one", Nothing); err != nil {
			t.Fatal(err)
		}
		if err := write("two", Nothing); !errors.Is(err, ErrChanged) {
			t.Errorf("%v, want ErrChanged", err)
		}
		seen := state(t, b, "d/x")
		if err := write("three", seen); err != nil {
			t.Error(err)
		}
		if err := write("four", seen); !errors.Is(err, ErrChanged) {
			t.Errorf("%v, want ErrChanged", err)
		}
		wantContent(t, b, "d/x", "three")
		wantList(t, b, "", "d/x")
		if d, ok := b.(*Dir); ok {
			if left, _ := filepath.Glob(filepath.Join(d.root, "d", "_tmp.*")); len(left) != 0 {
				t.Errorf("%v remain", left)
			}
		}
	})
}

func TestPublish(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to string
		want     string // the list after it
		content  string // one object after it, and what is in it
	}{
		{"tree to new place", "new", "p/q/r", "old/x old/y/z p/q/r/n p/q/r/y/m single", "p/q/r/n=in new/n"},
		{"tree over tree", "new", "old", "old/n old/y/m single", "old/y/m=in new/y/m"},
		{"tree over object", "new", "single", "old/x old/y/z single/n single/y/m", "single/n=in new/n"},
		{"object over tree", "single", "old", "new/n new/y/m old", "old=in single"},
		{"object over object", "new/n", "old/x", "new/y/m old/x old/y/z single", "old/x=in new/n"},
		{"object to new place", "single", "a/b", "a/b new/n new/y/m old/x old/y/z", "a/b=in single"},
		{"part of a tree", "new/y", "old/y", "new/n old/x old/y/m single", "old/y/m=in new/y/m"},
		{"tree onto itself", "old", "old", "new/n new/y/m old/x old/y/z single", "old/x=in old/x"},
		{"object onto itself", "single", "single", "new/n new/y/m old/x old/y/z single", "single=in single"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, b Bucket) {
				put(t, b, "old/x", "old/y/z", "new/n", "new/y/m", "single")
				if err := b.Publish(t.Context(), c.from, c.to, Anything); err != nil {
					t.Fatal(err)
				}
				wantList(t, b, "", c.want)
				name, content, _ := strings.Cut(c.content, "=")
				wantContent(t, b, name, content)
			})
		})
	}
}

func TestPublishRefuses(t *testing.T) {
	for _, c := range []struct{ name, from, to string }{
		{"nothing there", "none", "old"},
		{"nothing there onto itself", "none", "none"},
		{"a tree into itself", "old", "old/y"},
		{"a tree into itself, new", "old", "old/new/deep"},
		{"a part over the whole", "old/y", "old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, b Bucket) {
				put(t, b, "old/x", "old/y/z")
				err := b.Publish(t.Context(), c.from, c.to, Anything)
				if err == nil || c.from == "none" && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%v, want an error", err)
				}
				wantList(t, b, "", "old/x old/y/z")
			})
		})
	}
}

// TestRemoveWhilePublished removes the tree out of which something is being published: what became visible is whole, and stays.
func TestRemoveWhilePublished(t *testing.T) {
	onEachSystem(t, func(t *testing.T, b Bucket) {
		const files = 40
		for round := range 15 {
			for i := range files {
				put(t, b, fmt.Sprintf("_tmp.m.1/m/%d", i))
			}
			var all sync.WaitGroup
			want := files
			all.Go(func() {
				for begin := time.Now(); time.Since(begin) < time.Duration(round)*20*time.Microsecond; { // sleeping would be too coarse
				}
				err := b.Publish(t.Context(), "_tmp.m.1/m", "m", Nothing)
				if errors.Is(err, fs.ErrNotExist) {
					want = 0
				} else if err != nil {
					t.Error(err)
				}
			})
			all.Go(func() {
				if err := b.Remove(t.Context(), "_tmp.m.1"); err != nil {
					t.Error(err)
				}
			})
			all.Wait()
			if infos, err := b.List(t.Context(), "m"); err != nil && want > 0 || len(infos) != want {
				t.Fatalf("round %d: %d of %d files are visible, %v", round, len(infos), want, err)
			}
			if err := b.Remove(t.Context(), "m"); err != nil {
				t.Fatal(err)
			}
		}
	})
}
