package angel

import (
	"errors"
	"maps"
	"testing"

	"thole.example/format"
)

// TestGuessesAreRightOrRefused reads binary golden files whose metadata are gone, with less said than they need: what comes
// out are their values, or an error. Value formats are left out: that they have one row is what is taken unless said.
func TestGuessesAreRightOrRefused(t *testing.T) {
	names := []string{"RowIdColIdValueBinaryRowFormat", "ColIdValueBinaryRowFormat", "BinaryColumnFormat"}
	for _, kind := range []string{"T_FLOAT_DENSE", "T_FLOAT_SPARSE", "T_LONG_SPARSE", "T_DOUBLE_SPARSE_LONGKEY", "T_INT_DENSE"} {
		for _, layout := range names[:3] {
			names = append(names, "generated-master/matrix/"+kind+"/"+layout)
		}
	}
	for _, name := range present(names...) {
		b, want, was := bare(t, copyOf(t, name))
		layout, kind := was.Attrs[attrFormat], was.Attrs[attrRowType]
		for what, set := range map[string]map[string]string{
			"nothing": nil, "format": {"format": layout}, "row type": {"rowtype": kind}, "both": {"format": layout, "rowtype": kind},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				r, err := Codec.Open(ctx, b, "model", format.Options{Set: set})
				if err != nil {
					if !errors.Is(err, format.ErrUnknown) {
						t.Errorf("got %v, want %v", err, format.ErrUnknown)
					}
					return
				}
				m := r.Matrices()[0]
				if got, err := values(r, m, m.Rect()); err != nil || !maps.Equal(got, want) {
					t.Errorf("got %v, %v, want %v, or nothing; %q", got, err, want, r.Notes())
				}
			})
		}
	}
}
