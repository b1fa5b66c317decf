package algo

import "thole.example/graph"

// ffm is a field-aware factorization machine (Y. Juan and others, Field-aware Factorization Machines for CTR Prediction, 2016): a
// weight for each feature, and a vector for each field of the features that it meets.
var ffm = Algo{
	Name: "ffm", Help: "field-aware factorization machine",
	Also: []string{"FieldAwareFactorizationMachines", "FieldAwareFactorizationMachine"},
	Task: Classification, Defaults: netDefaults, Wide: fieldWide,
	Sizes: Size{Fields: deepSize.Fields, Factors: 4},
	File: func(s Size) *graph.File {
		return total([]graph.Entry{
			firstOrder(),
			{Name: "embedding", Type: "fieldawareembedding", NumFactors: s.Factors, OutputDim: 1},
		}, "input", "embedding")
	},
}
