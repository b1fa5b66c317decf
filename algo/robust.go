package algo

// robust is linear regression by Huber's loss: examples that are off by more than its delta (1, or huberloss's own in a
// graph.json) pull no harder than those that are off by so much.
var robust = Algo{
	Name: "robust", Help: "linear regression that outliers do not bend",
	Also: []string{"RobustRegression"},
	Task: Regression,
	Wide: wideNumbers,
	Defaults: Defaults{
		Rule: "adam", Schedule: "linear", PerBatch: true, Batch: 128, Epochs: 200,
	},
	File: linear(1, "huberloss"),
}
