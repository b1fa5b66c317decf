package main

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// suite is tests that may notice a change: those of a package, or of them what run names without what skip names.
type suite struct{ pkg, run, skip string }

// tables are packages that test what stands in their table, entry by entry: for a package that matches, they run the tests of
// its entry after its own. As importers of others they would take minutes.
// The first "$" of run stands for the last element of the package's name.
var tables = []struct {
	pattern string
	suite
}{
	{"format/*", suite{"format/all", "/^$(,|$)", "^TestConvert"}}, // which makes samples of all formats first
	{"format", suite{"format/all", "/^(csv|mtx|npy|parquet)", "^TestConvert"}},
}

// slow are packages whose tests take too long to be lent to what they import.
var slow = []string{"format/all", "cmd/thole"}

// suites are the tests that are run for a package, in order: its own, those of its table, those of the importers that need
// the fewest other packages.
func (m *module) suites(l *listed, all []*listed, importers int) (found []suite) {
	name := m.name(l.ImportPath)
	if l.tested() {
		found = append(found, suite{pkg: name})
	}
	var near []*listed
	for _, other := range all {
		inside := other.Module != nil && other.Module.Main && other.tested()
		if !inside || other == l || other.ImportPath == l.ImportPath {
			continue
		}
		for _, t := range tables {
			if ok, _ := path.Match(t.pattern, name); ok && m.name(other.ImportPath) == t.pkg {
				found = append(found, suite{t.pkg, strings.Replace(t.run, "$", path.Base(name), 1), t.skip})
			}
		}
		if other.imports(l.ImportPath) && !slices.Contains(slow, m.name(other.ImportPath)) {
			near = append(near, other)
		}
	}
	slices.SortFunc(near, func(a, b *listed) int {
		return cmp.Or(len(a.Imports)-len(b.Imports), cmp.Compare(a.ImportPath, b.ImportPath))
	})
	for _, other := range near[:min(importers, len(near))] {
		found = append(found, suite{pkg: m.name(other.ImportPath)})
	}
	return found
}
