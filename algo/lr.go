package algo

// lr is logistic regression: the probability of label +1 is 1/(1+exp(-s)), s = w*x + b.
var lr = Algo{
	Name: "lr", Help: "logistic regression", Task: Classification,
	Defaults: Defaults{Rule: "adagrad", Rate: 0.1, Schedule: "constant", Batch: 512, Epochs: 10},
	File:     linear("logloss"),
}
