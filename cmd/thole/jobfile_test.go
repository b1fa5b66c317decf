package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thole.example/graph"
)

// flagSamples are values by the flags' types, or by their names where they take only some.
var flagSamples = map[string]string{"stringToString": "a=1,b=x", "stringArray": "a", "stringSlice": "a", "intSlice": "3,4", "bool": "true",
	"int": "7", "int64": "7", "uint64": "7", "float64": "0.25", "duration": "3s", "string": "word",
	"conf": "ml.epoch.num=3,ml.learn.rate=0.25"}

// everyFlag runs visit for every flag of train that a file can give, with a value that is not its default.
func everyFlag(t *testing.T, visit func(f *pflag.Flag, value string)) {
	c := trainCommand(&env{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
	n := 0
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(notInFiles, f.Name) {
			n++
			visit(f, cmp.Or(flagSamples[f.Name], flagSamples[f.Value.Type()]))
		}
	})
	if n < 40 {
		t.Errorf("%d flags, want those of train", n)
	}
}

// parsed is a train command whose flags were read from a command line and then from the files that it names. Nothing is trained.
func parsed(t *testing.T, args ...string) (*pflag.FlagSet, string, error) {
	t.Helper()
	var said bytes.Buffer
	e := &env{in: strings.NewReader(""), out: io.Discard, err: &said}
	j := &job{}
	c := &cobra.Command{Use: "train"}
	j.flags(e, c)
	c.Flags().StringVar(&j.jobFile, "job", "", "")
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return c.Flags(), said.String(), errorOf(j.files(t.Context(), e), &said)
}

// errorOf is an error, or what was told in place of one.
func errorOf(err error, said *bytes.Buffer) error {
	if err == nil && said.Len() > 0 {
		return fmt.Errorf("told: %s", said)
	}
	return err
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEveryFlagInAFile wants a flag to be the same whether a job file or the command line says it, and the command line to win.
func TestEveryFlagInAFile(t *testing.T) {
	section := map[string]string{} // flags whose name is that of a section of the grammar
	for _, k := range jobKeys() {
		section[k.flag] = k.path
	}
	everyFlag(t, func(f *pflag.Flag, value string) {
		if f.Name == "graph" || f.Name == "servers" || f.Name == "tcp" || f.Name == "sync" {
			return // another file; of train alone
		}
		text := f.Name + ": " + value
		switch f.Value.Type() {
		case "stringToString":
			text = f.Name + ": {" + strings.NewReplacer("=", ": ", ",", ", ").Replace(value) + "}"
		case "intSlice":
			text = f.Name + ": [3, 4]"
		}
		if f.Name == "data" || f.Name == "model" {
			head, key, _ := strings.Cut(section[f.Name], ".")
			text = fmt.Sprintf("%s:\n  %s: %s", head, key, value)
		}
		path := write(t, "job.yaml", text)
		byFile, _, err := parsed(t, "--job", path)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			return
		}
		byHand, _, err := parsed(t, "--"+f.Name+"="+value)
		if err != nil {
			t.Fatal(err)
		}
		sorted := func(flags *pflag.FlagSet) string {
			if all, err := flags.GetStringToString(f.Name); err == nil {
				return fmt.Sprint(all)
			}
			return flags.Lookup(f.Name).Value.String()
		}
		if got, want := sorted(byFile), sorted(byHand); got != want || !byFile.Changed(f.Name) {
			t.Errorf("%q makes --%s %s, want %s", text, f.Name, got, want)
		}
		if f.Value.Type() == "int" {
			if both, _, err := parsed(t, "--job", path, "--"+f.Name, "3"); err != nil || both.Lookup(f.Name).Value.String() != "3" {
				t.Errorf("%q and --%s 3: %v (%v)", text, f.Name, both.Lookup(f.Name).Value, err)
			}
		}
	})
}

