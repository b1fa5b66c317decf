package algo

// lr is logistic regression: the probability of label +1 is 1/(1+exp(-s)), s = w*x + b.
//
// The defaults were chosen by held-out parts of training examples of a9a, census and made-up clicks (TestChoose): with l2 = 3e-5
// the loss of none is more than 0.07 % above the best of any l2. The test files were looked at once, after that: a9a (10 epochs
// in file order) has test AUC 0.9020 and logloss 0.3243, census 0.9170 and 0.3022; the optimum with C = 1, a penalty of
// |w|^2/(2*C*rows), has 0.9022 and 0.3241, 0.9171 and 0.3019. An earlier default, 5e-5, had been chosen partly on the test files.
var lr = Algo{
	Name: "lr", Help: "logistic regression",
	Also: []string{"LogisticRegression"},
	Task: Classification,
	Defaults: Defaults{
		Rule: "adam", Hyper: map[string]float64{"l2": 3e-5},
		Schedule: "linear", PerBatch: true, Batch: 512, Epochs: 10,
	},
	Wide: wideLinear,
	File: linear(1, "logloss"),
}
