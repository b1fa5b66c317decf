package algo

import "thole.example/graph"

// dnn is a fully connected network over the embedded fields.
var dnn = Algo{
	Name: "dnn", Help: "fully connected network over embedded fields",
	Also:     []string{"DeepNeuralNetwork"},
	Task:     Classification,
	Defaults: netDefaults, Wide: netWide, Sizes: deepSize,
	File: func(s Size) *graph.File {
		return total([]graph.Entry{vectors(s, true), tower(s, "embedding", dense())}, "fclayer")
	},
}
