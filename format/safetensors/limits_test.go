package safetensors

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// TestLimits writes tensors at each limit of the reader that takes little memory to reach, and just beyond it.
func TestLimits(t *testing.T) {
	rank := func(n int) matrix.Meta {
		return matrix.Meta{Name: "m", Cols: 1, DType: matrix.F32, Dims: append([]int64{0}, slices.Repeat([]int64{1}, n-1)...)}
	}
	for what, c := range map[string]struct {
		ms   []matrix.Meta
		want error
	}{
		"dimensions":      {[]matrix.Meta{rank(rankLimit)}, nil},
		"more dimensions": {[]matrix.Meta{rank(rankLimit + 1)}, format.ErrLossy},
		"tensors":         {make([]matrix.Meta, tensorLimit+1), format.ErrLimit}, // refused before one is looked at
		"reserved name":   {[]matrix.Meta{{Name: metadataKey, DType: matrix.F32}}, format.ErrLimit},
	} {
		b := &blob.Mem{}
		w, err := Codec.Create(t.Context(), b, "w", c.ms, format.Options{})
		if c.want != nil {
			if infos, _ := b.List(t.Context(), ""); !errors.Is(err, c.want) || len(infos) > 0 {
				t.Errorf("%s: %v, %d files, want %v", what, err, len(infos), c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if err := w.Commit(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		r, err := Codec.Open(t.Context(), b, "w", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Matrices(); fmt.Sprint(got) != fmt.Sprint(c.ms) {
			t.Errorf("%s: %v, want %v", what, got, c.ms)
		}
		r.Close()
	}
}
