package layer

import (
	"fmt"
	"slices"

	"thole.example/graph"
)

// layerCase is a layer and examples that it is tried on.
type layerCase struct {
	kind     string
	spec     Spec
	examples examples
	train    bool // only in training it learns: other slopes are of no use
}

func (c *layerCase) name() string {
	s := c.spec
	return fmt.Sprintf("%s/%d_%d_%d_%s_%d%v_%d_sparse=%v", c.kind, s.OutputDim, s.Factors, s.Rank, s.Transfer.Name, c.examples, s.Mean, len(s.In), s.Sparse)
}

// cases are of every kind of layer several shapes.
func cases() (all []layerCase) {
	add := func(kind string, e examples, s Spec) { all = append(all, layerCase{kind, s, e, false}) }
	flat := func(cols ...int) (in []graph.Shape) {
		for _, n := range cols {
			in = append(in, graph.Shape{Cols: n})
		}
		return in
	}
	for _, out := range []int{1, 3, 17} {
		for _, f := range Transfers() {
			for _, sparse := range []bool{false, true} {
				add("simpleinputlayer", various, featured(Spec{OutputDim: out, Transfer: Choice{Name: f.Name}}, sparse))
			}
			add("fclayer", various, Spec{OutputDim: out, In: flat(2 * out), Transfer: Choice{Name: f.Name}})
		}
		add("concatlayer", various, Spec{In: flat(out)})
		add("concatlayer", various, Spec{In: flat(out, 2, 1), OutputDim: out + 3})
		for _, n := range []int{1, 2, 4} {
			for _, kind := range []string{"sumpooling", "mulpooling"} {
				add(kind, various, Spec{In: slices.Repeat(flat(out), n), OutputDim: out})
			}
			add("dotpooling", various, Spec{In: slices.Repeat(flat(out), n), OutputDim: 1})
		}
		for _, rank := range []int{0, 1, 2} {
			if rank <= out {
				add("crosslayer", various, Spec{In: flat(out), Rank: rank})
				add("crosslayer", various, Spec{In: flat(out, out), Rank: rank, OutputDim: out})
			}
		}
		all = append(all, layerCase{"batchnormlayer", Spec{In: flat(out)}, various, true})
		add("dropoutlayer", various, Spec{In: flat(out)})
		add("dropoutlayer", various, Spec{In: flat(out), Transfer: Choice{Set: map[string]float64{"proba": 0.2}}})
	}
	for _, k := range []int{1, 2, 8} {
		for _, sparse := range []bool{false, true} {
			add("embedding", various, featured(Spec{Factors: k}, sparse))
			for _, e := range []examples{each, places, loose} {
				for _, mean := range []bool{false, true} {
					add("embedding", e, featured(Spec{Factors: k, OutputDim: fields * k, Mean: mean}, sparse))
				}
				add("fieldawareembedding", e, featured(Spec{Factors: k, Fields: fields}, sparse))
			}
		}
		vectors := graph.Shape{Cols: fields * k, Factors: k}
		for _, kind := range []string{"biinnersumcross", "biinteractioncross"} {
			add(kind, each, Spec{In: []graph.Shape{vectors}})
			add(kind, various, Spec{In: []graph.Shape{{Factors: k, Ragged: true}}})
		}
		add("biinnercross", each, Spec{In: []graph.Shape{vectors}, OutputDim: fields * (fields - 1) / 2})
		add("bioutercross", each, Spec{In: []graph.Shape{vectors}})
	}
	return all
}
