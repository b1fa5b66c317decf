package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var withFields = []struct {
	name, text string
	opt        Options
	want       []row
	field      []int32
	fields     int
}{
	{"libffm", "1 0:3:0.5 2:0:1\n0 1:7:2\n", Options{Format: "libffm"},
		[]row{{1, []int64{3, 0}, []float32{.5, 1}}, {0, []int64{7}, []float32{2}}}, []int32{0, 2, 1}, 3},
	{"libffm in any order, one column in two fields, several values of a field", "1 2:0:1 0:9:2 2:9:3 0:4:4\n", Options{Format: "libffm"},
		[]row{{1, []int64{4, 9, 0, 9}, []float32{4, 2, 1, 3}}}, []int32{0, 0, 2, 2}, 3},
	{"libffm of more fields than occur", "1 1:5:1 # 2:2:2\r\n", Options{Format: "libffm", Fields: Fields{Number: 39}},
		[]row{{1, []int64{5}, []float32{1}}}, []int32{1}, 39},
	{"libffm from 1", "0:1:1\n", Options{Format: "LibFFM", Base: Base1, NoLabel: true}, []row{{0, []int64{0}, []float32{1}}}, []int32{0}, 1},
	{"libffm without values", "1\n", Options{Format: "libffm"}, []row{{1, nil, nil}}, nil, 0},
	{"positions of hashed columns", "1 9223372036854775806 7 7\n-1 5 1234567890123456789 0\n", Options{Format: "dummy", Fields: Fields{Number: 3}},
		[]row{{1, []int64{1<<63 - 2, 7, 7}, []float32{1, 1, 1}}, {-1, []int64{5, 1234567890123456789, 0}, []float32{1, 1, 1}}},
		[]int32{0, 1, 2, 0, 1, 2}, 3},
	{"positions in libsvm", "1 qid:3 9:2 4:3\n", Options{Fields: Fields{Number: 2}}, []row{{1, []int64{8, 3}, []float32{2, 3}}}, []int32{0, 1}, 2},
	{"positions in dense", "1 0 2 0 3\n", Options{Format: "dense", Fields: Fields{Number: 4}},
		[]row{{1, []int64{1, 3}, []float32{2, 3}}}, []int32{1, 3}, 4},
	{"ranges: missing values, several, before and behind", "1 9 0 3 1\n0\n1 2 100\n", Options{Format: "dummy", Fields: Fields{First: []int64{0, 2, 3, 9, 50}}},
		[]row{{1, []int64{0, 1, 3, 9}, []float32{1, 1, 1, 1}}, {0, nil, nil}, {1, []int64{2, 100}, []float32{1, 1}}}, []int32{0, 0, 2, 3, 1, 4}, 5},
	{"ranges count from 0", "1 1:1 2:1\n", Options{Fields: Fields{First: []int64{0, 1}}, Dim: 2}, []row{{1, []int64{0, 1}, []float32{1, 1}}}, []int32{0, 1}, 2},
	{"ranges that end", "1 1:1 2:1\n", Options{Fields: Fields{First: []int64{0, 1}, End: 2}}, []row{{1, []int64{0, 1}, []float32{1, 1}}}, []int32{0, 1}, 2},
	{"ranges in dense", "1 0 2 3\n", Options{Format: "dense", Fields: Fields{First: []int64{0, 2}}},
		[]row{{1, []int64{1, 2}, []float32{2, 3}}}, []int32{0, 1}, 2},
}

func TestFields(t *testing.T) {
	for _, tt := range withFields {
		want := batchOf(tt.want)
		if want.Field, want.Fields = tt.field, tt.fields; tt.opt.Dim == 0 {
			tt.opt.Dim = want.rowsOf().dim()
		}
		for _, step := range []int{4, 1000} {
			got, err := loadSteps(t, []byte(tt.text), tt.opt, step, 1000)
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
				continue
			}
			if err := check(got); err != nil || !same(got, want) || got.Dim() != tt.opt.Dim {
				t.Errorf("%s: %v %v %v, want %v %v", tt.name, got, err, got.Rows(), want, want.Rows())
			}
		}
		for got, err := range Read(context.Background(), input([]byte(tt.text)), tt.opt) {
			if err != nil || !same(got, want) {
				t.Errorf("%s: read %v %v, %v, want %v", tt.name, got, got.Rows(), err, want)
			}
		}
	}
}

// rowsOf are the rows of a batch as if they were in the making.
func (b *Batch) rowsOf() *rows {
	x := b.Rows()
	return &rows{label: b.Label, ptr: x.Ptr, idx: x.Idx, val: x.Val, field: b.Field}
}

