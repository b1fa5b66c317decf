package algo

// svm is the linear support vector machine: label +1 where w*x + b is above zero.
var svm = Algo{
	Name: "svm", Help: "linear support vector machine", Task: Classification,
	Defaults: Defaults{Rule: "adagrad", Rate: 0.1, Schedule: "standard", Batch: 512, Epochs: 10},
	File:     linear("hingeloss"),
}
