package npy

import (
	"testing"

	"thole.example/blob"
	"thole.example/edit"
	"thole.example/format"
	"thole.example/matrix"
)

// TestUnnamed says where the name of an array is stored: not in a file of its own, but in a folder of such files, in an
// archive, and after it was renamed.
func TestUnnamed(t *testing.T) {
	b := &blob.Mem{}
	m := matrix.Meta{Name: "w", Cols: 1, DType: matrix.F32}
	for path, c := range map[string]format.Codec{"w.npy": Codec, "m/": Codec, "m.npz": Zipped} {
		w, err := c.Create(t.Context(), b, path, []matrix.Meta{m}, format.Options{})
		if err == nil {
			err = w.Commit(t.Context(), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, c := range map[string]struct {
		codec format.Codec
		want  bool
	}{"w.npy": {Codec, true}, "m": {Codec, false}, "m.npz": {Zipped, false}} {
		r, err := c.codec.Open(t.Context(), b, path, format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Matrices()[0]; got.Name != "w" || got.Unnamed != c.want {
			t.Errorf("%s: %s is unnamed: %v, want %v", path, got.Name, got.Unnamed, c.want)
		}
		renamed, err := edit.Rename(r, map[string]string{"w": "v"})
		if err != nil || renamed.Matrices()[0].Unnamed {
			t.Errorf("%s, renamed: %v, want a name", path, err)
		}
		r.Close()
	}
}
