package blob

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// watchSync has every fsync say what it is of, and what of the bucket can be seen then; it fails when fails says so.
func watchSync(t *testing.T, root string, see string, fails func(name string) error) (log func() []string) {
	was, lines := system, []string(nil)
	t.Cleanup(func() { system = was })
	system.sync = func(f *os.File) error {
		name, err := filepath.Rel(root, f.Name())
		if err != nil {
			t.Error(err)
		}
		if dir, base := filepath.Split(name); strings.HasPrefix(base, tmpMark) {
			name = dir + strings.Join(strings.Split(base, ".")[:2], ".") // what follows is of the process
		}
		data, err := os.ReadFile(filepath.Join(root, see))
		if err != nil {
			data = []byte("none")
		}
		lines = append(lines, fmt.Sprintf("%s: %s", name, data))
		if fails != nil {
			if err := fails(name); err != nil {
				return err
			}
		}
		return was.sync(f)
	}
	return func() []string {
		out := lines
		lines = nil
		return out
	}
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSynced: a file is on the disk before it has its name, and its folder after; so is what a tree replaces there until that is sure.
func TestSynced(t *testing.T) {
	root := t.TempDir()
	log := watchSync(t, root, "a/b/c", nil)
	d := NewDir(root).Synced()
	if err := WriteAll(t.Context(), d, "a/b/c", []byte("one")); err != nil {
		t.Fatal(err)
	}
	wantLines(t, log(), "a: none", ".: none", "a/b/_tmp.c: none", "a/b: one")
	if err := WriteAll(t.Context(), d, "a/b/c", []byte("two")); err != nil {
		t.Fatal(err)
	}
	wantLines(t, log(), "a/b/_tmp.c: one", "a/b: two")

	put(t, NewDir(root), "stage/b/c") // not of the synced bucket, to see what Publish alone does
	over := state(t, d, "a/b")
	if err := d.Publish(t.Context(), "stage/b", "a/b", over); err != nil {
		t.Fatal(err)
	}
	wantLines(t, log(), "stage: in stage/b/c", "a: in stage/b/c")
	wantList(t, d, "", "a/b/c")

	put(t, NewDir(root), "other/c")
	if err := d.Publish(t.Context(), "other", "new/x", Nothing); err != nil {
		t.Fatal(err)
	}
	wantLines(t, log(), ".: in stage/b/c", ".: in stage/b/c", "new: in stage/b/c")

	release, err := d.Hold(t.Context(), "held/_tmp.x.1")
	if err != nil {
		t.Fatal(err)
	}
	release()
	wantLines(t, log(), "held: in stage/b/c", ".: in stage/b/c")

	if err := WriteAll(t.Context(), NewDir(root), "plain", nil); err != nil {
		t.Fatal(err)
	}
	if err := WriteAll(t.Context(), Files{}, filepath.Join(root, "plain"), nil); err != nil {
		t.Fatal(err)
	}
	wantLines(t, log())
	if err := WriteAll(t.Context(), Files{Sync: true}, filepath.Join(root, "x"), nil); err != nil {
		t.Fatal(err)
	}
	wantLines(t, log(), "_tmp.x: in stage/b/c", ".: in stage/b/c")
}

// TestSyncFails: a disk that does not take a file leaves what was there, and one that does not take a name keeps what it replaced.
func TestSyncFails(t *testing.T) {
	broken := errors.New("broken disk")
	for _, poor := range []bool{false, true} {
		root, bad := t.TempDir(), ""
		watchSync(t, root, "x", func(name string) error {
			if name == bad {
				return broken
			}
			return nil
		})
		if poor {
			system.exchange, system.free = unsupported, unsupported
		}
		d := NewDir(root).Synced()
		put(t, d, "x", "m/a", "stage/m/b")

		bad = "_tmp.x"
		if err := WriteAll(t.Context(), d, "x", []byte("new")); !errors.Is(err, broken) {
			t.Errorf("%v, want the error of the disk", err)
		}
		wantContent(t, d, "x", "in x")
		if left, _ := filepath.Glob(filepath.Join(root, "_tmp.*")); len(left) != 0 {
			t.Errorf("%v remain", left)
		}
		bad = "."
		if err := d.Publish(t.Context(), "stage/m", "m", state(t, d, "m")); !errors.Is(err, broken) {
			t.Errorf("%v, want the error of the disk", err)
		}
		wantList(t, d, "m", "m/b")
		old, _ := filepath.Glob(filepath.Join(root, "*", "m", "a"))
		away, _ := filepath.Glob(filepath.Join(root, "_tmp.m.*", "a"))
		if len(old)+len(away) != 1 {
			t.Errorf("%v and %v are left of what was replaced, want one", old, away)
		}
	}
}

// TestSyncedLarge: files of which the disk gets some ahead have all of it.
func TestSyncedLarge(t *testing.T) {
	d := NewDir(t.TempDir()).Synced()
	w, err := d.Create(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	part := []byte(strings.Repeat("0123456789abcdef", 1<<16))
	for range 2*aheadBytes/len(part) + 1 {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	got, err := ReadAll(t.Context(), d, "x", 1<<30)
	if err != nil || string(got) != strings.Repeat(string(part), len(got)/len(part)) || len(got) != 2*aheadBytes+len(part) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// BenchmarkWrite writes a file, in pieces as a checkpoint is written, and waits until it is on the disk, or does not.
func BenchmarkWrite(b *testing.B) {
	part := make([]byte, 256<<10)
	for i := range part {
		part[i] = byte(i * 7)
	}
	for name, d := range map[string]*Dir{"synced": NewDir(b.TempDir()).Synced(), "plain": NewDir(b.TempDir())} {
		b.Run(name, func(b *testing.B) {
			const n = 1024
			b.SetBytes(n * int64(len(part)))
			for b.Loop() {
				w, err := d.Create(b.Context(), "x")
				if err != nil {
					b.Fatal(err)
				}
				for range n {
					if _, err := w.Write(part); err != nil {
						b.Fatal(err)
					}
				}
				if err := w.Commit(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
