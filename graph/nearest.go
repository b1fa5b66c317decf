package graph

import (
	"reflect"
	"slices"
	"strings"

	"thole.example/internal/spell"
)

// Nearest says which key the user may have meant, in words to be added to a message: one that is near and may have the
// value, or one of the same name in another part of the file. It is "" if there is none.
func (k *Key) Nearest(others ...string) string {
	name := k.Path[strings.LastIndexByte(k.Path, '.')+1:]
	for _, known := range [][]string{k.fits, append(others, k.Known...)} {
		if hint := spell.Hint(name, known); hint != "" {
			return hint
		}
	}
	var elsewhere []string
	for _, path := range keysOf(nil, "", reflect.TypeFor[File]()) {
		if i := strings.Index("."+path+".", "."+strings.ToLower(name)+"."); i >= 0 {
			elsewhere = append(elsewhere, path[:i+len(name)])
		}
	}
	return spell.Ask(slices.Compact(elsewhere))
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
