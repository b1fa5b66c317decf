package algo

import (
	"maps"
	"strings"
	"testing"

	"thole.example/layer"
	"thole.example/optim"
	"thole.example/psf"
)

// The first rate is the rule's own, also where the rule is the recipe's, and never that of another rule.
func TestRates(t *testing.T) {
	rules := optim.Rules()
	for i := range rules {
		if r := rules[i].Rates; r.Classes <= 0 || r.Numbers <= 0 {
			t.Errorf("%s: rates %+v, want two above 0", rules[i].Name, r)
		}
		rules[i].Rates = psf.Rates{Classes: 10 + float64(i), Numbers: 20 + float64(i)}
	}
	for _, a := range Algos() {
		for i, rule := range rules {
			want := rule.Rates.Classes
			switch {
			case a.Network():
				want, a.Defaults.Rate = want/10, 0
			case a.Task == Regression && !a.Log:
				want = rule.Rates.Numbers
			}
			d := a.For(rules, rule.Name)
			if d.Rule != rule.Name || d.Rate != want {
				t.Errorf("%s with %s: rule %s, rate %v, want %v", a.Name, rule.Name, d.Rule, d.Rate, want)
			}
			if m, err := a.Build(Conf{Dim: 3, Rule: rule.Name, Rules: rules}); err != nil || m.File.Train.LR != want {
				t.Errorf("%s with %s: graph.json has rate %v (%v), want %v", a.Name, rule.Name, m.File.Train.LR, err, want)
			}
			if rule.Name == a.Defaults.Rule {
				if d := a.For(rules, ""); d.Rate != want || !maps.Equal(d.Hyper, a.Defaults.Hyper) {
					t.Errorf("%s: rate %v and settings %v, want %v and %v", a.Name, d.Rate, d.Hyper, want, a.Defaults.Hyper)
				}
			}
			rules[i].Rates = psf.Rates{}
			if d := a.For(rules, rule.Name); d.Rate != 0 {
				t.Errorf("%s with %s, which has no rate: %v, want 0", a.Name, rule.Name, d.Rate)
			}
			rules[i].Rates = rule.Rates
		}
		own := a
		own.Defaults.Rate = 7
		if d := own.For(rules, ""); d.Rate != 7 {
			t.Errorf("%s with a rate of its own: %v, want 7", a.Name, d.Rate)
		}
		if d := own.For(rules, "sgd"); d.Rate == 7 {
			t.Errorf("%s with a rate of its own: sgd takes it", a.Name)
		}
	}
}

// A bias follows the weights without what draws them towards zero.
func TestBias(t *testing.T) {
	for _, c := range []struct {
		rule        string
		hyper, want map[string]float64
	}{
		{"sgd", map[string]float64{"l1": 1, "l2": 2}, nil},
		{"adam", map[string]float64{"l2": 2, "eps": 3}, map[string]float64{"eps": 3}},
		{"adamw", map[string]float64{"beta1": 0.5, "decay": 2}, map[string]float64{"beta1": 0.5, "decay": 0}},
		{"adamw", nil, map[string]float64{"decay": 0}},
	} {
		got, err := ofBias(nil, layer.Update{Rule: c.rule, Hyper: c.hyper})
		if err != nil || got.Rule != c.rule || !maps.Equal(got.Hyper, c.want) {
			t.Errorf("%s %v: bias %v (%v), want %v", c.rule, c.hyper, got, err, c.want)
		}
	}
}

// Angel's adadelta has two decays; ours is one, and says so if they differ.
func TestAngelAdadelta(t *testing.T) {
	network := func(settings string) string {
		return `{"data":{"indexrange":3},"layers":[{"name":"lin","type":"simpleinputlayer","outputdim":1,"transfunc":"identity",
			"optimizer":{"type":"adadelta"` + settings + `}},
			{"name":"out","type":"simplelosslayer","inputlayer":"lin","lossfunc":"logloss"}]}`
	}
	m, err := compose(t, network(`,"alpha":0.8,"beta":0.8,"reg1":0,"reg2":0.5`), Conf{})
	if err != nil {
		t.Fatal(err)
	}
	if h := m.Params()[0].Hyper; !maps.Equal(h, map[string]float64{"rho": 0.8, "l2": 0.5}) {
		t.Errorf("settings %v, want rho 0.8 and l2 0.5", h)
	}
	for _, settings := range []string{`,"alpha":0.8,"beta":0.9`, `,"beta":0.9`} {
		if _, err := compose(t, network(settings), Conf{}); err == nil || !strings.Contains(err.Error(), "want the same as alpha") {
			t.Errorf("%s: error %v", settings, err)
		}
	}
}
