package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/kernel"
	"thole.example/matrix"
)

// loadedText is the examples of a text.
func loadedText(t rapid.TB, text string, opt Options) *Examples {
	all, err := LoadAll(context.Background(), []Input{{Name: "in", R: bytes.NewReader([]byte(text)), Size: int64(len(text))}}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// numbersOf are rows of three numbers: one that is spread evenly, one that is skewed and 0 in one of four rows, and one that is always 5.
func numbersOf(rows int) (all [][3]float64) {
	for i := range rows {
		all = append(all, [3]float64{float64(100 + i*37%101), float64(i % 4 * i * i * i), 5})
	}
	return all
}

// TestScalingOfTables wants lines, also those that leave out zeros, scaled to the numbers that the same rows of a table become.
func TestScalingOfTables(t *testing.T) {
	rows := numbersOf(200)
	var csv, dense, libsvm, zeros, ffm strings.Builder
	csv.WriteString("label,a,b,c\n")
	for i, r := range rows {
		fmt.Fprintf(&csv, "%d,%v,%v,%v\n", i%2, r[0], r[1], r[2])
		fmt.Fprintf(&dense, "%d %v %v %v\n", i%2, r[0], r[1], r[2])
		fmt.Fprintf(&zeros, "%d 1:%v 2:%v 3:%v\n", i%2, r[0], r[1], r[2])
		fmt.Fprintf(&ffm, "%d 0:0:%v 1:1:%v 2:2:%v\n", i%2, r[0], r[1], r[2])
		second := fmt.Sprintf(" 2:%v", r[1])
		if r[1] == 0 {
			second = ""
		}
		fmt.Fprintf(&libsvm, "%d 1:%v%s 3:%v\n", i%2, r[0], second, r[2])
	}
	table := loadedText(t, csv.String(), Options{Format: "csv", Labels: AutoTrans})
	want := table.Batch().Rows().Val
	if !*table.Transform.Columns[2].Log || *table.Transform.Columns[1].Log {
		t.Fatal("want a logarithm of the second number and none of the first")
	}
	for _, one := range []struct {
		format, text string
		absent       Absent
	}{
		{"dense", dense.String(), AbsentAuto}, {"libsvm", zeros.String(), AbsentAuto}, {"libsvm", libsvm.String(), AbsentAuto},
		{"libffm", ffm.String(), AbsentNothing},
	} {
		opt := Options{Format: one.format, Labels: AutoTrans}
		all := loadedText(t, one.text, opt)
		scaling, left := all.FitScaling(one.absent)
		if left != (Unscaled{}) || len(scaling) != 3 {
			t.Fatalf("%s: %v, left %v", one.format, scaling, left)
		}
		if err := all.Scale(scaling); err != nil {
			t.Fatal(err)
		}
		got := all.Batch().Rows()
		if len(got.Val) != len(want) {
			t.Fatalf("%s: %d values, want %d", one.format, len(got.Val), len(want))
		}
		for k := range want {
			if got.Idx[k] != int64(k%3) || math.Abs(float64(got.Val[k]-want[k])) > 1e-6 {
				t.Fatalf("%s: value %d of column %d is %v, want %v", one.format, k, got.Idx[k], got.Val[k], want[k])
			}
		}
		opt.Scale = scaling
		if read := loadedText(t, one.text, opt); read.Checksum() != all.Checksum() {
			t.Errorf("%s: examples that are scaled as they are read differ from those scaled afterwards", one.format)
		}
	}
}

// TestScalingLeavesIDs wants columns of ones, and of one value in few rows, to tell rows apart as before.
func TestScalingLeavesIDs(t *testing.T) {
	all := loadedText(t, "1 1:1 5:1\n0 2:1 5:1\n1 1:1 6:1\n", Options{Labels: AutoTrans})
	before := all.Checksum()
	scaling, left := all.FitScaling(AbsentZero)
	if scaling != nil || left != (Unscaled{}) {
		t.Errorf("of ones: %v, left %v", scaling, left)
	}
	if err := all.Scale(scaling); err != nil || all.Checksum() != before {
		t.Errorf("ones were changed, error %v", err)
	}
	// The numbers of field 0 are missing in most rows, the categories of field 1 have weights.
	all = loadedText(t, "1 0:0:3 1:10:0.25\n0 1:11:0.25\n1 1:10:0.25\n0 1:12:0.25\n1 0:0:5 1:10:0.25\n", Options{Format: "libffm",
		Labels: AutoTrans})
	scaling, _ = all.FitScaling(AbsentNothing)
	if err := all.Scale(scaling); err != nil {
		t.Fatal(err)
	}
	if got, want := all.Batch().Rows().Val, []float32{-1, 1, 1, 1, 1, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("values %v, want %v", got, want)
	}
}

// TestScalingZerosOfFields wants numbers that rows of libffm leave out to be zeros of their fields, also where columns do not ascend.
func TestScalingZerosOfFields(t *testing.T) {
	opt := Options{Format: "libffm", Labels: AutoTrans}
	want := loadedText(t, "1 0:9:4 1:3:7 2:5:1\n0 0:9:0 1:3:5 2:6:1\n1 0:9:2 1:3:0 2:5:1\n0 0:9:8 1:3:6 2:7:1\n", opt)
	short := "1 0:9:4 1:3:7 2:5:1\n0 1:3:5 2:6:1\n1 2:5:1 0:9:2\n0 0:9:8 1:3:6 2:7:1\n"
	got := loadedText(t, short, opt)
	scaling, _ := got.FitScaling(AbsentZero)
	if wants, _ := want.FitScaling(AbsentZero); !slices.Equal(scaling, wants) || len(scaling) != 2 {
		t.Fatalf("scaling %v, want %v", scaling, wants)
	}
	if err := errors.Join(got.Scale(scaling), want.Scale(scaling)); err != nil {
		t.Fatal(err)
	}
	opt.Scale = scaling
	if read := loadedText(t, short, opt); got.Checksum() != want.Checksum() || read.Checksum() != want.Checksum() {
		t.Errorf("scaled %v, scaled while reading %v, want %v", got.Batch().Rows(), read.Batch().Rows(), want.Batch().Rows())
	}
}

// TestScaleInPlace wants a set that is scaled in its memory to be the one of scaled rows, whatever rows are like and wherever they are.
func TestScaleInPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wide := rapid.Bool().Draw(t, "wide")
		fields := Fields{}
		if rapid.Bool().Draw(t, "fields") {
			fields = Fields{First: []int64{0, 3, 6}}
		}
		var text strings.Builder
		for range rapid.IntRange(1, 30).Draw(t, "rows") {
			text.WriteString("1")
			for col := range 9 {
				if v := rapid.SampledFrom([]float64{-1, 0, 1, 1, 2, 0.5}).Draw(t, "value"); v >= 0 {
					fmt.Fprintf(&text, " %d:%v", col, v)
				}
			}
			if wide {
				fmt.Fprintf(&text, " %d:1", 1<<40)
			}
			text.WriteString("\n")
		}
		opt := Options{Base: Base0, Fields: fields}
		all := loadedText(t, text.String(), opt)
		absent := rapid.SampledFrom([]Absent{AbsentAuto, AbsentZero, AbsentMissing, AbsentNothing}).Draw(t, "absent")
		set := all.Set
		if kernel.CanBack && rapid.Bool().Draw(t, "file") {
			set = spilled(t, set, int64(rapid.IntRange(1, 300).Draw(t, "limit")))
		}
		scaling, _ := set.FitScaling(absent)
		if err := set.Scale(scaling); err != nil {
			t.Fatal(err)
		}
		opt.Scale = scaling
		want := loadedText(t, text.String(), opt)
		if set.Checksum() != want.Checksum() || set.Values() != want.Values() {
			t.Fatalf("scaled %v, want %v", set.Batch().Rows(), want.Batch().Rows())
		}
	})
}

