package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/feature"
)

// csvOf is rows as text, with quotes where they have to be and where draw says so.
func csvOf(t *rapid.T, rows [][]string, sep byte, end string) string {
	var b strings.Builder
	for _, row := range rows {
		for k, cell := range row {
			if k > 0 {
				b.WriteByte(sep)
			}
			must := strings.ContainsAny(cell, string(sep)+"\"\n\r") || strings.Trim(cell, " \t") != cell || len(row) == 1 && cell == ""
			if must || rapid.IntRange(0, 9).Draw(t, "quote") < 3 {
				blank := strings.Repeat(" ", rapid.IntRange(0, 1).Draw(t, "blank"))
				cell = blank + `"` + strings.ReplaceAll(cell, `"`, `""`) + `"` + blank
			}
			b.WriteString(cell)
		}
		b.WriteString(end)
		if rapid.IntRange(0, 9).Draw(t, "empty line") == 0 {
			b.WriteString(end)
		}
	}
	return b.String()
}

// cellText draws a cell with everything in it that a table may trip over.
func cellText() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.SampledFrom([]rune("ab,;|\t\"\"\n\r ä0")), 0, 6, -1)
}

// Whatever stands in cells and however they are quoted, they are read as they were, in chunks of any size, and lines are counted.
func TestCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 4).Draw(t, "width")
		rows := rapid.SliceOfN(rapid.SliceOfN(cellText(), width, width), 1, 8).Draw(t, "rows")
		sep := rapid.SampledFrom([]byte(",;|\t")).Draw(t, "separator")
		text := csvOf(t, rows, sep, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end"))
		f := feeder{in: Input{R: strings.NewReader(text), Size: int64(len(text))}, limit: 1 << 20, step: rapid.IntRange(1, 20).Draw(t, "step"),
			sheet: &sheet{sep: sep}}
		var got [][]string
		lines := int64(0)
		for more := true; more; {
			c := &chunk{}
			if more = f.fill(c); c.err != nil {
				t.Fatal(c.err)
			}
			var cut cutter
			for i := 0; i < c.len; {
				next, n, err := cut.cut(c.text, i, sep)
				if err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				lines += cut.lines
				if i = next; n == 0 {
					continue
				}
				var row []string
				for k := range n {
					row = append(row, string(c.text[cut.lo[k]:cut.hi[k]]))
				}
				got = append(got, row)
			}
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", rows) {
			t.Fatalf("%q is read as %q, want %q", text, got, rows)
		}
		if want := int64(strings.Count(text, "\n")); lines != want {
			t.Fatalf("%q: %d lines, want %d", text, lines, want)
		}
	})
}

// loadTable is LoadAll of texts in chunks of the given size.
func loadTable(opt Options, step int, texts ...string) (*Examples, error) {
	l := loader{reader: reader{step: step, limit: 1 << 20}, opt: opt, set: newSet()}
	var ins []Input
	for _, text := range texts {
		ins = append(ins, Input{Name: "t.csv", R: strings.NewReader(text), Size: int64(len(text))})
	}
	return l.load(context.Background(), ins)
}

// mixedSpec is a description with a column of every kind, of the columns that mixedRows draws.
func mixedSpec() feature.Spec {
	s := feature.Spec{}
	for name, kind := range map[string]feature.Kind{"n": feature.Numeric, "b": feature.Buckets, "c": feature.Categorical, "m": feature.Multi,
		"h": feature.Hash, "y": feature.Label, "w": feature.Weight, "g": feature.Group, "i": feature.Ignore} {
		_ = s.Set(name, feature.Column{Kind: kind, Buckets: 3}) // of names that differ
	}
	_ = s.Set("d", feature.Column{Kind: feature.Date, Format: "2006-01-02"})
	return s
}

var mixedHeader = []string{"n", "b", "c", "m", "h", "d", "y", "w", "g", "i"}

func mixedRows(t *rapid.T) (rows [][]string) {
	pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	for range rapid.IntRange(2, 300).Draw(t, "rows") {
		rows = append(rows, []string{pick("n", "1", "2.5", "", "NA", "-1e9", "7"), pick("b", "1", "2", "3", "4", "", "5"),
			pick("c", "x", "y", "z", "", "a\nb", "\"", "\xff", "?"), pick("m", "p|q", "p", "q|q|r", "", "r|p", "s"), pick("h", "u", "v", ""),
			pick("d", "2026-01-31", "", "2024-02-29", "1969-12-31"), pick("y", "no", "yes"), pick("w", "1", "0.5"), pick("g", "7", "u"), "9"})
	}
	rows[0][6], rows[1][6] = "no", "yes"
	return rows
}

