package angel

import (
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// TestSniffLengths wants models recognized whatever the length of their metadata: its bytes may look like text.
func TestSniffLengths(t *testing.T) {
	for n := range 256 {
		m := matrix.Meta{Name: "w", Rows: 1, Cols: 1, DType: matrix.F64, Attrs: map[string]string{"note": strings.Repeat("x", n)}}
		b := &blob.Mem{}
		w, err := Codec.Create(ctx, b, "m", []matrix.Meta{m}, format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := w.Put(ctx, "w", matrix.NewDense(matrix.F64, m.Rect()))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(ctx, []format.Part{p}); err != nil {
			t.Fatal(err)
		}
		if dialect, err := Codec.Sniff(ctx, b, "m"); err != nil || dialect == "" {
			t.Errorf("note of %d bytes: dialect %q, %v", n, dialect, err)
		}
	}
}
