package feature

import (
	"slices"
	"strings"
)

// Find is the feature of a name, as Name gives it; ok is false if there is none.
func (t *Transform) Find(name string) (id int64, ok bool) {
	for i := range t.fields {
		f := &t.fields[i]
		rest, found := strings.CutPrefix(name, f.name)
		if !found {
			continue
		}
		c := &t.Columns[f.column]
		var some []int64 // features of the field that the name may be of
		switch level, is := strings.CutPrefix(rest, "="); {
		case f.part == nil && is && c.leveled():
			some = []int64{f.base + 1 + int64(slices.Index(c.Levels, level))}
		case c.leveled():
			some = []int64{f.base, f.base + 1 + int64(slices.Index(c.Levels, ""))}
		case f.kind == Hash:
			if at, ok := strings.CutPrefix(rest, " hash "); ok {
				some = []int64{f.base + digits(at)}
			}
		default: // few
			for local := range f.size {
				some = append(some, f.base+local)
			}
		}
		for _, id := range some {
			if t.Name(id) == name {
				return id, true
			}
		}
	}
	return 0, false
}

// digits is the number that a text is, 0 if it is none.
func digits(text string) (v int64) {
	for _, c := range []byte(text) {
		if c-'0' > 9 || v > 1<<50 {
			return 0
		}
		v = v*10 + int64(c-'0')
	}
	return v
}

// Names are the names of the features, at most so many.
func (t *Transform) Names(most int64) (names []string) {
	for id := range min(most, t.dim) {
		names = append(names, t.Name(id))
	}
	return names
}
