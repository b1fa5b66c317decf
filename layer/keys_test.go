package layer

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"thole.example/graph"
)

// Kinds name keys that entries of graph.json have; those with matrices can have them trained, begun and saved as one likes, others not.
func TestKeys(t *testing.T) {
	var tags []string
	entry := reflect.TypeFor[graph.Entry]()
	for i := range entry.NumField() {
		tag, _, _ := strings.Cut(entry.Field(i).Tag.Get("json"), ",")
		tags = append(tags, tag)
	}
	matrices := map[string]bool{}
	for _, c := range cases() {
		matrices[c.kind] = matrices[c.kind] || len(build(t, c.kind, c.spec).Params()) > 0
	}
	for _, k := range Kinds() {
		for _, key := range k.Keys {
			if !slices.Contains(tags, key) {
				t.Errorf("%s has %s, want a key of an entry", k.Name, key)
			}
		}
		for _, key := range []string{"optimizer", "init", "outputformat"} {
			if slices.Contains(k.Keys, key) != matrices[k.Name] {
				t.Errorf("%s: key %s, %v; matrices %v", k.Name, key, !matrices[k.Name], matrices[k.Name])
			}
		}
		if slices.Contains(k.Keys, "outputdims") != k.Stacks {
			t.Errorf("%s: outputdims %v, stacks %v", k.Name, !k.Stacks, k.Stacks)
		}
	}
}
