package gbdt

import (
	"cmp"
	"context"
	"slices"

	"thole.example/kernel"
)

// Drop is dropout of trees (K. V. Rashmi and R. Gilad-Bachrach, DART, AISTATS 2015): an iteration learns what some trees before it, which
// it drops, and its own are to add up to, so that late trees are not there for few rows only. With k iterations dropped the new trees
// count rate/(k+rate) in place of the rate, and those dropped k/(k+rate) of what they did. Leaves have these factors in them, so that the
// model is one of any trees.
type Drop struct {
	Rate float64 // share of the iterations before that one drops; 0: there is no dropout
	Skip float64 // share of the iterations that drop nothing
	Most int     // iterations that are dropped at most; 0: any number
}

// dropout is the state of a training with dropout. All of it is of the iterations of this training: those before it are not dropped.
type dropout struct {
	before  int         // iterations of other trainings
	weights []float64   // of each iteration
	leaves  [][]float64 // of each tree, the values of its leaves and of its nodes, with the weight 1
	nodes   [][]float64
	dropped []int       // the iterations that are dropped now, ascending
	margins [][]float64 // of each class, what they add to the scores of all rows
	best    []float64   // weights after the best iteration
}

// chosen are the iterations of n that iteration n drops: by the seed, its number and theirs alone.
func (d *Drop) chosen(seed uint64, before, n int) (all []int) {
	own := kernel.Hash(kernel.Hash(seed+0xda27) + uint64(before+n))
	at := func(number int) float64 { return float64(kernel.Hash(own+kernel.Hash(uint64(number)))>>11) * 0x1p-53 }
	if d.Rate == 0 || at(0) < d.Skip {
		return nil
	}
	for i := range n {
		if at(before+i+1) < d.Rate {
			all = append(all, i)
		}
	}
	if d.Most > 0 && len(all) > d.Most { // those with the least numbers, whichever come first
		slices.SortFunc(all, func(i, j int) int { return cmp.Compare(at(before+i+1), at(before+j+1)) })
		all = all[:d.Most]
		slices.Sort(all)
	}
	return all
}

// dropTrees drops iterations: it subtracts what their trees add from the scores, and chooses the rate of the trees to come.
func (t *trainer) dropTrees(ctx context.Context) error {
	d := &t.dropout
	d.dropped = t.Drop.chosen(t.Seed, t.before+d.before, len(d.weights))
	k := float64(len(d.dropped))
	if t.rate = t.Rate; k == 0 {
		return nil
	}
	t.rate = t.Rate / (k + t.Rate)
	classes, rows := len(t.scores), t.binned.learn+t.binned.held
	if d.margins == nil {
		d.margins = make([][]float64, classes)
		for c := range d.margins {
			d.margins[c] = make([]float64, rows)
		}
	}
	var all []*codedTree
	for _, i := range d.dropped {
		for c := range classes {
			all = append(all, t.binned.coded(&t.out.Trees[(d.before+i)*classes+c]))
		}
	}
	return each(ctx, t.Cores, spans(rows), func(_, at int) error {
		lo, hi := at*blockRows, min((at+1)*blockRows, rows)
		for c := range classes {
			margins, scores := d.margins[c][lo:hi], t.scores[c][lo:hi]
			clear(margins)
			for i := c; i < len(all); i += classes {
				all[i].add(t.binned.codes, lo, margins)
			}
			for r, v := range margins {
				scores[r] -= v
			}
		}
		return nil
	})
}

// restoreTrees keeps the values of the trees that were grown, and adds to the scores again what the dropped ones add, with their new
// weights.
func (t *trainer) restoreTrees() {
	d := &t.dropout
	if t.Drop.Rate == 0 {
		return
	}
	classes := len(t.scores)
	for i := len(t.out.Trees) - classes; i < len(t.out.Trees); i++ {
		d.leaves = append(d.leaves, slices.Clone(t.out.Trees[i].LeafValue))
		d.nodes = append(d.nodes, slices.Clone(t.out.Trees[i].Value))
	}
	d.weights = append(d.weights, 1)
	k := float64(len(d.dropped))
	if k == 0 {
		return
	}
	factor := k / (k + t.Rate)
	for _, i := range d.dropped {
		d.weights[i] *= factor
		t.reweigh(i, d.weights[i])
	}
	for c, scores := range t.scores {
		for r, v := range d.margins[c] {
			scores[r] += v * factor
		}
	}
}

// reweigh makes the trees of an iteration count by the weight.
func (t *trainer) reweigh(iteration int, weight float64) {
	d, classes := &t.dropout, len(t.scores)
	for c := range classes {
		at := iteration*classes + c
		one := &t.out.Trees[d.before*classes+at]
		for i, v := range d.leaves[at] {
			one.LeafValue[i] = v * weight
		}
		for i, v := range d.nodes[at] {
			one.Value[i] = v * weight
		}
	}
}

// keepBest makes the trees those that there were after the best iteration. To leave out those after it would not do: they changed the
// weights of trees before them.
func (t *trainer) keepBest() {
	d := &t.dropout
	for i, w := range d.best {
		t.reweigh(i, w)
	}
	t.out.Trees = t.out.Trees[:(d.before+len(d.best))*len(t.scores)]
}
