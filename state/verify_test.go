package state

import (
	"bytes"
	"errors"
	"path"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
)

// verified is what Verify says of a checkpoint, and how many bytes it has read.
func verified(t *testing.T, b blob.Bucket, at string) (n int64, err error) {
	t.Helper()
	in, err := NewInput(t.Context(), b, at)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	return n, in.Verify(t.Context(), func(bytes int64) { n += bytes })
}

// TestVerify: every byte is read, and what is wrong anywhere is said, with the file.
func TestVerify(t *testing.T) {
	sound := &blob.Mem{}
	sample(t, sound, "c")
	n, err := verified(t, sound, "c")
	objects, lerr := sound.List(t.Context(), "c")
	if lerr != nil {
		t.Fatal(lerr)
	}
	want := int64(0)
	for _, o := range objects {
		if o.Name != "c/checkpoint" {
			want += o.Size
		}
	}
	if want -= int64(2 * len(magic)); n != want || err != nil {
		t.Errorf("%d bytes, want %d: %v", n, want, err)
	}
	for _, object := range []string{"checkpoint", "server.0", "server.1", "job.yaml"} {
		name := path.Join("c", object)
		data, err := blob.ReadAll(t.Context(), sound, name, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(data); i += 1 + i/97 {
			bad := bytes.Clone(data)
			bad[i] ^= 1 << (i % 8)
			b := &blob.Mem{}
			sample(t, b, "c")
			if err := blob.WriteAll(t.Context(), b, name, bad); err != nil {
				t.Fatal(err)
			}
			if _, err := verified(t, b, "c"); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: bit %d of byte %d: %v", name, i%8, i, err)
			}
		}
	}
	for what, do := range map[string]func(b blob.Bucket) error{
		"c/job.yaml: blob: open":                   func(b blob.Bucket) error { return b.Remove(t.Context(), "c/job.yaml") },
		"c/server.0: 10 bytes, want ":              func(b blob.Bucket) error { return blob.WriteAll(t.Context(), b, "c/server.0", make([]byte, 10)) },
		"c/server.1: blob: open":                   func(b blob.Bucket) error { return b.Remove(t.Context(), "c/server.1") },
		"c/x: 1 bytes that are not of the":         func(b blob.Bucket) error { return blob.WriteAll(t.Context(), b, "c/x", []byte("x")) },
		"c/server.2: 1 bytes that are not of":      func(b blob.Bucket) error { return blob.WriteAll(t.Context(), b, "c/server.2", []byte("x")) },
		"c/deep/x: 1 bytes that are not of the ch": func(b blob.Bucket) error { return blob.WriteAll(t.Context(), b, "c/deep/x", []byte("x")) },
	} {
		b := &blob.Mem{}
		sample(t, b, "c")
		if err := do(b); err != nil {
			t.Fatal(err)
		}
		if _, err := verified(t, b, "c"); err == nil || strings.Count(err.Error(), what) != 1 {
			t.Errorf("%v, want %q, once", err, what)
		}
	}
}

// TestSwapped: files, and records within them, that are sound and of another checkpoint are refused: the digests in the head tell.
func TestSwapped(t *testing.T) {
	b := &blob.Mem{}
	sampleAs(t, b, "a", 1, Checkpoint{})
	sampleAs(t, b, "b", 2, Checkpoint{})
	for _, object := range []string{"server.0", "server.1", "job.yaml"} {
		of := map[string][]byte{}
		for _, at := range []string{"a", "b"} {
			data, err := blob.ReadAll(t.Context(), b, path.Join(at, object), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			of[at] = data
		}
		if len(of["a"]) != len(of["b"]) || bytes.Equal(of["a"], of["b"]) {
			t.Fatalf("%s of %d and %d bytes, want two that differ and are alike in size", object, len(of["a"]), len(of["b"]))
		}
		if err := blob.WriteAll(t.Context(), b, path.Join("a", object), of["b"]); err != nil {
			t.Fatal(err)
		}
		_, err := verified(t, b, "a")
		if !errors.Is(err, format.ErrCorrupt) || !strings.Contains(err.Error(), "a/"+object) ||
			!strings.Contains(err.Error(), "another checkpoint") && object != "job.yaml" {
			t.Errorf("%s: %v", object, err)
		}
		if err := blob.WriteAll(t.Context(), b, path.Join("a", object), of["a"]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := verified(t, b, "a"); err != nil {
		t.Error(err)
	}
}
