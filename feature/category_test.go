package feature

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// spellings are columns with the same values as files of different formats and programs spell them: CSV of pandas, Parquet, databases.
func spellings() map[string][][]string {
	return map[string][][]string{
		"whole floats": {{"0.5", "1.0", "2.25", "1.0"}, {"0.5", "1", "2.25", "1"}, {"5e-1", "1e0", "2.250", "+1.00"}, {".5", "1.", "2.25 ", " 1"}},
		"large":        {{"10000000.0", "3.0", "1e+20"}, {"10000000", "3", "1e20"}, {"1e+07", "3.0", "100000000000000000000.0"}},
		"zero":         {{"-0.0", "1.0"}, {"0", "1"}, {"0.0", "1"}, {"-0", "1"}},
		"booleans":     {{"True", "False", "True"}, {"true", "false", "true"}, {"TRUE", "FALSE", "TRUE"}},
		"blanks":       {{"a", "bc", "d e"}, {"a ", "bc", "d e  "}, {" a\t", "bc ", "d e"}},
		"integers":     {{"9007199254740993", "9007199254740992"}, {"+9007199254740993", "9007199254740992 "}},
		"holes":        {{"1.0", "", "2.0"}, {"1", "NaN", "2"}, {"1", "  ", "2"}},
		"small":        {{"1e-05", "0.5"}, {"0.00001", "0.5"}, {"1E-5", ".5"}},
		"dates":        {{"2020-01-31", "2020-02-01"}, {"2020-01-31 00:00:00", "2020-02-01 00:00:00"}, {"2020-01-31T00:00:00.000", "2020-02-01T00:00"}},
		"instants": {{"2020-01-31 12:00:00+01:00", "2020-07-01 00:30:00.5+02:00"}, {"2020-01-31T11:00:00Z", "2020-06-30T22:30:00.500Z"},
			{"2020-01-31 11:00:00 UTC", "2020-06-30 22:30:00.5 UTC"}},
		"decimals":      {{"12345678901234567890.1200", "12345678901234567890.13", "5.00"}, {"12345678901234567890.12", "12345678901234567890.130", "5"}},
		"not numbers":   {{"01", "1", "1.0"}},
		"versions":      {{"1.10", "1.1", "1.1.2"}},
		"hexadecimal":   {{"12345e10", "123450e9", "12a45e10"}},
		"beyond ASCII":  {{"São", "é", "Ä", "日本"}, {"São ", "é", "Ä", "日本"}},
		"true and text": {{"true", "TRUE", "maybe"}},
	}
}

// Whatever spelling training had, the same values are the same categories in every other one, and have the same ids.
func TestSpellings(t *testing.T) {
	header := []string{"x", "y"}
	for name, all := range spellings() {
		for _, kind := range []Kind{Categorical, Multi, Hash} {
			var want []string
			for i, train := range all {
				tr, bad := fit(t, Spec{Columns: map[string]Column{"x": {Name: "x", Kind: kind, Min: 1, Size: 1 << 20}, "y": {Name: "y", Kind: Label}}}, header,
					rowsOf(train))
				for k := range bad {
					if bad[k] != nil {
						t.Fatalf("%s: %v", name, bad[k])
					}
				}
				for j, raw := range all {
					got := names(t, tr, header, rowsOf(raw))
					if want == nil {
						want = got
					}
					if !slices.Equal(got, want) {
						t.Errorf("%s as %s: trained on %q, %q is %q, want %q (%d, %d)", name, kind, train, raw, got, want, i, j)
					}
				}
			}
			distinct := slices.Compact(slices.Sorted(slices.Values(want)))
			if least := map[string]int{"not numbers": 3, "versions": 3, "hexadecimal": 3, "true and text": 3, "integers": 2, "dates": 2, "instants": 2, "decimals": 3}[name]; len(distinct) < least {
				t.Errorf("%s as %s: %q, want %d categories", name, kind, distinct, least)
			}
		}
	}
}

