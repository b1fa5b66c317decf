package arrow

import (
	"slices"
	"testing"

	"thole.example/format"
	"thole.example/format/formattest"
	"thole.example/matrix"
)

// TestPandas reads a table of pandas with a named index, a column of nulls only, and a struct, which cannot be read but is no reason to
// refuse the others.
func TestPandas(t *testing.T) {
	table := openSample(t, "pandas")
	var names, index []string
	for _, c := range table.Columns() {
		if names = append(names, c.Name); c.Index {
			index = append(index, c.Name)
		}
	}
	if !slices.Equal(names, []string{"x", "n", "uid", "s"}) || !slices.Equal(index, []string{"uid"}) {
		t.Fatalf("columns %q, index %q", names, index)
	}
	if kinds := table.Columns(); kinds[1].Kind == format.Unreadable || kinds[1].Type != "null" || kinds[3].Kind != format.Unreadable {
		t.Fatalf("%+v", kinds)
	}
	for lo := range table.Rows() {
		cells, err := formattest.TableCells(table, []int{1, 0}, matrix.Range{Lo: lo, Hi: 3})
		if err != nil {
			t.Fatal(err)
		}
		if x := []string{"3ff8000000000000", "4004000000000000", "4012000000000000"}[lo:]; !slices.Equal(cells[1], x) || slices.ContainsFunc(cells[0], func(s string) bool { return s != "null" }) {
			t.Errorf("%q", cells)
		}
	}
}
