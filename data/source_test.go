package data

import (
	"context"
	"errors"
	"testing"
)

var good = []struct {
	name, text string
	opt        Options
	want       []row
}{
	{"empty", "", Options{}, nil},
	{"blank lines and comments", "\n  \n# c\n\t#\r\n\r\n", Options{}, nil},
	{"libsvm", "1 1:2 3:-4.5\n-1 2:1e2\n", Options{},
		[]row{{1, []int64{0, 2}, []float32{2, -4.5}}, {-1, []int64{1}, []float32{100}}}},
	{"no line end", "+1 1:1", Options{}, []row{{1, []int64{0}, []float32{1}}}},
	{"carriage returns", "1 1:1\r\n0 2:1\r\n", Options{},
		[]row{{1, []int64{0}, []float32{1}}, {0, []int64{1}, []float32{1}}}},
	{"tabs, trailing blanks", "\t 1\t1:1  7:2 \t\n", Options{}, []row{{1, []int64{0, 6}, []float32{1, 2}}}},
	{"comment behind", "1 1:1 # 2:x\n1 2:1#3", Options{},
		[]row{{1, []int64{0}, []float32{1}}, {1, []int64{1}, []float32{1}}}},
	{"qid", "3 qid:12 1:1 2:1\n", Options{}, []row{{3, []int64{0, 1}, []float32{1, 1}}}},
	{"base 0", "1 0:1 5:1\n", Options{Base: Base0}, []row{{1, []int64{0, 5}, []float32{1, 1}}}},
	{"dummy in any order", "1 9 2 5\n", Options{Format: "dummy"}, []row{{1, []int64{2, 5, 9}, []float32{1, 1, 1}}}},
	{"only labels", "1\n2\n", Options{}, []row{{1, nil, nil}, {2, nil, nil}}},
	{"explicit zero stays", "1 1:0\n", Options{}, []row{{1, []int64{0}, []float32{0}}}},
	{"long index", "1 9223372036854775807:1\n", Options{}, []row{{1, []int64{1<<63 - 2}, []float32{1}}}},
	{"index of 16 digits", "1 1234567890123456:1\n", Options{Base: Base0},
		[]row{{1, []int64{1234567890123456}, []float32{1}}}},
	{"byte order mark", "\xef\xbb\xbf1 1:1\n", Options{}, []row{{1, []int64{0}, []float32{1}}}},
	{"no label", "1:1 2:1\n7:3\n", Options{NoLabel: true},
		[]row{{0, []int64{0, 1}, []float32{1, 1}}, {0, []int64{6}, []float32{3}}}},
	{"dummy", "-1 0 5 6\n1 6 2\n", Options{Format: "Dummy"},
		[]row{{-1, []int64{0, 5, 6}, []float32{1, 1, 1}}, {1, []int64{2, 6}, []float32{1, 1}}}},
	{"dummy base 1", "1 1 2\n", Options{Format: "dummy", Base: Base1}, []row{{1, []int64{0, 1}, []float32{1, 1}}}},
	{"dummy commas", "1,0,5\n", Options{Format: "dummy", Separator: ","}, []row{{1, []int64{0, 5}, []float32{1, 1}}}},
	{"dense blanks", "1 2 0 -3\n", Options{Format: "dense"}, []row{{1, []int64{0, 2}, []float32{2, -3}}}},
	{"dense tabs", "1\t2\t0\n", Options{Format: "dense", Separator: "\t"}, []row{{1, []int64{0}, []float32{2}}}},
	{"dense commas", "1,2 , 0,.5\n0,0,1.,-0\n", Options{Format: "dense"},
		[]row{{1, []int64{0, 2}, []float32{2, .5}}, {0, []int64{1}, []float32{1}}}},
	{"dense semicolons", "1;2\n", Options{Format: "dense", Separator: ";"}, []row{{1, []int64{0}, []float32{2}}}},
}

