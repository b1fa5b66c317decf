package export_test

import (
	"fmt"
	"math"
	"testing"

	"thole.example/loss"
	"thole.example/program"
	"thole.example/program/export"
)

// TestLosses wants every loss of the table exported, and what its program predicts to be what the loss does.
func TestLosses(t *testing.T) {
	for _, k := range loss.Losses() {
		width := max(k.Width, 3*(1-k.Width))
		s := &saved{}
		s.add("input_weight", int64(width), features)
		s.add("input_bias", 1, int64(width))
		layer := fmt.Sprintf(`{"name":"input","type":"simpleinputlayer","outputdim":%d}, `, width)
		got := scores(t, s, layer+fmt.Sprintf(end, "input", k.Name), export.Options{})
		l, err := k.Bind(nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range examples(fields) {
			var margins []float32
			for o := range width {
				m := s.at("input_bias", 0, o)
				for j, id := range x.ids {
					m += s.at("input_weight", o, id) * x.vals[j]
				}
				margins = append(margins, float32(m))
			}
			want := l.Predict(nil, margins)
			if width > 1 {
				want = want[1:] // probabilities
			}
			for o, v := range want {
				if math.Abs(float64(got[i*width+o])-v) > 1e-5*max(1, math.Abs(v)) {
					t.Errorf("%s, example %d: %v, want %v", k.Name, i, got[i*width:(i+1)*width], want)
				}
			}
		}
	}
}

// TestSteepCounts: predictions of counts stay what training says of them where exp would leave float32, or be 0.
func TestSteepCounts(t *testing.T) {
	layer := `{"name":"input","type":"simpleinputlayer","outputdim":1}, ` + fmt.Sprintf(end, "input", "poissonloss")
	kind, err := loss.Find(nil, "poissonloss")
	if err != nil {
		t.Fatal(err)
	}
	l, err := kind.Bind(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, score := range []float64{-1e30, -200, -90, 79, 80, 85, 1e30} {
		s := &saved{}
		s.add("input_weight", 1, features)
		clear(s.val["input_weight"])
		s.add("input_bias", 1, 1)
		s.val["input_bias"][0] = score
		want := l.Predict(nil, []float32{float32(score)})[0]
		for _, form := range []program.Form{program.FormDesc, program.FormPIR} {
			got := float64(scores(t, s, layer, export.Options{Form: form})[0])
			if !(math.Abs(got-want) <= 1e-5*max(1, want)) {
				t.Errorf("%s: score %v gives %v, want %v", form, score, got, want)
			}
		}
	}
}
