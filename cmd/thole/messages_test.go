package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thole.example/program/export"
)

// refused runs a command line that must fail, and answers with what it says and with its status.
func refused(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var out, log bytes.Buffer
	code := Main(args, &env{in: strings.NewReader(""), out: &out, err: &log})
	if code == 0 {
		t.Errorf("thole %s: status 0, want an error", strings.Join(args, " "))
	}
	return log.String(), code
}

// scene makes files in a folder of the test's own, which becomes the working directory.
func scene(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(".", name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMessages holds errors to what was found, where, and what to do next; what stands after a "!" must not be said.
func TestMessages(t *testing.T) {
	scene(t, map[string]string{"small.dummy": smallExamples(), "counts.dummy": "1 1 2\n-1 1 2\n", "classes.dummy": "0 1\n1 2\n2 3\n",
		"two.ffm": "1 0:1:1 1:2:1\n0 0:3:1 1:4:1\n", "beyond.ffm": "1 0:1:1 1:2:1\n0 0:3:1 2:4:1\n"})
	path, net := "data: {path: small.dummy, format: dummy}\n", `{"layers":[{"name":"a","type":"simpleinputlayer","outputdim":1},`
	for name, text := range map[string]string{
		"servers.yaml": path + "algo: lr\n\nservers: -2\n", "rate.yaml": path + "train:\n  epoch: 3\n  lr: -4\n",
		"rule.yaml": path + "rule: foo\n", "nested.yaml": path + "hyper: {l2: [1]}\n", "word.yaml": path + "hyper: {l2: x}\n",
		"net.json":     net + `{"name":"o","type":"losslayer","inputlayer":"a"}]}`,
		"nowhere.json": net + `{"name":"b","type":"simpleinputlayer","outputdim":1},{"name":"o","type":"losslayer","inputlayer":"a"}]}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	thole(t, "train", "--data", "classes.dummy", "--algo", "softmax", "--epochs", "1", "--model", "many")
	thole(t, "train", "--data", "two.ffm", "--algo", "deepfm", "--epochs", "1", "--model", "deep")
	thole(t, "predict", "--data", "classes.dummy", "--model", "many", "--out", "p.safetensors", "--lossy")
	if err := os.Remove("p.safetensors"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"train --data small.dummy --init none", `--init: initial values "none", want one of normal uniform positive constant`},
		{"train --data small.dummy --algo dnn --hidden a", `--hidden "a", want whole numbers with commas between them, such as 128,64`},
		{"train --data small.dummy --algo dnn --hidden 8,,4", `--hidden "8,,4", want whole numbers`},
		{"train --data small.dummy --algo dnn --hidden=", `--hidden "", want whole numbers`},
		{"train --data small.dummy --algo dnn --hidden 8,0", "--hidden 0, want 1 or more"},
		{"train --data small.dummy --algo dcn --rank -1", "--rank -1, want 0 or more!--factors"},
		{"train --data small.dummy --algo dcn --cross-layers -2", "--cross-layers -2, want 0 or more"},
		{"train --data small.dummy --algo softmax --classes 1000000", "--classes 1000000, want a number of classes from 2 to 65536"},
		{"train --data small.dummy --algo softmax --classes 2.5", "--classes 2.5, want a number of classes"},
		{"train --data small.dummy --algo fm --loss mse", "softmaxloss poissonloss; did you mean l2loss?"},
		{"train --data small.dummy --loss multiclass", "for classes use --algo softmax, or --algo gbdt --loss multiclass"},
		{"train --data small.dummy --loss softmaxloss", "lr has one score, want one for each class; for classes use --algo softmax, or --algo gbdt --loss multiclass"},
		{"train --data small.dummy --loss quantile", "; trees have it: --algo gbdt --loss quantile"},
		{"train --data small.dummy --algo linreg --loss tweedie", "tweedie!--algo gbdt"},
		{"train --data small.dummy --algo softmax --loss multinomial", "; did you mean softmaxloss?!--algo softmax"},
		{"train --data small.dummy --algo fm --loss huber --loss-set foo=x", "loss-set!did you mean"},
		{"train --data small.dummy --algo linreg --loss huberloss --loss-set foo=1", "foo!did you mean"},
		{"train --data small.dummy --algo gbdt --loss rmse", "multiclass, lambdarank; did you mean l2?"},
		{"train --data small.dummy --algo gbdt --loss logloss", "; did you mean binary?"},
		{"data splt small.dummy", `unknown command "splt", want split?`},
		{"train --data small.dummy --compat foo", `--compat "foo", want one of angel-3.1 angel-3.2 angel-master angel`},
		{"train --data counts.dummy --algo poisson", "counts.dummy:2: label -1, want a count, 0 or above (--labels maps labels)"},
		{"train --data counts.dummy --algo poisson --labels auto", "counts.dummy: example 2: label -1, want a count"},
		{"train --data counts.dummy --algo softmax --labels NoTrans", "counts.dummy:2: label -1, want a class"},
		{"predict --data counts.dummy --model many --labels NoTrans", "counts.dummy:2: label -1, want a class, 0 to 2"},
		{"predict --data beyond.ffm --model deep", "beyond.ffm:2: field 2, want 0 to 1 for 2 fields"},
		{"train --data two.ffm --validate beyond.ffm --algo deepfm", "beyond.ffm:2: field 2, want 0 to 1 for 2 fields"},
		{"predict --data classes.dummy --model many --out p.safetensors", "names of columns: would lose information (--lossy accepts it)"},
		{"train --graph nowhere.json --data small.dummy", `nowhere.json: layer "b" does not lead to the loss layer "o"!graph:`},
		{"train --graph net.json --data small.dummy --rule foo", `update rule "foo"!net.json`},
		{"train --job servers.yaml", "servers.yaml:4: servers: --servers -2, want 1 to 1024"},
		{"train --job servers.yaml --servers -3", "--servers -3, want 1 to 1024!servers.yaml"},
		{"train --job rate.yaml", "rate.yaml:4: train.lr: --rate -4, want a finite number above 0"},
		{"train --job rule.yaml", `rule.yaml:2: rule: update rule "foo", want one of`},
		{"train --job nested.yaml", "nested.yaml:2: hyper.l2 is [1], want one value"},
		{"train --job word.yaml", `word.yaml:2: hyper: --hyper l2="x", want a number`},
		{"train --data small.dummy --format dummy --algo linreg --labels NoTrans --rate 1e30 --rule sgd", "(--rate 0.1 in place of 1e+30)"},
		{"worker --servers localhost:1 --data small.dummy --load b1", "--load b1 without --algo or --graph, want one of them"},
	} {
		want, not, _ := strings.Cut(c.want, "!")
		text, _ := refused(t, strings.Fields(c.args)...)
		if !strings.Contains(text, want) || not != "" && strings.Contains(text, not) {
			t.Errorf("thole %s says %q, want %q", c.args, text, c.want)
		}
	}
}

// TestExportHelp: the help of export names every layer that it takes.
func TestExportHelp(t *testing.T) {
	text := strings.Join(strings.Fields(thole(t, "help", "export")), " ")
	for _, name := range export.Layers() {
		if !strings.Contains(text, " "+name) {
			t.Errorf("the help of export does not name %s", name)
		}
	}
}
