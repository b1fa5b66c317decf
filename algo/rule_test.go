package algo

import (
	"maps"
	"strings"
	"testing"

	"thole.example/layer"
	"thole.example/matrix"
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

// with is a network of one layer with the key and its value beside others.
func with(key string) string {
	return `{"data":{"indexrange":3},"layers":[{"name":"lin","type":"simpleinputlayer","outputdim":1,"transfunc":"identity",` + key + `},
		{"name":"out","type":"simplelosslayer","inputlayer":"lin"}]}`
}

// The two decays of Angel's adadelta are ours.
func TestAngelAdadelta(t *testing.T) {
	for settings, want := range map[string]map[string]float64{
		`"alpha":0.8,"beta":0.8,"reg1":0,"reg2":0.5`: {"rho": 0.8, "rho2": 0.8, "l2": 0.5},
		`"alpha":0.8,"beta":0.9`:                     {"rho": 0.8, "rho2": 0.9},
		`"rho2":0.9`:                                 {"rho2": 0.9},
	} {
		m, err := compose(t, with(`"optimizer":{"type":"adadelta",`+settings+`}`), Conf{})
		if err != nil {
			t.Fatal(err)
		}
		if h := m.Params()[0].Hyper; !maps.Equal(h, want) {
			t.Errorf("settings %v, want %v", h, want)
		}
	}
}

// Settings of an optimizer, a loss, a transfer function or initial values that are unknown, are words or are out of range are refused,
// with the nearest name in the grammar.
func TestSettings(t *testing.T) {
	for _, c := range []struct{ key, want string }{
		{`"optimizer":{"type":"adam","beta":"0.5"}`, `update rule adam: setting beta is the text "0.5", want a number, without quotes`},
		{`"optimizer":{"type":"adam","lr":"0.5"}`, `setting lr is the text "0.5"`},
		{`"optimizer":{"type":"adam","gama":0.5}`, `no setting "gama", want one of lr beta gamma eps reg2; did you mean gamma?`},
		{`"optimizer":{"type":"adam","gama":"0.5"}`, `did you mean gamma?`},
		{`"optimizer":{"type":"sgd","reg3":0.5}`, `no setting "reg3", want one of lr reg1 reg2; did you mean reg1 or reg2?`},
		{`"optimizer":{"type":"adam","beta":2}`, `setting beta = 2, want a number from 0 on and below 1`},
		{`"optimizer":{"type":"adam","beta":0.5,"beta1":0.5}`, `settings beta and beta1, want one of them`},
		{`"optimizer":{"type":"adagrad","beta":-1}`, `setting beta = -1, want a finite number`},
		{`"optimizer":"adamm"`, `did you mean adam?`},
		{`"optimizer":"adam","bias_optimizer":{"type":"adam","eps":"x"}`, `setting eps is the text "x"`},
		{`"init":{"type":"normal","sigma":0.1}`, `layer "lin": init normal: no setting "sigma", want one of scale`},
		{`"init":{"type":"normal","scal":0.1}`, `did you mean scale?`},
		{`"init":{"type":"normal","scale":"big"}`, `init normal: setting scale is the text "big", want a number`},
		{`"init":{"type":"normal","scale":-1}`, `init normal: setting scale = -1, want a finite number from 0 on`},
		{`"init":"normal"`, `init normal without a scale, want one`},
		{`"init":"norml"`, `init "norml", want one of normal uniform positive constant zero; did you mean normal?`},
		{`"init":{"type":"zero","sigma":1}`, `no setting "sigma"`},
		{`"transfunc":{"type":"sigmoidwithdropout","prob":0.5}`, `no setting "prob", want one of proba; did you mean proba?`},
		{`"transfunc":{"type":"sigmoidwithdropout","proba":"0.5"}`, `setting proba is the text "0.5"`},
		{`"transfunc":"sigmoyd"`, `did you mean sigmoid?`},
	} {
		text := with(c.key)
		if strings.Contains(c.key, "transfunc") {
			text = strings.Replace(text, `"transfunc":"identity",`, "", 1)
		}
		if _, err := compose(t, text, Conf{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.key, err, c.want)
		}
	}
	for _, c := range []struct{ loss, want string }{
		{`{"type":"huberloss","delta":"1.5"}`, `loss function huberloss: setting delta is the text "1.5", want a number`},
		{`{"type":"huberloss","dleta":1.5}`, `no setting "dleta", want one of delta; did you mean delta?`},
		{`{"type":"huberloss","delta":-1}`, `setting delta = -1`},
		{`"huberlos"`, `did you mean huberloss?`},
	} {
		text := strings.Replace(with(`"depth":0`), `"inputlayer":"lin"`, `"inputlayer":"lin","lossfunc":`+c.loss, 1)
		if _, err := compose(t, text, Conf{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.loss, err, c.want)
		}
	}
	for _, key := range []string{`"optimizer":{"type":"adam","reg1":0}`, `"optimizer":{"type":"adagrad","beta":0.9}`,
		`"depth":0,"transfunc":{"type":"sigmoidwithdropout","proba":0.5,"actiontype":"train"}`} {
		if _, err := compose(t, strings.Replace(with(key), `"transfunc":"identity",`, "", 1), Conf{}); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// Initial values without a scale have that of the layer's kind.
func TestInit(t *testing.T) {
	for init, want := range map[string]matrix.Init{
		`"normal"`:                        {Kind: "normal", Scale: 0.05},
		`{"type":"Uniform"}`:              {Kind: "uniform", Scale: 0.05},
		`"positive"`:                      {Kind: "positive", Scale: 0.05},
		`{"type":"constant","scale":2}`:   {Kind: "constant", Scale: 2},
		`{"type":"normal","scale":0}`:     {Kind: "normal"},
		`"zero"`:                          {},
		`{"type":"normal","scale":0.001}`: {Kind: "normal", Scale: 0.001},
	} {
		m, err := compose(t, `{"data":{"indexrange":3},"layers":[{"name":"emb","type":"embedding","numfactors":4,"outputdim":8,"init":`+init+`},
			{"name":"s","type":"biinnersumcross","inputlayer":"emb"},{"name":"out","type":"simplelosslayer","inputlayer":"s"}]}`, Conf{})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Params()[0].Init; !got.Equal(want) {
			t.Errorf("%s: %v, want %v", init, got, want)
		}
	}
}