// TestJobKeys wants every key of the table to be a key of the grammar and a flag, and what is set to be what is got.
func TestJobKeys(t *testing.T) {
	flags, _, err := parsed(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range jobKeys() {
		f := flags.Lookup(k.flag)
		if f == nil {
			t.Errorf("%s: no flag --%s", k.path, k.flag)
			continue
		}
		if k.text != nil && k.flag != "dim" && k.flag != "pos-neg" {
			continue // only read
		}
		file := &graph.File{}
		value := flagSamples[f.Value.Type()]
		if k.flag == "fields" {
			value = "0,9,18"
		}
		if got, ok := k.get(file); ok {
			t.Errorf("%s of nothing is %q", k.path, got)
		}
		if err := k.set(file, value); err != nil {
			t.Errorf("%s: %v", k.path, err)
		}
		if got, ok := k.get(file); !ok || got != value {
			t.Errorf("%s is %q, want %q", k.path, got, value)
		}
	}
}

func TestFilesRefused(t *testing.T) {
	net := `"layers":[{"name":"a","type":"simpleinputlayer","outputdim":1},{"name":"o","type":"losslayer","inputlayer":"a"}]}`
	file := write(t, "net.json", `{`+net)
	for _, c := range []struct{ flag, text, want string }{
		{"job", "algo: lr\nepoch: 3", "job.yaml:2: epoch is no setting; did you mean epochs?"},
		{"job", "train:\n  epoch: 3\n  decay: 0.5", "job.yaml:3: train.decay is no setting; did you mean decayalpha or decaybeta?"},
		{"job", "train:\n  epohc: 3", "job.yaml:2: train.epohc is no setting; did you mean epoch?"},
		{"job", "epochs: many", `job.yaml:1: epochs is "many", want a whole number`},
		{"job", "train: {epoch: many}", "job.yaml:1: train.epoch is a string, want a whole number"},
		{"job", "epochs: [1]", "job.yaml:1: epochs is [1], want one value"},
		{"job", "\nhyper: 3", "job.yaml:2: hyper is 3, want settings, NAME: VALUE"},
		{"job", "validate: {a: b}", "want a value or a list of values"},
		{"job", "epochs: 3\ntrain: {epoch: 4}", "train.epoch is also said by another key, with another value"},
		{"job", "epochs: 3\nepochs: 4", "job.yaml:2: epochs twice"},
		{"job", "job: x", "job.yaml:1: job is no setting"},
		{"job", "- a", "the file is an array, want an object"},
		{"job", "algo: lr\n" + strings.Replace(net[:len(net)-1], `"layers":`, "layers: ", 1), "want one of them"},
		{"job", strings.Replace(net[:len(net)-1], `"layers":`, "layers: ", 1) + "\ngraph: " + file, "has layers, and the network is that of"},
		{"job", "default_optimizer: adam", "defaults of layers and no layers"},
		{"job", "a: " + strings.Repeat("x", yamlLimit), "bytes, want at most"},
		{"job", "layers: [{name: in, type: simpleinputlayer, outputdim: 1, numfactors: 3}, {name: out, type: simplelosslayer, inputlayer: in}]",
			`layers[0].numfactors has no effect: simpleinputlayer "in" has none`},
		{"job", "layers: [{name: in, type: simpleinputlayer, outputdim: 1, transfuncs: [relu]}, {name: out, type: simplelosslayer, inputlayer: in}]",
			"did you mean transfunc?"},
		{"job", "layers: [{name: in, type: fclayer, outputdim: 1, outputdims: [2, 1]}, {name: out, type: simplelosslayer, inputlayer: in}]",
			`layers[0].outputdim has no effect: "in" has outputdims beside it, want one of them`},
		{"job", "layers: [{name: in, type: simpleinputlayer, outputdim: 1}, {name: out, type: simplelosslayer, inputlayer: in, lossfunc: crossentropyloss}]",
			`crossentropyloss of "out" reads "in", whose outputs may be any numbers: want probabilities`},
		{"graph", `{"default_lossfunc":"crossentropyloss",` + net, `crossentropyloss of "o" reads "a", whose outputs may be any numbers`},
		{"job", "model: {modeltype: T_INT_DENSE}", `model.modeltype "T_INT_DENSE", want T_FLOAT_DENSE`},
		{"job", "train: {decayclass: Standard}", "want one of constant"},
		{"job", "train: {decayalpha: 0.1}\nschedule-set: {alpha: 0.2}", "train.decayalpha and schedule-set"},
		{"job", "train: {checkpoint: {every: 3}}", "job.yaml: train.checkpoint.every is 3, want a train.checkpoint.path"},
		{"graph", `{"train":{"checkpoint":{"every":3}},` + net, "train.checkpoint.every is 3, want a train.checkpoint.path"},
		{"graph", `{"train":{"epoch":1}}`, "no layers, want at least"},
		{"graph", `{"layers":[`, "unexpected end"},
		{"graph", `{"train":{"decay":1},` + net, "told: "},
		{"graph", `{"train":{"decay":1},` + net, ":1: train.decay has no effect: it is not in the grammar"},
		{"graph", `{"model":{"loadPath":"m"},` + net, "model.loadPath is read; Angel ignores it"},
		{"graph", `{"model":{"blockSize":5},` + net, "model.blockSize has no effect"},
		{"graph", `{"model":{"modeltype":"T_DOUBLE_DENSE"},` + net, "kept as float32"},
		{"graph", `{"train":{"numupdateperepoch":5,"batchsize":7},` + net, "train.batchsize has no effect beside"},
		{"graph", `{"train":{"decayclass":"ConstantLearningRate","decayalpha":7},` + net, "train.decayalpha has no effect"},
		{"graph", `{"epochs":5,` + net, "epochs has no effect: it is not in the grammar"},
		{"graph", `{"seed":5,` + net, "seed has no effect: it is not in the grammar; did you mean train.seed?"},
		{"graph", `{"default_optimizer":"adamax",` + net, `update rule "adamax"`},
	} {
		name := map[string]string{"job": "job.yaml", "graph": "net.json"}[c.flag]
		if _, _, err := parsed(t, "--"+c.flag, write(t, name, c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: %v, want %q", c.text, err, c.want)
		}
	}
	for _, args := range [][]string{{"--graph", file, "--algo", "lr"}, {"--graph", "nothing.json"}, {"--job", "nothing.yaml"}} {
		if _, _, err := parsed(t, args...); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

// What the command line says goes before the job, and that before the network's file; with a rule or schedule go its settings.
func TestPrecedence(t *testing.T) {
	net := write(t, "net.json", `{"data":{"indexrange":-1,"useshuffle":false,"posnegratio":-1},"model":{"modeltype":"T_FLOAT_SPARSE_LONGKEY"},
		"train":{"epoch":5,"numupdateperepoch":9,"lr":0.5,"decayalpha":0.2},
		"layers":[{"name":"a","type":"simpleinputlayer","outputdim":1},{"name":"o","type":"losslayer","inputlayer":"a"}]}`)
	file := write(t, "job.yaml", "graph: "+net+"\nepochs: 7\nbatch: 64\nrule: momentum\nhyper: {mu: 0.5}\nstaleness: 2")
	flags, said, err := parsed(t, "--job", file, "--rule", "ftrl", "--staleness=-1")
	if err != nil {
		t.Fatalf("%v, told %q", err, said)
	}
	for name, want := range map[string]string{"epochs": "7", "batch": "64", "updates": "0", "rate": "0.5", "rule": "ftrl", "hyper": "[]",
		"staleness": "-1", "schedule": "StandardDecay", "schedule-per": "epoch", "schedule-set": "[alpha=0.2]", "dim": "0", "pos-neg": "0",
		"in-order": "true", "sparse": "true", "algo": "lr"} {
		if got := flags.Lookup(name).Value.String(); got != want {
			t.Errorf("--%s is %s, want %s", name, got, want)
		}
	}
}
