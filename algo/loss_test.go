package algo

import (
	"strings"
	"testing"

	"thole.example/graph"
	"thole.example/loss"
)

// Settings of a loss reach the model and its file, over those that a network has already; what a loss does not have is refused.
func TestLossSettings(t *testing.T) {
	net := robust.File(Size{})
	net.Layers[1].LossFunc = &graph.Choice{Type: "HuberLoss", Num: map[string]float64{"delta": 7}}
	own, err := Own(net, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of    *Algo
		name  string
		delta float64 // 0: none is given
		want  float64 // the loss of a difference of 10
		file  float64
	}{
		{&robust, "", 3, 3 * (10 - 1.5), 3},
		{&linreg, "huberloss", 2, 2 * (10 - 1), 2},
		{&linreg, "huberloss", 0, 9.5, 0},
		{own, "", 0, 7 * (10 - 3.5), 7},
		{own, "", 4, 4 * (10 - 2), 4},
		{own, "huberloss", 0, 9.5, 0},
	} {
		set := map[string]float64{}
		if c.delta > 0 {
			set["delta"] = c.delta
		}
		a, err := c.of.WithLoss(nil, c.name, set)
		if err != nil {
			t.Fatal(err)
		}
		m, err := a.Build(Conf{Dim: 1})
		if err != nil {
			t.Fatal(err)
		}
		var score, grad graph.Tensor
		score.Resize(1, 1)
		grad.Resize(1, 1)
		score.Val[0] = 10
		near(t, a.Name, m.Loss.Loss(&score, []float32{0}, &grad), c.want, 1e-9)
		if got := lossOf(m.File, &m.File.Layers[1]).Num["delta"]; got != c.file {
			t.Errorf("%s with %q %v: the file has delta %v, want %v", a.Name, c.name, c.delta, got, c.file)
		}
	}
	for _, k := range loss.Losses() {
		_, err := linreg.WithLoss(nil, k.Name, map[string]float64{"width": 1})
		want := "it has none"
		if len(k.Hyper) > 0 {
			want = "want one of " + k.Hyper[0].Name
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", k.Name, err, want)
		}
	}
	if _, err := robust.WithLoss(nil, "", map[string]float64{"delta": 0}); err == nil {
		t.Error("delta 0: no error")
	}
}
