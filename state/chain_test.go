package state

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"testing"

	"thole.example/blob"
)

// put writes the head of a checkpoint without matrices, based on another as that is now.
func put(t *testing.T, b blob.Bucket, at string, c Checkpoint) {
	t.Helper()
	s, err := Create(t.Context(), b, at, "", blob.Anything)
	if err == nil {
		err = s.Commit(t.Context(), &c, nil, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestChain: an increment is read with all that it is based on, the oldest first, and only if each of these is what it was.
func TestChain(t *testing.T) {
	run := func(run, id, base string) Checkpoint {
		c := Checkpoint{ID: id, Moment: Moment{Run: run}}
		if base != "" {
			path, id, _ := strings.Cut(base, " ")
			c.Base = Link{Path: path, ID: id}
		}
		return c
	}
	one := func(id, base string) Checkpoint { return run("r", id, base) }
	remove := func(in blob.Bucket, name string) { _ = in.Remove(t.Context(), name) }
	for _, x := range []struct {
		name string
		then func(in blob.Bucket)
		want error
		text string
	}{
		{"as it was", func(blob.Bucket) {}, nil, ""},
		{"a whole one replaced", func(in blob.Bucket) { put(t, in, "s/a", one("4", "")) }, ErrBase, `on s/a with the identity "1", found "4"`},
		{"an increment replaced", func(in blob.Bucket) { put(t, in, "s/b", one("4", "s/a 1")) }, ErrBase, `"2", found "4"`},
		{"a plain one instead", func(in blob.Bucket) { put(t, in, "s/b", one("", "")) }, ErrBase, `found ""`},
		{"another run", func(in blob.Bucket) { put(t, in, "s/a", run("q", "1", "")) }, ErrBase, `of run "r" based on s/a of run "q"`},
		{"of another clock", func(in blob.Bucket) {
			c := one("1", "")
			c.Clock = 7
			put(t, in, "s/a", c)
		}, ErrBase, "with the digest"},
		{"another moment", func(in blob.Bucket) {
			c := one("2", "s/a 1")
			c.Moment.Step = 7
			put(t, in, "s/b", c)
		}, ErrBase, "with the digest"},
		{"a whole one that is the same", func(in blob.Bucket) { put(t, in, "s/b", one("2", "")) }, nil, ""},
		{"missing", func(in blob.Bucket) { remove(in, "s/b/checkpoint") }, fs.ErrNotExist, "checkpoint s/c is based on s/b, which cannot be read"},
		{"oldest missing", func(in blob.Bucket) { remove(in, "s/a") }, fs.ErrNotExist, "checkpoint s/b is based on s/a, which cannot be read"},
	} {
		in := &blob.Mem{}
		put(t, in, "s/a", one("1", ""))
		put(t, in, "s/b", one("2", "s/a 1"))
		put(t, in, "s/c", one("3", "s/b 2"))
		x.then(in)
		if err := in.Publish(t.Context(), "s", "moved/to", blob.Nothing); err != nil {
			t.Fatal(err)
		}
		all, err := OpenChain(t.Context(), in, "moved/to/c")
		if !errors.Is(err, x.want) || err != nil && !strings.Contains(strings.ReplaceAll(err.Error(), "moved/to", "s"), x.text) {
			t.Errorf("%s: %v, want %q", x.name, err, x.text)
		}
		if err != nil {
			continue
		}
		if !all[0].Whole() || len(all) != 3 && x.name == "as it was" || all[len(all)-1].Path() != "moved/to/c" {
			t.Errorf("%s: %d checkpoints", x.name, len(all))
		}
	}
}

// TestChainOfItself: heads that name each other are not followed for ever.
func TestChainOfItself(t *testing.T) {
	in := &blob.Mem{}
	for _, x := range [][2]string{{"a", "b"}, {"b", "a"}} {
		head := hostile(func(w *Writer) {
			if err := writeCheckpoint(w, &Checkpoint{ID: x[0], Base: Link{Path: x[1], ID: x[1]}}); err != nil {
				t.Fatal(err)
			}
		})
		if err := blob.WriteAll(t.Context(), in, x[0]+"/"+HeadName, head); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := OpenChain(t.Context(), in, "a"); err == nil || !strings.Contains(err.Error(), "each once") {
		t.Error(err)
	}
}

// TestRelative: a path is seen from a folder, and found from there again.
func TestRelative(t *testing.T) {
	for _, x := range []struct{ folder, to, want string }{
		{"s", "s/a", "a"},
		{".", "a", "a"},
		{".", "s/a", "s/a"},
		{"s", "a", "../a"},
		{"s/t", "s/u/a", "../u/a"},
		{"s", "s", "../s"},
		{"/x/s", "/x/s/a", "a"},
		{"/x", "/y/a", "../y/a"},
		{"../s", "../s/a", "a"},
		{"../s", "a", ""},
		{"/x", "a", ""},
	} {
		got, err := relative(x.folder, x.to)
		if got != x.want || (err != nil) != (x.want == "") {
			t.Errorf("%s from %s: %q, %v, want %q", x.to, x.folder, got, err, x.want)
		}
		if err == nil && path.Join(x.folder, got) != x.to {
			t.Errorf("%s from %s is %s", got, x.folder, path.Join(x.folder, got))
		}
	}
}
