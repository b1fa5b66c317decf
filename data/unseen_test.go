package data

import (
	"slices"
	"strings"
	"testing"

	"thole.example/feature"
)

// Messages on unseen categories name columns and the first categories, and become warnings with the share of rows.
func TestUnseenText(t *testing.T) {
	for _, c := range []struct {
		u        Unseen
		n        int
		text     string
		warnings []string
	}{
		{Unseen{Features: 11, Values: 60, Examples: 56, Table: true,
			Columns: []UnseenColumn{{Column: "city", Categories: 11, Rows: 56, First: []string{"Bonn", "Köln"}}}}, 4000,
			`56 of 4000 rows contain 11 categories not seen in training; they are scored as "other" (city: "Bonn", "Köln", ...)`, nil},
		{Unseen{Features: 1, Values: 1, Examples: 1, Table: true, Missing: true,
			Columns: []UnseenColumn{{Column: "city", Categories: 1, Rows: 1, First: []string{""}}}}, 20,
			`1 of 20 rows contains 1 category not seen in training; it is scored as missing (city: missing)`, nil},
		{Unseen{Features: 3, Values: 3, Examples: 2, Table: true, Columns: []UnseenColumn{
			{Column: "a", Categories: 1, Rows: 2, First: []string{"x\n"}, known: []string{"y", "z"}}, {Column: "h", Categories: 2, Rows: 1}}}, 2,
			`2 of 2 rows contain 3 categories not seen in training; they are scored as "other" (a: "x\n"; h)`,
			[]string{`warning: column "a": no row has a category seen in training (found "x\n"; training has "y", "z", ...); check spelling, case, ` +
				`encoding and whether it is the same column`}},
		{Unseen{Features: 2, Values: 3, Examples: 3, Table: true, Columns: []UnseenColumn{{Column: "a", Categories: 2, Rows: 3, First: []string{"b"}}}},
			10, `3 of 10 rows contain 2 categories not seen in training; they are scored as "other" (a: "b", ...)`,
			[]string{"warning: 30 % of the rows contain categories not seen in training; predictions may be poor"}},
		{Unseen{Features: 2, Values: 3, Examples: 1}, 1, "2 features in 1 of 1 examples were not in training; they count as zero", nil},
	} {
		if got := c.u.Text(c.n); got != c.text {
			t.Errorf("%s, want %s", got, c.text)
		}
		if got := c.u.Warnings(c.n); !slices.Equal(got, c.warnings) {
			t.Errorf("%q, want %q", got, c.warnings)
		}
	}
	var many Unseen
	many.Table, many.Features, many.Examples = true, 9, 9
	for i := range 9 {
		many.Columns = append(many.Columns, UnseenColumn{Column: "c" + string(rune('0'+i)), Categories: 1, Rows: 1, First: []string{"x"}})
	}
	if got := many.Text(1000); !strings.HasSuffix(got, `; c3: "x"; and 5 more columns)`) {
		t.Error(got)
	}
}

// A row counts once, whatever it has that is unseen: a category, and a bucket of a hashed column of which the model has no weight.
func TestUnseenRows(t *testing.T) {
	all, err := loadTable(Options{Format: "csv", Labels: AutoTrans,
		Table: &Table{Spec: feature.Spec{Columns: map[string]feature.Column{"h": {Name: "h", Kind: feature.Hash}}}}}, chunkLen, "c,h,y\na,p,0\na,p,1\nb,q,0\nb,q,1\n")
	if err != nil {
		t.Fatal(err)
	}
	keys := slices.Clone(all.Batch().Rows().Idx)
	slices.Sort(keys)
	opt := Options{Format: "csv", Labels: AutoTrans, Table: &Table{Transform: all.Transform},
		Columns: &Columns{Hi: all.Dim(), Keys: slices.Compact(keys)}}
	got, err := loadTable(opt, chunkLen, "c,h,y\nnew,n1,0\nnew,n2,1\nb,n1,1\na,p,0\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []UnseenColumn{{Column: "c", Categories: 1, Rows: 2, First: []string{"new"}, known: []string{"a", "b"}}, {Column: "h", Categories: 2, Rows: 3}}
	if u := got.Unseen; u.Examples != 3 || u.Features != 3 || len(u.Columns) != 2 || u.Columns[0].Rows != want[0].Rows ||
		u.Columns[1].Rows != want[1].Rows || u.Columns[1].Categories != want[1].Categories {
		t.Errorf("%+v, want 3 rows and %+v", u, want)
	}
}
