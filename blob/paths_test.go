package blob_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/blob/blobtest"
)

// memories is a store of buckets in memory, by their authority.
func memories() blob.Store {
	return blob.Store{Scheme: "mem", Open: func(_ context.Context, authority string) (blob.Bucket, error) {
		if authority == "" {
			return nil, errors.New("no name, want mem://NAME")
		}
		return &blob.Mem{}, nil
	}}
}

// TestPathsBelow holds what lies below a URL, and below a folder, to what every bucket is held to.
func TestPathsBelow(t *testing.T) {
	for _, at := range []string{"mem://a", "mem://a/", "mem:/a/deep/er", "here", "."} {
		t.Run(at, func(t *testing.T) {
			blobtest.Run(t, blobtest.Kind{Forgets: blob.IsURL(at), Empty: func(t *testing.T) blob.Bucket {
				t.Chdir(t.TempDir())
				return blob.NewPaths(memories()).Below(at)
			}})
		})
	}
}

// TestPaths uses files and two stores beside each other.
func TestPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	p := blob.NewPaths(memories())
	for _, name := range []string{"mem://a/m/x", "mem:/a/m/y/z", "mem://b/m/x", "m/x"} {
		if err := blob.WriteAll(t.Context(), p, name, []byte("in "+name)); err != nil {
			t.Fatal(err)
		}
	}
	for tree, want := range map[string]string{
		"mem://a/m":   "mem://a/m/x mem://a/m/y/z",
		"mem:/a/m":    "mem:/a/m/x mem:/a/m/y/z", // as path.Join says it
		"mem://a/m/":  "mem://a/m/x mem://a/m/y/z",
		"mem://a":     "mem://a/m/x mem://a/m/y/z",
		"mem://a/m/x": "mem://a/m/x",
		"mem://b/m":   "mem://b/m/x",
		"mem://c":     "",
		"./m":         "./m/x",
	} {
		infos, err := p.List(t.Context(), tree)
		var names []string
		for _, i := range infos {
			names = append(names, i.Name)
			if data, err := blob.ReadAll(t.Context(), p, i.Name, 100); int64(len(data)) != i.Size || err != nil {
				t.Errorf("%s: %d bytes, %v; %d are listed", i.Name, len(data), err, i.Size)
			}
		}
		if got := strings.Join(names, " "); got != want || err != nil {
			t.Errorf("list %s: %q, %v; want %q", tree, got, err, want)
		}
	}
	if text, err := os.ReadFile("m/x"); string(text) != "in m/x" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if err := p.Publish(t.Context(), "mem://a/m/y", "mem:/a/n", blob.Nothing); err != nil {
		t.Error(err)
	}
	if data, err := blob.ReadAll(t.Context(), p, "mem://a/n/z", 100); string(data) != "in mem:/a/m/y/z" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
}

