package feature

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// block is cells of a column for an encoder.
func block(texts []string) (c Cells) {
	for _, text := range texts {
		c.Lo = append(c.Lo, int32(len(c.Text)))
		c.Text = append(c.Text, text...)
		c.Hi = append(c.Hi, int32(len(c.Text)))
	}
	return c
}

// encode encodes the rows of a table, at most a block, and answers with why some are of no use.
func encode(t testing.TB, p *Plan, rows [][]string) (*Encoder, []error) {
	t.Helper()
	e := p.Encoder()
	e.Begin(len(rows))
	if err := e.Texts(func(c int) Cells { return block(column(rows, c)) }); err != nil {
		t.Fatal(err)
	}
	return e, slices.Clone(e.Bad[:len(rows)])
}

// fit fits a description to rows, at most a block.
func fit(t testing.TB, s Spec, header []string, rows [][]string) (*Transform, []error) {
	t.Helper()
	p, err := s.Open(header, rows)
	if err != nil {
		t.Fatal(err)
	}
	e, bad := encode(t, p, rows)
	var part Part
	e.Keep(&part)
	var label []float32
	for i, y := range e.Label {
		if bad[i] == nil {
			label = append(label, y)
		}
	}
	tr, _, err := p.Fit([]*Part{&part}, label, nil).Transform()
	if err != nil {
		t.Fatal(err)
	}
	return tr, bad
}

// names are the features of rows as a transformation names them, or why a row is of no use.
func names(t testing.TB, tr *Transform, header []string, rows [][]string) (all []string) {
	t.Helper()
	p, err := tr.Bind(header)
	if err != nil {
		t.Fatal(err)
	}
	e, bad := encode(t, p, rows)
	for i := range rows {
		if bad[i] != nil {
			all = append(all, bad[i].Error())
			continue
		}
		var row []string
		for _, v := range e.Fields {
			lo, hi := i, i+1
			if v.End != nil {
				if lo = 0; i > 0 {
					lo = int(v.End[i-1])
				}
				hi = int(v.End[i])
			}
			for k := lo; k < hi; k++ {
				row = append(row, fmt.Sprintf("%s:%.4g", tr.Name(v.ID[k]), v.Value[k]))
			}
		}
		all = append(all, strings.Join(row, " "))
	}
	return all
}

