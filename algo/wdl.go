package algo

import "thole.example/graph"

// wdl is a wide and deep network (H. Cheng and others, Wide & Deep Learning for Recommender Systems, 2016): the sum of a linear model
// and a fully connected network.
var wdl = Algo{
	Name: "wdl", Help: "wide and deep network",
	Also: []string{"WideAndDeep", "Wide&Deep"},
	Task: Classification, Defaults: netDefaults, Wide: netWide, Sizes: deepSize,
	File: func(s Size) *graph.File {
		return total([]graph.Entry{
			firstOrder(), vectors(s, true),
			tower(s, "embedding", dense()),
		}, "input", "fclayer")
	},
}
