package algo

import "thole.example/graph"

// dcn is a deep and cross network of the second form (R. Wang and others, DCN V2, 2021), parallel: a linear model, a fully connected
// network, and cross layers with a linear output, over the same vectors.
var dcn = Algo{
	Name: "dcn", Help: "deep and cross network (DCN V2)",
	Also: []string{"DeepAndCross", "DeepAndCrossNetwork", "DeepCrossNetwork"},
	Task: Classification, Defaults: netDefaults, Wide: netWide,
	Sizes: Size{Fields: deepSize.Fields, Factors: deepSize.Factors, Hidden: deepSize.Hidden, Depth: 2},
	File: func(s Size) *graph.File {
		return total([]graph.Entry{
			firstOrder(), vectors(s, true),
			{Name: "crosslayer", Type: "crosslayer", InputLayer: "embedding", Depth: s.Depth, Rank: s.Rank, TransFunc: graph.Named("identity"),
				Optimizer: dense()},
			{Name: "crossout", Type: "fclayer", InputLayer: "crosslayer", OutputDims: []int{1}, TransFuncs: []graph.Choice{*graph.Named("identity")},
				Optimizer: dense()},
			tower(s, "embedding", dense()),
		}, "input", "crossout", "fclayer")
	},
}