// conformance is for each kind two columns of training cells and raw ones with what these become; none: no features.
var conformance = map[Kind][]struct {
	column Column
	train  []string
	raw    map[string]string
}{
	Numeric: {
		{Column{}, []string{"1", "3", ""}, map[string]string{"1": "x:-1", "3": "x:1", "5": "x:3", "": "x missing:1", "NA": "x missing:1", "-0": "x:-2",
			"1e400": `column "x": "1e400", want`, "Inf": `column "x": "Inf", want`, "nan": "x missing:1", "0x10": `column "x": "0x10", want a number`,
			"1,000": `column "x": "1,000", want a number`, "1_000": `want a number`, "+2": "x:0", "2.": "x:0", ".5e1": "x:3", "1 2": "want a number",
			"\xff": `column "x": "\xff", want a number`, "1e38": "x:1e+38", "-1e-400": "x:-2"}},
		{Column{Scale: None}, []string{"1", "3"}, map[string]string{"7.5": "x:7.5", "": "x missing:0"}},
		{Column{}, []string{"5", "5"}, map[string]string{"5": "x:0", "6": "x:1"}},
		{Column{Log: new(true), Scale: None}, []string{"5", "5"}, map[string]string{"0": "x:0", "-1": "x:-0.6931", "1": "x:0.6931"}},
	},
	Buckets: {
		{Column{Buckets: 2}, []string{"1", "2", "3", "4"}, map[string]string{"2.9": "x in [,3):1", "3": "x in [3,):1", "": "x missing:0", "-7": "x in [,3):1",
			"x": "want a number"}},
		{Column{Buckets: 3}, []string{"1", "1", "9", "9", "9", ""}, map[string]string{"1": "x in [,9):1", "1e30": "x in [9,):1", "": "x missing:1"}},
	},
	Categorical: {
		{Column{}, []string{"b", "a", "b", "a", "c", ""}, map[string]string{"a": "x=a:1", "b": "x=b:1", "c": "x other:1", "new": "x other:1", "": "x other:1"}},
		{Column{Min: 1, Most: 2}, []string{"b", "a", "b", "NA", ""}, map[string]string{"b": "x=b:1", "NULL": "x missing:1", "a": "x other:1"}},
		{Column{Min: 1}, []string{"b", "\xff\xfe", "\xef\xbf\xbd"}, map[string]string{"b": "x=b:1", "\xff\xfe": "x=\xff\xfe:1", "new": "x other:0"}},
	},
	Multi: {
		{Column{Min: 1}, []string{"b|a", "a", "c|a"}, map[string]string{"a|b": "x=a:0.5 x=b:0.5", " a | b ": "x=a:0.5 x=b:0.5", "a|a": "x=a:0.5 x=a:0.5",
			"z": "x other:0"}},
		{Column{Min: 2, Separator: " "}, []string{"b a", "a", "c"}, map[string]string{"a c": "x=a:0.5 x other:0.5"}},
	},
	Hash: {
		{Column{Size: 1}, []string{"u"}, map[string]string{"anything": "x hash 0:1", "": "x hash 0:1"}},
		{Column{Size: 1000}, []string{"u"}, map[string]string{"a": fmt.Sprintf("x hash %d:1", Bucket([]byte("a"), 1000))}},
	},
	Date: {
		{Column{Parts: []string{"weekday", "hour"}}, []string{"2026-01-05 13:00"}, map[string]string{"2026-02-28 23:59": "x.weekday=Saturday:1 x.hour=23:1",
			"": "x.weekday missing:1 x.hour missing:1", "2026-02-30 00:00": "want a time such as 2026-01-31 15:04", "2026-01-05 24:00": "want a time",
			"5": "want a time"}},
		{Column{Parts: []string{"days"}, Scale: None}, []string{"2026-01-05"}, map[string]string{"1970-01-03": "x.days:2", "": "x.days missing:0",
			"1969-12-31": "x.days:-1"}},
		{Column{Format: "unix", Parts: []string{"day", "month"}}, []string{"5"}, map[string]string{"86400": "x.day=2:1 x.month=January:1",
			"-0.5": "x.day=31:1 x.month=December:1", "0x1p3": "want a time", "1e30": "want a time", "inf": "want a time"}},
	},
	Label:  {{Column{}, []string{"1", "0"}, map[string]string{"1": "z:0", "": `column "x": the label is missing`, "NA": "missing", "a": "finite", "1e999": "finite"}}},
	Weight: {{Column{}, []string{"1", "0"}, map[string]string{"1": "z:0", "-1": "from 0 on", "": "from 0 on", "inf": "from 0 on", "1e39": "from 0 on"}}},
	Group:  {{Column{}, []string{"1", "u"}, map[string]string{"": "z:0", "x": "z:0"}}},
	Ignore: {{Column{}, []string{"1", "u"}, map[string]string{"": "z:0"}}},
}

