package gbdt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"thole.example/kernel"
)

// Shape is the int64 matrix in which workers add up their histograms: a row for each node whose split may still be asked for, one more for
// the root where the tree puts levels of features in order, and columns in blocks of the same width, which are to be its partitions. A
// block has
//
//	answer   where the function writes the best split of the block, Answer columns, an even number of them
//	cells    a first and a second derivative for each cell of some groups, which are there as a whole
//	padding  up to the width of the widest block
type Shape struct {
	Rows, Cols    int64
	Block, Answer int64
	Attrs         map[string]string // of the matrix: what the function has to know of the columns and of the settings
	layout        *Layout
	ordered       bool    // the last row has the histogram of the root
	at            []int64 // of each group, the matrix's column of its first cell
}

// Blocks is how many blocks there are.
func (s *Shape) Blocks() int64 { return s.Cols / s.Block }

// The attributes of the matrix.
const (
	attrColumns = "gbdt.columns"
	attrSearch  = "gbdt.search"
)

// Shape lays out the matrix for trees of these settings, in at most so many blocks.
func (l *Layout) Shape(c *Config, blocks int) (*Shape, error) {
	s := &Shape{Rows: int64(c.slots()), layout: l, at: make([]int64, len(l.groups)), Answer: (l.answer() + 1) &^ 1}
	if s.ordered = len(c.orderedColumns(l)) > 0; s.ordered {
		s.Rows++
	}
	p := l.pack(max(1, min(blocks, len(l.groups))))
	if n := (l.cells + p.width - 1) / max(1, p.width); n < p.blocks { // as few might do
		if fewer := l.pack(max(1, n)); fewer.width <= p.width {
			p = fewer
		}
	}
	s.Block = s.Answer + 2*int64(p.width)
	s.Cols = s.Block * int64(p.blocks)
	for g, b := range p.in {
		s.at[g] = int64(b)*s.Block + s.Answer + 2*int64(p.at[g])
	}
	search, err := json.Marshal(searchOf(c, s.Answer))
	s.Attrs = map[string]string{attrSearch: string(search), attrColumns: s.describeColumns(c)}
	return s, err
}

// packed is groups in blocks.
type packed struct {
	blocks, width int   // in cells: of the widest
	in, at        []int // of each group: its block, and its first cell there
}

// pack puts the groups into blocks, the largest first, each into the block that has least.
func (l *Layout) pack(blocks int) packed {
	n := len(l.groups)
	p, loads := packed{blocks: blocks, in: make([]int, n), at: make([]int, n)}, make([]int, blocks)
	order := counting(n)
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(l.groups[b].codes, l.groups[a].codes) })
	for _, g := range order {
		b := slices.Index(loads, slices.Min(loads))
		p.in[g], p.at[g] = b, loads[b]
		loads[b] += l.groups[g].codes
	}
	p.width = slices.Max(loads)
	return p
}

// slots is how many leaves at most have histograms at a time.
func (c *Config) slots() int {
	return max(1, min(c.leaves()-1, c.full()/2))
}

// part is b's, whose sums go into the histograms of n nodes that are laid out as Query.Sums is: into those of the first node, or those of
// another one if the slice of sums begins with its cells.
func (s *Shape) part(b *Binned, n int) *part {
	codes := b.codes
	codes.Narrow, codes.Wide = make([]uint32, 0, len(codes.Narrow)), make([]uint32, 0, len(codes.Wide))
	for i := range b.groups { // in the order of Narrow and Wide
		first := uint32(s.first(i, n))
		if b.groups[i].wide {
			codes.Wide = append(codes.Wide, first)
		} else {
			codes.Narrow = append(codes.Narrow, first)
		}
	}
	return &part{codes: []kernel.Codes{codes}}
}

// first is where the cells of a group are in the histogram of the first of n nodes.
func (s *Shape) first(group, n int) int {
	at := s.at[group]
	return int(at/s.Block*s.Block*int64(n)+at%s.Block) / 2
}

// join adds a histogram to that of the first of n nodes.
func (s *Shape) join(to, h histogram, n int) {
	for i := range s.layout.groups {
		g := &s.layout.groups[i]
		to[s.first(i, n):][:g.codes].join(h[g.cell:][:g.codes])
	}
}

// Cells of an answer.
const (
	gainAt   = iota // bits of a float64
	columnAt        // 1 + its number, 0: there is no split
	binAt           // twice, and 1 more if what is missing goes left
	leftGAt
	leftHAt
	leftValueAt // bits of a float64
	rightValueAt
	setAt // a bit for each bin of a categorical column that goes left
)

// answer is how many cells an answer has.
func (l *Layout) answer() int64 {
	n := int64(setAt)
	for i := range l.columns {
		if c := &l.columns[i]; c.categorical {
			n = max(n, setAt+int64(c.bins+63)/64)
		}
	}
	return n
}

// answer writes a split.
func (s *split) answer(to []int64) {
	clear(to)
	if s.gain <= 0 {
		return
	}
	to[gainAt], to[columnAt], to[binAt] = int64(math.Float64bits(s.gain)), int64(s.column)+1, 2*int64(s.bin)
	if s.missing {
		to[binAt]++
	}
	to[leftGAt], to[leftHAt] = s.left.G, s.left.H
	to[leftValueAt], to[rightValueAt] = int64(math.Float64bits(s.value[0])), int64(math.Float64bits(s.value[1]))
	for _, bin := range s.set {
		to[setAt+bin>>6] |= 1 << (bin & 63)
	}
}

// split reads an answer for a node of the total.
func (l *Layout) split(from []int64, total sum) (split, error) {
	if from[columnAt] == 0 {
		return split{}, nil
	}
	at := from[columnAt] - 1
	if at < 0 || at >= int64(len(l.columns)) {
		return split{}, fmt.Errorf("column %d, want one of %d", at, len(l.columns))
	}
	c, bin := &l.columns[at], from[binAt]>>1
	if bin < 0 || bin >= int64(c.bins) {
		return split{}, fmt.Errorf("bin %d of column %d, want one of %d", bin, at, c.bins)
	}
	left := sum{G: from[leftGAt], H: from[leftHAt]}
	out := split{gain: math.Float64frombits(uint64(from[gainAt])), column: int(at), bin: int(bin), missing: from[binAt]&1 != 0, left: left,
		right: total.Minus(left), value: [2]float64{math.Float64frombits(uint64(from[leftValueAt])),
			math.Float64frombits(uint64(from[rightValueAt]))}}
	for bin := range c.bins {
		if c.categorical && from[setAt+bin>>6]>>(bin&63)&1 != 0 {
			out.set = append(out.set, int32(bin))
		}
	}
	return out, nil
}
