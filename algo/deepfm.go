package algo

import "thole.example/graph"

// deepfm is a factorization machine and a fully connected network over the same vectors (H. Guo and others, DeepFM: A
// Factorization-Machine based Neural Network for CTR Prediction, 2017).
var deepfm = Algo{
	Name: "deepfm", Help: "factorization machine and fully connected network over the same vectors", Task: Classification,
	Defaults: netDefaults, Wide: deepWide, Sizes: deepSize,
	File: func(s Size) *graph.File {
		return total([]graph.Entry{
			firstOrder(), small(vectors(s, true)),
			{Name: "biinnersumcross", Type: "biinnersumcross", InputLayer: "embedding", OutputDim: 1},
			tower(s, "embedding", dense()),
		}, "input", "biinnersumcross", "fclayer")
	},
}
