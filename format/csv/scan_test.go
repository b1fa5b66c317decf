package csv

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// read gives the types of the columns and the cells of each row of a table, with the notes.
func read(t *testing.T, text string, set map[string]string) (types, cells string, notes []string, err error) {
	t.Helper()
	r, err := Codec.Open(t.Context(), bucketOf(t, files(text, "")), "d/a.csv", format.Options{Set: set})
	if err != nil {
		return "", "", nil, err
	}
	defer r.Close()
	m := r.Matrices()[0]
	types = m.DType.String()
	for i, d := range m.ColTypes {
		if i == 0 {
			types = ""
		}
		types += d.String()
	}
	all := map[[2]int64]string{}
	for b, err := range r.Blocks(context.Background(), "a", m.Rect()) {
		if err != nil {
			return "", "", nil, err
		}
		_ = b.EachText(func(row, col int64, v []byte) error { all[[2]int64{row, col}] = string(v); return nil })
	}
	for row := range m.Rows {
		for col := range m.Cols {
			cells += all[[2]int64{row, col}] + " "
		}
	}
	if m.Labels != nil {
		cells = fmt.Sprintf("%q ", m.Labels) + cells
	}
	return types, strings.TrimSpace(cells), r.Notes(), nil
}

// TestExact reads every whole number exactly or not at all: columns get types of their own where one does not hold all cells.
func TestExact(t *testing.T) {
	for text, want := range map[string]string{
		"9007199254740993,0.5\n":                         "i64f64: 9007199254740993 0.5",
		"0.5,-9007199254740993\n":                        "f64i64: 0.5 -9007199254740993",
		"9007199254740992,0.5\n":                         "f64: 9.007199254740992e+15 0.5",
		"9223372036854775808,0.5\n":                      "f64: 9.223372036854776e+18 0.5",
		"18446744073709551615,0.5\n":                     "u64f64: 18446744073709551615 0.5",
		"18446744073709551615,-1\n":                      "u64i64: 18446744073709551615 -1",
		"18446744073709551615,1\n":                       "u64: 18446744073709551615 1",
		"18446744073709551616,1\n":                       "f64: 1.8446744073709552e+19 1",
		"9007199254740993,1\n":                           "i64: 9007199254740993 1",
		"id,v\n9007199254740993,0.5\n":                   "i64f64: [\"id\" \"v\"] 9007199254740993 0.5",
		"100000000000000000000,1\n":                      "f64: 1e+20 1",
		"true,1\nFALSE,2\n":                              "booli64: 1 1 0 2",
		"true,false\n":                                   "bool: 1 0",
		"1,9007199254740993\n0.5,2\n":                    "f64i64: 1 9007199254740993 0.5 2",
		"-9223372036854775808,0.5\n":                     "f64: -9.223372036854775808e+18 0.5",
		"1\n9007199254740993\n0.5\n":                     "line 2, column 1: whole number 9007199254740993, which f64 does not hold, in a column with cells that are no whole numbers (the option",
		"0.5\n1\n9007199254740993\n":                     "line 3, column 1: whole number 9007199254740993",
		"x,y\n9007199254740993,1\n0.5,2\n":               "line 2, column 1: \"x\": whole number 9007199254740993",
		"9007199254740993\nNA\n":                         "line 1, column 1: whole number 9007199254740993",
		"100000000000000000001,1\n":                      "line 1, column 1: whole number 100000000000000000001, which f64 does not hold, in a column with whole numbers beyond 64 bits",
		"-1\n18446744073709551615\n":                     "line 2, column 1: whole number 18446744073709551615",
		"1,true\n2,1\n":                                  "line 1, column 2: cell \"true\" in a column with other cells",
		"true\n\nNA\n":                                   "line 1, column 1: cell \"true\" in a column with other cells",
		"9007199254740993,1,0.5,2\n1,2,3,4\n,NA,,NULL\n": "line 1, column 1: whole number 9007199254740993",
	} {
		types, cells, _, err := read(t, text, nil)
		got := types + ": " + cells
		if err != nil {
			got = err.Error()
		}
		want = strings.Replace(want, "-9.223372036854775808e+18", "-9.223372036854776e+18", 1)
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestInexact rounds whole numbers if that is wanted, and warns.
func TestInexact(t *testing.T) {
	types, cells, notes, err := read(t, "9007199254740993,1\n0.5,2\n", map[string]string{"inexact": "round"})
	if err != nil || types != "f64" || cells != "9.007199254740992e+15 1 0.5 2" || len(notes) != 2 || !strings.Contains(notes[1], "9007199254740993 are rounded") {
		t.Errorf("%s: %s, %q, %v", types, cells, notes, err)
	}
	if types, cells, _, err := read(t, "9007199254740993\n0.5\n", map[string]string{"type": "f64"}); err != nil || cells != "9.007199254740992e+15 0.5" {
		t.Errorf("%s: %s, %v", types, cells, err)
	}
}

// TestSpellings reads tables as other programs write them, and says what was found.
func TestSpellings(t *testing.T) {
	for name, c := range map[string]struct {
		text       string
		set        map[string]string
		want, note string
	}{
		"bar":             {"a|b\n1|2\n3|4\n", nil, `i64: ["a" "b"] 1 2 3 4`, "separator bar"},
		"blanks":          {"1 2\n 3   4 \n", nil, "i64: 1 2 3 4", "separator space"},
		"blanks, labels":  {"\"a b\" c\n1.5  2\n", nil, `f64i64: ["a b" "c"] 1.5 2`, "separator space"},
		"blanks, CR":      {"1 2 \r\n3 4\r\n", nil, "i64: 1 2 3 4", "separator space"},
		"blanks within":   {"net weight\n1\n", nil, `i64: ["net weight"] 1`, "1 columns"},
		"comma, blanks":   {"1, 2\n3, 4\n", nil, "i64: 1 2 3 4", "separator comma"},
		"decimal comma":   {"a;b\n1,5;2\n-0,25;3e2\n", nil, `f64: ["a" "b"] 1.5 2 -0.25 300`, "decimal comma"},
		"commas agree":    {"1|0,5|2,5\n3|4,5|5,5\n", nil, "f64: 1 0.5 2.5 3 4.5 5.5", "separator bar, decimal comma"},
		"commas, blanks":  {"1,5 2,5\n3,5 4,5\n", nil, "f64: 1.5 2.5 3.5 4.5", "separator space, decimal comma"},
		"decimal blanks":  {"1,5\t2,25\n", nil, "f64: 1.5 2.25", "decimal comma"},
		"decimal, asked":  {"1,234;1\n", map[string]string{"decimal": "comma"}, "f64: 1.234 1", "decimal comma"},
		"decimal or not":  {"1,234;1\n", nil, `"1,234", want to know whether the comma is a decimal one`, ""},
		"decimal, zero":   {"0,125;1\n", nil, "f64: 0.125 1", "decimal comma"},
		"decimal point":   {"1,5;2\n", map[string]string{"decimal": "point"}, `"2" and "1,5", want numbers`, ""},
		"thousands":       {"1,234,567;1,5\n", nil, `"1,5" and "1,234,567", want numbers`, ""},
		"truth":           {"a,b\ntrue,1\nFalse,2\n", nil, `booli64: ["a" "b"] 1 1 0 2`, ""},
		"missing":         {"a,b,c\n1,,2\nNA,0.5,3\nnull,N/A,4\n", nil, `f64f64i64: ["a" "b" "c"] 1 NaN 2 NaN 0.5 3 NaN NaN 4`, "warning: cells without a value (empty, NA, null) are nan: a, b"},
		"missing in 3":    {",NA,null,1\n", nil, "f64: NaN NaN NaN 1", "are nan: column 0, column 1, column 2"},
		"missing in 5":    {",,,,,1\n", nil, "f64: NaN NaN NaN NaN NaN 1", "are nan: column 0, column 1, column 2, and 2 columns more"},
		"missing, error":  {"a,b\n1,NA\n", map[string]string{"empty": "error"}, `cell "NA", want a number`, ""},
		"missing, zero":   {"a,b\n1,NA\n2,7\n", map[string]string{"empty": "0"}, `i64: ["a" "b"] 1 0 2 7`, ""},
		"missing, whole":  {"a,b\n1,NA\n", map[string]string{"type": "i64"}, `cell "NA", which i64 cannot hold as nan`, ""},
		"comments":        {"# made by hand\n\na,b\n#\n1,2\n  # more, text\n3,4\n", nil, `i64: ["a" "b"] 1 2 3 4`, ""},
		"header of lines": {"\"a\nb\",\"c \"\"d\"\"\r\ne\"\n1,2\n", nil, `i64: ["a\nb" "c \"d\"\r\ne"] 1 2`, "header"},
		"line of error":   {"\"a\nb\",c\n1,2\n3,x\n", nil, "line 4, column 2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			types, cells, notes, err := read(t, c.text, c.set)
			got := types + ": " + cells
			if err != nil {
				got = err.Error()
			}
			if got != c.want && (err == nil || !strings.Contains(got, c.want)) || !strings.Contains(strings.Join(notes, "\n"), c.note) {
				t.Errorf("%s, %q; want %s, %q", got, notes, c.want, c.note)
			}
		})
	}
}

// TestWide reads a table in UTF-16 of both byte orders, and finds it out without its ending.
func TestWide(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		var raw []byte
		for _, u := range utf16.Encode([]rune("\ufeffähre,😀\n1,2\n3,4.5\n")) {
			raw = order.AppendUint16(raw, u)
		}
		types, cells, notes, err := read(t, string(raw), nil)
		if want := `["ähre" "😀"] 1 2 3 4.5`; err != nil || types != "i64f64" || cells != want || !strings.Contains(notes[0], "UTF-16") {
			t.Errorf("%s: %s, %q, %v; want %s", types, cells, notes, err, want)
		}
		b := &blob.Mem{}
		if err := blob.WriteAll(t.Context(), b, "plain", raw); err != nil {
			t.Fatal(err)
		}
		if d, err := Codec.Sniff(t.Context(), b, "plain"); err != nil || !strings.Contains(d, "2 columns") {
			t.Errorf("%q, %v", d, err)
		}
		if _, _, _, err := read(t, string(raw[:len(raw)-1]), nil); err == nil || !strings.Contains(err.Error(), "even") {
			t.Errorf("an odd number of bytes: %v", err)
		}
	}
}

// TestCommentLabel: a label that begins as a comment does comes back.
func TestCommentLabel(t *testing.T) {
	b := &blob.Mem{}
	m := matrix.Meta{Name: "a", Rows: 1, Cols: 2, DType: matrix.I64, Labels: []string{"#n", "a|b"}}
	w, err := Codec.Create(t.Context(), b, "a.csv", []matrix.Meta{m}, format.Options{Set: map[string]string{"meta": "false"}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Put(t.Context(), "a", matrix.Block{At: m.Rect(), Data: &matrix.Dense[int64]{Val: []int64{1, 2}}})
	if err == nil {
		err = w.Commit(t.Context(), []format.Part{p})
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := blob.ReadAll(t.Context(), b, "a.csv", 100)
	if err != nil {
		t.Fatal(err)
	}
	if _, cells, _, err := read(t, string(text), nil); err != nil || cells != `["#n" "a|b"] 1 2` {
		t.Errorf("%q: %s, %v", text, cells, err)
	}
}
