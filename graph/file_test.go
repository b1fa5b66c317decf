package graph

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const deep = `{
  "data": {"format": "dummy", "indexrange": 148, "numfield": 13, "validateratio": 0, "path": "dätä 😀",
    "useshuffle": false, "fields": [0, 9, 18], "classes": [1, 2]},
  "train": {"epoch": 12, "numupdateperepoch": 80, "lr": 0.002, "decayclass": "WarmRestarts", "decayalpha": 0.05,
    "seed": 0, "clip": 1.5, "metrics": ["auc"], "early_stop": {"metric": "auc", "mode": "max", "patience": 3, "min_delta": 1e-4},
    "checkpoint": {"path": "c", "every": 2}},
  "model": {"modeltype": "T_FLOAT_DENSE", "modelsize": 148, "blockSize": 7},
  "default_optimizer": "adam",
  "default_transfunc": {"type": "dropout", "proba": 0.5, "actiontype": "train"},
  "layers": [
    {"name": "emb", "type": "embedding", "outputdim": 104, "numfactors": 8, "init": {"type": "normal", "scale": 0.01}, "optimizer": {"beta": 0.9, "reg2": 1e-05, "type": "adam"}},
    {"name": "mlp", "type": "fclayer", "outputdims": [64, 1], "transfuncs": ["relu", "identity"], "inputlayer": "emb"},
    {"name": "sum", "type": "sumpooling", "outputdim": 1, "inputlayers": ["mlp", "mlp"]},
    {"name": "out", "type": "simplelosslayer", "inputlayer": "sum", "lossfunc": {"delta": 1.5, "type": "huberloss"}}
  ]
}`

func TestFile(t *testing.T) {
	f, err := ParseJSON([]byte(deep))
	if err != nil {
		t.Fatal(err)
	}
	if f.Data.IndexRange != 148 || *f.Data.ValidateRatio != 0 || f.Train.LR != 0.002 || f.Model.BlockSize != 7 ||
		f.DefaultOptimizer.Type != "adam" || f.DefaultTransFunc.Text["actiontype"] != "train" ||
		f.Layers[0].Optimizer.Num["reg2"] != 1e-5 || f.Layers[1].TransFuncs[1].Type != "identity" ||
		f.Layers[3].LossFunc.Num["delta"] != 1.5 || len(f.Unknown)+len(f.Respelt) != 0 {
		t.Errorf("%+v", f)
	}
	if got := f.Layers[2].Inputs(); !slices.Equal(got, []string{"mlp", "mlp"}) {
		t.Errorf("sum reads %v", got)
	}
	if got := f.Layers[1].Inputs(); !slices.Equal(got, []string{"emb"}) {
		t.Errorf("mlp reads %v", got)
	}
	out := f.JSON()
	if !bytes.Contains(out, []byte(`"d\u00e4t\u00e4 \ud83d\ude00"`)) {
		t.Errorf("letters beyond ASCII not escaped:\n%s", out)
	}
	again, err := ParseJSON(out)
	if err == nil {
		again.Lines = f.Lines // it stands elsewhere
	}
	if err != nil || !reflect.DeepEqual(again, f) {
		t.Errorf("%v, back:\n%s", err, again.JSON())
	}
}

