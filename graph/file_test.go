package graph

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const deep = `{
  "data": {"format": "dummy", "indexrange": 148, "numfield": 13, "validateratio": 0, "path": "dätä 😀"},
  "train": {"epoch": 12, "numupdateperepoch": 80, "lr": 0.002, "decayclass": "WarmRestarts", "decayalpha": 0.05},
  "model": {"modeltype": "T_FLOAT_DENSE", "modelsize": 148, "blockSize": 7},
  "default_optimizer": "adam",
  "default_transfunc": {"type": "dropout", "proba": 0.5, "actiontype": "train"},
  "layers": [
    {"name": "emb", "type": "embedding", "outputdim": 104, "numfactors": 8, "optimizer": {"beta": 0.9, "reg2": 1e-05, "type": "adam"}},
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
		f.Layers[3].LossFunc.Num["delta"] != 1.5 || len(f.Ignored) != 0 {
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
	if err != nil || !reflect.DeepEqual(again, f) {
		t.Errorf("%v, back:\n%s", err, again.JSON())
	}
}

func TestIgnored(t *testing.T) {
	f, err := ParseJSON([]byte(`{"train":{"LR":1,"decay":2},"extra":{"a":[1]},"layers":[{"name":"a","type":"b","x":{"y":1}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"train.decay", "extra", "layers[0].x"}; !slices.Equal(f.Ignored, want) || f.Train.LR != 1 {
		t.Errorf("ignored %v, want %v; rate %v", f.Ignored, want, f.Train.LR)
	}
}

func TestFileErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{``, "graph.json at byte 0: unexpected end"},
		{`{"layers":[}`, "graph.json at byte 12"},
		{`{}`, "no layers"},
		{`{"layers":[{"outputdim":"x"}]}`, "cannot unmarshal"},
		{`{"layers":[{"optimizer":7}]}`, "7 is neither a name nor an object"},
		{`{"layers":[{"optimizer":{"reg1":1}}]}`, "has no type"},
		{`{"layers":[{"lossfunc":{"type":"a","delta":[1]}}]}`, `setting "delta"`},
		{strings.Repeat(" ", FileLimit+1), "want at most"},
	} {
		if _, err := ParseJSON([]byte(c.src)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40s: %v, want %q", c.src, err, c.want)
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
		if len(f.Layers) != 2 || f.Data.IndexRange != columns || len(f.Ignored) != 0 {
			t.Errorf("%s: %+v", name, f)
		}
		if again, err := ParseJSON(f.JSON()); err != nil || !reflect.DeepEqual(again, f) {
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
