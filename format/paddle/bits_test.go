package paddle

import (
	"bytes"
	"context"
	"errors"
	"path"
	"slices"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
)

// TestEveryBit changes every bit of every small golden file, and cuts it at every byte: an error with a place, or matrices
// that are what they say; and never a panic.
func TestEveryBit(t *testing.T) {
	patterns := []string{"own/*/*", "stream/*", "selectedrows/*", "v011/*", "pr4602/*", "tnum/*", "v2/*", "pickle/*", "seed004/*", "model_linear/fc*"}
	b := goldens(t)
	files, err := b.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range files {
		file := i.Name
		matches := func(pattern string) bool { ok, _ := path.Match(pattern, file); return ok }
		if i.Size > 400 || !slices.ContainsFunc(patterns, matches) {
			continue
		}
		data, err := blob.ReadAll(t.Context(), b, file, 400)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			step := 1
			if len(data) > 100 {
				step = 7 // every byte, but not every bit of it
			}
			for i := 0; i < 8*len(data); i += step {
				changed := slices.Clone(data)
				changed[i/8] ^= 1 << (i % 8)
				anything(t, path.Base(file), changed)
			}
			for n := range data {
				if anything(t, path.Base(file), data[:n]) {
					t.Errorf("cut at byte %d: no error", n)
				}
			}
		})
	}
}

// anything opens and explains bytes that can be anything, and reports whether they were taken for parameters.
func anything(t *testing.T, file string, data []byte) bool {
	t.Helper()
	ctx, b := context.Background(), &blob.Mem{}
	if err := blob.WriteAll(ctx, b, file, data); err != nil {
		t.Fatal(err)
	}
	_ = Codec.Explain(ctx, b, file, dump.New(&bytes.Buffer{}))
	r, err := Codec.Open(ctx, b, file, format.Options{})
	if err != nil {
		var where *format.Error
		if !errors.As(err, &where) || where.Off < 0 {
			t.Errorf("%v, want a place", err)
		}
		return false
	}
	defer r.Close()
	sound(t, r)
	return true
}