// TestScalingLimit wants at most ScalingLimit columns, those that most rows have, and the others counted.
func TestScalingLimit(t *testing.T) {
	var text strings.Builder
	for i := range 3 {
		text.WriteString("1")
		for col := range ScalingLimit + 10 {
			if i == 0 || col >= 10 {
				fmt.Fprintf(&text, " %d:%d", col+1, col+2+i)
			}
		}
		text.WriteString("\n")
	}
	scaling, left := loadedText(t, text.String(), Options{}).FitScaling(AbsentZero)
	if len(scaling) != ScalingLimit || scaling[0].Column != 10 || left != (Unscaled{Columns: 10}) {
		t.Errorf("%d columns from %d on, left %v", len(scaling), scaling[0].Column, left)
	}
	if err := scaling.Check(); err != nil {
		t.Error(err)
	}
}

func TestScalingCheck(t *testing.T) {
	for _, bad := range []Scaling{
		{{Column: -1}}, {{Column: 2}, {Column: 2}}, {{Mean: math.NaN()}}, {{Mean: math.Inf(1)}}, {{Deviation: -1}}, {{Deviation: 5e-324}},
		{{Deviation: math.NaN()}}, {{Field: -1}}, {{Field: FieldLimit}},
		{{Missing: -1}}, {{Missing: math.MaxInt64}}, {{Missing: 3, Zero: true}}, {{Missing: 3}, {Column: 1, Zero: true}},
		{{Missing: 1}, {Column: 1}}, {{Missing: 3}, {Column: 1, Missing: 3}}, {{Missing: 4}, {Column: 1, Missing: 3}},
		make(Scaling, ScalingLimit+1),
	} {
		if err := (Options{Scale: bad}).Check(); !errors.Is(err, ErrOption) {
			t.Errorf("%+v: %v, want %v", bad[0], err, ErrOption)
		}
	}
}

