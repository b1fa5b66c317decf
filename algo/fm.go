package algo

import "thole.example/graph"

// fm is a factorization machine (S. Rendle, Factorization Machines, 2010): a weight and a vector for each feature,
//
//	s = b + sum of w_i*x_i + sum over i < j of <v_i, v_j>*x_i*x_j
var fm = Algo{
	Name: "fm", Help: "factorization machine",
	Also: []string{"FactorizationMachines", "FactorizationMachine"},
	Task: Classification, Defaults: factorDefaults, Wide: factorWide,
	Sizes: Size{Factors: deepSize.Factors},
	File: func(s Size) *graph.File {
		return total([]graph.Entry{
			firstOrder(), small(vectors(s, false)),
			{Name: "biinnersumcross", Type: "biinnersumcross", InputLayer: "embedding", OutputDim: 1},
		}, "input", "biinnersumcross")
	},
}
