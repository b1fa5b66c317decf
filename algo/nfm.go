package algo

import "thole.example/graph"

// nfm is a neural factorization machine (X. He and T. Chua, Neural Factorization Machines for Sparse Predictive Analytics, 2017):
// the products of all pairs of vectors, added up factor by factor, go into a fully connected network.
var nfm = Algo{
	Name: "nfm", Help: "neural factorization machine",
	Also: []string{"NeuralFactorizationMachines", "NeuralFactorizationMachine"},
	Task: Classification, Defaults: factorDefaults, Wide: fieldWide,
	Sizes: Size{Factors: deepSize.Factors, Hidden: deepSize.Hidden},
	File: func(s Size) *graph.File {
		return total([]graph.Entry{
			firstOrder(), small(vectors(s, false)),
			{Name: "biinteractioncross", Type: "biinteractioncross", InputLayer: "embedding", OutputDim: s.Factors},
			tower(s, "biinteractioncross", dense()),
		}, "input", "fclayer")
	},
}
