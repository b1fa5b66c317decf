package algo

import (
	"bytes"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thole.example/graph"
	"thole.example/matrix"
)

func compose(t testing.TB, src string, c Conf) (*graph.Model, error) {
	t.Helper()
	f, err := graph.ParseJSON([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return Compose(f, c)
}

const in = `{"name":"lin","type":"SimpleInputLayer","outputdim":1`

func TestComposeErrors(t *testing.T) {
	for _, c := range []struct{ layers, want string }{
		{in + `}`, "no layer of type simplelosslayer"},
		{in + `},{"name":"out","type":"simplelosslayer"}`, "reads 0 layers"},
		{in + `},{"name":"out","type":"simplelosslayer","inputlayer":"sum"}`, `layer "out" reads "sum"`},
		{in + `},{"name":"lin","type":"simplelosslayer","inputlayer":"lin"}`, "no other layer has"},
		{in + `,"inputlayer":"lin"},{"name":"out","type":"losslayer","inputlayer":"lin"}`, "reads itself"},
		{in + `,"inputlayer":"out"},{"name":"out","type":"losslayer","inputlayer":"lin"}`, "reads the loss layer"},
		{in + `},{"name":"o","type":"losslayer","inputlayer":"lin"},{"name":"p","type":"losslayer","inputlayer":"lin"}`, "two loss layers"},
		{in + `},` + strings.Replace(in, "lin", "two", 1) + `},{"name":"out","type":"losslayer","inputlayer":"lin"}`, `layer "two" does not lead to the loss layer "out"`},
		{`{"name":"a","type":"crosslayr"},{"name":"out","type":"losslayer","inputlayer":"a"}`,
			`layer "a": layer type "crosslayr", want one of simpleinputlayer`},
		{`{"name":"a","type":"crosslayr"},{"name":"out","type":"losslayer","inputlayer":"a"}`, "did you mean crosslayer?"},
		{`{"name":"a","type":"crosslayer"},{"name":"out","type":"losslayer","inputlayer":"a"}`, "crosslayer reads 0 layers, want 1 to 2"},
		{in + `},{"name":"f","type":"fclayer","inputlayer":"lin","outputdims":[3,1],"transfuncs":["relu"]},{"name":"out","type":"losslayer","inputlayer":"f"}`,
			"1 transfuncs for 2 outputdims"},
		{in + `},{"name":"f","type":"sumpooling","inputlayer":"lin","outputdims":[3,1]},{"name":"out","type":"losslayer","inputlayer":"f"}`,
			"sumpooling with 2 outputdims"},
		{in + `,"optimizer":"sgd","pooling":"max"},{"name":"out","type":"losslayer","inputlayer":"lin"}`, `pooling "max", want sum or mean`},
		{in + `},{"name":"out","type":"losslayer","inputlayer":"lin","lossfunc":"kmeansloss"}`, "want one of logloss l2loss hingeloss"},
		{in + `},{"name":"out","type":"losslayer","inputlayer":"lin","lossfunc":"softmaxloss"}`, "has 1 outputs, want 2 or more for softmaxloss"},
		{in + `},{"name":"out","type":"losslayer","inputlayer":"lin","lossfunc":{"type":"logloss","delta":1}}`, `no setting "delta"`},
		{strings.Replace(in, "1", "2", 1) + `},{"name":"out","type":"losslayer","inputlayer":"lin"}`, "has 2 outputs, want 1"},
		{in + `,"optimizer":"adamax"},{"name":"out","type":"losslayer","inputlayer":"lin"}`, "want one of sgd momentum nesterov adagrad rmsprop adadelta adam adamw amsgrad ftrl"},
		{in + `,"optimizer":{"type":"adam","reg1":1}},{"name":"out","type":"losslayer","inputlayer":"lin"}`, `adam: no setting "reg1", want one of lr beta gamma eps reg2`},
		{in + `,"optimizer":{"type":"adam","reg2":-1}},{"name":"out","type":"losslayer","inputlayer":"lin"}`, "want a finite number from 0 on"},
		{in + `,"transfunc":"swish"},{"name":"out","type":"losslayer","inputlayer":"lin"}`, "want one of identity sigmoid tanh relu"},
		{in + `,"transfunc":{"type":"relu","proba":1}},{"name":"out","type":"losslayer","inputlayer":"lin"}`, `transfer function relu: no setting "proba", want one of none`},
	} {
		_, err := compose(t, `{"layers":[`+c.layers+`]}`, Conf{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.layers, err, c.want)
		}
	}
}

// The loss layer may stand first, and Angel's names of settings become ours.
func TestCompose(t *testing.T) {
	m, err := compose(t, `{"data":{"indexrange":-1}, "model":{"modeltype":"T_FLOAT_SPARSE_LONGKEY"}, "layers":[
		{"name":"out","type":"simplelosslayer","inputlayer":"lin","lossfunc":"logloss"},
		{"name":"lin","type":"simpleinputlayer","outputdim":1,"transfunc":"identity",
		 "optimizer":{"type":"FTRL","alpha":0.05,"beta":1.0,"reg1":1.0,"reg2":0.1,"lr":3}}]}`, Conf{})
	if err != nil {
		t.Fatal(err)
	}
	w, b := m.Params()[0], m.Params()[1]
	h := w.Hyper
	if w.Name != "lin_weight" || w.Rule != "ftrl" || len(h) != 5 || h["alpha"] != 0.05 || h["l1"] != 1 || h["l2"] != 0.1 ||
		h["warm"] != 1 || w.Layout != matrix.RowSparse {
		t.Errorf("weight %+v", w)
	}
	if b.Rule != "ftrl" || len(b.Hyper) != 3 || b.Hyper["alpha"] != 0.05 {
		t.Errorf("bias %+v", b)
	}
	m, err = compose(t, `{"data":{"indexrange":123},"default_optimizer":{"type":"Adam","gamma":0.99,"reg1":0},"layers":[`+
		in+`},{"name":"out","type":"losslayer","inputlayer":"lin"}]}`, Conf{})
	if err != nil {
		t.Fatal(err)
	}
	w = m.Params()[0]
	if w.Rule != "adam" || w.Hyper["beta2"] != 0.99 || len(w.Hyper) != 1 || w.Layout != matrix.RowDense || w.Cols != 123 {
		t.Errorf("weight %+v", w)
	}
	if m.Loss.Name() != "logloss" {
		t.Errorf("loss %s, want logloss", m.Loss.Name())
	}
}

// A model says what it is: from its JSON comes the same model.
func TestModelJSON(t *testing.T) {
	for _, a := range Algos() {
		for _, c := range []Conf{{Dim: 10}, {}, {Dim: 10, Sparse: true}, {Dim: 7, Rule: "momentum", Hyper: map[string]float64{"l2": 1e-3, "mu": 0.5}, Bias: "sgd"}} {
			m, err := a.Build(c)
			if err != nil {
				t.Fatal(err)
			}
			f, err := graph.ParseJSON(m.JSON())
			if err != nil {
				t.Fatalf("%v in\n%s", err, m.JSON())
			}
			back, err := Compose(f, Conf{})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(back.JSON(), m.JSON()) {
				t.Errorf("%s %+v:\n%s\nback:\n%s", a.Name, c, m.JSON(), back.JSON())
			}
			for i, want := range m.Params() {
				if got := back.Params()[i]; !sameMeta(got, want) {
					t.Errorf("%s %+v: matrix %+v, want %+v", a.Name, c, got, want)
				}
			}
			if len(f.Unknown) != 0 {
				t.Errorf("%s: unknown keys %v", a.Name, f.Unknown)
			}
		}
	}
}

func sameMeta(a, b graph.Param) bool {
	if len(a.Hyper) != len(b.Hyper) {
		return false
	}
	for name, v := range a.Hyper {
		if w, ok := b.Hyper[name]; !ok || w != v {
			return false
		}
	}
	return a.Name == b.Name && a.Rows == b.Rows && a.Cols == b.Cols && a.Layout == b.Layout && a.Rule == b.Rule && a.Rate == b.Rate && a.Fixed == b.Fixed &&
		a.Features == b.Features && a.Init.Equal(b.Init) && a.Storage == b.Storage
}

// Networks as users of Angel write them by hand, and, where they are there, those that such users saved, build as they are.
func TestRealGraphs(t *testing.T) {
	type network struct {
		algo, weight, rule string
		hyper              map[string]float64
		cols               int64
		layout             matrix.Layout
	}
	all := map[string]network{
		"../graph/testdata/clicks.json": {"lr", "wide_weight", "momentum",
			map[string]float64{"mu": 0.8, "l2": 0.002}, 40, matrix.RowSparse},
		"../graph/testdata/prices.json": {"linreg", "sum_weight", "adagrad", map[string]float64{"l1": 0.001}, 5, matrix.RowDense},
		"../graph/testdata/terms.json": {"svm", "hashed_weight", "ftrl",
			map[string]float64{"alpha": 0.05, "beta": 2, "l1": 0.5, "l2": 0.25, "warm": 1}, math.MaxInt64, matrix.RowSparse},
	}
	for name, l2 := range map[string]float64{"mlcore-lr": 0.001, "serving-lr": 0.01} {
		path := filepath.Join("..", "..", "shared", "golden", "angel", "real", name, graph.FileName)
		if _, err := os.Stat(path); err != nil {
			t.Logf("no golden file: %v", err)
			continue
		}
		all[path] = network{"lr", "input_weight", "adam", map[string]float64{"l2": l2}, 123, matrix.RowDense}
	}
	for name, want := range all {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := compose(t, string(src), Conf{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		w := m.Params()[0]
		if w.Name != want.weight || w.Cols != want.cols || w.Rule != want.rule || w.Layout != want.layout ||
			!maps.Equal(w.Hyper, want.hyper) {
			t.Errorf("%s: %+v, want %+v", name, w, want)
		}
		if got := NameOf(m.File); got != want.algo {
			t.Errorf("%s is taken for %q, want %s", name, got, want.algo)
		}
		if len(m.File.Unknown) != 0 {
			t.Errorf("%s: unknown keys %v", name, m.File.Unknown)
		}
	}
}

func TestFind(t *testing.T) {
	if _, err := Find("xyz"); err == nil || err.Error() != `algorithm "xyz", want one of lr linreg svm softmax robust poisson fm ffm dnn wdl deepfm nfm pnn dcn gbdt` {
		t.Errorf("got %v", err)
	}
	if _, err := lr.Build(Conf{Dim: 3, Rule: "sgd", Hyper: map[string]float64{"mu": 1}}); err == nil ||
		err.Error() != `lr: update rule sgd: no setting "mu", want one of l1 l2` {
		t.Errorf("got %v", err)
	}
}

func FuzzCompose(f *testing.F) {
	for _, a := range Algos() {
		m, err := a.Build(Conf{Dim: 10})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(m.JSON())
	}
	f.Add([]byte(`{"layers":[{"name":"a","type":"losslayer","inputlayer":"a"}]}`))
	f.Add([]byte(`{"data":{"indexrange":9223372036854775807},"layers":[` + in + `},{"name":"o","type":"losslayer","inputlayer":"lin"}]}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		file, err := graph.ParseJSON(src)
		if err != nil {
			return
		}
		m, err := Compose(file, Conf{})
		if err != nil {
			return
		}
		for _, meta := range m.Params() {
			if err := meta.Check(); err != nil {
				t.Error(err)
			}
		}
		if again, err := graph.ParseJSON(m.JSON()); err != nil || len(again.Layers) != len(file.Layers) {
			t.Errorf("%v from\n%s", err, m.JSON())
		}
	})
}
