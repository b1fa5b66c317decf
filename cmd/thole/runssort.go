package main

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"thole.example/internal/spell"
	"thole.example/runlog"
)

// sortKey is what runs are sorted by, beside metrics.
type sortKey struct {
	name  string
	first func(a, b *runRow) int
}

// sortTable is the table of them, each with what people look for first.
func sortTable() []sortKey {
	return []sortKey{
		{"began", func(a, b *runRow) int { return b.Began.Compare(a.Began) }},
		{"name", func(a, b *runRow) int { return strings.Compare(a.Name, b.Name) }},
		{"algo", func(a, b *runRow) int { return strings.Compare(a.Algorithm, b.Algorithm) }},
		{"state", func(a, b *runRow) int {
			return slices.Index(runlog.States(), a.State) - slices.Index(runlog.States(), b.State)
		}},
		{"epochs", func(a, b *runRow) int { return b.Epochs - a.Epochs }},
		{"loss", func(a, b *runRow) int { return byValue(a.Loss, b.Loss, false) }},
		{"time", func(a, b *runRow) int { return cmp.Compare(a.Seconds, b.Seconds) }},
		{"speed", func(a, b *runRow) int { return byValue(a.RowsPerSecond, b.RowsPerSecond, true) }},
	}
}

// sortKeys are the names of the table.
func sortKeys() (names []string) {
	for _, k := range sortTable() {
		names = append(names, k.name)
	}
	return names
}

// byValue compares by a number: the better one first, none last.
func byValue(a, b runlog.Number, largest bool) int {
	x, y := float64(a), float64(b)
	switch none := math.IsNaN; {
	case none(x) || none(y):
		return map[bool]int{true: 1, false: 0}[none(x)] - map[bool]int{true: 1, false: 0}[none(y)]
	case largest:
		return cmp.Compare(y, x)
	}
	return cmp.Compare(x, y)
}

// sorted are the rows in the order that was asked for; by a metric they show that one. Equal ones stay as they are.
func (f *runsFlags) sorted(runs []*runlog.Run, rows []*runRow) ([]*runRow, error) {
	if f.sort == "" && !f.reverse {
		return rows, nil
	}
	first, known := sortTable()[0].first, map[string]bool{}
	for _, k := range sortTable() {
		if known[k.name] = true; k.name == f.sort {
			first = k.first
		}
	}
	if f.sort != "" && !known[f.sort] {
		largest := false
		for i, r := range runs {
			for _, name := range r.Metrics() {
				known[name] = true
			}
			if rows[i] = f.row(r, f.sort); rows[i].Best > 0 {
				largest = larger(r, f.sort)
			}
		}
		if !known[f.sort] {
			return nil, usageError{spell.Unknown("metric or key", f.sort, slices.Sorted(maps.Keys(known)))}
		}
		first = func(a, b *runRow) int { return byValue(a.Value, b.Value, largest) }
	}
	slices.SortStableFunc(rows, first)
	if f.reverse {
		slices.Reverse(rows)
	}
	return rows, nil
}