func TestFieldsRefuse(t *testing.T) {
	for _, text := range []string{"0", "-1", "x", "70000", "99999999999999999999", "0,", "1,2", "0,5,5", "0,9,3", ","} {
		if f, err := ParseFields(text); !errors.Is(err, ErrOption) {
			t.Errorf("fields %q: %v, %v, want ErrOption", text, f, err)
		}
	}
	for text, want := range map[string]string{
		"0-8,10-17": "columns 9 to 9 are in no field", "0-9,8-17": "columns 8 to 9 are in two fields", "0-8,2-3": "columns 2 to 3 are in two fields",
		"2-8": "begins at column 2, want 0", "0-8,9": `"9", want the first and the last column`, "8-0": "columns 8 to 0, want", "0--8": "columns 0 to -8",
		"0-8-9": `"0-8-9", want`, "0-9223372036854775807": "want a first and a last one", "-": "want how many",
	} {
		if f, err := ParseFields(text); !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), want) {
			t.Errorf("fields %q: %v, %v, want %q", text, f, err, want)
		}
	}
	for text, want := range map[string]Fields{"": {}, "39": {Number: 39}, "0,9,18": {First: []int64{0, 9, 18}},
		"0-8,9-17": {First: []int64{0, 9}, End: 18}, "0-0": {First: []int64{0}, End: 1}} {
		if f, err := ParseFields(text); err != nil || !slices.Equal(f.First, want.First) || f.Number != want.Number || f.End != want.End {
			t.Errorf("fields %q: %v, %v", text, f, err)
		}
	}
	for _, opt := range []Options{
		{Fields: Fields{Number: -1}}, {Fields: Fields{Number: FieldLimit + 1}}, {Fields: Fields{Number: 1, First: []int64{0, 1}}},
		{Fields: Fields{First: make([]int64, FieldLimit+1)}}, {Fields: Fields{First: []int64{0, 5}}, Dim: 5},
		{Fields: Fields{First: []int64{0, 5}, End: 5}}, {Fields: Fields{First: []int64{0, 5}, End: 6}, Dim: 7}, {Fields: Fields{End: 6}},
		{Fields: Fields{First: []int64{0, 5}}, Format: "libffm"},
	} {
		if err := opt.Check(); !errors.Is(err, ErrOption) {
			t.Errorf("%d fields in %q: %v, want ErrOption", opt.Fields.Number, opt.Format, err)
		}
	}
}

// The endings of libffm are its own and that of its programs; inputs with and without fields are not one set.
func TestFieldsOfFiles(t *testing.T) {
	ffm, libffm, svm := fileOf(t, "a.ffm", "1 0:1:1\n"), fileOf(t, "b.libffm", "0 4:1:1\n"), fileOf(t, "c.libsvm", "1 3:1\n")
	all, err := LoadFiles(context.Background(), []string{ffm, libffm}, nil, Options{})
	if err != nil || all.Fields != 5 || !slices.Equal(all.Batch().Field, []int32{0, 4}) {
		t.Errorf("%v, %v, want 5 fields", all, err)
	}
	_, err = LoadFiles(context.Background(), []string{ffm, svm}, nil, Options{})
	wantError(t, err, svm+": "+errMixed.Error())
	all, err = LoadFiles(context.Background(), []string{ffm, svm}, nil, Options{Fields: Fields{Number: 1}})
	if err != nil || all.Fields != 1 || !slices.Equal(all.Batch().Field, []int32{0, 0}) {
		t.Errorf("%v, %v, want one field", all, err)
	}
}

// drawFields draws examples with fields and their text, a line each.
func drawFields(t *rapid.T) (text []string) {
	for range rapid.IntRange(1, 6).Draw(t, "rows") {
		line, seen := rapid.SampledFrom([]string{"0", "1"}).Draw(t, "label"), map[[2]int]bool{}
		var places [][2]int
		for range rapid.IntRange(0, 6).Draw(t, "values") {
			at := [2]int{rapid.IntRange(0, 3).Draw(t, "field"), rapid.IntRange(0, 5).Draw(t, "column")}
			if !seen[at] {
				places = append(places, at)
			}
			seen[at] = true
		}
		slices.SortFunc(places, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
		for _, at := range places {
			line += fmt.Sprintf(" %d:%d:%d", at[0], at[1], 1+at[0]+10*at[1])
		}
		text = append(text, line+"\n")
	}
	return text
}

// written is the batch as text.
func written(t interface{ Fatal(...any) }, source string, b *Batch) string {
	var text bytes.Buffer
	if err := Write(&text, source, b); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// Whatever examples are cut, gathered and thinned, their values keep their fields: the text is that of the lines.
func TestFieldsTravel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawFields(t)
		b, err := Load(context.Background(), input([]byte(strings.Join(text, ""))), Options{Format: "libffm", Fields: Fields{Number: 4}})
		if err != nil {
			t.Fatal(err)
		}
		expect := func(what string, got *Batch, lines ...string) {
			if err := check(got); err != nil || got.Fields != 4 || written(t, "libffm", got) != strings.Join(lines, "") {
				t.Fatalf("%s of %q: %v, %q, want %q", what, text, err, written(t, "libffm", got), lines)
			}
		}
		expect("all", b, text...)
		lo := rapid.IntRange(0, len(text)).Draw(t, "lo")
		hi := rapid.IntRange(lo, len(text)).Draw(t, "hi")
		expect("slice", packed(b).Slice(lo, hi), text[lo:hi]...)
		which := rapid.SliceOfN(rapid.IntRange(0, len(text)-1), 0, 8).Draw(t, "which")
		var lines []string
		for _, i := range which {
			lines = append(lines, text[i])
		}
		var g Gatherer
		g.Gather(packed(b), []int{0, 0})
		expect("gathered", g.Gather(packed(b), which), lines...)
		keys := slices.Compact(slices.Sorted(slices.Values(rapid.SliceOfN(rapid.Int64Range(0, 5), 0, 6).Draw(t, "keys"))))
		columns := &Columns{Hi: 6, Keys: keys}
		if columns.Keys == nil {
			columns.Keys = []int64{}
		}
		lines = nil
		for _, line := range text {
			kept := strings.Fields(line)[:1]
			for _, value := range strings.Fields(line)[1:] {
				if slices.Contains(keys, int64(value[2]-'0')) {
					kept = append(kept, value)
				}
			}
			lines = append(lines, strings.Join(kept, " ")+"\n")
		}
		some, _, err := packed(b).Keep(columns)
		if err != nil {
			t.Fatal(err)
		}
		expect("kept", some.Batch(), lines...)
		kept, err := Load(context.Background(), input([]byte(strings.Join(text, ""))),
			Options{Format: "libffm", Fields: Fields{Number: 4}, Columns: columns})
		if err != nil {
			t.Fatal(err)
		}
		expect("kept while reading", kept, lines...)
	})
}
