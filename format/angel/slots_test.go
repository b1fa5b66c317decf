package angel

import (
	"errors"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// TestSlotRows declares rows for optimizer state: they are there for Angel's jobs and absent, not zero, for readers.
func TestSlotRows(t *testing.T) {
	for _, l := range writable {
		for _, kind := range []rowType{7, 10} {
			if kind == 10 && !l.colID {
				continue
			}
			s := plainSample(kind, 2, 9)
			set := map[string]string{optFormat: l.name, optSlots: "3", optBlockCols: "4"}
			b := saved(t, &s, set)
			m := metaOf(t, b)
			if m.rows != 8 || m.blockRow != 8 || len(m.parts) != 3 {
				t.Errorf("%s: %d rows, blocks of %d, %d partitions, want 8, 8, 3", l.name, m.rows, m.blockRow, len(m.parts))
			}
			for _, p := range m.parts {
				if p.rows != (matrix.Range{Hi: 8}) || p.rowMetas.n != 2 {
					t.Errorf("%s: partition %d of rows %v saves %d", l.name, p.id, p.rows, p.rowMetas.n)
				}
			}
			r, err := Codec.Open(ctx, b, "model", format.Options{})
			if err != nil {
				t.Fatal(err)
			}
			n := r.Matrices()[0]
			if n.Rows != 8 || len(n.Saved) != 1 || n.Saved[0] != (matrix.Range{Hi: 2}) {
				t.Errorf("%s: read as %+v", l.name, n)
			}
			var again blob.Mem // a matrix that has such rows gets no more of them
			if err := format.Convert(ctx, r, Codec, &again, "model", format.Options{Set: set}, nil, nil); err != nil {
				t.Fatal(err)
			}
			if m := metaOf(t, &again); m.rows != 8 {
				t.Errorf("%s: %d rows when written again", l.name, m.rows)
			}
		}
	}
	s := plainSample(7, 2, 9)
	for _, wrong := range []string{"x", "-1", "1.5", "2147483647", "9223372036854775807"} {
		_, err := Codec.Create(ctx, &blob.Mem{}, "model", []matrix.Meta{s.m}, format.Options{Set: map[string]string{optSlots: wrong}})
		if !errors.Is(err, format.ErrOption) {
			t.Errorf("slots=%s: %v", wrong, err)
		}
	}
}

// TestSlotRowsOfStoredModels declares rows for optimizer state in copies of models whose shape is only their rows and columns, as those
// of Angel and DAPHNE: format.Create reads back what was written and accepts the larger number of rows.
func TestSlotRowsOfStoredModels(t *testing.T) {
	s := plainSample(7, 2, 9)
	for name, dims := range map[string][]int64{"none": nil, "rows and columns": {2, 9}, "tensor": {2, 3, 3}} {
		m := s
		m.m.Dims = dims
		if name == "tensor" {
			m.m.Cols = 9
		}
		b := saved(t, &m, nil)
		r, err := Codec.Open(ctx, b, "model", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var again blob.Mem
		var lost []string
		o := format.Options{Set: map[string]string{optSlots: "2"}, Lost: func(what string) { lost = append(lost, what) }}
		if err := format.Convert(ctx, r, Codec, &again, "model", o, nil, nil); err != nil {
			t.Errorf("dims %s: %v", name, err)
			continue
		}
		if got := metaOf(t, &again); got.rows != 6 || len(lost) != 1 {
			t.Errorf("dims %s: %d rows, lost %q, want 6 rows and one loss", name, got.rows, lost)
		}
	}
}