// Every kind makes of cells what the table says, and the same after it was saved.
func TestKinds(t *testing.T) {
	for _, kind := range Kinds() {
		tests := conformance[kind.Name]
		if len(tests) == 0 {
			t.Errorf("no test of kind %s", kind.Name)
		}
		for _, tt := range tests {
			tt.column.Kind = kind.Name
			s := Spec{}
			if err := s.Set("x", tt.column); err != nil {
				t.Fatal(err)
			}
			header, rows := []string{"x", "z"}, [][]string{}
			for _, text := range tt.train {
				rows = append(rows, []string{text, "4"})
			}
			tr, _ := fit(t, s, header, rows)
			src, err := tr.JSON()
			if err != nil {
				t.Fatal(err)
			}
			again, err := Parse(src)
			if err != nil {
				t.Fatalf("%s: %v", src, err)
			}
			for raw, want := range tt.raw {
				for _, one := range []*Transform{tr, again} {
					got := names(t, one, []string{"new", "z", "x"}, [][]string{{"", "4", raw}})[0]
					if got = strings.TrimSuffix(got, " z:0"); got != want && (!strings.Contains(want, " ") || !strings.Contains(got, want)) &&
						(strings.Contains(want, ":") || !strings.Contains(got, want)) {
						t.Errorf("%s %+v: %q is %s, want %s", kind.Name, tt.column, raw, got, want)
					}
				}
			}
		}
	}
}

// Labels that are texts have the numbers of their order, but for the positive one; those of lines that are of no use are none.
func TestTextLabels(t *testing.T) {
	header := []string{"n", "y"}
	rows := [][]string{{"1", "no"}, {"2", "yes"}, {"3", "no"}}
	for _, tt := range []struct {
		positive string
		want     []string
	}{{"", []string{"no", "yes"}}, {"yes", []string{"no", "yes"}}, {"no", []string{"yes", "no"}}} {
		tr, _ := fit(t, Spec{Positive: tt.positive}, header, rows)
		if got := tr.LabelTexts(); !slices.Equal(got, tt.want) || tr.Label() != "y" {
			t.Errorf("positive %q: labels %q of %q, want %q", tt.positive, got, tr.Label(), tt.want)
		}
	}
	s := Spec{Columns: map[string]Column{"n": {Name: "n", Kind: Numeric}}}
	tr, bad := fit(t, s, header, append(slices.Clone(rows), []string{"x", "maybe"}, []string{"4", "?"}, []string{"4", ""}))
	if got := tr.LabelTexts(); !slices.Equal(got, []string{"no", "yes"}) {
		t.Errorf("labels %q, want those of lines that are of use", got)
	}
	for i, want := range []string{"", "", "", `column "n": "x", want a number`, `column "y": the label is missing: "?"`, `column "y": the label is missing`} {
		if got := fmt.Sprint(bad[i]); want != "" && !strings.HasPrefix(got, want) || want == "" && bad[i] != nil {
			t.Errorf("row %d: %s, want %s", i, got, want)
		}
	}
	if _, err := (&Spec{Positive: "maybe"}).Open(header, rows); err != nil {
		t.Fatal(err)
	}
}

// What levels are called does not depend on the order of the rows.
func TestOrderOfRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.SampledFrom([]string{"a", "b", "c", "d", "", "NA", "\xff", "ä", "a|b", "c|c"})
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, 2, 2), 1, BlockRows).Draw(t, "rows")
		s := Spec{Columns: map[string]Column{"m": {Name: "m", Kind: Multi}, "c": {Name: "c", Kind: Categorical, Min: rapid.IntRange(1, 3).Draw(t, "min"),
			Most: rapid.IntRange(0, 3).Draw(t, "most")}}}
		other := rapid.Permutation(rows).Draw(t, "other")
		one, _ := fit2(t, s, rows)
		two, _ := fit2(t, s, other)
		if string(one) != string(two) {
			t.Fatalf("%s\nin another order %s", one, two)
		}
	})
}

