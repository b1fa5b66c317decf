package blob_test

import (
	"path"
	"testing"

	"thole.example/blob"
)

// TestNames: names of stores are taken apart and put together below their authority, and those of files as package path does it.
func TestNames(t *testing.T) {
	for _, c := range []struct{ name, parent, base, ext, stem string }{
		{"s3://bucket/m/w.npy", "s3://bucket/m", "w.npy", ".npy", "w"},
		{"s3://bucket/w.npy", "s3://bucket", "w.npy", ".npy", "w"},
		{"s3://bucket/m/", "s3://bucket/m", "m", "", "m"},
		{"s3://bucket.com", "s3://bucket.com", "bucket.com", "", "bucket.com"},
		{"s3://bucket.com/", "s3://bucket.com", "bucket.com", "", "bucket.com"},
		{"hdfs:///m/w.npy", "hdfs://-/m", "w.npy", ".npy", "w"},
		{"hdfs://-/w.npy", "hdfs://-", "w.npy", ".npy", "w"},
		{"hdfs://host:9000/w", "hdfs://host:9000", "w", "", "w"},
		{"hdfs:///", "hdfs://-", "hdfs", "", "hdfs"},
	} {
		if got := blob.Parent(c.name); got != c.parent {
			t.Errorf("Parent(%q) = %q, want %q", c.name, got, c.parent)
		}
		if got := blob.Base(c.name); got != c.base {
			t.Errorf("Base(%q) = %q, want %q", c.name, got, c.base)
		}
		if got := blob.Ext(c.name); got != c.ext {
			t.Errorf("Ext(%q) = %q, want %q", c.name, got, c.ext)
		}
		if got := blob.Stem(c.name); got != c.stem {
			t.Errorf("Stem(%q) = %q, want %q", c.name, got, c.stem)
		}
		if folder, last := blob.Split(c.name); blob.Clean(folder) != c.parent {
			t.Errorf("Split(%q) = %q, %q, want the folder %q", c.name, folder, last, c.parent)
		}
	}
	for _, name := range []string{"", "a", "a/b", "a/b/", "/", "/a", "./a/b.c", "../a", "a.b/c", "c:/d"} {
		folder, last := blob.Split(name)
		wantFolder, wantLast := path.Split(name)
		if folder != wantFolder || last != wantLast || blob.Parent(name) != path.Dir(name) || blob.Base(name) != path.Base(name) ||
			blob.Ext(name) != path.Ext(name) || blob.Clean(name) != path.Clean(name) {
			t.Errorf("%q is not taken apart as a path", name)
		}
	}
}

// TestRel: an object lies in a tree under one name, in whatever words both were given.
func TestRel(t *testing.T) {
	for _, c := range []struct {
		tree, name, rel string
		inside, within  bool
	}{
		{"s3://bucket/m", "s3://bucket/m/w", "w", true, true},
		{"s3://bucket/m/", "s3://bucket/m/a/w", "a/w", true, false},
		{"s3://bucket", "s3://bucket/w", "w", true, true},
		{"s3://bucket/", "s3:/bucket/w", "w", true, true},
		{"s3://bucket/m", "s3://bucket/m", ".", true, false},
		{"s3://bucket/m", "s3://bucket/many/w", "s3://bucket/many/w", false, false},
		{"hdfs:///m", "hdfs://-/m/w", "w", true, true},
		{".", "w", "w", true, true},
		{".", "../w", "../w", false, false},
		{".", "s3://bucket/w", "s3://bucket/w", false, false},
		{"/", "/w", "w", true, true},
		{"./m", "m/w", "w", true, true},
	} {
		if rel, inside := blob.Rel(c.tree, c.name); rel != c.rel || inside != c.inside {
			t.Errorf("Rel(%q, %q) = %q, %v, want %q, %v", c.tree, c.name, rel, inside, c.rel, c.inside)
		}
		if got := blob.Within(c.tree, c.name); got != c.within {
			t.Errorf("Within(%q, %q) = %v, want %v", c.tree, c.name, got, c.within)
		}
	}
}
