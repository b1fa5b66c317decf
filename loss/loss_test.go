package loss

import (
	"math"
	"testing"

	"pgregory.net/rapid"
	"thole.example/graph"
)

func named(t testing.TB, name string) graph.Loss {
	t.Helper()
	k, err := Find(nil, name)
	if err != nil {
		t.Fatal(err)
	}
	l, err := k.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func at(l graph.Loss, s, y float32) (sum float64, grad float32) {
	g := graph.NewTensor(1, 1)
	sum = l.Loss(&graph.Tensor{Rows: 1, Cols: 1, Val: []float32{s}}, []float32{y}, g)
	return sum, g.Val[0]
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		loss           string
		s, y           float32
		sum, grad, out float64
	}{
		{"logloss", 0, 1, math.Ln2, -0.5, 0.5},
		{"logloss", 0, 0, math.Ln2, 0.5, 0.5},
		{"logloss", 2, 1, 0.12692801104297263, -0.11920292202211755, 0.8807970779778823},
		{"logloss", 2, -1, 2.1269280110429727, 0.8807970779778823, 0.8807970779778823},
		{"LogLoss", -1000, 1, 1000, -1, 0},
		{"logloss", 1000, 1, 0, 0, 1},
		{"l2loss", 3, 1, 2, 2, 3},
		{"hingeloss", 0.25, 1, 0.75, -1, 0.25},
		{"hingeloss", 1, 1, 0, 0, 1},
		{"hingeloss", 0.25, -1, 1.25, 1, 0.25},
	} {
		l := named(t, c.loss)
		sum, grad := at(l, c.s, c.y)
		out := l.Predict([]float32{c.s})
		if math.Abs(sum-c.sum) > 1e-9 || math.Abs(float64(grad)-c.grad) > 1e-7 || math.Abs(out-c.out) > 1e-12 {
			t.Errorf("%s(%v, %v) = %v, gradient %v, prediction %v, want %v, %v, %v",
				c.loss, c.s, c.y, sum, grad, out, c.sum, c.grad, c.out)
		}
	}
}

// The gradient is the slope of the loss, away from kinks.
func TestGradient(t *testing.T) {
	for _, k := range Losses() {
		l := named(t, k.Name)
		if l.Name() != k.Name {
			t.Errorf("%s calls itself %s", k.Name, l.Name())
		}
		rapid.Check(t, func(t *rapid.T) {
			const h = 1.0 / 1024
			s := rapid.Float32Range(-8, 8).Draw(t, "s")
			y := rapid.SampledFrom([]float32{-1, 1}).Draw(t, "y")
			if k.Name == "hingeloss" && math.Abs(1-float64(s*y)) < 2*h {
				return
			}
			up, _ := at(l, s+h, y)
			down, _ := at(l, s-h, y)
			_, grad := at(l, s, y)
			slope := (up - down) / (float64(s+h) - float64(s-h))
			if math.Abs(slope-float64(grad)) > 1e-5 {
				t.Fatalf("%s(%v, %v): gradient %v, slope %v", k.Name, s, y, grad, slope)
			}
		})
	}
}

// The sum over rows is the sum of the rows, and one bad score shows in it.
func TestRows(t *testing.T) {
	for _, k := range Losses() {
		l := named(t, k.Name)
		score := &graph.Tensor{Rows: 3, Cols: 1, Val: []float32{-2, 0.5, 3}}
		label := []float32{1, -1, -1}
		grad := graph.NewTensor(3, 1)
		got, want := l.Loss(score, label, grad), 0.0
		for i := range label {
			sum, g := at(l, score.Val[i], label[i])
			want += sum
			if grad.Val[i] != g {
				t.Errorf("%s row %d: gradient %v, want %v", k.Name, i, grad.Val[i], g)
			}
		}
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %v, want %v", k.Name, got, want)
		}
		if nan, _ := at(l, float32(math.NaN()), 1); !math.IsNaN(nan) {
			t.Errorf("%s of NaN: %v, want NaN", k.Name, nan)
		}
	}
}

func TestFind(t *testing.T) {
	_, err := Find(nil, "softmaxloss")
	if err == nil || err.Error() != `loss function "softmaxloss", want one of logloss l2loss hingeloss` {
		t.Errorf("got %v", err)
	}
	if _, err := logLoss.New(map[string]float64{"delta": 1}); err == nil {
		t.Error("logloss took delta, want an error")
	}
}
