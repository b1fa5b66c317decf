package data

import (
	"context"
	"errors"
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
	advice := "(" + otherLabels + "): not labels of two kinds"
	mixed := " in examples that have both 0 and -1, want 0 and 1 or -1 and +1 " + advice
	for _, tt := range []struct {
		text    string
		classes *Classes
		want    string
	}{
		{"1\n2\n2\n7\n", nil, "t:4: label 7 beside 1 and 2, want two classes " + advice},
		{"1\n0.5\n", &Standard, "t:2: label 0.5, want 0 and 1 or -1 and +1 " + advice},
		{"1\n2\n\n0\n", &Classes{1, 2}, "t:4: label 0, want 1 or 2, the classes that were learned: not labels of two kinds"},
		{"2\n2\n", nil, "t: label 2 in all examples, want two classes " + advice},
		{"1\n0\n1\n-1\n0\n", nil, "t:4: label -1" + mixed},
		{"-1\n\n1\n0\n", nil, "t:4: label 0" + mixed},
		{"-1\n\n1\n0\n", &Standard, "t:4: label 0" + mixed},
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
		{"0\n1\n", "-1\n1\n", Standard, []float32{-1, 1}},
		{"-1\n", "1\n", Standard, []float32{1}},
	} {
		all, err := LoadAll(context.Background(), []Input{input([]byte(tt.train))}, Options{Labels: AutoTrans})
		if err != nil || all.Classes != tt.classes {
			t.Fatalf("%q: classes %v, %v, want %v", tt.train, all.Classes, err, tt.classes)
		}
		b, err := Load(context.Background(), input([]byte(tt.test)), Options{Labels: AutoTrans, Classes: &all.Classes})
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