// The same examples and the same transformation come out of tables whatever the chunks and processors, the order of columns, columns
// that are not learned from, and of the rows read by the transformation that was saved.
func TestTableProperties(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rapid.Check(t, func(t *rapid.T) {
		rows := mixedRows(t)
		all := append([][]string{mixedHeader}, rows...)
		text := csvOf(t, all, ',', "\n")
		opt := Options{Format: "csv", Labels: AutoTrans, Table: &Table{Spec: mixedSpec()}}
		want, err := loadTable(opt, chunkLen, text)
		if err != nil {
			t.Fatal(err)
		}
		columns, _ := want.Transform.JSON()
		again, err := feature.Parse(columns)
		if err != nil {
			t.Fatal(err)
		}
		order := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7, 8}).Draw(t, "order")
		var other [][]string
		for i, row := range all {
			o := []string{"new"}
			for _, k := range order {
				o = append(o, row[k])
			}
			if i > 0 {
				o[0] = "\"\n"
			}
			other = append(other, o)
		}
		saved := opt
		saved.Table = &Table{Transform: again}
		for _, tt := range []struct {
			name  string
			opt   Options
			texts []string
		}{
			{"again", opt, []string{text}}, {"saved", saved, []string{text}}, {"other columns", saved, []string{csvOf(t, other, ';', "\r\n")}},
			{"two files", opt, []string{csvOf(t, all[:2], ',', "\n"), csvOf(t, append([][]string{mixedHeader}, all[2:]...), '\t', "\n")}},
		} {
			runtime.GOMAXPROCS(rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "processors"))
			got, err := loadTable(tt.opt, rapid.SampledFrom([]int{1, 16, 100, chunkLen}).Draw(t, "step"), tt.texts...)
			if err != nil {
				t.Fatalf("%s: %v\n%s", tt.name, err, tt.texts)
			}
			src, _ := got.Transform.JSON()
			if got.Checksum() != want.Checksum() || got.Dim() != want.Dim() || got.Fields != want.Fields || !bytes.Equal(src, columns) {
				t.Fatalf("%s: other examples or columns: %s\nwant %s", tt.name, src, columns)
			}
			if n := got.Unseen.Features; n > 0 && tt.opt.Table.Transform == nil {
				t.Fatalf("%s: %d levels unseen in training", tt.name, n)
			}
		}
	})
}

