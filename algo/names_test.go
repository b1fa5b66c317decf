package algo

import (
	"strings"
	"testing"
)

// Names of Angel's documents, of papers and of users, in letters of any case and with what stands between words.
func TestOtherNames(t *testing.T) {
	for _, c := range []struct {
		want  string
		names []string
	}{
		{"lr", []string{"lr", "LR", "Lr", "LogisticRegression", "logisticregression", "logistic regression", "logistic-regression"}},
		{"linreg", []string{"Linear Regression", "linearregression", "LINEAR_REGRESSION", "LinReg"}},
		{"svm", []string{"SVM", "SupportVectorMachine", "support vector machine"}},
		{"softmax", []string{"Softmax", "SoftmaxRegression"}},
		{"robust", []string{"RobustRegression", "robust-regression"}},
		{"poisson", []string{"Poisson", "PoissonRegression"}},
		{"fm", []string{"FM", "FactorizationMachines", "factorization machine"}},
		{"ffm", []string{"FFM", "FieldAwareFactorizationMachines", "field-aware factorization machine"}},
		{"dnn", []string{"DNN"}},
		{"wdl", []string{"WDL", "Wide And Deep", "wideanddeep", "Wide&Deep", "Wide & Deep", "WideAndDeep", "wide_and_deep"}},
		{"deepfm", []string{"DeepFM", "deep-fm", "DEEPFM"}},
		{"nfm", []string{"NFM", "NeuralFactorizationMachines"}},
		{"pnn", []string{"PNN", "ProductNeuralNetwork"}},
		{"dcn", []string{"DCN", "DeepAndCross", "deep & cross network"}},
	} {
		for _, name := range c.names {
			if a, err := Find(name); err != nil || a.Name != c.want {
				t.Errorf("%q: %v, want %s", name, err, c.want)
			}
		}
	}
	for class, want := range map[string]string{
		"com.tencent.angel.ml.classification.LogisticRegression":          "lr",
		"com.tencent.angel.ml.classification.SupportVectorMachine":        "svm",
		"com.tencent.angel.ml.classification.SoftmaxRegression":           "softmax",
		"com.tencent.angel.ml.classification.FactorizationMachines":       "fm",
		"com.tencent.angel.ml.classification.DeepFM":                      "deepfm",
		"com.tencent.angel.ml.classification.WideAndDeep":                 "wdl",
		"com.tencent.angel.ml.classification.NeuralFactorizationMachines": "nfm",
		"com.tencent.angel.ml.classification.ProductNeuralNetwork":        "pnn",
		"com.tencent.angel.ml.regression.LinearRegression":                "linreg",
		"com.tencent.angel.ml.regression.RobustRegression":                "robust",
		"com.tencent.angel.ml.GBDT.GBDTRunner":                            "gbdt",
		"com.tencent.angel.ml.GBDT.GBDT":                                  "gbdt",
	} {
		if a, err := Find(class); err != nil || a.Name != want {
			t.Errorf("%q: %v, want %s", class, err, want)
		}
	}
}

// Names of what cannot be learned say so, and what to do in place of it; others have the nearest name.
func TestNamesRefused(t *testing.T) {
	for name, want := range map[string]string{
		"MixedLogisticRegression":                                         "there is no recipe of mixed logistic regression; a graph describes its network",
		"com.tencent.angel.ml.classification.MixedLogisticRegression":     "a graph describes its network",
		"com.tencent.angel.ml.core.graphsubmit.GraphModel":                "its network is that of a file: --graph FILE",
		"com.tencent.angel.ml.classification.LogisticRegresion":           "did you mean LogisticRegression?",
		"com.example.LogisticRegression":                                  "want one of lr linreg",
		"svn":                                                             "did you mean svm?",
		"LogisticRegresion":                                               "did you mean LogisticRegression?",
		"com.tencent.angel.ml.classification.FactorizationMachinesRunner": "did you mean FactorizationMachines?",
		"":    "want one of lr linreg",
		"-":   "want one of lr linreg",
		"lr.": "want one of lr linreg",
	} {
		if a, err := Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %q", name, a, err, want)
		}
	}
}

// Every name stands for one thing.
func TestNamesDiffer(t *testing.T) {
	seen := map[string]string{}
	add := func(name, of string) {
		if was := seen[folded(name)]; was != "" || folded(name) == "" {
			t.Errorf("%q is a name of %s and of %s", name, was, of)
		}
		seen[folded(name)] = of
	}
	for _, a := range Algos() {
		for _, name := range append(a.Also, a.Name) {
			add(name, a.Name)
		}
	}
	for _, m := range missing() {
		for _, name := range m.names {
			add(name, m.names[0])
		}
	}
}
