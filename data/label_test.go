package data

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
)

func TestLabels(t *testing.T) {
	for _, tt := range []struct {
		name string
		t    float64
		text string
		want []float32
	}{
		{"NoTrans", 0, "0 1 2 -1", []float32{0, 1, 2, -1}},
		{"posnegtrans", 0, "0 1 2 -1", []float32{-1, 1, 1, -1}},
		{"PosNegTrans", 1, "0 1 2 -1", []float32{-1, -1, 1, -1}},
		{"ZEROONETRANS", 0.5, "0 0.5 1 -1", []float32{0, 0, 1, 0}},
		{"AddOneTrans", 0, "0 1", []float32{1, 2}},
		{"SubOneTrans", 0, "1 2 3", []float32{0, 1, 2}},
		{"auto", 0, "0 1 1 0", []float32{-1, 1, 1, -1}},
		{"Auto", 0, "-1 +1 1", []float32{-1, 1, 1}},
		{"auto", 0, "1", []float32{1}},
		{"auto", 0, "0 0", []float32{-1, -1}},
		{"auto", 0, "2 1 1 2", []float32{1, -1, -1, 1}},
		{"auto", 0, "-3 0.5", []float32{-1, 1}},
		{"", 0, "7", []float32{7}},
	} {
		labels, err := ParseLabels(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(tt.text, " ", " 1\n") + " 1\n"
		b, err := Load(context.Background(), input([]byte(text)),
			Options{Format: "dummy", Labels: labels, Threshold: tt.t})
		if err != nil || !equal(b.Label, tt.want) {
			t.Errorf("%s of %s: %v, %v, want %v", tt.name, tt.text, b, err, tt.want)
		}
	}
	if _, err := ParseLabels("PosTrans"); !errors.Is(err, ErrOption) {
		t.Errorf("unknown mapping: error %v", err)
	}
}

func TestAutoLabelsRefuse(t *testing.T) {
	advice := "(" + otherLabels + "): not labels of two classes"
	mixed := " in examples that have both 0 and -1, want 0 and 1 or -1 and +1 " + advice
	for _, tt := range []struct {
		text    string
		classes Classes
		want    string
	}{
		{"1\n2\n2\n7\n", nil, "t:4: label has more than two values (1, 2, 7, ...); " + otherTasks + ", " + strings.Replace(advice[1:], ")", "", 1)},
		{"1\n0.5\n", Standard(), "t:2: label 0.5, want 0 and 1 or -1 and +1 " + advice},
		{"1\n2\n\n0\n", Classes{1, 2}, "t:4: label 0, want 1 or 2, the classes that were learned: not labels of two classes"},
		{"2\n2\n", nil, "t: label 2 in all examples, want two classes " + advice},
		{"1\n0\n1\n-1\n0\n", nil, "t:4: label -1" + mixed},
		{"-1\n\n1\n0\n", nil, "t:4: label 0" + mixed},
		{"-1\n\n1\n0\n", Standard(), "t:4: label 0" + mixed},
		{"-1\n0\nx\n", nil, "t:2: label 0" + mixed},
		{"-1\nx\n0\n", nil, `t:2: label "x", want a number`},
	} {
		for _, step := range []int{4, 5, 100} {
			_, err := loadSteps(t, []byte(tt.text), Options{Labels: AutoTrans, Classes: tt.classes}, step, 100)
			wantError(t, err, tt.want)
		}
	}
}

// Labels mean the same in a file of one class as in the one that was trained on.
func TestKnownClasses(t *testing.T) {
	for _, tt := range []struct {
		train, test string
		classes     Classes
		want        []float32
	}{
		{"1\n2\n", "1\n1\n", Classes{1, 2}, []float32{-1, -1}},
		{"2\n1\n", "2\n", Classes{1, 2}, []float32{1}},
		{"0\n1\n", "-1\n1\n", Standard(), []float32{-1, 1}},
		{"-1\n", "1\n", Standard(), []float32{1}},
	} {
		all, err := LoadAll(context.Background(), []Input{input([]byte(tt.train))}, Options{Labels: AutoTrans})
		if err != nil || !equal(all.Classes, tt.classes) {
			t.Fatalf("%q: classes %v, %v, want %v", tt.train, all.Classes, err, tt.classes)
		}
		b, err := Load(context.Background(), input([]byte(tt.test)), Options{Labels: AutoTrans, Classes: all.Classes})
		if err != nil || !equal(b.Label, tt.want) {
			t.Errorf("%q after %q: %v, %v, want %v", tt.test, tt.train, b.Label, err, tt.want)
		}
	}
	for b, err := range Read(context.Background(), input([]byte("0\n1\n0\n")), Options{Labels: AutoTrans, BatchRows: 2}) {
		if err != nil || b.Label[0] != -1 {
			t.Errorf("read %v, %v", b, err)
		}
	}
}

// Under ClassTrans the labels there are become their numbers, in ascending order or in that of the classes given.
func TestClassLabels(t *testing.T) {
	long := make(Classes, 40)
	text := ""
	for i := range long {
		long[i] = float32(3*i - 20)
		text = fmt.Sprintln(long[i]) + text
	}
	for _, tt := range []struct {
		text    string
		classes Classes
		want    []float32 // labels
		found   Classes
		err     string
	}{
		{text: "3\n1\n2\n1\n", want: []float32{2, 0, 1, 0}, found: Classes{1, 2, 3}},
		{text: "0\n-5\n", want: []float32{1, 0}, found: Classes{-5, 0}},
		{text: "3\n1\n", classes: Classes{2, 3, 1}, want: []float32{1, 2}, found: Classes{2, 3, 1}},
		{text: text, want: slices.Collect(downFrom(39)), found: long},
		{text: "1\n1.5\n", err: "t:2: label 1.5, want a whole number, up to 16777216, for each class: not labels of classes"},
		{text: "1\n16777218\n", err: "t:2: label 1.6777218e+07, want a whole number, up to 16777216, for each class: not labels of classes"},
		{text: "1\n\n4\n", classes: Classes{1, 2, 3}, err: "t:3: label 4, want one of the 3 classes [1 2 3]: not labels of classes"},
		{text: "2\n2\n", err: "t: label 2 in all examples, want two classes or more (--classes says which there are): not labels of classes"},
		{text: "2\n", classes: Classes{1}, err: "data: 1 classes, want 2 to 65536: not labels of classes"},
		{text: "2\n", classes: Classes{1, 1}, err: "data: class 1, want different whole numbers: not labels of classes"},
		{text: "2\n", classes: Classes{1, 1.5}, err: "data: class 1.5, want different whole numbers: not labels of classes"},
	} {
		for _, step := range []int{4, 5, 100} {
			l := loader{reader: reader{step: step, limit: LineLimit}, opt: Options{Labels: ClassTrans, Classes: tt.classes}, set: newSet()}
			got, err := l.load(context.Background(), []Input{{Name: "t", R: strings.NewReader(tt.text), Size: int64(len(tt.text))}})
			if strings.HasPrefix(tt.err, "data: ") {
				if err == nil || err.Error() != tt.err || !errors.Is(err, ErrClass) {
					t.Errorf("error %v\nwant  %s", err, tt.err)
				}
			} else if tt.err != "" {
				wantError(t, err, tt.err)
			} else if err != nil || !equal(got.Label, tt.want) || !equal(got.Classes, tt.found) {
				t.Errorf("%q: %v of %v, %v, want %v of %v", tt.text, got, got.Classes, err, tt.want, tt.found)
			}
		}
	}
	for b, err := range Read(context.Background(), input([]byte("3\n2\n")), Options{Labels: ClassTrans, Classes: Classes{2, 3}}) {
		if err != nil || !equal(b.Label, []float32{1, 0}) {
			t.Errorf("read %v, %v", b, err)
		}
	}
	for _, err := range Read(context.Background(), input([]byte("3\n2\n")), Options{Labels: ClassTrans}) {
		if !errors.Is(err, ErrOption) {
			t.Errorf("read without classes: %v, want %v", err, ErrOption)
		}
	}
}

func downFrom(n int) iter.Seq[float32] {
	return func(yield func(float32) bool) {
		for i := n; i >= 0 && yield(float32(i)); i-- {
		}
	}
}

// One class too many is told with its line, however many there may be.
func TestClassLimit(t *testing.T) {
	var text strings.Builder
	for i := range ClassLimit + 1 {
		fmt.Fprintln(&text, i)
	}
	_, err := Load(context.Background(), input([]byte(text.String())), Options{Labels: ClassTrans})
	wantError(t, err, fmt.Sprintf("t:%d: label %d beside %d others, want at most %[2]d classes: not labels of classes", ClassLimit+1, ClassLimit, ClassLimit))
}