func TestGood(t *testing.T) {
	for _, tt := range good {
		got, err := Load(context.Background(), input([]byte(tt.text)), tt.opt)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if err := got.X.Check(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if want := batchOf(tt.want); !same(got, want) || got.Dim() != want.Dim() {
			t.Errorf("%s: %v %v, want %v %v", tt.name, got.Label, got.X, want.Label, want.X)
		}
	}
}

var bad = []struct {
	name, text string
	opt        Options
	want       string
}{
	{"label", "1 1:1\n\nx 1:1\n", Options{}, `t:3: label "x", want a number`},
	{"label missing", "1:1 2:1\n", Options{}, `t:1: label "1:1", want a number (--no-label if the lines have none; ` +
		`--label-weights if it is label:weight, as XGBoost has it)`},
	{"label stuck", "1a 1:1\n", Options{}, `t:1: label "1a", want a number`},
	{"label nan", "nan 1:1\n", Options{}, `t:1: label "nan", want a number`},
	{"index 0", "1 1:1\n1 0:1\n", Options{},
		`t:2: index 0 in a file that counts from 1, want 1 or more (--index-base 0 if it counts from 0)`},
	{"beyond dim", "1 4:1\n", Options{Dim: 3}, `t:1: index 4, want 1 to 3 for 3 columns`},
	{"beyond dim, dummy", "1 3\n", Options{Format: "dummy", Dim: 3}, `t:1: index 3, want 0 to 2 for 3 columns`},
	{"repeat", "1 3:1 4:1 3:2\n", Options{}, `t:1: index 3 twice, want every index once in a row`},
	{"descending", "1 2:1 9:9\n1 2:2 9:9 5:5 4:4\n", Options{},
		`t:2: index 5 behind 9, want ascending ones: sort them, or --skip-bad N leaves out up to N such lines`},
	{"descending from 0", "1 9:9 0:2\n", Options{Base: Base0, Fields: Fields{Number: 2, Sorted: true}},
		`t:1: index 0 behind 9, want ascending ones: sort them, or --skip-bad N leaves out up to N such lines`},
	{"repeat beside", "1 3 3\n", Options{Format: "dummy"}, `t:1: index 3 twice, want every index once in a row`},
	{"no colon", "1 3\n", Options{}, `t:1: feature "3", want index:value`},
	{"no index", "1 :1\n", Options{}, `t:1: index "", want a whole number from 0 to 9223372036854775806`},
	{"negative", "1 -3:1\n", Options{}, `t:1: index "-3", want a whole number from 0 to 9223372036854775806`},
	{"fraction", "1 3.5\n", Options{Format: "dummy"},
		`t:1: index "3.5", want a whole number from 0 to 9223372036854775806`},
	{"huge index", "1 9223372036854775808:1\n", Options{},
		`t:1: index "9223372036854775808", want a whole number from 0 to 9223372036854775806`},
	{"largest int64 from 0", "1 9223372036854775807\n", Options{Format: "dummy"},
		`t:1: index 9223372036854775807, want 0 to 9223372036854775806 for 9223372036854775807 columns`},
	{"no value", "1 3:\n", Options{}, `t:1: value "" of index 3, want a finite number`},
	{"nan", "1 3:NaN\n", Options{}, `t:1: value "NaN" of index 3, want a finite number`},
	{"inf", "1 3:-inf 4:1\n", Options{}, `t:1: value "-inf" of index 3, want a finite number`},
	{"too large", "1 3:1e39\n", Options{}, `t:1: value "1e39" of index 3, want a finite number`},
	{"two colons", "1 3:1:2\n", Options{}, `t:1: value "1:2" of index 3, want a finite number`},
	{"hex", "1 3:0x1p1\n", Options{}, `t:1: value "0x1p1" of index 3, want a finite number`},
	{"underscore", "1 3:1_0\n", Options{}, `t:1: value "1_0" of index 3, want a finite number`},
	{"bare return", "1 3:1\r2 3:1\n", Options{},
		"t:1: carriage return within a line, want one only before a line feed"},
	{"qid wrong", "1 qid:x 3:1\n", Options{}, `t:1: index "qid", want a whole number from 0 to 9223372036854775806`},
	{"zero byte", "1 3:1\x00\n", Options{}, `t:1: value "1\x00" of index 3, want a finite number`},
	{"long token", "1 1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", Options{},
		`t:1: value "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"... of index 1, want a finite number`},
	{"nothing between commas", "1,2,,3\n", Options{Format: "dense"},
		"t:1: nothing between separators, want a number"},
	{"comma first", ",1,2\n", Options{Format: "dense"}, "t:1: nothing between separators, want a number"},
	{"comma last", "1,2,\n", Options{Format: "dense"}, "t:1: nothing between separators, want a number"},
	{"comma in blanks only", "1 2,3\n", Options{Format: "dense", Separator: " "},
		`t:1: value "2,3" of column 0, want a finite number`},
	{"ragged", "1 2 3\n1 2\n", Options{Format: "dense"}, "t:2: 1 values, want 2 as in the rows before"},
	{"too wide", "1 2 3\n", Options{Format: "dense", Dim: 1}, "t:1: more than 1 values, want one for each of 1 columns"},
	{"libffm of libsvm", "1 3:1\n", Options{Format: "libffm"}, `t:1: feature "3:1", want field:index:value`},
	{"libffm without index", "1 3::1\n", Options{Format: "libffm"}, `t:1: feature "3::1", want field:index:value`},
	{"libffm with a word", "1 user:3:1\n", Options{Format: "libffm"}, `t:1: feature "user:3:1", want field:index:value`},
	{"libffm value", "1 3:4:x\n", Options{Format: "libffm"}, `t:1: value "x" of index 4, want a finite number`},
	{"libffm without label", "3:4:1\n", Options{Format: "libffm"}, `t:1: label "3:4:1", want a number (--no-label if the lines have none)`},
	{"libffm field", "1 65536:4:1\n", Options{Format: "libffm"}, `t:1: field 65536, want 0 to 65535 for 65536 fields`},
	{"libffm beyond fields", "1 0:4:1\n1 39:4:1\n", Options{Format: "libffm", Fields: Fields{Number: 39}},
		`t:2: field 39, want 0 to 38 for 39 fields`},
	{"label that is of no use", "1 3:1\n\n-1 3:1\n", Options{Takes: func(y float32) error {
		if y < 0 {
			return errors.New("below 0")
		}
		return nil
	}}, "t:3: below 0"},
	{"libffm beyond dim", "1 0:4:1\n", Options{Format: "libffm", Dim: 3}, `t:1: index 4, want 0 to 2 for 3 columns`},
	{"libffm repeat", "1 7:4:1 0:4:1 7:4:2\n", Options{Format: "libffm"},
		`t:1: index 4 of field 7 twice, want every index once in a field of a row`},
	{"positions", "1 7 8\n1 9\n", Options{Format: "dummy", Fields: Fields{Number: 2}}, "t:2: " + errCount(1, 2).Error()},
	{"positions in dense", "1 7 0 8\n", Options{Format: "dense", Fields: Fields{Number: 2}}, "t:1: " + errCount(3, 2).Error()},
	{"ranges end", "1 7 8\n1 7 9\n", Options{Format: "dummy", Fields: Fields{First: []int64{0, 8}, End: 9}},
		"t:2: column 9 is in no field, want columns up to 8"},
	{"ranges repeat", "1 7 8 7\n", Options{Format: "dummy", Fields: Fields{First: []int64{0, 8}}},
		"t:1: index 7 twice, want every index once in a row"},
	{"dense text", "1 2 x\n", Options{Format: "dense"}, `t:1: value "x" of column 1, want a finite number`},
}

func TestBad(t *testing.T) {
	for _, tt := range bad {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(context.Background(), input([]byte(tt.text)), tt.opt)
			wantError(t, err, tt.want)
		})
	}
}

func TestOptions(t *testing.T) {
	for _, opt := range []Options{
		{Format: "xlsx"}, {Dim: -1}, {BatchRows: -1}, {Base: 3}, {Labels: ClassTrans + 1}, {Labels: AutoTrans, Classes: Numbered(3)},
		{Separator: "1"}, {Separator: ",,"},
	} {
		_, err := Load(context.Background(), input(nil), opt)
		if !errors.Is(err, ErrOption) && !errors.Is(err, ErrUnknown) {
			t.Errorf("%+v: error %v, want ErrOption or ErrUnknown", opt, err)
		}
		if err := opt.Check(); !errors.Is(err, ErrOption) && !errors.Is(err, ErrUnknown) {
			t.Errorf("%+v: Check gives %v, want ErrOption or ErrUnknown", opt, err)
		}
	}
	for text, want := range map[string]Base{"": BaseAuto, "auto": BaseAuto, "0": Base0, "1": Base1} {
		if got, err := ParseBase(text); got != want || err != nil {
			t.Errorf("base %q: %v, %v", text, got, err)
		}
	}
	if _, err := ParseBase("2"); !errors.Is(err, ErrOption) {
		t.Errorf("base 2: error %v", err)
	}
}
