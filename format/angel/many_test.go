package angel

import (
	"maps"
	"testing"

	"thole/blob"
	"thole/format"
	"thole/matrix"
)

// TestManyPartitions writes and reads a matrix in ten thousand partitions.
func TestManyPartitions(t *testing.T) {
	s := plainSample(7, 10, 10_000)
	for _, set := range []map[string]string{{optBlockCols: "1", optFormat: "ValueTextRowFormat", optPerFile: "400"}, {optBlockCols: "1", optPerFile: "50"}} {
		b := blob.NewDir(t.TempDir())
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
