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
