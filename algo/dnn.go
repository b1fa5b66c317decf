package algo

import "thole.example/graph"

// dnn is a fully connected network over the embedded fields.
var dnn = Algo{
	Name: "dnn", Help: "fully connected network over embedded fields", Task: Classification, Defaults: deepDefaults, Sizes: deepSize,
	File: func(s Size) *graph.File {
		return total([]graph.Entry{vectors(s, true, table(deepDefaults.Rate, deepEps)), tower(s, "embedding", dense())}, "fclayer")
	},
}
