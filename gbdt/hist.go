package gbdt

import "thole.example/kernel"

// Sums are of whole numbers: a derivative times a power of two, rounded. They have no order, so that any number of goroutines,
// processes and servers comes to the same one, and the histogram of a node less that of one child is exactly that of the other.

type (
	grad = kernel.Gradient
	sum  = kernel.GradientSum
)

// histogram is a sum for each cell of the groups.
type histogram []sum

// total is the sum over the rows.
func total(rows []uint32, grads []grad) (s sum) {
	for _, r := range rows {
		s.G += int64(grads[r].G)
		s.H += int64(grads[r].H)
	}
	return s
}

// subtract takes child from parent, cell by cell: what is left is of the other child.
func (parent histogram) subtract(child histogram) {
	for i, c := range child[:len(parent)] {
		parent[i].G -= c.G
		parent[i].H -= c.H
	}
}

// join adds the cells of another histogram.
func (h histogram) join(other histogram) {
	for i, c := range other[:len(h)] {
		h[i].G += c.G
		h[i].H += c.H
	}
}

// column writes the sums of the bins of a column, in their order, into to: what is missing comes last, if it has a bin.
func (h histogram) column(b *Layout, c *column, total sum, to []sum) []sum {
	to = to[:c.all()]
	at := b.groups[c.group].cell
	if c.alone {
		copy(to, h[at:])
		return to
	}
	cells, rest := h[at+c.first:][:len(to)-1], total
	for _, s := range cells {
		rest = rest.Minus(s)
	}
	copy(to, cells[:c.usual])
	to[c.usual] = rest
	copy(to[c.usual+1:], cells[c.usual:])
	return to
}