// TestScalingMissing wants lines whose zeros are written, and which leave out missing values, to become what the same rows of a table do.
func TestScalingMissing(t *testing.T) {
	var csv, ffm, libsvm strings.Builder
	csv.WriteString("label,a,b,c\n")
	for i := range 200 {
		a, b := fmt.Sprint(i*37%101), fmt.Sprint(i%5*10)
		first := " 0:0:" + a
		if i%4 == 0 {
			a, first = "", ""
		}
		fmt.Fprintf(&csv, "%d,%s,%s,x%d\n", i%2, a, b, i%3)
		fmt.Fprintf(&ffm, "%d%s 1:1:%s 2:%d:1\n", i%2, first, b, 2+i%3)
		fmt.Fprintf(&libsvm, "%d%s 1:%s %d:1\n", i%2, strings.Replace(first, "0:0:", "0:", 1), b, 2+i%3)
	}
	table := loadedText(t, csv.String(), Options{Format: "csv", Labels: AutoTrans})
	want := table.Batch().Rows()
	for _, one := range []struct{ format, text string }{
		{"libffm", ffm.String()}, {"libsvm", libsvm.String()},
	} {
		opt := Options{Format: one.format, Labels: AutoTrans, Base: Base0}
		all := loadedText(t, one.text, opt)
		scaling, _ := all.FitScaling(AbsentAuto)
		if len(scaling) != 2 || scaling[0].Missing != 5 || scaling[1].Missing != 0 {
			t.Fatalf("%s: scaling %+v, want column 5 for missing values of column 0", one.format, scaling)
		}
		if err := all.Scale(scaling); err != nil {
			t.Fatal(err)
		}
		if all.Dim() != 6 {
			t.Errorf("%s: %d columns, want 6", one.format, all.Dim())
		}
		got := all.Batch().Rows()
		if len(got.Val) != len(want.Val) {
			t.Fatalf("%s: %d values, want %d", one.format, len(got.Val), len(want.Val))
		}
		sum := func(r *matrix.CSR[float32], row int) (total float64) {
			for k := r.Ptr[row]; k < r.Ptr[row+1]; k++ {
				total += float64(r.Val[k])
			}
			return total
		}
		for row := range 200 {
			if a, b := sum(got, row), sum(want, row); math.Abs(a-b) > 1e-5 {
				t.Fatalf("%s: row %d has the sum %v, want %v", one.format, row, a, b)
			}
		}
		opt.Scale = scaling
		if read := loadedText(t, one.text, opt); read.Checksum() != all.Checksum() {
			t.Errorf("%s: examples that are scaled as they are read differ from those scaled afterwards", one.format)
		}
	}
	// A line with the column of missing values has a feature that training did not have.
	opt := Options{Labels: AutoTrans, Base: Base0, Scale: Scaling{{Column: 0, Mean: 1, Deviation: 2, Missing: 5}}}
	got, plain := loadedText(t, "1 0:3 5:7\n0 4:1 5:1\n", opt), loadedText(t, "1 0:3\n0 4:1\n", opt)
	if want := []int64{0, 4, 5}; !slices.Equal(got.Batch().Rows().Idx, want) || got.Checksum() != plain.Checksum() {
		t.Errorf("columns %v, want %v", got.Batch().Rows().Idx, want)
	}
	opt.Columns, opt.Strict = &Columns{Hi: 6}, true
	_, err := LoadAll(context.Background(), []Input{{Name: "in", R: strings.NewReader("1 0:3 5:7\n"), Size: 10}}, opt)
	if want := "feature 5 was not in training"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

// TestScalingMissingWide wants columns of missing values that do not fit the words of a set to make the set wide.
func TestScalingMissingWide(t *testing.T) {
	for _, missing := range []int64{kernel.WordColumn, kernel.WordColumn + 1, 1 << 40} {
		scaling := Scaling{{Column: 0, Mean: 1, Deviation: 2, Missing: missing}}
		opt := Options{Labels: AutoTrans, Base: Base0}
		all := loadedText(t, "1 0:3 4:1\n0 4:1\n", opt)
		if err := all.Scale(scaling); err != nil {
			t.Fatal(err)
		}
		rows := all.Batch().Rows()
		if !slices.Equal(rows.Idx, []int64{0, 4, 4, missing}) || !slices.Equal(rows.Val, []float32{1, 1, 1, 1}) || all.Dim() != missing+1 {
			t.Errorf("column %d: columns %v, values %v, dimension %d", missing, rows.Idx, rows.Val, all.Dim())
		}
		opt.Scale = scaling
		if read := loadedText(t, "1 0:3 4:1\n0 4:1\n", opt); read.Checksum() != all.Checksum() {
			t.Errorf("column %d: examples that are scaled as they are read differ", missing)
		}
	}
}
