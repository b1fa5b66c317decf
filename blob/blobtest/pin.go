package blobtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"thole.example/blob"
)

// pinned: who reads a tree through a pin reads the objects of one tree, however often it is replaced meanwhile by objects of the same
// sizes, or gets blob.ErrChanged.
func pinned(t *testing.T, k Kind) {
	b := k.Empty(t)
	const objects = 6
	replace := func(round int) {
		from := fmt.Sprintf("_tmp.tree.%d", round)
		for i := range objects {
			if err := blob.WriteAll(t.Context(), b, fmt.Sprintf("%s/d%d/o%d", from, i%2, i), fmt.Appendf(nil, "%08d", round)); err != nil {
				t.Error(err)
				return
			}
		}
		if err := b.Publish(t.Context(), from, "tree", blob.Anything); err != nil {
			t.Error(err)
		}
	}
	replace(0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for round := 1; round <= 8; round++ {
			replace(round)
		}
	}()
	whole := 0
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		switch n, err := readPinned(t.Context(), b); {
		case errors.Is(err, blob.ErrChanged):
			if ended {
				t.Errorf("nothing replaces the tree any more: %v", err)
			}
		case err != nil:
			t.Error(err)
			return
		case n == 0 && k.Gap:
		case n != objects:
			t.Errorf("%d objects, want %d", n, objects)
			return
		default:
			whole++
		}
	}
	<-done
	if whole == 0 {
		t.Error("no tree was read")
	}
	missing, err := blob.Pin(t.Context(), b, "none")
	if err != nil {
		t.Fatal(err)
	}
	defer missing.Close()
	if infos, err := missing.List(t.Context(), "none"); len(infos) != 0 || err != nil {
		t.Errorf("%v, %v where there is nothing", infos, err)
	}
	pinnedObject(t, b)
}

// readPinned reads all objects of the tree, and fails if they are not of one round.
func readPinned(ctx context.Context, b blob.Bucket) (n int, err error) {
	v, err := blob.Pin(ctx, b, "tree")
	if err != nil {
		return 0, err
	}
	defer v.Close()
	infos, err := v.List(ctx, "tree")
	if err != nil {
		return 0, err
	}
	first := ""
	for _, i := range infos {
		o, err := v.Open(ctx, i.Name)
		if err != nil {
			return n, err
		}
		data, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
		o.Close()
		if err != nil {
			return n, err
		}
		if n++; n == 1 {
			first = string(data)
		}
		if string(data) != first {
			return n, fmt.Errorf("%s holds %q, and the first object %q: a mixture", i.Name, data, first)
		}
	}
	return n, nil
}

// pinnedObject: a pin of an object shows that object, and what lies beside it as it is.
func pinnedObject(t *testing.T, b blob.Bucket) {
	put(t, b, "one", "one.more")
	v, err := blob.Pin(t.Context(), b, "one")
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	wantContent(t, v, "one", "in one")
	wantList(t, v, "one", "one")
	wantContent(t, v, "one.more", "in one.more")
	wantMissing(t, v, "one/below")
	if err := blob.WriteAll(t.Context(), b, "one", []byte("is two")); err != nil {
		t.Fatal(err)
	}
	if data, err := blob.ReadAll(t.Context(), v, "one", 100); string(data) != "in one" && !errors.Is(err, blob.ErrChanged) {
		t.Errorf("%q, %v of an object that was replaced, want what it was or %v", data, err, blob.ErrChanged)
	}
}
