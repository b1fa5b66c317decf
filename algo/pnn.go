package algo

import "thole.example/graph"

// pnn is a product-based network (Y. Qu and others, Product-based Neural Networks for User Response Prediction, 2016): vectors and
// the inner products of all their pairs go into a fully connected network, beside a linear model.
var pnn = Algo{
	Name: "pnn", Help: "product-based network: inner products of all pairs of vectors",
	Also:     []string{"ProductNeuralNetwork", "ProductBasedNeuralNetwork"},
	Task:     Classification,
	Defaults: netDefaults, Wide: netWide, Sizes: deepSize,
	File: func(s Size) *graph.File {
		pairs := s.Fields * (s.Fields - 1) / 2
		return total([]graph.Entry{
			firstOrder(), vectors(s, true),
			{Name: "biinnercross", Type: "biinnercross", InputLayer: "embedding", OutputDim: pairs},
			{Name: "concatlayer", Type: "concatlayer", InputLayers: []string{"embedding", "biinnercross"}, OutputDim: s.Fields*s.Factors + pairs},
			tower(s, "concatlayer", dense()),
		}, "input", "fclayer")
	},
}
