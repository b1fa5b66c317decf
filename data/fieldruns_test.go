package data_test

import (
	"errors"
	"slices"
	"testing"

	"thole.example/data"
	"thole.example/matrix"
)

// TestFieldRuns: columns of fields of one kind that follow each other are a run, what is between two runs is of the larger kind, and a column
// of two kinds is an error that names both fields.
func TestFieldRuns(t *testing.T) {
	b := &data.Batch{
		Label: []float32{1, 0, 1}, Fields: 4, Field: []int32{0, 1, 3, 0, 2, 3, 1, 3},
		X: matrix.Block{At: matrix.At(0, 3, 0, 50), Data: &matrix.CSR[float32]{
			Ptr: []int{0, 3, 6, 8}, Idx: []int64{3, 20, 40, 5, 25, 41, 21, 30}, Val: []float32{1, 1, 1, 1, 1, 1, 1, 1},
		}},
	}
	set, err := data.Pack(b)
	if err != nil {
		t.Fatal(err)
	}
	got, err := set.FieldRuns([]int{16, 4, 16, 4})
	if want := []data.FieldRun{{0, 16}, {20, 4}, {22, 16}, {30, 4}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("runs %v, %v, want %v", got, err, want)
	}
	if got, err = set.FieldRuns([]int{8, 8, 8, 8}); err != nil || !slices.Equal(got, []data.FieldRun{{0, 8}}) {
		t.Errorf("one kind: runs %v, %v", got, err)
	}
	b.X.Data.(*matrix.CSR[float32]).Idx[6] = 25 // of field 1, where it was of field 2
	if set, err = data.Pack(b); err != nil {
		t.Fatal(err)
	}
	_, err = set.FieldRuns([]int{16, 4, 16, 4})
	if shared := (*data.SharedColumn)(nil); !errors.As(err, &shared) || *shared != (data.SharedColumn{Column: 25, Fields: [2]int32{1, 2}}) {
		t.Errorf("a column of two fields: %v", err)
	}
	if _, err = set.FieldRuns([]int{16, 4, 4, 4}); err != nil {
		t.Errorf("a column of two fields of one kind: %v", err)
	}
}
