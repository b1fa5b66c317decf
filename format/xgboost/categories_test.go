package xgboost

import (
	"os"
	"strings"
	"testing"

	"thole.example/format"
)

// TestCutCategories reads categories that XGBoost 3.2 has cut off: at the end of a character they may be whole, and a warning says so;
// within one, or with other bytes behind, they are damage. Those of Arrow tables and of our own files are whole.
func TestCutCategories(t *testing.T) {
	for _, c := range []struct {
		file, from, to string
		levels, warn   string
		damaged        bool
	}{
		{"character_pandas", "", "", "Rio Sã", "the categories of feature town may not be whole", false},
		{"character_arrow", "", "", "Rio São", "the categories of feature town may not be whole", false},
		{"character_arrow", `"version":[3,2,0]`, `"version":[3,3,0]`, "Rio São", "", false},
		{"character_arrow", `"version":[3,2,0]`, `"version":[3,0,5]`, "Rio São", "", false},
		{"within_pandas", "", "", "", "the categories of feature town are not whole", true},
		{"within_arrow", "", "", "a b é", "the categories of feature town may not be whole", false},
		{"ascii_pandas", "", "", "a b", "", false},
		{"ascii_arrow", "", "", "a b", "", false},
		{"character_arrow", `"offsets":[0,3,7]`, `"offsets":[0,3,5]`, "", "the categories of feature town are not whole", true},
	} {
		text, err := os.ReadFile("testdata/categories/" + c.file + ".json")
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(text), c.from, c.to, 1)
		if c.from != "" && changed == string(text) {
			t.Fatalf("%s: no %s", c.file, c.from)
		}
		e, notes, err := parse([]byte(changed))
		if err != nil {
			t.Fatal(err)
		}
		warnings := format.Warnings(notes)
		if got := strings.Join(e.Features.At(0).Levels, " "); got != c.levels || len(warnings) > 0 != (c.warn != "") ||
			c.warn != "" && !strings.Contains(warnings[0], c.warn) || len(format.Problems(notes)) > 0 != c.damaged {
			t.Errorf("%s %s: categories %q, %q, problems %q", c.file, c.to, got, warnings, format.Problems(notes))
		}
	}
	text, err := os.ReadFile("testdata/categories/character_arrow.json")
	if err != nil {
		t.Fatal(err)
	}
	e, _, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := printed(e, false)
	if err != nil {
		t.Fatal(err)
	}
	if e, notes, err := parse(again); err != nil || strings.Join(e.Features.At(0).Levels, " ") != "Rio São" || len(format.Warnings(notes)) > 0 {
		t.Errorf("written again: %v %q, %v", e, notes, err)
	}
}

// TestWholeCategories reads categories that are integers with more digits than a float64.
func TestWholeCategories(t *testing.T) {
	want := "-9223372036854775808 -5 9007199254740993 9007199254740995"
	for _, name := range []string{"int64_pandas.json", "int64_pandas.ubj"} {
		b, err := os.ReadFile("testdata/categories/" + name)
		if err != nil {
			t.Fatal(err)
		}
		e, _, err := parse(b)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(e.Features.At(0).Levels, " "); got != want {
			t.Errorf("%s: categories %s, want %s", name, got, want)
		}
	}
}