// What tables may look like, and what is said of those that may not.
func TestTableTexts(t *testing.T) {
	wide := make([]string, 10_000)
	for i := range wide {
		wide[i] = fmt.Sprintf("c%d", i)
	}
	header := strings.Join(wide, ",")
	for name, tt := range map[string]struct {
		text string
		rows int
		err  string
	}{
		"byte order mark":      {"\xef\xbb\xbfx,y\n1,0\n2,1\n", 2, ""},
		"CR LF, no last end":   {"x,y\r\n1,0\r\n2,1", 2, ""},
		"blank lines first":    {"\n  \r\n\nx,y\n1,0\n\n2,1\n\n", 2, ""},
		"semicolons":           {"x;y\n1,5;0\n2;1\n", 2, ""},
		"names with commas":    {"\"x,a,b\"\ty\n1\t0\n2\t1\n", 2, ""},
		"bars, tabs in cells":  {"x|y\n\t1\t|0\n2|\t1\n", 2, ""},
		"tab before a quote":   {"x,y\n\t\"1\n\",0\n2,1\n", 2, ""},
		"names only":           {"x,y\n", 0, ""},
		"nothing":              {"", 0, "t.csv:1: empty, want a line with the names of the columns"},
		"blank lines only":     {"\n\n", 0, "t.csv:1: empty, want"},
		"a name twice":         {"x,y,x\n1,0,1\n", 0, `t.csv:1: column "x" twice, as number 1 and 3, want every name once`},
		"an index beside one":  {",index,y\n1,0,1\n", 0, "t.csv:1: column 1 has no name"},
		"no name":              {"x,,y\n1,0,1\n", 0, "t.csv:1: column 2 has no name"},
		"numbers for names":    {"1,0\n2,1\n", 0, "t.csv:1: the first line has numbers only"},
		"names no UTF-8":       {"x,gr\xf6\xdfe,y\n1,2,0\n", 0, `t.csv:1: the name of column 2, "gr\xf6\xdfe", is no UTF-8`},
		"quote in the names":   {"\"x\"a,y\n1,0\n", 0, `t.csv:1: 'a' after the quote at the end of cell 1, want a separator`},
		"quote without end":    {"x,y\n1,0\n\"2,1\n3,0\n", 0, "t.csv:3: a quote that nothing closes"},
		"too few cells":        {"x,y\n1,0\n2\n", 0, "t.csv:3: 1 cells, want 2, one for each column"},
		"too many cells":       {"x,y\n\"1\n\",0\n2,1,\n", 0, "t.csv:4: 3 cells, want 2"},
		"one column":           {"x\n1\n", 0, "t.csv:1: no column of labels"},
		"only the label":       {"y\n1\n0\n", 0, "no columns to learn from"},
		"label missing":        {"x,y\n1,0\n2,\n", 0, `t.csv:3: column "y": the label is missing`},
		"labels turn to texts": {"x,y\n1,0\n" + strings.Repeat("1,1\n", sampleRows) + "2,yes\n", 0, `t.csv:1003: column "y": label "yes", want a finite number`},
		"a number turns":       {"x,y\n" + strings.Repeat("1,1\n", sampleRows) + "1,0\nnone at all,0\n", 0, `t.csv:1003: column "x": "none at all", want a number`},
		"three texts":          {"x,y\n1,a\n2,b\n3,c\n", 0, `column "y": label has more than two values ("a", "b", "c", ...); for classes use --loss multiclass`},
		"three numbers":        {"x,y\n1,0\n2,1\n3,2\n", 0, "t.csv:4: label has more than two values (0, 1, 2, ...); for regression use --loss l2 (trees)"},
		"one text":             {"x,y\n1,a\n2,a\n", 0, "label"},
		"10 000 columns":       {header + ",y\n" + strings.Repeat("5,", 10_000) + "1\n" + strings.Repeat("6,", 10_000) + "0\n", 2, ""},
		"a long cell":          {"x,y\n" + strings.Repeat("long", 1<<16) + ",0\nb,1\n", 2, ""},
		"a line too long":      {"x,y\n1,0\n\"" + strings.Repeat("long\n", 1<<18) + ",0\nb,1\n", 0, "a quote that nothing closes"},
	} {
		for _, step := range []int{1, 13, chunkLen} {
			all, err := loadTable(Options{Format: "csv", Labels: AutoTrans}, step, tt.text)
			switch {
			case tt.err == "" && (err != nil || all.Len() != tt.rows):
				t.Errorf("%s, step %d: %v, want %d rows", name, step, err, tt.rows)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("%s, step %d: %.200v, want %s", name, step, err, tt.err)
			}
		}
	}
}

// Levels that training had not, or too few of, are counted with their rows, and those of lines that are left out are not.
func TestUnseenLevels(t *testing.T) {
	all, err := loadTable(Options{Format: "csv", Labels: AutoTrans}, chunkLen, "c,n,y\na,1,0\na,2,1\nb,3,0\n")
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Format: "csv", Labels: AutoTrans, SkipBad: 1, Table: &Table{Transform: all.Transform}}
	got, err := loadTable(opt, chunkLen, "c,n,y\nnew,1,0\nnew,1,1\nb,1,1\nother,x,0\na,1,0\n")
	want := Unseen{Features: 2, Values: 3, Examples: 3, Table: true,
		Columns: []UnseenColumn{{Column: "c", Categories: 2, Rows: 3, First: []string{"new", "b"}, known: []string{"a"}}}}
	if err != nil || !reflect.DeepEqual(got.Unseen, want) || got.Skipped.Lines != 1 {
		t.Errorf("%+v, %v, %v, want 2 levels in 3 rows and one line left out", got.Unseen, got.Skipped, err)
	}
	opt.Strict, opt.SkipBad = true, 9
	if got, err = loadTable(opt, chunkLen, "c,n,y\nnew,1,0\na,1,1\n"); err != nil || got.Unseen.Features != 0 || got.Len() != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	opt.SkipBad = 0
	if _, err = loadTable(opt, chunkLen, "c,n,y\na,1,0\nnew,1,1\n"); err == nil || !strings.Contains(err.Error(), `t.csv:3: column "c": level "new" was not`) {
		t.Errorf("%v, want the level with its line", err)
	}
}