func rowsOf(cells []string) (rows [][]string) {
	for i, c := range cells {
		rows = append(rows, []string{c, fmt.Sprint(i % 2)})
	}
	return rows
}

// Spellings of a value in one training table are one category, with the rows of all of them.
func TestSpellingsTogether(t *testing.T) {
	header := []string{"x", "y"}
	tr, _ := fit(t, Spec{Columns: map[string]Column{"x": {Name: "x", Kind: Categorical}}}, header, rowsOf([]string{"1", "1.0", "1", "2", "2.50", "2.5", "2.0", "7", "x "}))
	if got := tr.Columns[0].Levels; !slices.Equal(got, Texts{"1", "2", "2.5"}) {
		t.Errorf("%q, want 1, 2 and 2.5", got)
	}
	tr, _ = fit(t, Spec{Columns: map[string]Column{"x": {Name: "x", Kind: Categorical, Compare: AsTexts, Min: 1}}}, header, rowsOf([]string{"1.1", "1.10"}))
	if got := names(t, tr, header, rowsOf([]string{"1.1", "1.10", "1.100"})); !slices.Equal(got, []string{"x=1.1:1", "x=1.10:1", "x other:0"}) {
		t.Errorf("%q, want texts", got)
	}
}

// A model that was stored with other spellings finds its categories, and keeps those that it tells apart.
func TestStoredSpellings(t *testing.T) {
	for _, c := range []struct {
		levels Texts
		want   map[string]string
	}{
		{Texts{"1.0", "0.5"}, map[string]string{"1": "x=1.0", "1.0": "x=1.0", "1e0": "x=1.0", ".50": "x=0.5", "2": "x other", "01": "x other"}},
		{Texts{"1e+07"}, map[string]string{"10000000": "x=1e+07", "10000000.0": "x=1e+07"}},
		{Texts{"1.0", "1"}, map[string]string{"1": "x=1", "1.0": "x=1.0"}},
		{Texts{"a ", "b"}, map[string]string{"a": "x=a ", "a ": "x=a ", "b ": "x=b"}},
		{Texts{"a ", "a"}, map[string]string{"a": "x=a", "a ": "x=a "}},
		{Texts{"True", "False"}, map[string]string{"true": "x=True", "1": "x=True", "0.0": "x=False", "FALSE": "x=False"}},
		{Texts{"false", "true"}, map[string]string{"True": "x=true", "1": "x=true", "0": "x=false", "False": "x=false", "2": "x other"}},
		{Texts{"0", "1"}, map[string]string{"True": "x=1", "false": "x=0"}},
		{Texts{"0", "1", "2"}, map[string]string{"True": "x other", "2.0": "x=2"}},
		{Texts{"1.0", "unknown"}, map[string]string{"1": "x=1.0", "unknown": "x=unknown"}},
		{Texts{"01", "1"}, map[string]string{"01": "x=01", "1": "x=1", "1.0": "x other", "001": "x other"}},
		{Texts{"0.10000000149011612", "2.5"}, map[string]string{"0.1": "x=0.10000000149011612", "0.10000000149011612": "x=0.10000000149011612"}},
		{Texts{"0.10000000149011612", "0.3"}, map[string]string{"0.1": "x other", "0.3": "x=0.3"}},
		{Texts{"0.10000000149011612", "a"}, map[string]string{"0.1": "x other"}},
		{Texts{"0.1", "2.5", "7"}, map[string]string{"0.10000000149011612": "x=0.1", "0.1000000015": "x other", "7.0": "x=7"}},
		{Texts{"0.1", "123456790"}, map[string]string{"123456792": "x other", "0.10000000149011612": "x=0.1"}},
		{Texts{"0.1", "a"}, map[string]string{"0.10000000149011612": "x other"}},
	} {
		tr, err := New(nil, []Column{{Name: "x", Kind: Categorical, Levels: c.levels, Other: true}})
		if err != nil {
			t.Fatal(err)
		}
		for raw, want := range c.want {
			got := names(t, tr, []string{"x"}, [][]string{{raw}})
			if got[0] != want+":1" {
				t.Errorf("%q of %q: %q, want %q", raw, c.levels, got[0], want)
			}
		}
	}
	old, err := New(nil, []Column{{Name: "x", Kind: Hash, Size: 1 << 20}}) // which says nothing of how cells are compared
	if err != nil {
		t.Fatal(err)
	}
	if got := names(t, old, []string{"x"}, [][]string{{"1.0"}, {"1"}}); got[0] == got[1] {
		t.Errorf("%q, want cells to be hashed as they are", got)
	}
}

