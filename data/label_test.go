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
	advice := "(or name a mapping such as PosNegTrans): not labels of two kinds"
	mixed := " in a file that has both 0 and -1, want 0 and 1 or -1 and +1 " + advice
	for _, tt := range []struct{ text, want string }{
		{"1\n2\n", "t:2: label 2, want 0 and 1 or -1 and +1 " + advice},
		{"1\n0.5\n", "t:2: label 0.5, want 0 and 1 or -1 and +1 " + advice},
		{"1\n0\n1\n-1\n0\n", "t:4: label -1" + mixed},
		{"-1\n\n1\n0\n", "t:4: label 0" + mixed},
		{"-1\n0\nx\n", "t:2: label 0" + mixed},
		{"-1\nx\n0\n", `t:2: label "x", want a number`},
	} {
		for _, step := range []int{4, 5, 100} {
			_, err := loadSteps(t, []byte(tt.text), Options{Labels: AutoTrans}, step, 100)
			wantError(t, err, tt.want)
		}
	}
}
