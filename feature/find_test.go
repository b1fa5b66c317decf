package feature

import (
	"fmt"
	"testing"
)

// Every feature is found by its name, and no other text is one.
func TestFind(t *testing.T) {
	spec := Spec{}
	for name, kind := range map[string]Kind{"b": Buckets, "h": Hash, "m": Multi, "y": Label} {
		if err := spec.Set(name, Column{Kind: kind, Size: 10}); err != nil {
			t.Fatal(err)
		}
	}
	var rows [][]string
	for i := range 40 {
		rows = append(rows, []string{fmt.Sprint(i), fmt.Sprint("x", i%3), "x", "a|b", "2026-01-31", fmt.Sprint(i % 7), fmt.Sprint(i % 2)})
	}
	rows[3][1], rows[4][1], rows[5][0] = "", "", ""
	p, err := spec.Open([]string{"n", "c", "h", "m", "d", "b", "y"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	e, part := p.Encoder(), &Part{}
	e.Begin(len(rows))
	if err := e.Texts(func(c int) (cells Cells) {
		for _, r := range rows {
			cells.Lo = append(cells.Lo, int32(len(cells.Text)))
			cells.Text = append(cells.Text, r[c]...)
			cells.Hi = append(cells.Hi, int32(len(cells.Text)))
		}
		return cells
	}); err != nil {
		t.Fatal(err)
	}
	e.Keep(part)
	tr, _, err := p.Fit([]*Part{part}, e.Label, nil).Transform()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for id := range tr.Dim() {
		name := tr.Name(id)
		if found, ok := tr.Find(name); !ok || found != id || seen[name] {
			t.Errorf("feature %d, %q: found %d, %v; another has the name: %v", id, name, found, ok, seen[name])
		}
		seen[name] = true
	}
	for _, name := range []string{"", "n=", "c", "c=x9", "h hash 10", "h hash -1", "d", "d.days=3", "b in", "z"} {
		if id, ok := tr.Find(name); ok {
			t.Errorf("%q is feature %d, %q", name, id, tr.Name(id))
		}
	}
}
