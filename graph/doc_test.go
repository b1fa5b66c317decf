package graph

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestKeysAreDocumented holds the table of keys of docs/graph.md to the grammar.
func TestKeysAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/graph.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Keys\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(section, -1) {
		documented = append(documented, row[1])
	}
	keys := keysOf(nil, "", reflect.TypeFor[File]())
	for _, key := range keys {
		if !slices.Contains(documented, key) {
			t.Errorf("%s is not in the table of docs/graph.md", key)
		}
	}
	for _, key := range documented {
		if !slices.Contains(keys, key) {
			t.Errorf("%s is in the table of docs/graph.md, and not in the grammar", key)
		}
	}
}

// keysOf appends the paths of the keys of a type.
func keysOf(all []string, path string, t reflect.Type) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Slice && t.Elem() == reflect.TypeFor[Entry]() {
		path, t = path+"[]", t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[Choice]() || t == reflect.TypeFor[Fields]() {
		return append(all, path)
	}
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "-" {
			all = keysOf(all, strings.TrimPrefix(path+"."+name, "."), t.Field(i).Type)
		}
	}
	return all
}
