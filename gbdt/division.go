package gbdt

import (
	"context"

	"thole.example/kernel"
)

// Division is how workers that all have all rows share them by features: each sums up and searches some groups of features, and they tell
// each other the best splits they found. No histogram leaves its worker, and the trees are those of one worker, to the bit; but all divide
// the rows of every split, and compute all derivatives.
type Division struct {
	Task, Tasks int
	// Agree gives what each of the tasks has, as many numbers of all, in the order of tasks. They are about so many nodes of a depth.
	Agree func(ctx context.Context, depth, nodes int, v []int64) ([][]int64, error)
}

// part is the groups of features that the worker has, and where their cells are in a histogram.
type part struct {
	from, to int            // groups
	lo, hi   int            // cells
	codes    []kernel.Codes // of these groups alone
}

// partOf is the part of a task; d may be nil, then it is all.
func (b *Binned) partOf(d *Division) part {
	n, narrow := len(b.groups), len(b.codes.Narrow)
	if d == nil {
		return part{to: n, hi: b.cells, codes: []kernel.Codes{b.codes}}
	}
	p := part{from: n * d.Task / d.Tasks, to: n * (d.Task + 1) / d.Tasks}
	if p.from == p.to {
		return p
	}
	last := &b.groups[p.to-1]
	p.lo, p.hi = b.groups[p.from].cell, last.cell+last.codes
	if p.from < narrow {
		p.codes = append(p.codes, kernel.Codes{Bytes: b.codes.Bytes[p.from:], Stride: b.codes.Stride,
			Narrow: b.codes.Narrow[p.from:min(p.to, narrow)]})
	}
	if wide := max(p.from, narrow); wide < p.to {
		p.codes = append(p.codes, kernel.Codes{Bytes: b.codes.Bytes[b.groups[wide].at:], Stride: b.codes.Stride,
			Wide: b.codes.Wide[wide-narrow : p.to-narrow]})
	}
	return p
}

// add adds the derivatives of rows to the histogram.
func (p *part) add(h histogram, rows []uint32, grads []grad) {
	for i := range p.codes {
		kernel.SumGradients(h, &p.codes[i], rows, grads)
	}
}

// agree makes the best splits of leaves by the worker's own features those by the features of all.
func (g *grower) agree(ctx context.Context, leaves []int, best []split) error {
	if g.division == nil {
		return nil
	}
	n := int(g.binned.answer())
	own := make([]int64, n*len(leaves))
	for i := range best {
		best[i].answer(own[i*n : (i+1)*n])
	}
	all, err := g.division.Agree(ctx, g.leaves[leaves[0]].depth, len(leaves), own)
	if err != nil {
		return err
	}
	for _, of := range all {
		for i, at := range leaves {
			s, err := g.binned.split(of[i*n:(i+1)*n], g.leaves[at].sum)
			if err != nil {
				return err
			}
			if s.better(&best[i]) {
				best[i] = s
			}
		}
	}
	return nil
}
