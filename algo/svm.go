package algo

// svm is the linear support vector machine: label +1 where w*x + b is above zero. Its penalty l2 is 1/(C*rows) in the
// usual terms; the default is C = 0.1 for 100000 rows.
var svm = Algo{
	Name: "svm", Help: "linear support vector machine",
	Also: []string{"SupportVectorMachine"},
	Task: Classification,
	Defaults: Defaults{
		Rule: "adam", Hyper: map[string]float64{"l2": 1e-4},
		Schedule: "linear", PerBatch: true, Batch: 512, Epochs: 10,
	},
	Wide: wideLinear,
	File: linear(1, "hingeloss"),
}
