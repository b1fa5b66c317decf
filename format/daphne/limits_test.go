package daphne_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/daphne"
	"thole.example/matrix"
)

// TestLabelsNotText refuses labels that no layout holds, and leaves them out if that is allowed.
func TestLabelsNotText(t *testing.T) {
	m := matrix.Meta{Name: "w", Rows: 1, Cols: 2, DType: matrix.F64, Labels: []string{"\xff", "b"}}
	for _, dialect := range []string{"document", "daphne", "hybrid"} {
		b, o := &blob.Mem{}, format.Options{Set: map[string]string{"dialect": dialect, "meta": "true"}}
		if _, err := daphne.Codec.Create(t.Context(), b, "w", []matrix.Meta{m}, o); !errors.Is(err, format.ErrLossy) {
			t.Errorf("%s: %v, want ErrLossy", dialect, err)
		}
		o.Lossy = true
		w, err := daphne.Codec.Create(t.Context(), b, "w", []matrix.Meta{m}, o)
		if err != nil {
			t.Fatal(err)
		}
		p, err := w.Put(t.Context(), "w", matrix.NewDense(matrix.F64, m.Rect()))
		if err == nil {
			err = w.Commit(t.Context(), []format.Part{p})
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := daphne.Codec.Open(t.Context(), b, "w", format.Options{})
		if err != nil {
			t.Errorf("%s: %v", dialect, err)
			continue
		}
		if got := r.Matrices()[0].Labels; !slices.Equal(got, []string{"", "b"}) {
			t.Errorf("%s: labels %q", dialect, got)
		}
		r.Close()
	}
}

// TestLabelLimits writes labels at the limits of the reader, and just beyond them: refused before anything is written.
func TestLabelLimits(t *testing.T) {
	const headerLabel, sidecar = 0xffff, 64 << 20
	for what, c := range map[string]struct {
		label   string
		dialect string
		want    error
	}{
		"label":                     {strings.Repeat("l", headerLabel), "document", nil},
		"longer label":              {strings.Repeat("l", headerLabel+1), "document", format.ErrLimit},
		"long label in the sidecar": {strings.Repeat("l", headerLabel+1), "daphne", nil},
		"label beyond the sidecar":  {strings.Repeat("l", sidecar), "daphne", format.ErrLimit},
	} {
		b := &blob.Mem{}
		m := matrix.Meta{Name: "w", Rows: 1, Cols: 1, DType: matrix.F64, Labels: []string{c.label}}
		o := format.Options{Set: map[string]string{"dialect": c.dialect, "meta": "true"}}
		w, err := daphne.Codec.Create(t.Context(), b, "w", []matrix.Meta{m}, o)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %.200v, want %v", what, err, c.want)
		}
		if err != nil {
			if infos, _ := b.List(t.Context(), ""); len(infos) > 0 {
				t.Errorf("%s: %d files", what, len(infos))
			}
			continue
		}
		p, err := w.Put(t.Context(), "w", matrix.NewDense(matrix.F64, m.Rect()))
		if err == nil {
			err = w.Commit(t.Context(), []format.Part{p})
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := daphne.Codec.Open(t.Context(), b, "w", format.Options{})
		if err != nil {
			t.Fatalf("%s: %.200v", what, err)
		}
		if got := r.Matrices()[0].Labels; len(got) != 1 || got[0] != c.label {
			t.Errorf("%s: another label", what)
		}
		r.Close()
	}
}
