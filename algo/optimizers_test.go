package algo

import (
	"maps"
	"testing"

	"thole.example/graph"
)

// Rules of kinds of layers take the place of the recipe's, but not of a rule that is of all, nor of what a file says.
func TestOptimizers(t *testing.T) {
	c := Conf{Dim: 5, Optimizers: map[string]*graph.Choice{"embedding": graph.Named("ftrl"), "fclayer": graph.Named("sgd")}}
	rules := func(a *Algo, c Conf) map[string]string {
		m, err := a.Build(c)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, p := range m.Params() {
			all[p.Name] = p.Rule
		}
		return all
	}
	want := map[string]string{"input_weight": "adagrad", "embedding_embedding": "ftrl", "fclayer_0_weight": "sgd", "fclayer_weight": "sgd"}
	got := rules(&deepfm, c)
	for name, rule := range want {
		if got[name] != rule {
			t.Errorf("%s is updated by %s, want %s", name, got[name], rule)
		}
	}
	c.Rule = "adam"
	for name, rule := range rules(&deepfm, c) {
		if rule != "adam" {
			t.Errorf("%s is updated by %s, want adam, the rule of all", name, rule)
		}
	}
	c.Rule = ""
	m, err := deepfm.Build(Conf{Dim: 5})
	if err != nil {
		t.Fatal(err)
	}
	own, err := Own(m.File, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rules(own, c), rules(own, Conf{Dim: 5}); !maps.Equal(got, want) {
		t.Errorf("a file's network is updated by %v, want %v", got, want)
	}
}

// Settings of Angel's names have ours.
func TestHyper(t *testing.T) {
	got, err := Hyper(nil, &graph.Choice{Type: "Adam", Num: map[string]float64{"beta": 0.8, "gamma": 0.9, "reg2": 0.1, "lr": 3}})
	if err != nil || !maps.Equal(got, map[string]float64{"beta1": 0.8, "beta2": 0.9, "l2": 0.1}) {
		t.Errorf("%v (%v)", got, err)
	}
	if got, err := Hyper(nil, graph.Named("ftrl")); err != nil || len(got) > 0 {
		t.Errorf("%v (%v), want nothing", got, err)
	}
	if _, err := Hyper(nil, &graph.Choice{Type: "adam", Num: map[string]float64{"reg1": 0.1}}); err == nil {
		t.Error("a penalty that the rule does not have was taken")
	}
}
