package angel

import (
	"fmt"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// TestStored: a model of sparse rows says how many cells it has, whatever the format.
func TestStored(t *testing.T) {
	for _, class := range []string{"ColIdValueTextRowFormat", "RowIdColIdValueBinaryRowFormat", "BinaryColumnFormat"} {
		b := &blob.Mem{}
		m := matrix.Meta{Name: "w", Rows: 2, Cols: 3, DType: matrix.F32, Layout: matrix.RowSparse}
		w, err := Codec.Create(t.Context(), b, "model", []matrix.Meta{m}, format.Options{Set: map[string]string{optFormat: class}})
		if err != nil {
			t.Fatal(err)
		}
		cells := &matrix.CSR[float32]{Ptr: []int{0, 3, 6}, Idx: []int64{0, 1, 2, 0, 1, 2}, Val: []float32{1, 2, 3, 4, 5, 6}}
		p, err := w.Put(t.Context(), "w", matrix.Block{At: m.Rect(), Data: cells})
		if err == nil {
			err = w.Commit(t.Context(), []format.Part{p})
		}
		if err != nil {
			t.Fatal(fmt.Errorf("%s: %w", class, err))
		}
		r, err := Codec.Open(t.Context(), b, "model", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Matrices()[0]; !got.Full() {
			t.Errorf("%s: %d cells stored of %d x %d", class, got.Stored, got.Rows, got.Cols)
		}
	}
}
