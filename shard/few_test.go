package shard_test

import (
	"strings"
	"testing"

	"thole.example/matrix"
	"thole.example/shard"
	"thole.example/wire"
)

// readFew is Read by two reads of a Few, of the keys up to cut and of the others.
func readFew(s *shard.Shard, dst []byte, rows matrix.Range, keys []int64, cut int) error {
	var few shard.Few
	at := len(dst) / max(1, len(keys)) * cut
	if err := few.Add(s, dst[:at], rows, keys[:cut]); err != nil {
		return err
	}
	if err := few.Add(s, dst[at:], rows, keys[cut:]); err != nil {
		return err
	}
	return few.Read()
}

// TestFewDense reads columns of a dense partition beside those of a sparse one.
func TestFewDense(t *testing.T) {
	var few shard.Few
	var got [2][6]float64
	for i, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		m := matrix.Meta{Name: "m", Rows: 2, Cols: 100, DType: matrix.F64, Layout: layout}
		s, err := shard.New(&m, m.Rect(), 0, nil)
		if err == nil {
			err = s.Add(shard.Delta{Rows: m.Rect().Rows, Cols: m.Rect().Cols, Keys: []int64{7, 9}, Values: wire.View([]float64{1, 2, 3, 4})})
		}
		if err == nil {
			err = few.Add(s, wire.View(got[i][:]), m.Rect().Rows, []int64{9, 8, 7})
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := few.Add(s, wire.View(got[i][:]), m.Rect().Rows, []int64{100, 1, 2}); err == nil || !strings.Contains(err.Error(), "column 100") {
			t.Errorf("a read of column 100: %v", err)
		}
		if err := few.Add(s, wire.View(got[i][:5]), m.Rect().Rows, []int64{1, 2, 3}); err == nil || !strings.Contains(err.Error(), "40 bytes") {
			t.Errorf("a read to 40 bytes: %v", err)
		}
	}
	if err := few.Read(); err != nil {
		t.Fatal(err)
	}
	if want := [6]float64{3, 4, 0, 0, 1, 2}; got[0] != want || got[1] != want {
		t.Errorf("%v, want twice %v", got, want)
	}
}
