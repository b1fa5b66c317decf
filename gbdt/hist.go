package gbdt

// Sums are of whole numbers: a derivative times a power of two, rounded. They have no order, so that any number of goroutines,
// processes and servers comes to the same one, and the histogram of a node less that of one child is exactly that of the other.

// grad is the first and the second derivative of a row's loss by its score.
type grad struct{ g, h int32 }

// sum is a sum of them.
type sum struct{ g, h int64 }

func (s *sum) add(o sum) { s.g, s.h = s.g+o.g, s.h+o.h }

// minus is s without o.
func (s sum) minus(o sum) sum { return sum{s.g - o.g, s.h - o.h} }

// histogram is a sum for each cell of the groups.
type histogram []sum

// add adds the derivatives of rows to the cells of their codes.
func (b *Binned) add(hist histogram, rows []uint32, grads []grad) {
	for _, r := range rows {
		d := grads[r]
		g, h := int64(d.g), int64(d.h)
		row := b.codes[int(r)*b.stride:][:b.stride]
		for i := range b.groups {
			p := &b.groups[i]
			code := int(row[p.at])
			if p.wide {
				code |= int(row[p.at+1]) << 8
			}
			c := &hist[p.cell+code]
			c.g += g
			c.h += h
		}
	}
}

// total is the sum over the rows.
func total(rows []uint32, grads []grad) (s sum) {
	for _, r := range rows {
		s.g += int64(grads[r].g)
		s.h += int64(grads[r].h)
	}
	return s
}

// subtract takes child from parent, cell by cell: what is left is of the other child.
func (parent histogram) subtract(child histogram) {
	for i, c := range child[:len(parent)] {
		parent[i].g -= c.g
		parent[i].h -= c.h
	}
}

// join adds the cells of another histogram.
func (h histogram) join(other histogram) {
	for i, c := range other[:len(h)] {
		h[i].g += c.g
		h[i].h += c.h
	}
}

// sumBytes is the size of a sum.
const sumBytes = 16

// column writes the sums of the bins of a column, in their order, into to: what is missing comes last, if it has a bin.
func (h histogram) column(b *Binned, c *column, total sum, to []sum) []sum {
	to = to[:c.all()]
	at := b.groups[c.group].cell
	if c.alone {
		copy(to, h[at:])
		return to
	}
	cells, rest := h[at+c.first:][:len(to)-1], total
	for _, s := range cells {
		rest = rest.minus(s)
	}
	copy(to, cells[:c.usual])
	to[c.usual] = rest
	copy(to[c.usual+1:], cells[c.usual:])
	return to
}
