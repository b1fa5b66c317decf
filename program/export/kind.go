package export

import (
	"fmt"
	"math"
	"strings"

	"thole.example/graph"
)

// kind is a kind of layer: how graph.json spells it in small letters, and what it becomes.
type kind struct {
	names       []string
	least, most int // layers that it reads
	// weights is the ending of its matrix that has features as columns; "" if it has none.
	weights string
	// vectors is how many rows of that matrix the vectors of a feature take, and notes how many fields examples have, if the
	// layer has to know; nil if it is no embedding.
	vectors func(b *builder, e *graph.Entry) (int64, error)
	open    bool // reads vectors of any number of fields
	build   func(b *builder, e *graph.Entry, in []*value) (*value, error)
}

// Layers are the names of the layers that can be exported, in small letters.
func Layers() []string {
	var all []string
	for _, k := range kinds() {
		all = append(all, k.names[0])
	}
	return all
}

// kinds is the table of layers. Spellings behind the first are those of other releases.
func kinds() []kind {
	const many = math.MaxInt
	return []kind{
		{names: []string{"simpleinputlayer", "sparseinputlayer", "denseinputlayer"}, weights: "_weight", build: (*builder).input},
		{names: []string{"embedding", "embeddinglayer"}, weights: "_embedding", vectors: (*builder).fix, build: (*builder).embedding},
		{names: []string{"fieldawareembedding", "ffmlayer", "ffm", "biffmcross"}, weights: "_embedding", vectors: (*builder).fixAware,
			build: (*builder).aware},
		{names: []string{"fclayer", "fc", "fullyconnectedlayer"}, least: 1, most: 1, build: (*builder).connected},
		{names: []string{"biinnersumcross"}, least: 1, most: 1, open: true, build: (*builder).innerSum},
		{names: []string{"biinteractioncross", "biinteractioncrosstiled"}, least: 1, most: 1, open: true, build: (*builder).interaction},
		{names: []string{"biinnercross"}, least: 1, most: 1, build: (*builder).inner},
		{names: []string{"bioutercross", "bioutter", "biouttercross", "bioutercrosslayer"}, least: 1, most: 1, build: (*builder).outer},
		{names: []string{"crosslayer", "cross"}, least: 1, most: 2, build: (*builder).crossing},
		{names: []string{"concatlayer", "concat"}, least: 1, most: many, build: (*builder).concat},
		{names: []string{"sumpooling", "sumpoolinglayer"}, least: 1, most: many, build: (*builder).sum},
		{names: []string{"mulpooling", "mulpoolinglayer"}, least: 1, most: many, build: (*builder).product},
		{names: []string{"dotpooling", "dotpolling", "dotpoolinglayer"}, least: 1, most: many, build: (*builder).dot},
		{names: []string{"batchnormlayer", "batchnorm", "batchnormalization"}, least: 1, most: 1, build: (*builder).batchNorm},
		{names: []string{"dropoutlayer", "dropout"}, least: 1, most: 1, build: (*builder).dropout},
	}
}

// findKind is the kind of a layer. That of the loss layer builds nothing.
func findKind(e *graph.Entry) (*kind, error) {
	if isLoss(e) {
		return &kind{least: 1, most: 1}, nil
	}
	for _, k := range kinds() {
		for _, name := range k.names {
			if strings.EqualFold(name, e.Type) {
				return &k, nil
			}
		}
	}
	return nil, fmt.Errorf("layer %q has type %q, which no operators are known for, want one of %s",
		e.Name, e.Type, strings.Join(Layers(), " "))
}

// wanted says how many layers it reads.
func (k *kind) wanted() string {
	switch {
	case k.most == 0:
		return "none"
	case k.most == 1:
		return "one"
	case k.most == 2:
		return "one or two"
	}
	return "at least one"
}
