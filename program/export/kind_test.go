package export

import (
	"slices"
	"strings"
	"testing"

	"thole.example/layer"
)

// Kinds are those of package layer, which this one may not import, with its spellings and numbers of inputs: a layer that is added
// there, or spelt in another way, is missed here.
func TestKindsAreThoseOfLayers(t *testing.T) {
	all := kinds()
	for _, want := range layer.Kinds() {
		i := slices.IndexFunc(all, func(k kind) bool { return k.names[0] == want.Name })
		if i < 0 {
			t.Errorf("no operators for %s", want.Name)
			continue
		}
		names := []string{want.Name}
		for _, name := range want.Also {
			names = append(names, strings.ToLower(name))
		}
		if k := all[i]; !slices.Equal(k.names, names) || k.least != want.Least || k.most != want.Most {
			t.Errorf("%q reads %d to %d layers, want %q and %d to %d", k.names, k.least, k.most, names, want.Least, want.Most)
		}
		all = slices.Delete(all, i, i+1)
	}
	for _, k := range all {
		t.Errorf("operators for %q, which is no layer", k.names)
	}
}
