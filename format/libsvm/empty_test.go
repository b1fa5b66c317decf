package libsvm

import (
	"errors"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// TestEmptyRows refuses more lines without a cell than may be, before the first is written.
func TestEmptyRows(t *testing.T) {
	for _, c := range []struct {
		rows, stored, most int64
		is                 error
	}{
		{1 << 32, 1, 0, format.ErrLimit},
		{1 << 32, 1<<32 - 5, 0, nil},
		{1 << 32, 0, -1, nil},
		{600, 100, 1000, nil},
		{601, 100, 1000, format.ErrLimit},
	} {
		m := matrix.Meta{Name: "m", Rows: c.rows, Cols: 9, DType: matrix.F32, Layout: matrix.RowSparse, Stored: c.stored}
		w, err := Codec.Create(t.Context(), &blob.Mem{}, "m.svm", []matrix.Meta{m}, format.Options{MaxDense: c.most})
		if !errors.Is(err, c.is) || (err == nil) != (c.is == nil) || err != nil && !strings.Contains(err.Error(), "--max-dense") {
			t.Errorf("%d rows, %d stored, at most %d: %v, want %v", c.rows, c.stored, c.most, err, c.is)
		}
		if err == nil {
			w.Abort(t.Context())
		}
	}
}

// TestStored: a file tells how many cells it has.
func TestStored(t *testing.T) {
	r, err := Codec.Open(t.Context(), bucketOf(t, "1 1:2 2:3\n1 1:4 2:5\n", ""), "d/a.libsvm", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if m := r.Matrices()[1]; !m.Full() {
		t.Errorf("%d stored of %d x %d", m.Stored, m.Rows, m.Cols)
	}
}
