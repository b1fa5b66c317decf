package lightgbm

import (
	"bytes"
	"io"
	"path/filepath"
	"reflect"
	"testing"

	"thole.example/dump"
)

// FuzzParse reads and explains any text; what is read without an error is written and read again as the same model.
func FuzzParse(f *testing.F) {
	for _, file := range models(f) {
		if name := filepath.Base(file); name != "4.7.0_ova.txt" && name != "2.3.1_multiclass.txt" {
			f.Add(load(f, file))
		}
	}
	f.Add([]byte("tree\nnum_class=2\nmax_feature_idx=0\nfeature_names=a\nfeature_infos=-1\n\nend of trees\nthole:{\"best\":0}\n"))
	f.Add([]byte("tree\nnum_class=1\nmax_feature_idx=-1\nfeature_names=\nfeature_infos=\n\nTree=0\nnum_leaves=1\nleaf_value=1\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		explain(text, dump.New(io.Discard))
		e, _, err := parse(text)
		if err != nil {
			return
		}
		fits, err := fit(e, &lossyOptions)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := write(&b, fits); err != nil {
			t.Fatal(err)
		}
		again, _, err := parse(b.Bytes())
		if err != nil {
			t.Fatalf("%v\n%s", err, b.Bytes())
		}
		want, _ := fits.JSON()
		if got, _ := again.JSON(); !bytes.Equal(got, want) {
			t.Errorf("read again as\n%s\nwant\n%s", got, want)
		}
		for i := range fits.Trees {
			if a, b := &fits.Trees[i], &again.Trees[i]; !reflect.DeepEqual(a.LeafValue, b.LeafValue) || !reflect.DeepEqual(a.Threshold, b.Threshold) ||
				!reflect.DeepEqual(a.Kind, b.Kind) || !reflect.DeepEqual(a.Left, b.Left) || a.Class != b.Class {
				t.Errorf("tree %d read again as %+v, want %+v", i, b, a)
			}
		}
	})
}
