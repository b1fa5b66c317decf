package paddle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// TestLimits writes matrices at each limit of the reader, which reads them again, and just beyond it: refused before
// anything is written.
func TestLimits(t *testing.T) {
	named := func(n int) matrix.Meta {
		return matrix.Meta{Name: strings.Repeat("n", n), Cols: 1, DType: matrix.F32, Dims: []int64{0, 1}}
	}
	rank := func(n int) matrix.Meta {
		return matrix.Meta{Name: "m", Cols: 1, DType: matrix.F32, Dims: append([]int64{0}, slices.Repeat([]int64{1}, n-1)...)}
	}
	lod := func(n int) matrix.Meta {
		m := named(1)
		m.LoD = slices.Repeat([][]int64{{0}}, n)
		return m
	}
	rows := func(n int64) matrix.Meta {
		return matrix.Meta{Name: "m", Rows: n, Cols: 0, DType: matrix.F32, Dims: []int64{n, 0}, Saved: []matrix.Range{{Lo: 0, Hi: n}}}
	}
	all := []string{"seed004", "stream", "separate", "combined"}
	for _, c := range []struct {
		what     string
		layouts  []string
		at, over matrix.Meta
		want     error
	}{
		{"name", []string{"seed004", "combined"}, named(maxName), named(maxName + 1), format.ErrLimit},
		{"dimensions", all, rank(maxRank), rank(maxRank + 1), format.ErrLossy},
		{"LoD levels", all, lod(maxLevels), lod(maxLevels + 1), format.ErrLimit},
		{"saved rows", []string{"separate", "selectedrows"}, rows(1 << 10), rows(maxSavedRows + 1), format.ErrLimit},
	} {
		for _, layout := range c.layouts {
			b, o := &blob.Mem{}, format.Options{Set: map[string]string{"layout": layout}}
			w, err := Codec.Create(t.Context(), b, "w", []matrix.Meta{c.over}, o)
			if err == nil {
				w.Abort(t.Context())
			}
			if infos, _ := b.List(t.Context(), ""); !errors.Is(err, c.want) || len(infos) > 0 {
				t.Errorf("%s over the limit as %s: %.200v, %d files, want %v", c.what, layout, err, len(infos), c.want)
			}
			if w, err = Codec.Create(t.Context(), b, "w", []matrix.Meta{c.at}, o); err != nil {
				t.Errorf("%s at the limit as %s: %.200v", c.what, layout, err)
				continue
			}
			if err := w.Commit(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			got := openPath(t, b, "w").Matrices()[0]
			got.Unnamed = false
			if layout == "stream" || layout == "selectedrows" {
				got.Name = c.at.Name
			}
			if fmt.Sprint(got) != fmt.Sprint(c.at) {
				t.Errorf("%s at the limit as %s: %.200v, want %.200v", c.what, layout, got, c.at)
			}
		}
	}
}
