package algo

// softmax is multinomial logistic regression: one row of weights and one bias for each class, and the probability of class k
// is exp(s_k) over the sum of exp(s_j), s_k = w_k*x + b_k.
var softmax = Algo{
	Name: "softmax", Help: "multinomial logistic regression",
	Also: []string{"SoftmaxRegression"},
	Task: Multiclass,
	Defaults: Defaults{
		Rule: "adam", Hyper: map[string]float64{"l2": 5e-5},
		Schedule: "linear", PerBatch: true, Batch: 512, Epochs: 10,
	},
	Wide: wideLinear,
	File: linear(0, "softmaxloss"),
}
