package angel

import (
	"maps"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// TestManyPartitions writes and reads a matrix in fifty thousand partitions.
func TestManyPartitions(t *testing.T) {
	s := plainSample(7, 2, 50_000)
	for _, set := range []map[string]string{{optBlockCols: "1", optFormat: "ValueTextRowFormat", optPerFile: "400"}, {optBlockCols: "1", optPerFile: "50"}} {
		b := &blob.Mem{}
		if err := save(b, &s, 1, []matrix.Block{s.b}, set); err != nil {
			t.Fatal(err)
		}
		r, err := Codec.Open(ctx, b, "model", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := values(r, r.Matrices()[0], s.m.Rect())
		if err != nil || !maps.Equal(got, s.stored(t)) {
			t.Errorf("%v: %d values, %v", set, len(got), err)
		}
	}
}
