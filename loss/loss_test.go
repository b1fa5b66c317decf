package loss

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"thole.example/graph"
	"thole.example/psf"
)

func named(t testing.TB, name string, set map[string]float64) graph.Loss {
	t.Helper()
	k, err := Find(nil, name)
	if err != nil {
		t.Fatal(err)
	}
	l, err := k.Bind(set)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// of is the loss of one row of scores, and its gradient.
func of(l graph.Loss, y float32, s ...float32) (sum float64, grad []float32) {
	g := graph.NewTensor(1, len(s))
	sum = l.Loss(&graph.Tensor{Rows: 1, Cols: len(s), Val: s}, []float32{y}, g)
	return sum, g.Val
}

type row = []float64

func TestValues(t *testing.T) {
	third := math.Log(1 + math.E + math.E*math.E)
	p := row{math.Exp(-third), math.Exp(1 - third), math.Exp(2 - third)}
	for _, c := range []struct {
		loss      string
		set       map[string]float64
		s         []float32
		y         float32
		sum       float64
		grad, out row
	}{
		{"logloss", nil, []float32{0}, 1, math.Ln2, row{-0.5}, row{0.5}},
		{"logloss", nil, []float32{0}, 0, math.Ln2, row{0.5}, row{0.5}},
		{"logloss", nil, []float32{2}, 1, 0.12692801104297263, row{-0.11920292202211755}, row{0.8807970779778823}},
		{"logloss", nil, []float32{2}, -1, 2.1269280110429727, row{0.8807970779778823}, row{0.8807970779778823}},
		{"LogLoss", nil, []float32{-1000}, 1, 1000, row{-1}, row{0}},
		{"logloss", nil, []float32{1000}, 1, 0, row{0}, row{1}},
		{"l2loss", nil, []float32{3}, 1, 2, row{2}, row{3}},
		{"hingeloss", nil, []float32{0.25}, 1, 0.75, row{-1}, row{0.25}},
		{"hingeloss", nil, []float32{1}, 1, 0, row{0}, row{1}},
		{"hingeloss", nil, []float32{0.25}, -1, 1.25, row{1}, row{0.25}},
		{"huberloss", nil, []float32{1.5}, 1, 0.125, row{0.5}, row{1.5}},
		{"huberloss", nil, []float32{2}, 1, 0.5, row{1}, row{2}}, // where both halves meet
		{"huberloss", nil, []float32{-3}, 1, 3.5, row{-1}, row{-3}},
		{"HuberLoss", map[string]float64{"delta": 2}, []float32{5}, 1, 6, row{2}, row{5}},
		{"crossentropyloss", nil, []float32{0.25}, 1, math.Log(4), row{-4}, row{0.25}},
		{"crossentropyloss", nil, []float32{0.25}, -1, math.Log(4. / 3), row{4. / 3}, row{0.25}},
		{"crossentropyloss", nil, []float32{0}, 1, 9 * math.Ln10, row{-1e9}, row{0}},
		{"crossentropyloss", nil, []float32{1}, 0, 9 * math.Ln10, row{1e9}, row{1}},
		{"crossentropyloss", nil, []float32{1}, 1, 0, row{-1}, row{1}},
		{"softmaxloss", nil, []float32{0, 0}, 1, math.Ln2, row{0.5, -0.5}, row{0, 0.5, 0.5}},
		{"softmaxloss", nil, []float32{0, 1, 2}, 0, third, row{p[0] - 1, p[1], p[2]}, row{2, p[0], p[1], p[2]}},
		{"softmaxloss", nil, []float32{100, 101, 102}, 1, third - 1, row{p[0], p[1] - 1, p[2]}, row{2, p[0], p[1], p[2]}},
		{"softmaxloss", nil, []float32{3, 1000, 2}, 2, 998, row{0, 1, -1}, row{1, 0, 1, 0}},
		{"poissonloss", nil, []float32{0}, 3, 1, row{-2}, row{1}},
		{"poissonloss", nil, []float32{1}, 2, math.E - 2, row{math.E - 2}, row{math.E}},
		{"poissonloss", nil, []float32{-1000}, 0.5, 500, row{-0.5}, row{0}},
		{"poissonloss", nil, []float32{82}, 0, 3 * math.Exp(80), row{math.Exp(80)}, row{math.Exp(80)}},
	} {
		l := named(t, c.loss, c.set)
		sum, grad := of(l, c.y, c.s...)
		out := l.Predict(row{7}, c.s)
		ok := near(sum, c.sum, 1e-9) && len(out) == 1+len(c.out) && out[0] == 7
		for k := range c.grad {
			ok = ok && near(float64(grad[k]), c.grad[k], 1e-7)
		}
		for k := range min(len(c.out), len(out)-1) {
			ok = ok && near(out[1+k], c.out[k], 1e-12)
		}
		if !ok {
			t.Errorf("%s(%v, %v) = %v, gradient %v, prediction %v, want %v, %v, %v",
				c.loss, c.s, c.y, sum, grad, out[1:], c.sum, c.grad, c.out)
		}
	}
}

func near(got, want, within float64) bool { return math.Abs(got-want) <= within*max(1, math.Abs(want)) }

// scores draws those of a row, and a label that the loss takes; kink reports whether the loss has none or more than one slope
// within h of a score.
func scores(t *rapid.T, k Kind, h float64) (s []float32, y float32, kink bool) {
	width := k.Width
	if width == 0 {
		width = rapid.IntRange(2, 5).Draw(t, "classes")
	}
	lo, hi := float32(-8), float32(8)
	labels := []float32{-1, 1}
	switch k.Name {
	case "crossentropyloss":
		lo, hi = 0.0625, 0.9375
	case "poissonloss":
		labels = []float32{0, 1, 2.5, 7}
	case "softmaxloss":
		labels = labels[:0]
		for c := range width {
			labels = append(labels, float32(c))
		}
	}
	y = rapid.SampledFrom(labels).Draw(t, "label")
	for range width {
		s = append(s, rapid.Float32Range(lo, hi).Draw(t, "score"))
	}
	d := 1 - float64(s[0]*y)
	if k.Name == "huberloss" {
		d = math.Abs(float64(s[0]-y)) - 1
	}
	return s, y, (k.Name == "hingeloss" || k.Name == "huberloss") && math.Abs(d) < 2*h
}

// The gradient is the slope of the loss, away from kinks.
func TestGradient(t *testing.T) {
	for _, k := range Losses() {
		l := named(t, k.Name, nil)
		if l.Name() != k.Name {
			t.Errorf("%s calls itself %s", k.Name, l.Name())
		}
		rapid.Check(t, func(t *rapid.T) {
			const h = 1.0 / 1024
			s, y, kink := scores(t, k, h)
			if err := l.Check([]float32{y}, len(s)); err != nil || kink {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			_, grad := of(l, y, s...)
			for i, at := range s {
				up, down := slices.Clone(s), slices.Clone(s)
				up[i], down[i] = at+h, at-h
				high, _ := of(l, y, up...)
				low, _ := of(l, y, down...)
				slope := (high - low) / (float64(up[i]) - float64(down[i]))
				if !near(float64(grad[i]), slope, 2e-4) {
					t.Fatalf("%s(%v, %v) by score %d: gradient %v, slope %v", k.Name, s, y, i, grad[i], slope)
				}
			}
		})
	}
}

// The sum over rows is the sum of the rows. It is finite for all finite scores, and shows one that is not, whatever the label.
func TestRows(t *testing.T) {
	for _, k := range Losses() {
		l, width := named(t, k.Name, nil), max(k.Width, 3*(1-k.Width))
		label := []float32{1, 0, 1}
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, y := range label {
				for at := range width {
					s := make([]float32, width)
					s[at] = float32(bad)
					if sum, _ := of(l, y, s...); !math.IsNaN(sum) && !math.IsInf(sum, 0) {
						t.Errorf("%s of score %v, label %v: %v, want no finite number", k.Name, s, y, sum)
					}
				}
			}
		}
		val := []float32{-2, 0.5, 3, 1e38, -1e38, 0, 4, 0.25, 0}[:3*width]
		if width == 1 {
			val = []float32{0.5, 1e38, -1e38}
		}
		score, grad := &graph.Tensor{Rows: 3, Cols: width, Val: val}, graph.NewTensor(3, width)
		got, want := l.Loss(score, label, grad), 0.0
		for i, y := range label {
			sum, g := of(l, y, score.Row(i)...)
			if want += sum; !slices.Equal(grad.Row(i), g) {
				t.Errorf("%s row %d: gradient %v, want %v", k.Name, i, grad.Row(i), g)
			}
			for _, v := range g {
				if v-v != 0 {
					t.Errorf("%s of %v: gradient %v, want finite ones", k.Name, score.Row(i), g)
				}
			}
			for _, v := range l.Predict(nil, score.Row(i)) {
				if v-v != 0 {
					t.Errorf("%s of %v: predicts %v, want a finite number", k.Name, score.Row(i), v)
				}
			}
		}
		if got != want || math.IsInf(got, 0) || math.IsNaN(got) {
			t.Errorf("%s: %v, want %v", k.Name, got, want)
		}
	}
}

// A label that Check refuses, and only such a one, has no loss.
func TestCheck(t *testing.T) {
	for _, k := range Losses() {
		l, width := named(t, k.Name, nil), max(1, 3*(1-k.Width))
		for _, y := range []float32{-1, -0.5, 0, 0.5, 1, 2, 3, 1e38, float32(math.NaN())} {
			err := l.Check([]float32{1, y}, width)
			sum, _ := of(l, y, make([]float32, width)...)
			if want := math.IsNaN(sum); (err != nil) != want && y == y {
				t.Errorf("%s with label %v: loss %v, and Check says %v", k.Name, y, sum, err)
			}
		}
	}
	err := named(t, "softmaxloss", nil).Check([]float32{0, 3}, 3)
	if err == nil || err.Error() != "example 2: label 3, want a class, 0 to 2 (--labels maps labels)" {
		t.Errorf("got %v", err)
	}
}

func TestFind(t *testing.T) {
	_, err := Find(nil, "kmeansloss")
	var names []string
	for _, k := range Losses() {
		names = append(names, k.Name)
	}
	want := `loss function "kmeansloss", want one of ` + strings.Join(names, " ")
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for _, set := range []map[string]float64{{"delta": 0}, {"delta": math.Inf(1)}, {"delta": -1}, {"alpha": 1}} {
		if _, err := huberLoss.Bind(set); err == nil {
			t.Errorf("huberloss took %v", set)
		}
	}
	if _, err := logLoss.Bind(map[string]float64{"delta": 1}); err == nil {
		t.Error("logloss took delta, want an error")
	}
	for width, kinds := range map[int]string{1: "softmaxloss", 2: "logloss", 0: "softmaxloss"} {
		k, err := Find(nil, kinds)
		if err != nil {
			t.Fatal(err)
		}
		if k.Fits(width) == nil || k.Fits(3-width) != nil && width > 0 {
			t.Errorf("%s with %d scores: %v, with %d: %v", kinds, width, k.Fits(width), 3-width, k.Fits(3-width))
		}
	}
}

func BenchmarkLoss(b *testing.B) {
	for _, k := range Losses() {
		for _, width := range map[int][]int{1: {1}, 0: {3, 10}}[k.Width] {
			b.Run(fmt.Sprintf("%s/%d", k.Name, width), func(b *testing.B) {
				l := named(b, k.Name, nil)
				score, grad := graph.NewTensor(4096, width), graph.NewTensor(4096, width)
				label := make([]float32, 4096)
				for i := range label {
					label[i] = float32(i % 2)
				}
				for i := range score.Val {
					score.Val[i] = float32(i%1000)/1000 + 1e-3
				}
				b.SetBytes(int64(4 * len(score.Val)))
				for b.Loop() {
					l.Loss(score, label, grad)
				}
			})
		}
	}
}

func BenchmarkLogLoss(b *testing.B) {
	n := 512
	tensor := func() graph.Tensor { return graph.Tensor{Rows: n, Cols: 1, Val: make([]float32, n)} }
	score, grad, label := tensor(), tensor(), make([]float32, n)
	for i := range label {
		score.Val[i], label[i] = float32(i%17)/4-2, float32(i%2)
	}
	for b.Loop() {
		logistic{}.Loss(&score, label, &grad)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/row")
}

// No scores for all examples alike are much better than those that training begins with, whatever the weights.
func TestStart(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 30).Draw(t, "examples")
		weight := rapid.SliceOfN(rapid.SampledFrom([]float32{0.5, 1, 3}), n, n).Draw(t, "weights")
		if rapid.Bool().Draw(t, "without weights") {
			weight = nil
		}
		for _, k := range Losses() {
			l, width := named(outer, k.Name, nil), max(k.Width, 3*(1-k.Width))
			label := make([]float32, n)
			for i := range label {
				switch l.Task() {
				case graph.Classification: // of both classes, or the best score is beyond all numbers
					label[i] = rapid.SampledFrom([]float32{-1, 1}).Draw(t, "label")
					label[0], label[1] = 1, -1
				case graph.Multiclass:
					label[i] = float32(rapid.IntRange(0, 2).Draw(t, "label"))
				default:
					label[i] = rapid.Float32Range(1e-3, 1000).Draw(t, "label") // above 0, or poissonloss has no least
				}
			}
			total := func(score ...float64) (sum float64) {
				at := make([]float32, len(score))
				for i, s := range score {
					at[i] = float32(s)
				}
				for i, y := range label {
					one, _ := of(l, y, at...)
					sum += weightOf(weight, i) * one
				}
				return sum
			}
			set, err := psf.Fill(k.Hyper, nil)
			if err != nil {
				t.Fatal(err)
			}
			start := k.Start(set, label, weight, width)
			if len(start) != width {
				t.Fatalf("%s starts at %v, want %d scores", k.Name, start, width)
			}
			at, slack := total(start...), 1e-4
			switch k.Name {
			case "softmaxloss": // a class without examples counts as half a one
				slack = float64(3 * n)
			}
			for c := range width {
				for _, off := range []float64{-10, -1, -0.1, 0.1, 1, 10} {
					other := slices.Clone(start)
					if other[c] += off; k.Unit {
						other[c] = start[c] + off*min(start[c], 1-start[c])/10.5
					}
					if o := total(other...); o < at-slack-1e-4*math.Abs(at) {
						t.Fatalf("%s of %v, weights %v: %v at %v, %v at %v", k.Name, label, weight, at, start, o, other)
					}
				}
			}
		}
	})
	for _, c := range []struct {
		kind   Kind
		label  []float32
		weight []float32
		want   []float64
	}{
		{poissonLoss, []float32{0, 0}, nil, []float64{0}},
		{logLoss, []float32{-1, 1, -1, -1}, nil, []float64{-math.Log(3)}},
		{logLoss, []float32{-1, 1, -1, -1}, []float32{1, 9, 1, 1}, []float64{math.Log(3)}},
		{logLoss, []float32{-1, 1}, []float32{0, 0}, []float64{0}},
		{logLoss, []float32{0, 0, 0}, nil, []float64{-math.Log(6)}}, // as if half an example were positive
		{hingeLoss, []float32{1, -1, -1}, nil, []float64{-1}},
		{hingeLoss, []float32{1, -1, -1}, []float32{3, 1, 1}, []float64{1}},
		{hingeLoss, []float32{1, -1}, nil, []float64{0}},
		{crossEntropyLoss, []float32{1, -1, -1, -1}, nil, []float64{0.25}},
		{softmaxLoss, []float32{0, 1, 1, 2, 2, 2, 2}, nil, []float64{-math.Ln2, 0, math.Ln2}},
		{softmaxLoss, []float32{0, 1, 2}, []float32{1, 2, 4}, []float64{-math.Ln2, 0, math.Ln2}},
		{l2Loss, []float32{1, 4}, []float32{2, 1}, []float64{2}},
		{huberLoss, []float32{1, 4, 9}, []float32{1, 1, 5}, []float64{8.6}},
		{huberLoss, []float32{4, 1}, nil, []float64{2}}, // and up to 3
		{huberLoss, []float32{0, 0, 0, 1}, nil, []float64{0.25}},
		{huberLoss, []float32{0, 0, 0, 1e9}, nil, []float64{1.0 / 3}},
		{huberLoss, []float32{0, 0, 0}, nil, []float64{0}},
	} {
		got := c.kind.Start(map[string]float64{"delta": 1}, c.label, c.weight, len(c.want))
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return near(a, b, 1e-6) }) {
			t.Errorf("%s of %v, weights %v, starts at %v, want %v", c.kind.Name, c.label, c.weight, got, c.want)
		}
	}
}
