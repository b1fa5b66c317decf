package data

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
)

// memories is a store of URLs mem://NAME/….
func memories() *blob.Paths {
	return blob.NewPaths(blob.Store{Scheme: "mem", Open: func(context.Context, string) (blob.Bucket, error) { return &blob.Mem{}, nil }})
}

// TestStore reads what URLs name: an object, the objects of a folder, those of a glob, packed ones, weights.
func TestStore(t *testing.T) {
	store := memories()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte("1 3:1\n"))
	z.Close()
	for name, text := range map[string]string{
		"mem://b/day/1.libsvm": "1 1:1\n", "mem://b/day/2.libsvm": "0 2:1\n", "mem://b/day/_SUCCESS": "", "mem://b/day/deep/x.libsvm": "0 4:1\n",
		"mem://b/day/3.libsvm.gz": packed.String(), "mem://b/w": "1\n2\n3\n",
	} {
		if err := blob.WriteAll(t.Context(), store, name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string]string{
		"mem://b/day":                       "mem://b/day/1.libsvm mem://b/day/2.libsvm mem://b/day/3.libsvm.gz mem://b/day/deep/x.libsvm",
		"mem://b/day/":                      "mem://b/day/1.libsvm mem://b/day/2.libsvm mem://b/day/3.libsvm.gz mem://b/day/deep/x.libsvm",
		"mem://b/day/[12].lib*":             "mem://b/day/1.libsvm mem://b/day/2.libsvm",
		"mem://b/d*/1.libsvm,mem://b/w":     "mem://b/day/1.libsvm mem://b/w",
		"mem:/b/day/1.libsvm":               "mem://b/day/1.libsvm", // as path.Join says it
		"mem://b/none":                      "",
		"mem://b/day/*.csv":                 "",
		"mem://b":                           "mem://b/day/1.libsvm mem://b/day/2.libsvm mem://b/day/3.libsvm.gz mem://b/day/deep/x.libsvm mem://b/w",
		"mem://b/day/[":                     "",
		"gs://b/day":                        "",
		"mem://b/day/1.libsvm,mem:/b/day/*": "",
	} {
		files, err := Files(t.Context(), store, []string{pattern})
		if got := strings.Join(files, " "); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v; want %s", pattern, got, err, want)
		}
	}
	files, err := Files(t.Context(), store, []string{"mem://b/day"})
	if err != nil {
		t.Fatal(err)
	}
	all, err := LoadFiles(t.Context(), files, nil, Options{Store: store})
	if err != nil || !slices.Equal(all.Label, []float32{1, 0, 1, 0}) {
		t.Errorf("%v, %v", all, err)
	}
	var texts []string
	r := RecordReader{Options: Options{Store: store}}
	for rec, err := range r.Read(t.Context(), files) {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(rec.Text))
	}
	if got := strings.Join(texts, ""); got != "1 1:1\n0 2:1\n1 3:1\n0 4:1\n" {
		t.Errorf("records %q", got)
	}
	if w, err := LoadWeights(t.Context(), store, []string{"mem://b/w"}, nil); !slices.Equal(w, []float32{1, 2, 3}) || err != nil {
		t.Errorf("%v, %v", w, err)
	}
	if n, err := Size(t.Context(), store, "mem://b/w"); n != 6 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// TestStoreRefuses says what is wrong with a URL.
func TestStoreRefuses(t *testing.T) {
	store := memories()
	if err := blob.WriteAll(t.Context(), store, "mem://b/day/1", nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		store blob.Bucket
		path  string
		want  string
		is    error
	}{
		{nil, "mem://b/day/1", "want a path", ErrOption},
		{store, "mem://b/none", "mem://b/none", fs.ErrNotExist},
		{store, "mem://b/day", "a folder, want a file", nil},
		{store, "gs://b/day", "no store of scheme gs", nil},
	} {
		_, size := Size(t.Context(), c.store, c.path)
		_, load := LoadFiles(t.Context(), []string{c.path}, nil, Options{Store: c.store})
		for what, err := range map[string]error{"size": size, "load": load} {
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%s of %s: %v, want %q", what, c.path, err, c.want)
			}
		}
		if _, err := Files(t.Context(), c.store, []string{c.path}); err == nil && c.path != "mem://b/day" {
			t.Errorf("files of %s: no error", c.path)
		}
	}
}
