package algo

import (
	"strings"
	"testing"

	"thole.example/graph"
)

// Penalties of kinds of layers, and of layers by name, are beside what else they are updated by; biases have none.
func TestPenalties(t *testing.T) {
	f, err := graph.ParseJSON([]byte(`{"default_optimizer":{"type":"adagrad","lr":0.1,"reg2":0.25},"layers":[
		{"name":"wide","type":"simpleinputlayer","outputdim":1,"optimizer":{"type":"ftrl","alpha":0.1,"l1":3}},
		{"name":"emb","type":"embedding","outputdim":12,"numfactors":3},
		{"name":"norm","type":"batchnormlayer","inputlayer":"emb"},
		{"name":"fc1","type":"fclayer","inputlayer":"norm","outputdims":[4],"transfunc":"relu"},
		{"name":"fc2","type":"fclayer","inputlayer":"fc1","outputdims":[1],"transfunc":"identity"},
		{"name":"sum","type":"sumpooling","inputlayers":["wide","fc2"]},
		{"name":"out","type":"simplelosslayer","inputlayer":"sum","lossfunc":"logloss"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	c := Conf{Dim: 40, Size: Size{Fields: 4}, Penalties: map[string]map[string]float64{
		"FCLayer": {"l2": 0.5}, "fc2": {"l2": 0, "l1": 2}, "simpleinputlayer": {"l1": 7}}}
	m, err := Compose(f, c)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]float64{ // l1 and l2
		"wide_weight": {7, 0}, "wide_bias": {0, 0}, "emb_embedding": {0, 0.25}, "norm_weight": {0, 0},
		"fc1_weight": {0, 0.5}, "fc1_bias": {0, 0}, "fc2_weight": {2, 0}, "fc2_bias": {0, 0},
	}
	check := func(m *graph.Model) {
		t.Helper()
		for _, p := range m.Params() {
			if w, ok := want[p.Name]; ok && (p.Hyper["l1"] != w[0] || p.Hyper["l2"] != w[1]) {
				t.Errorf("%s has penalties %v, want l1 %v and l2 %v", p.Name, p.Hyper, w[0], w[1])
			}
		}
	}
	check(m)
	if rule := m.Params()[0].Rule; rule != "ftrl" || m.Params()[0].Hyper["alpha"] != 0.1 {
		t.Errorf("wide is updated by %s %v, want its ftrl", rule, m.Params()[0].Hyper)
	}
	again, err := Compose(m.File, Conf{Dim: 40, Size: Size{Fields: 4}}) // which says it
	if err != nil {
		t.Fatal(err)
	}
	check(again)
	if f.Layers[0].Optimizer.Num["reg1"] != 0 || f.Layers[3].Optimizer != nil {
		t.Error("the file was changed")
	}
	for name, want := range map[string]string{
		"fclayr": `no layer or kind of layers "fclayr", want one of emb embedding fc1 fc2 fclayer simpleinputlayer wide; did you mean fclayer?`,
		"norm":   `no layer or kind of layers "norm"`, "out": `no layer or kind of layers "out"`,
	} {
		c.Penalties = map[string]map[string]float64{name: {"l2": 1}}
		if _, err := Compose(f, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
