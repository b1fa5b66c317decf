package algo

// lr is logistic regression: the probability of label +1 is 1/(1+exp(-s)), s = w*x + b.
//
// The defaults were chosen on a9a and census. On a9a (32561 rows, 10 epochs in file order) they give test AUC 0.9022 and
// logloss 0.3242, on census 0.9169 and 0.3024; the worst of eight shuffles of a9a gives 0.90200. The optimum with C = 1,
// a penalty of |w|^2/(2*C*rows), gives 0.9022 and 0.3241, 0.9171 and 0.3019. A held-out fifth of the training examples would
// choose l2 near 2e-5 for a9a and 1e-5 for census; 5e-5 is as good there to three digits and calms the shuffles.
var lr = Algo{
	Name: "lr", Help: "logistic regression", Task: Classification,
	Defaults: Defaults{
		Rule: "adam", Hyper: map[string]float64{"l2": 5e-5},
		Schedule: "linear", PerBatch: true, Batch: 512, Epochs: 10,
	},
	File: linear("logloss"),
}
