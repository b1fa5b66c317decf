package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The trainings of TestCompat, of which an independent account in float64 says what Angel's rules of training come to.
const (
	a9aLR   = "--data a9a/a9a_123d_train.dummy --l2 0.001"
	a9aSGD  = "--data a9a/a9a_123d_train.dummy --rule sgd --schedule constant"
	a9aSVM  = "--algo svm --data a9a/a9a_123d_train.dummy --rate 0.1 --l2 0.01"
	abalone = "--algo linreg --data abalone/abalone_8d_train.libsvm --rate 0.05 --schedule constant"
	byMany  = "--algo linreg --data abalone/abalone_8d_train.libsvm --rate 0.25 --l2 0.0001 --batch 99"
	dna     = "--algo softmax --data dna/dna.scale --format libsvm --rate 0.1 --l2 0.001"
)

// want is what is known of a training after so many epochs: metrics of every 10th row, held out, and parameters.
type want struct {
	args    string
	epochs  string
	metrics map[string]float64
	weights []float64
	bias    []float64
}

func compatWants() []want {
	return []want{
		{a9aLR, "1", set{"logloss": .386745005, "auc": .871595501, "accuracy": .816395456},
			row{-.545954112, -.239843252, .094975837}, row{-.080117851}},
		{a9aLR, "2", set{"logloss": .365838443, "auc": .886520416, "accuracy": .833589193},
			row{-.829455432, -.383288899, .157771220}, row{-.039438170}},
		{a9aLR, "5", set{"logloss": .342485031, "auc": .898681550, "accuracy": .837887627},
			row{-.993108634, -.405503139, .138627505}, row{-.062495835}},
		{a9aLR, "10", set{"logloss": .339249041, "auc": .900653559, "accuracy": .842186061},
			row{-1.045324833, -.400999013, .125241558}, row{-.068543934}},
		{a9aSGD, "1", set{"logloss": .442082138}, row{-.193274028}, nil},
		{a9aSGD, "2", set{"logloss": .404327789}, row{-.285425911}, nil},
		{a9aSGD, "3", set{"logloss": .387490516}, row{-.349358427}, nil},
		{a9aSVM, "1", set{"hingeloss": .517008985, "accuracy": .760822843}, row{-.263261199}, nil},
		{a9aSVM, "10", set{"hingeloss": .374021579, "accuracy": .835738410}, row{-.364742790}, nil},
		{abalone, "1", set{"rmse": math.Sqrt(21.940692211)}, nil, nil},
		{abalone, "10", set{"rmse": math.Sqrt(8.176198610), "r2": .252147308}, nil, row{4.860069897}},
		{byMany, "100", set{"rmse": math.Sqrt(6.038367784), "r2": .447688}, nil, nil},
		{dna, "1", set{"softmaxloss": .518358734, "accuracy": .90}, nil, nil},
		{dna, "10", set{"softmaxloss": .213381155, "accuracy": .94}, nil, row{-.034409241, -.007545245, .041954487}},
	}
}

type (
	set = map[string]float64
	row = []float64
)

// sharedData is the path of a file of test data; ok is false if it is not there.
func sharedData(t *testing.T, name string) (path string, ok bool) {
	path = filepath.Join("..", "..", "..", "shared", "data", name)
	_, err := os.Stat(path)
	if err != nil {
		t.Logf("no data: %v", err)
	}
	return path, err == nil
}

// trainAsAngel trains as Angel does, every 10th row held out, and answers the metrics of these rows. The model is saved.
func trainAsAngel(t *testing.T, model, epochs string, args ...string) set {
	t.Helper()
	log := model + ".log"
	thole(t, append([]string{"train", "--compat", "angel", "--holdout", "0.1", "--epochs", epochs, "--model", model, "--log", log}, args...)...)
	var end struct{ Valid set }
	if err := json.Unmarshal(lastLine(t, log), &end); err != nil {
		t.Fatal(err)
	}
	return end.Valid
}

// near wants two numbers to differ by a millionth at most.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-6*max(1, math.Abs(want))) {
		t.Errorf("%s %.9f, want %.9f", what, got, want)
	}
}

// TestCompat wants thole train --compat angel to repeat trainings of Angel's, to 1e-6.
func TestCompat(t *testing.T) {
	for _, w := range compatWants() {
		args, there := strings.Fields(w.args), true
		for i, arg := range args {
			if i > 0 && args[i-1] == "--data" {
				args[i], there = sharedData(t, arg)
			}
		}
		if !there {
			continue
		}
		model, name := filepath.Join(t.TempDir(), "model"), w.args+", "+w.epochs+" epochs: "
		valid := trainAsAngel(t, model, w.epochs, args...)
		for metric, v := range w.metrics {
			near(t, name+metric, valid[metric], v)
		}
		for matrix, values := range map[string]row{"input_weight": w.weights, "input_bias": w.bias} {
			got := columnValues(t, filepath.Join(model, matrix, "0"))
			for i, v := range values {
				near(t, name+matrix, got[i], v)
			}
		}
	}
}

// The model of ten epochs has the metrics of the account on the test file, too.
func TestCompatEvaluates(t *testing.T) {
	test, there := sharedData(t, "a9a/a9a_123d_test.dummy")
	data, _ := sharedData(t, "a9a/a9a_123d_train.dummy")
	if !there {
		t.Skip("no test file")
	}
	model := filepath.Join(t.TempDir(), "model")
	trainAsAngel(t, model, "10", "--data", data, "--l2", "0.001")
	var got struct{ Metrics set }
	if err := json.Unmarshal([]byte(thole(t, "evaluate", "--model", model, "--data", test, "--json")), &got); err != nil {
		t.Fatal(err)
	}
	for metric, v := range (set{"logloss": .325147, "accuracy": .851729, "auc": .902045}) { // six digits are known
		near(t, metric, got.Metrics[metric], v)
	}
}

func lastLine(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return lines[len(lines)-1]
}

// columnValues are the values of a file of lines "column,value", or "row,column,value".
func columnValues(t *testing.T, path string) (all row) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ',')+1:], 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}
