package blobtest

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"thole.example/blob"
)

// publishOver publishes over what was seen: what changed meanwhile is neither replaced nor touched.
func publishOver(t *testing.T, k Kind) {
	for _, c := range []struct {
		name    string
		before  []string                          // lies there when the target is looked at
		between func(t *testing.T, b blob.Bucket) // what somebody else does then
		refused bool
		after   string // the list afterwards
	}{
		{"nothing there", nil, nil, false, "m/new"},
		{"an object appeared", nil, func(t *testing.T, b blob.Bucket) { put(t, b, "m") }, true, "m stage/new"},
		{"a tree appeared", nil, func(t *testing.T, b blob.Bucket) { put(t, b, "m/foreign") }, true, "m/foreign stage/new"},
		{"the same object", []string{"m"}, nil, false, "m/new"},
		{"the same tree", []string{"m/a", "m/b/c"}, nil, false, "m/new"},
		{"an object written anew", []string{"m"}, func(t *testing.T, b blob.Bucket) { k.anew(t, b, "m") }, true, "m stage/new"},
		{"a tree with another file", []string{"m/a"}, func(t *testing.T, b blob.Bucket) { put(t, b, "m/deep/notes") }, true,
			"m/a m/deep/notes stage/new"},
		{"a tree with a file less", []string{"m/a", "m/b"}, func(t *testing.T, b blob.Bucket) { remove(t, b, "m/b") }, true, "m/a stage/new"},
		{"a file of the tree written anew", []string{"m/a"}, func(t *testing.T, b blob.Bucket) { k.anew(t, b, "m/a") }, true, "m/a stage/new"},
		{"removed", []string{"m/a"}, func(t *testing.T, b blob.Bucket) { remove(t, b, "m") }, true, "stage/new"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k.on(t, func(t *testing.T, b blob.Bucket) {
				put(t, b, append(c.before, "stage/new")...)
				over := state(t, b, "m")
				if (over == blob.Nothing) != (c.before == nil) {
					t.Fatalf("state %q of %v", over, c.before)
				}
				if c.between != nil {
					c.between(t, b)
				}
				err := b.Publish(t.Context(), "stage", "m", over)
				if errors.Is(err, blob.ErrChanged) != c.refused || !c.refused && err != nil {
					t.Errorf("%v, want refused %v", err, c.refused)
				}
				wantList(t, b, "", c.after)
			})
		})
	}
}

// anew replaces an object such that its state is another one.
func (k Kind) anew(t *testing.T, b blob.Bucket, name string) {
	t.Helper()
	put(t, b, name)
	if k.SameBytes {
		if err := blob.WriteAll(t.Context(), b, name, []byte("something else")); err != nil {
			t.Fatal(err)
		}
	}
}

// writeOver writes where nothing may be, and over what was seen.
func writeOver(t *testing.T, k Kind) {
	k.on(t, func(t *testing.T, b blob.Bucket) {
		write := func(text string, over blob.State) error {
			return blob.WriteOver(t.Context(), b, "d/x", []byte(text), over)
		}
		if err := write("one", blob.Nothing); err != nil {
			t.Fatal(err)
		}
		if err := write("two", blob.Nothing); !errors.Is(err, blob.ErrChanged) {
			t.Errorf("%v, want ErrChanged", err)
		}
		seen := state(t, b, "d/x")
		if err := write("three", seen); err != nil {
			t.Error(err)
		}
		if err := write("four", seen); !errors.Is(err, blob.ErrChanged) {
			t.Errorf("%v, want ErrChanged", err)
		}
		wantContent(t, b, "d/x", "three")
		wantList(t, b, "", "d/x")
		if s, can := b.(blob.Sweeper); can {
			if left, err := s.Unfinished(t.Context(), "d"); len(left) != 0 || err != nil {
				t.Errorf("%v remain, %v", left, err)
			}
		}
	})
}

func publish(t *testing.T, k Kind) {
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
			k.on(t, func(t *testing.T, b blob.Bucket) {
				put(t, b, "old/x", "old/y/z", "new/n", "new/y/m", "single")
				if err := b.Publish(t.Context(), c.from, c.to, blob.Anything); err != nil {
					t.Fatal(err)
				}
				wantList(t, b, "", c.want)
				name, content, _ := strings.Cut(c.content, "=")
				wantContent(t, b, name, content)
			})
		})
	}
}

// publishOddNames publishes a tree whose names have characters that URLs write otherwise.
func publishOddNames(t *testing.T, k Kind) {
	k.on(t, func(t *testing.T, b blob.Bucket) {
		var names []string
		for _, odd := range []string{"a+b", "a b", "a%20b", "a%2Bb", "a&b=c", "a#b", "a?b", "a;b", "a,b", "q'd", "ä"} {
			from, to := "stage "+odd, "m "+odd
			put(t, b, from+"/"+odd, from+"/other+one")
			if err := b.Publish(t.Context(), from, to, blob.Anything); err != nil {
				t.Fatalf("%s: %v", odd, err)
			}
			wantContent(t, b, to+"/"+odd, "in "+from+"/"+odd)
			names = append(names, to+"/"+odd, to+"/other+one")
		}
		infos, err := b.List(t.Context(), "")
		if err != nil || len(infos) != len(names) {
			t.Errorf("%d objects, %v, want %d", len(infos), err, len(names))
		}
	})
}

func publishRefuses(t *testing.T, k Kind) {
	for _, c := range []struct{ name, from, to string }{
		{"nothing there", "none", "old"},
		{"nothing there onto itself", "none", "none"},
		{"a tree into itself", "old", "old/y"},
		{"a tree into itself, new", "old", "old/new/deep"},
		{"a part over the whole", "old/y", "old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k.on(t, func(t *testing.T, b blob.Bucket) {
				put(t, b, "old/x", "old/y/z")
				err := b.Publish(t.Context(), c.from, c.to, blob.Anything)
				if err == nil || c.from == "none" && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%v, want an error", err)
				}
				wantList(t, b, "", "old/x old/y/z")
			})
		})
	}
}

// removeWhilePublished removes the tree out of which something is being published: what became visible is whole, and stays.
func removeWhilePublished(t *testing.T, k Kind) {
	k.on(t, func(t *testing.T, b blob.Bucket) {
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
				err := b.Publish(t.Context(), "_tmp.m.1/m", "m", blob.Nothing)
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
