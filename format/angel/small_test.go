package angel

import (
	"maps"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
)

// smallModels are own small models in every format, with our additions and without.
func smallModels(t *testing.T, each func(what string, compat bool, b *blob.Mem)) {
	for _, l := range writable {
		for _, kind := range []rowType{7, 5} {
			if kind != 7 && !l.colID {
				continue
			}
			for _, compat := range []string{"", "angel-master"} {
				s := plainSample(kind, 2, 4)
				s.b, _ = s.b.Cast(elementOf(kind))
				b := &blob.Mem{}
				set := map[string]string{optFormat: l.name, optBlockCols: "3", optPerFile: "2", optCompat: compat}
				if err := save(b, &s, 1, []matrix.Block{s.b}, set); err != nil {
					t.Fatal(err)
				}
				each(strings.Join([]string{l.name, kind.String(), compat}, " "), compat != "", b)
			}
		}
	}
}

// TestSmallModelsBroken cuts every file of small models at every byte, and changes every byte: the right values or a typed
// error. Values of models without our checksums may be others after a change, which nothing can tell.
func TestSmallModelsBroken(t *testing.T) {
	smallModels(t, func(what string, compat bool, b *blob.Mem) {
		want, err := attempt(b)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		same := func(got map[string]map[cell]string) bool {
			return maps.EqualFunc(got, want, maps.Equal[map[cell]string])
		}
		everyPrefix(t, b, want)
		everyByte(t, b, func(file string, i int, got map[string]map[cell]string, err error) {
			if err != nil && !isTyped(err, sentinels...) || err == nil && !compat && !same(got) {
				t.Fatalf("%s: byte %d of %s: got %v, %v", what, i, file, got, err)
			}
		})
	})
}
