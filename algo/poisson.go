package algo

// poisson is regression of counts: labels are Poisson distributed with mean exp(w*x + b).
var poisson = Algo{
	Name: "poisson", Help: "regression of counts",
	Also: []string{"PoissonRegression"},
	Task: Regression, Log: true,
	Wide: wideCounts,
	Defaults: Defaults{
		Rule: "adam", Schedule: "linear", PerBatch: true, Batch: 128, Epochs: 100,
	},
	File: linear(1, "poissonloss"),
}