func TestKeys(t *testing.T) {
	src := `{"train":{"LR":1,"decay":2},
	"extra":{"a":[1],
	 "b":2},"layers":[{"name":"a","type":"b","outputdims":[7],"outputdin":{"y":1}}],
	"model":{"loadPath":"m"}}`
	f, err := Parse("net.json", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	show := func(keys []Key) (all []string) {
		for _, k := range keys {
			all = append(all, fmt.Sprintf("%d %s %s%s", k.Line, k.Path, k.Value, k.Nearest()))
		}
		return all
	}
	if got, want := show(f.Unknown), []string{"1 train.decay 2; did you mean decayalpha or decaybeta?", "2 extra {\"a\":[1],\n\t \"b\":2}",
		`3 layers[0].outputdin {"y":1}; did you mean outputdim?`}; !slices.Equal(got, want) {
		t.Errorf("unknown %q, want %q", got, want)
	}
	if got, want := show(f.Respelt), []string{"1 train.LR ", "4 model.loadPath "}; len(got) != 2 || got[0][:10] != want[0][:10] ||
		!strings.HasPrefix(got[1], want[1]) {
		t.Errorf("of other case %q, want %q", got, want)
	}
	if at := f.Lines; at["train.lr"] != 1 || at["layers[0].outputdims"] != 3 || at["model.loadpath"] != 4 || at["extra"] != 0 {
		t.Errorf("keys stand in lines %v", at)
	}
	if f.Train.LR != 1 || f.Model.LoadPath != "m" {
		t.Errorf("rate %v, path %q", f.Train.LR, f.Model.LoadPath)
	}
}

// A key that the grammar has at another place is told of with it, unless one of that place is near.
func TestNearestElsewhere(t *testing.T) {
	for src, want := range map[string]string{
		`{"seed":1}`:                       "; did you mean train.seed?",
		`{"lr":1}`:                         "; did you mean train.lr?",
		`{"model":{"path":"m"}}`:           "; did you mean data.path or train.checkpoint.path?",
		`{"early_stop":{"patience":1}}`:    "; did you mean train.early_stop?",
		`{"optimizer":"adam"}`:             "; did you mean layers[].optimizer?",
		`{"train":{"metric":["auc"]}}`:     "; did you mean metrics?",
		`{"train":{"decay":"cosine"}}`:     "; did you mean decayclass?",
		`{"train":{"decay":[1]}}`:          "; did you mean decayclass, decayalpha or decaybeta?",
		`{"train":{"decay":0.5}}`:          "; did you mean decayalpha or decaybeta?",
		`{"nothing":1,"train":{"lr":0.5}}`: "",
	} {
		f, err := Parse("net.json", []byte(src))
		if err != nil || len(f.Unknown) != 1 {
			t.Fatalf("%s: %v, %v", src, f, err)
		}
		if got := f.Unknown[0].Nearest(); got != want {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}

// Files as users of Angel write them by hand, and, where they are there, those that such users saved: every key is known, and
// what is written of them reads the same.
func TestRealFiles(t *testing.T) {
	files := map[string]int64{"testdata/clicks.json": 40, "testdata/prices.json": 5, "testdata/terms.json": -1} // columns
	for _, name := range []string{"mlcore-lr", "serving-lr"} {
		path := filepath.Join("..", "..", "shared", "golden", "angel", "real", name, FileName)
		if _, err := os.Stat(path); err != nil {
			t.Logf("no golden file: %v", err)
			continue
		}
		files[path] = 123
	}
	for name, columns := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := ParseJSON(src)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(f.Layers) != 2 || f.Data.IndexRange != columns || len(f.Unknown)+len(f.Respelt) != 0 {
			t.Errorf("%s: %+v", name, f)
		}
		again, err := ParseJSON(f.JSON())
		if err == nil {
			again.Lines = f.Lines // it stands elsewhere
		}
		if err != nil || !reflect.DeepEqual(again, f) {
			t.Errorf("%s: %v, back:\n%s", name, err, f.JSON())
		}
	}
}

func FuzzParseJSON(f *testing.F) {
	f.Add([]byte(deep))
	f.Add([]byte(`{"layers":[{"name":"a","type":"b","optimizer":{"type":"c","n":1e300}}]}`))
	f.Add([]byte(`{"layers":null}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		file, err := ParseJSON(src)
		if err != nil {
			return
		}
		out := file.JSON()
		again, err := ParseJSON(out)
		if err != nil {
			t.Fatalf("%v in what was written:\n%s", err, out)
		}
		if !bytes.Equal(again.JSON(), out) {
			t.Errorf("written again:\n%s\nwas:\n%s", again.JSON(), out)
		}
	})
}
