// Package blobtest has the tests that every blob.Bucket passes.
package blobtest

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"thole.example/blob"
)

// Kind is a kind of bucket.
type Kind struct {
	Forgets bool                           // it does not outlive its processes, and so has nothing that was left behind
	Empty   func(t *testing.T) blob.Bucket // gives a bucket of its own, without objects
	// Replaces says that an object which is replaced while it is open may be gone: reading it fails with blob.ErrChanged then.
	Replaces bool
	// SameBytes says that an object which is replaced by one of the same bytes is the same to State.
	SameBytes bool
	// Gap says that there is nothing for a moment where a tree is replaced.
	Gap bool
}

// Run runs the suite.
func Run(t *testing.T, k Kind) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, k Kind)
	}{
		{"commit makes visible", commitMakesVisible}, {"abort leaves nothing", abortLeavesNothing}, {"errors name the object", errorsNameTheObject},
		{"replace", replaceKeepsOpenObjects}, {"write at", writeAt}, {"names outside", namesOutsideAreRefused}, {"backslash", backslash},
		{"list", listing}, {"read back", readBackBeforeCommit}, {"temporary names", temporaryNamesAreNotListed}, {"remove", removing},
		{"object or tree", nameIsObjectOrTree}, {"read all", readAllLimit}, {"concurrent use", concurrentUse}, {"publish over", publishOver},
		{"write over", writeOver}, {"publish", publish}, {"publish odd names", publishOddNames}, {"publish refuses", publishRefuses},
		{"remove while published", removeWhilePublished},
		{"unfinished", unfinished}, {"pinned", pinned}, {"pinned set", pinnedSet}, {"interrupted set", interruptedSet},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, k) })
	}
}

// on runs a test on an empty bucket.
func (k Kind) on(t *testing.T, test func(*testing.T, blob.Bucket)) { test(t, k.Empty(t)) }

func put(t *testing.T, b blob.Bucket, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := blob.WriteAll(t.Context(), b, name, []byte("in "+name)); err != nil {
			t.Fatal(err)
		}
	}
}

// wantList holds the listing to "name name …", and every object to "in name" with its prefix replaced as said.
func wantList(t *testing.T, b blob.Bucket, tree, want string) {
	t.Helper()
	infos, err := b.List(t.Context(), tree)
	if err != nil {
		t.Errorf("list %q: %v", tree, err)
	}
	var names []string
	for _, i := range infos {
		names = append(names, i.Name)
		if data, err := blob.ReadAll(t.Context(), b, i.Name, 1<<20); err != nil || int64(len(data)) != i.Size {
			t.Errorf("%s: %d bytes, %v; want %d as listed", i.Name, len(data), err, i.Size)
		}
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("list %q: %q, want %q", tree, got, want)
	}
}

func wantContent(t *testing.T, b blob.Bucket, name, want string) {
	t.Helper()
	if data, err := blob.ReadAll(t.Context(), b, name, 1<<20); err != nil || string(data) != want {
		t.Errorf("%s holds %q, %v; want %q", name, data, err, want)
	}
}

func wantMissing(t *testing.T, b blob.Bucket, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := b.Open(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("open %q: %v, want one that wraps fs.ErrNotExist", name, err)
		}
	}
}

func state(t *testing.T, b blob.Bucket, name string) blob.State {
	t.Helper()
	s, err := b.State(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func remove(t *testing.T, b blob.Bucket, name string) {
	t.Helper()
	if err := b.Remove(t.Context(), name); err != nil {
		t.Fatal(err)
	}
}

// second is the error of a call that gives something else, too.
func second[T any](_ T, err error) error { return err }

// unfinished lists temporary names, of the whole bucket and of a tree.
func unfinished(t *testing.T, k Kind) {
	k.on(t, func(t *testing.T, b blob.Bucket) {
		s, can := b.(blob.Sweeper)
		if !can || k.Forgets {
			t.Skip("it does not outlive its processes")
		}
		put(t, b, "_tmp.m.1.2/w", "m/_tmp.deep.3.4", "m/w")
		for tree, want := range map[string]string{"": "m.1.2", ".": "m.1.2", "m": "deep.3.4", "none": ""} {
			names, err := s.Unfinished(t.Context(), tree)
			if got := strings.Join(names, " "); got != want || err != nil {
				t.Errorf("in %q: %q, %v; want %q", tree, got, err, want)
			}
		}
	})
}