// fit2 is fit for properties: the saved transformation.
func fit2(t *rapid.T, s Spec, rows [][]string) ([]byte, error) {
	p, err := s.Open([]string{"c", "m"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	e := p.Encoder()
	e.Begin(len(rows))
	if err := e.Texts(func(c int) Cells { return block(column(rows, c)) }); err != nil {
		t.Fatal(err)
	}
	var part Part
	e.Keep(&part)
	tr, _, err := p.Fit([]*Part{&part}, nil, nil).Transform()
	if err != nil {
		t.Fatal(err)
	}
	src, err := tr.JSON()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(src)
	if err != nil {
		t.Fatalf("%v: %s", err, src)
	}
	if text, err := again.JSON(); err != nil || string(text) != string(src) {
		t.Fatalf("%v: saved and read it is another: %s", err, src)
	}
	return src, nil
}

// Moments are those of rows that are not held out, computed here in another way.
func TestHeldOut(t *testing.T) {
	rows := [][]string{{"1", "a"}, {"2", "a"}, {"1000", "b"}, {"6", "a"}, {"1000", "b"}, {"7", "a"}}
	p, err := (&Spec{Columns: map[string]Column{"n": {Name: "n", Kind: Numeric, Log: new(false)}}}).Open([]string{"n", "c"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	e, _ := encode(t, p, rows)
	var part Part
	e.Keep(&part)
	tr, _, err := p.Fit([]*Part{&part}, nil, func(i int) bool { return i == 2 || i == 4 }).Transform()
	if err != nil {
		t.Fatal(err)
	}
	n := tr.Columns[0]
	if want := math.Sqrt((9 + 4 + 4 + 9) / 4.0); n.Mean != 4 || math.Abs(n.Deviation-want) > 1e-12 || len(tr.Columns[1].Levels) != 1 || tr.Columns[1].Other {
		t.Errorf("%+v, want mean 4, deviation %v and the level a", tr.Columns, want)
	}
}

// What a description cannot say is refused with where it stands.
func TestParseSpec(t *testing.T) {
	for src, want := range map[string]string{
		`{"label": "a", "columns": {"b": "label"}}`:         `both the label`,
		`{"columns": {"a": {"kind": "numerc"}}}`:            `"numerc", want one of`,
		"{\"columns\":\n{\"a\": {\"kindd\": \"numeric\"}}}": "kindd",
		`{"columns": {"a": {"parts": ["hour", "hour"]}}}`:   `part "hour" of a date twice`,
		`{"columns": {"a": {"parts": ["hours"]}}}`:          `part "hours"`,
		`{"columns": {"a": {"size": -1}}}`:                  "-1 features",
		`{"columns": {"a": {"buckets": 70000}}}`:            "70000 buckets",
		`{"ignore": ["a"], "columns": {"a": "hash"}}`:       `hash and ignore`,
		`{"separator": "x"}`:                                `separator "x"`,
		`{}}`:                                               "line 1: more after the end",
		`{} {}`:                                             "more after the end",
		`{"columns": {"a": {"separator": "ab"}}}`:           "one character",
		`{"columns": {"a": {"scale": "minmax"}}}`:           `scale "minmax"`,
		`[`:                     "line 1",
		`{"columns": {"a": 5}}`: `column "a"`,
	} {
		if _, err := ParseSpec([]byte(src)); !errors.Is(err, ErrSpec) && err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
	s, err := ParseSpec([]byte(`{"label": "y", "ignore": ["i"], "weight": "w", "group": "g", "separator": "\\t", "columns": {"t": {"kind": "multi"}, "c": "hash"}}`))
	if err != nil || s.Find(Label) != "y" || s.Find(Group) != "g" || s.Sep != '\t' || s.Columns["c"].Kind != Hash {
		t.Errorf("%+v, %v", s, err)
	}
}

// hostile are saved transformations that are none.
var hostile = map[string]string{
	`{"version":2,"columns":[{"name":"a","kind":"numeric"}]}`:                                                         "version 2",
	`{"version":1,"columns":[]}`:                                                                                      "no columns to learn from",
	`{"version":1,"columns":[{"name":"a","kind":"numeric"},{"name":"a","kind":"numeric"}]}`:                           "twice",
	`{"version":1,"columns":[{"name":"a","kind":"categorical","levels":["x","x"]}]}`:                                  `level "x" twice`,
	`{"version":1,"columns":[{"name":"a","kind":"hash","size":4611686018427387904}]}`:                                 "hashed to",
	`{"version":1,"columns":[{"name":"a","kind":"hash"}]}`:                                                            "hashed to 0",
	`{"version":1,"columns":[{"name":"a","kind":"date","format":"unix","parts":["hours"]}]}`:                          `part "hours"`,
	`{"version":1,"columns":[{"name":"a","kind":"date","format":"unix","parts":["day","day"]}]}`:                      "twice",
	`{"version":1,"columns":[{"name":"a","kind":"date","parts":["day"]}]}`:                                            "without format",
	`{"version":1,"columns":[{"name":"a","kind":"multi"}]}`:                                                           "separator",
	`{"version":1,"columns":[{"name":"a","kind":"buckets","bounds":[2,1]}]}`:                                          "in order",
	`{"version":1,"columns":[{"name":"a","kind":"numeric","deviation":5e-324}]}`:                                      "finite",
	`{"version":1,"columns":[{"name":"a","kind":"numeric","deviation":-1}]}`:                                          "finite",
	`{"version":1,"columns":[{"name":"a"}]}`:                                                                          "no kind",
	`{"version":1,"columns":[{"name":"a","kind":"numeric"},{"name":"b","kind":"label"},{"name":"c","kind":"label"}]}`: "both the label",
	`{"version":1,"columns":[{"name":"a","kind":"numeric"}],"more":1}`:                                                "more",
	`{"version":1,"columns":null}}`:                                                                                   "after the end",
	"":                                                                                                                "EOF",
}

func TestParseHostile(t *testing.T) {
	for src, want := range hostile {
		if _, err := Parse([]byte(src)); !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
	large := Column{Name: "a", Kind: Hash, Size: dimLimit / 2}
	if err := (&Transform{Columns: []Column{large, large}}).prepare(); err != nil {
		t.Error(err)
	}
	if err := (&Transform{Columns: []Column{large, large, large}}).prepare(); err == nil || !strings.Contains(err.Error(), "features") {
		t.Errorf("features beyond int64: %v", err)
	}
}

// FuzzParse: whatever the bytes, a transformation that encodes any cells to ids below its dimension and finite values, and is saved and
// read as the same, or an error.
func FuzzParse(f *testing.F) {
	for src := range hostile {
		f.Add([]byte(src), "1")
	}
	f.Add([]byte(`{"version":1,"missing":["NA"],"columns":[{"name":"a","kind":"numeric","log":true,"mean":1,"deviation":2},`+
		`{"name":"b","kind":"buckets","bounds":[1,2]},{"name":"c","kind":"multi","separator":"|","levels":["x",{"bytes":"/w=="}]},`+
		`{"name":"d","kind":"date","format":"2006-01-02","parts":["day","days"]},{"name":"e","kind":"hash","size":9},`+
		`{"name":"f","kind":"label","texts":true,"levels":["n","y"]},{"name":"g","kind":"weight"}]}`), "x|\xff|2026-01-02")
	f.Fuzz(func(t *testing.T, src []byte, cell string) {
		tr, err := Parse(src)
		if err != nil {
			if !errors.Is(err, ErrSpec) && !errors.As(err, new(*json.SyntaxError)) {
				t.Fatalf("%v is no ErrSpec", err)
			}
			return
		}
		text, err := tr.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Parse(text); err != nil || again.Dim() != tr.Dim() {
			t.Fatalf("%v: saved as %s", err, text)
		}
		var header, row []string
		for _, c := range tr.Columns {
			header, row = append(header, c.Name), append(row, cell)
		}
		p, err := tr.Bind(header)
		if err != nil {
			t.Fatal(err)
		}
		e, _ := encode(t, p, [][]string{row, row})
		for i, v := range e.Fields {
			for k, id := range v.ID {
				if id < tr.First()[i] || id >= tr.Dim() || v.Value[k]-v.Value[k] != 0 {
					t.Fatalf("field %d: id %d of %d with value %v", i, id, tr.Dim(), v.Value[k])
				}
				tr.Name(id)
			}
		}
	})
}