// Rows that are held out say nothing of levels and sizes.
func TestHeldOutRows(t *testing.T) {
	text := "c,n,y\na,1,0\na,2,1\nb,100,0\nb,200,1\na,3,1\n"
	held := &Table{Held: func([]float32, []int64) func(int) bool { return func(i int) bool { return i == 2 || i == 3 } }}
	all, err := loadTable(Options{Format: "csv", Labels: AutoTrans, Table: held}, 8, text)
	if err != nil {
		t.Fatal(err)
	}
	less, err := loadTable(Options{Format: "csv", Labels: AutoTrans}, 8, "c,n,y\na,1,0\na,2,1\na,3,1\n")
	if err != nil {
		t.Fatal(err)
	}
	a, _ := all.Transform.JSON()
	b, _ := less.Transform.JSON()
	if !bytes.Equal(a, b) || all.Len() != 5 {
		t.Errorf("%s\nwithout the rows that are held out %s", a, b)
	}
}

// FuzzCutter: whatever the bytes, lines are cut alike in one piece and in small ones, and counted.
func FuzzCutter(f *testing.F) {
	for _, text := range []string{"a,b\n\"c\nd\",e\n", "\"\"\"\n\"\n", "\t\"x\n\",\"\n", "a \"b\nc\", \" d\"e\n", "\r\n\"a\"\r\n"} {
		f.Add([]byte(text), byte(','), 3)
	}
	f.Fuzz(func(t *testing.T, text []byte, sep byte, step int) {
		if strings.IndexByte(",;|\t", sep) < 0 || bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
			return
		}
		var whole string
		for i, step := range []int{1 << 20, 1 + step&31} {
			fd := feeder{in: input(text), limit: 1 << 20, step: step, sheet: &sheet{sep: sep}}
			all, lines := "", int64(0)
			for more := true; more; {
				c := &chunk{}
				more = fd.fill(c)
				var cut cutter
				for at := 0; at < c.len; {
					next, n, err := cut.cut(c.text, at, sep)
					lines += cut.lines
					all += fmt.Sprint(n, err, ";")
					for k := range min(n, len(cut.hi)) {
						all += fmt.Sprintf("%q,", c.text[cut.lo[k]:cut.hi[k]])
					}
					if next <= at || next > c.len {
						t.Fatalf("%q: line from %d to %d", text, at, next)
					}
					at = next
				}
			}
			if want := int64(bytes.Count(text, []byte("\n"))); lines != want && lines != want+1 {
				t.Fatalf("%q: %d lines, want %d", text, lines, want)
			}
			if i == 0 {
				whole = all
			} else if all != whole {
				t.Fatalf("%q: in one piece %s, in small ones %s", text, whole, all)
			}
		}
	})
}

// FuzzTable: whatever the bytes, valid examples or an error, the same in one piece and in small ones, and by the saved transformation.
func FuzzTable(f *testing.F) {
	f.Add([]byte("x,c,y\n1,a,0\n2,\"b\n\",1\n,?,1\n"), 0)
	f.Add([]byte("d;c;label\n2026-01-31;a;no\n2026-02-01;a;yes\nx;;yes\n"), 1)
	f.Add([]byte("\xef\xbb\xbfx\ty\n1\t0\n\n\"\"\t1"), 2)
	f.Fuzz(func(t *testing.T, text []byte, skip int) {
		opt := Options{Format: "csv", Labels: []Labels{AutoTrans, ClassTrans}[len(text)%2], SkipBad: skip & 3}
		all, err := loadTable(opt, chunkLen, string(text))
		small, errSmall := loadTable(opt, 7, string(text))
		if fmt.Sprint(err) != fmt.Sprint(errSmall) {
			t.Fatalf("in one piece %v, in small ones %v", err, errSmall)
		}
		if err != nil {
			if at := (*Error)(nil); !errors.As(err, &at) {
				t.Fatalf("%v says not where", err)
			}
			return
		}
		if err := check(all.Batch()); err != nil {
			t.Fatal(err)
		}
		src, err := all.Transform.JSON()
		if err != nil {
			t.Fatal(err)
		}
		saved, err := feature.Parse(src)
		if err != nil {
			t.Fatalf("%v: %s", err, src)
		}
		opt.Table, opt.Classes = &Table{Transform: saved}, all.Classes
		again, err := loadTable(opt, 11, string(text))
		if err != nil || again.Checksum() != all.Checksum() || small.Checksum() != all.Checksum() {
			t.Fatalf("%v: by the saved transformation other examples", err)
		}
		if slices.Max(append([]int64{-1}, all.Keys()...)) >= all.Dim() {
			t.Fatalf("features %v of %d", all.Keys(), all.Dim())
		}
	})
}
