package algo

import (
	"strings"
	"testing"

	"thole.example/graph"
)

// Probabilities are what sigmoids and softmaxes give, and products of them, as in Angel's mixed logistic regression.
func TestUnfit(t *testing.T) {
	input := func(name, function string) string {
		return `{"name":"` + name + `","type":"simpleinputlayer","outputdim":2,"transfunc":"` + function + `"},`
	}
	read := func(kind, rest string) string {
		return `{"name":"x","type":"` + kind + `","inputlayers":["a","b"]` + rest + `},{"name":"o","type":"losslayer","inputlayer":"x","lossfunc":"CrossEntropyLoss"}`
	}
	one := `{"name":"o","type":"losslayer","inputlayer":"a","lossfunc":"crossentropyloss"}`
	for layers, fits := range map[string]bool{
		input("a", "sigmoid") + one:                                                                       true,
		input("a", "Softmax") + one:                                                                       true,
		input("a", "identity") + one:                                                                      false,
		input("a", "relu") + one:                                                                          false,
		input("a", "sigmoidwithdropout") + one:                                                            false,
		`{"name":"a","type":"simpleinputlayer","outputdim":1},` + one:                                     false,
		input("a", "sigmoid") + input("b", "softmax") + read("dotpooling", ""):                            true,
		input("a", "sigmoid") + input("b", "sigmoid") + read("dotpooling", ""):                            false,
		input("a", "identity") + input("b", "softmax") + read("dotpooling", ""):                           false,
		input("a", "sigmoid") + input("b", "sigmoid") + read("mulpooling", ""):                            true,
		input("a", "sigmoid") + input("b", "sigmoid") + read("sumpooling", ""):                            false,
		strings.Replace(input("a", "identity")+one, "crossentropyloss", "logloss", 1):                     true,
		`{"name":"x","type":"mulpooling","inputlayer":"x"},` + strings.Replace(one, `"a"`, `"x"`, 1):      false,
		`{"name":"a","type":"fclayer","outputdims":[2,1],"transfuncs":["relu","sigmoid"]},` + one:         true,
		`{"name":"a","type":"fclayer","outputdims":[2,1],"transfuncs":["sigmoid","identity"]},` + one:     false,
		strings.Replace(one, `"a"`, `"nothing"`, 1):                                                       false,
		strings.Replace(input("a", "identity")+one, `"crossentropyloss"`, `{"type":"none","delta":1}`, 1): true,
	} {
		f, err := graph.ParseJSON([]byte(`{"layers":[` + layers + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if wrong := Unfit(f, nil, nil); (wrong == nil) != fits {
			t.Errorf("%s: %q, fits %v", layers, wrong, fits)
		}
	}
	if _, err := lr.WithLoss(nil, "crossentropyloss", nil); err == nil || !strings.Contains(err.Error(), `lr: crossentropyloss of "simplelosslayer" reads "input"`) {
		t.Errorf("lr with crossentropyloss: %v", err)
	}
	if _, err := lr.WithLoss(nil, "hingeloss", nil); err != nil {
		t.Error(err)
	}
}

// Defaults of layers are checked, also where all layers say their own.
func TestDefaults(t *testing.T) {
	for key, want := range map[string]string{
		`"default_transfunc":"swish"`:                             `default_transfunc: transfer function "swish", want one of identity`,
		`"default_transfunc":{"type":"relu","proba":0.5}`:         `default_transfunc: transfer function relu: no setting "proba"`,
		`"default_lossfunc":"kmeansloss"`:                         `default_lossfunc: loss function "kmeansloss"`,
		`"default_lossfunc":{"type":"huberloss","delta":"x"}`:     `default_lossfunc: loss function huberloss: setting delta is the text`,
		`"default_optimizer":{"type":"sgd","reg3":1}`:             `default_optimizer: update rule sgd: no setting "reg3"`,
		`"default_transfunc":"relu","default_lossfunc":"l2loss"`:  "",
		`"default_transfunc":{"type":"dropout","actiontype":"x"}`: "",
	} {
		_, err := compose(t, `{`+key+`,"layers":[`+in+`,"transfunc":"identity","optimizer":"adam"},
			{"name":"out","type":"losslayer","inputlayer":"lin","lossfunc":"logloss"}]}`, Conf{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", key, err, want)
		}
	}
}

// A network without the keys that have no effect is one that nothing is said of, and stays as it is else.
func TestDrop(t *testing.T) {
	f, err := graph.ParseJSON([]byte(`{"layers":[{"name":"a","type":"simpleinputlayer","outputdim":3,"numfactors":3,"init":"zero"},
		{"name":"b","type":"fclayer","inputlayer":"a","outputdim":7,"outputdims":[2,1]},
		{"name":"o","type":"losslayer","inputlayer":"b","depth":2}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if said := Idle(f, nil); len(said) != 3 || said[1] != `layers[1].outputdim has no effect: "b" has outputdims beside it, want one of them` {
		t.Errorf("%q", said)
	}
	Drop(f, nil)
	if said := Idle(f, nil); said != nil || f.Layers[0].Init == nil || f.Layers[0].OutputDim != 3 || len(f.Layers[1].OutputDims) != 2 {
		t.Errorf("%q, %+v", said, f.Layers)
	}
}