// Labels that are booleans have one spelling, whatever the file says.
func TestLabelSpellings(t *testing.T) {
	header := []string{"x", "y"}
	for _, words := range [][]string{{"True", "False"}, {"true", "false"}, {"TRUE", "FALSE"}} {
		var rows [][]string
		for i := range 6 {
			rows = append(rows, []string{fmt.Sprint(i), words[i%2]})
		}
		tr, bad := fit(t, Spec{Columns: map[string]Column{"y": {Name: "y", Kind: Label}}, Positive: "FALSE"}, header, rows)
		if bad[0] != nil || !slices.Equal(tr.LabelTexts(), []string{"true", "false"}) {
			t.Fatalf("%q, %v", tr.LabelTexts(), bad[0])
		}
		p, err := tr.Bind(header)
		if err != nil {
			t.Fatal(err)
		}
		e, bad := encode(t, p, [][]string{{"1", "True"}, {"1", "false"}, {"1", "1"}, {"1", "0"}, {"1", "TRUE "}, {"1", "2"}})
		if !slices.Equal(e.Label[:5], []float32{0, 1, 0, 1, 0}) || bad[4] != nil || bad[5] == nil {
			t.Errorf("%v, %v", e.Label, bad)
		}
		if err := tr.Agrees(&Spec{Positive: "False"}); err != nil {
			t.Error(err)
		}
	}
	tr, _ := fit(t, Spec{}, header, [][]string{{"1", "0"}, {"2", "1"}})
	p, _ := tr.Bind(header)
	if e, bad := encode(t, p, [][]string{{"true", "True"}, {"False", "false"}}); bad[0] != nil || bad[1] != nil || !slices.Equal(e.Label, []float32{1, 0}) ||
		e.Fields[0].Value[0] != -1 { // 1 of 1 and 2
		t.Errorf("%v, %v, %v", e.Label, e.Fields[0].Value, bad)
	}
}

// A number that stands for nothing does so in every spelling.
func TestMissingNumbers(t *testing.T) {
	header := []string{"x", "c", "y"}
	rows := [][]string{{"-999", "1", "0"}, {"-999.0", "-999", "1"}, {"4", "2.0", "0"}, {"6", "-999.0", "1"}}
	tr, bad := fit(t, Spec{Missing: []string{"-999"}, Columns: map[string]Column{"c": {Name: "c", Kind: Categorical, Min: 1}}}, header, rows)
	if bad[0] != nil || tr.Columns[0].Mean != 5 {
		t.Fatalf("mean %v, %v, want 5", tr.Columns[0].Mean, bad[0])
	}
	if got := names(t, tr, header, [][]string{{"-9.99e2", "-999.00", "0"}}); !strings.HasPrefix(got[0], "x missing:1 c other:1") &&
		!strings.HasPrefix(got[0], "x missing:1 c missing:1") {
		t.Error(got)
	}
}

func FuzzSpellings(f *testing.F) {
	f.Add("1.0", "1", "true")
	f.Add(" a", "01", "1e5")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		texts := func(yield func([]byte) bool) {
			for _, s := range []string{a, b, c} {
				if !yield([]byte(s)) {
					return
				}
			}
		}
		as, words := comparisonOf(texts)
		for s := range texts {
			one := as.canonical(nil, s, words)
			if again := as.canonical(nil, one, words); string(again) != string(one) {
				t.Errorf("%q is %q, and that %q", s, one, again)
			}
		}
	})
}
