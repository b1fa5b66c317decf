package algo

// linreg is linear regression by least squares: y = w*x + b.
var linreg = Algo{
	Name: "linreg", Help: "linear regression", Task: Regression,
	Defaults: Defaults{Rule: "adagrad", Rate: 1, Schedule: "constant", Batch: 128, Epochs: 50},
	File:     linear("l2loss"),
}
