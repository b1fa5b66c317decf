package state

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"thole.example/blob"
)

// put writes the head of a checkpoint without matrices.
func put(t *testing.T, b blob.Bucket, at, id string, base ...Link) {
	t.Helper()
	head := hostile(func(w *Writer) {
		if err := writeCheckpoint(w, &Checkpoint{ID: id, Base: base}); err != nil {
			t.Fatal(err)
		}
	})
	if err := blob.WriteAll(t.Context(), b, at+"/"+headName, head); err != nil {
		t.Fatal(err)
	}
}

// TestChain: an increment is read with all that it is based on, the oldest first, and only if each of these is what it was.
func TestChain(t *testing.T) {
	a, b, c := Link{"a", "1"}, Link{"b", "2"}, Link{"c", "3"}
	for _, x := range []struct {
		name string
		then func(in blob.Bucket)
		want error
		text string
	}{
		{"as it was", func(blob.Bucket) {}, nil, ""},
		{"a whole one replaced", func(in blob.Bucket) { put(t, in, "a", "4") }, ErrBase, `found "4" and 0`},
		{"an increment replaced", func(in blob.Bucket) { put(t, in, "b", "4", a) }, ErrBase, `b with the identity "2" and 1 before it, found "4" and 1`},
		{"a plain one instead", func(in blob.Bucket) { put(t, in, "b", "") }, ErrBase, `found "" and 0`},
		{"based on others", func(in blob.Bucket) { put(t, in, "b", "2", Link{"a", "5"}) }, ErrBase, "restore another checkpoint"},
		{"based on each other", func(in blob.Bucket) { put(t, in, "b", "2", c) }, ErrBase, "restore another checkpoint"},
		{"missing", func(in blob.Bucket) { _ = in.Remove(t.Context(), "b/checkpoint") }, fs.ErrNotExist, "checkpoint c is based on b, which cannot be read"},
	} {
		in := &blob.Mem{}
		put(t, in, "a", "1")
		put(t, in, "b", "2", a)
		put(t, in, "c", "3", a, b)
		x.then(in)
		all, err := OpenChain(t.Context(), in, "c")
		if !errors.Is(err, x.want) || err != nil && !strings.Contains(err.Error(), x.text) {
			t.Errorf("%s: %v, want %q", x.name, err, x.text)
		}
		if err == nil && (len(all) != 3 || all[0].Path() != "a" || all[2].Path() != "c" || len(all[2].Base) != 2) {
			t.Errorf("%s: %d checkpoints", x.name, len(all))
		}
	}
}