// TestPathsOfRoots keeps names below the roots: others' objects are out of reach.
func TestPathsOfRoots(t *testing.T) {
	t.Chdir(t.TempDir())
	all := blob.NewPaths(memories())
	p := all.Below("here", "mem://a/models")
	for _, name := range []string{"m/x", "mem://a/models/m", "mem:/a/models/n/x"} {
		if err := blob.WriteAll(t.Context(), p, name, []byte("in "+name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if data, err := blob.ReadAll(t.Context(), all, "here/m/x", 100); string(data) != "in m/x" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	for _, name := range []string{"/etc/passwd", "../x", "mem://a/other", "mem://a/models", "mem://a/models/../other", "mem://b/models/m", "gs://a/x"} {
		_, create := p.Create(t.Context(), name)
		_, open := p.Open(t.Context(), name)
		for what, err := range map[string]error{"create": create, "open": open, "publish": p.Publish(t.Context(), "m/x", name, blob.Anything)} {
			if !errors.Is(err, blob.ErrName) {
				t.Errorf("%s %s: %v, want ErrName", what, name, err)
			}
		}
	}
}

func TestPathsRefuse(t *testing.T) {
	t.Chdir(t.TempDir())
	p := blob.NewPaths(memories())
	if err := blob.WriteAll(t.Context(), p, "mem://a/x", nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"gs://a/x":       "no store of scheme gs, want mem://",
		"mem:///x":       "mem://: no name",
		"mem://a/../b/x": "not a name within the bucket",
		"mem://a":        "not a name within the bucket",
	} {
		_, err := p.Open(t.Context(), name)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	for _, to := range []string{"x", "mem://b/x"} {
		if err := p.Publish(t.Context(), "mem://a/x", to, blob.Anything); err == nil || !strings.Contains(err.Error(), "want both in one store") {
			t.Errorf("to %s: %v, want it refused", to, err)
		}
	}
}

func TestURL(t *testing.T) {
	for name, want := range map[string]string{
		"s3://b/k/l": "s3 b k/l", "s3:/b/k/l": "s3 b k/l", "s3://b": "s3 b ", "s3://b/": "s3 b ", "s3://b//k/": "s3 b k", "hdfs:///a/b": "hdfs  a/b", "hdfs:/-/a/b": "hdfs  a/b",
		"hdfs://host:9000/a": "hdfs host:9000 a",
		"/a/b":               "", "a/b": "", "c:/windows": "", "dir:folder": "", "a b:/c": "", "": "", "out/s3:/x": "", "S3://b/k": "",
	} {
		scheme, authority, rest, is := blob.URL(name)
		if got := strings.Join([]string{scheme, authority, rest}, " "); is != (want != "") || is && got != want {
			t.Errorf("%s: %q, %t; want %q", name, got, is, want)
		}
	}
	for name, want := range map[string]string{
		"s3:/b/k//l": "s3://b/k/l", "s3://b/": "s3://b", "s3://b/a/../k": "s3://b/k", "hdfs:///a/b": "hdfs://-/a/b", "hdfs:/-/a": "hdfs://-/a", "hdfs://h/": "hdfs://h", "a//b/": "a/b",
	} {
		if got := blob.Clean(name); got != want || blob.Clean(got) != got {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]string{"s3://b/k/l": "s3://b", "s3:/b": "s3://b", "hdfs:///a/b": "hdfs://-", "hdfs://h:1,i:2/a": "hdfs://h:1,i:2", "a/b": "", "": ""} {
		if got := blob.Root(name); got != want {
			t.Errorf("root of %q: %q, want %q", name, got, want)
		}
	}
}

// Symbolic links in a folder are followed as far as they lead into it: names come from clients, who must not get out.
func TestPathsBelowLinks(t *testing.T) {
	t.Chdir(t.TempDir())
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, name); err != nil {
			t.Skip(err)
		}
	}
	outside, err := filepath.Abs("outside")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"disk/in", "outside"} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("outside/x", []byte("secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	link("disk", "store")
	link(outside, "disk/absolute")
	link("../outside", "disk/relative")
	link("../outside/x", "disk/file")
	link("../outside/none", "disk/dangling")
	link("in", "disk/fine")
	ctx := t.Context()
	p := blob.NewPaths().Below("store")
	if err := blob.WriteAll(ctx, p, "fine/x", []byte("mine")); err != nil {
		t.Errorf("a link within the folder: %v", err)
	}
	if got, err := blob.ReadAll(ctx, p, "in/x", 10); err != nil || string(got) != "mine" {
		t.Errorf("read %q, error %v", got, err)
	}
	for _, name := range []string{"absolute/x", "relative/x", "relative/new", "relative/deep/new", "relative", "file", "dangling"} {
		for what, try := range map[string]func() error{
			"open":      func() error { _, err := p.Open(ctx, name); return err },
			"create":    func() error { return blob.WriteAll(ctx, p, name, []byte("over")) },
			"list":      func() error { _, err := p.List(ctx, name); return err },
			"remove":    func() error { return p.Remove(ctx, name) },
			"state":     func() error { _, err := p.State(ctx, name); return err },
			"publish":   func() error { return p.Publish(ctx, "in/x", name, blob.Anything) },
			"take away": func() error { return p.Publish(ctx, name, "in/y", blob.Anything) },
			"claim":     func() error { _, err := p.Claim(ctx, name, "me"); return err },
			"hold":      func() error { _, err := p.Hold(ctx, name); return err },
			"sweep":     func() error { _, err := p.Sweep(ctx, name); return err },
		} {
			if err := try(); err == nil || !strings.Contains(err.Error(), "symbolic links that lead out of store are not followed") {
				t.Errorf("%s %s: %v", what, name, err)
			}
		}
	}
	entries, err := os.ReadDir("outside")
	if got, rerr := os.ReadFile("outside/x"); err != nil || rerr != nil || len(entries) != 1 || string(got) != "secret" {
		t.Errorf("outside there are %v with %q, errors %v, %v", entries, got, err, rerr)
	}
}
