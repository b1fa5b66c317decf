package gbdt

import (
	"context"
	"slices"

	"thole.example/kernel"
)

// goesLeft is 1 if rows with the bin of the split's column go left, else 0.
func (s *split) goesLeft(c *column, bin int) uint8 {
	is := false
	switch {
	case bin == c.bins:
		is = s.missing && !c.categorical
	case !c.categorical:
		is = bin <= s.bin
	default:
		_, is = slices.BinarySearch(s.set, int32(bin))
	}
	if is {
		return 1
	}
	return 0
}

// side says for each code of a group whether rows with it go left by a split: 1, else 0.
func (b *Binned) side(s *split, to []uint8) []uint8 {
	c := &b.columns[s.column]
	g := &b.groups[c.group]
	if g.wide && len(to) < 1<<16 {
		to = make([]uint8, 1<<16)
	} else if to == nil {
		to = make([]uint8, 1<<8)
	}
	all, to := to, to[:g.codes]
	if c.alone {
		for bin := range to {
			to[bin] = s.goesLeft(c, bin)
		}
		return all
	}
	usual := s.goesLeft(c, c.usual) // as are all that mention another feature of the group
	for i := range to {
		to[i] = usual
	}
	for bin := range c.all() {
		to[c.code(bin)] = s.goesLeft(c, bin)
	}
	return all
}

// divide puts the rows of each leaf that was split into those of its two children.
func (g *grower) divide(ctx context.Context, pairs [][2]int) error {
	for len(g.lookup) < len(pairs) {
		g.lookup = append(g.lookup, nil)
	}
	var all []stretch
	runs := make([][3]int, len(pairs)) // of each pair, where stretches begin: of rows, of others, of the next pair
	for i, p := range pairs {
		a := &g.leaves[p[0]]
		runs[i][0] = len(all)
		all = g.stretches(all, i, g.rows, g.spare, a.lo, a.hi)
		runs[i][1] = len(all)
		all = g.stretches(all, i, g.others, g.spare[len(g.rows):], a.from, a.to)
		runs[i][2] = len(all)
		g.lookup[i] = g.binned.side(&a.best, g.lookup[i])
	}
	err := each(ctx, g.Cores, len(all), func(_, i int) error {
		s := &all[i]
		best := &g.leaves[pairs[s.pair][0]].best
		group := &g.binned.groups[g.binned.columns[best.column].group]
		s.left = kernel.DivideRows(s.rows[s.lo:s.hi], s.spare[s.lo:s.hi], &g.binned.codes, group.at, group.wide, g.lookup[s.pair])
		return nil
	})
	if err != nil {
		return err
	}
	return each(ctx, g.Cores, len(pairs), func(_, i int) error {
		a, b, run := &g.leaves[pairs[i][0]], &g.leaves[pairs[i][1]], runs[i]
		mid := join(all[run[0]:run[1]])
		b.lo, b.hi, a.hi = mid, a.hi, mid
		mid = join(all[run[1]:run[2]])
		b.from, b.to, a.to = mid, a.to, mid
		a.count, b.count = a.hi-a.lo, b.hi-b.lo
		return nil
	})
}

// join puts the rows of a run that go left before the others, and returns where those begin.
func join(run []stretch) (mid int) {
	mid = run[0].lo
	for i := range run {
		s := &run[i]
		mid += copy(s.rows[mid:], s.rows[s.lo:s.lo+s.left])
	}
	end := mid
	for i := range run {
		s := &run[i]
		end += copy(s.rows[end:], s.spare[s.lo:s.hi-s.left])
	}
	return mid
}

// stretch is rows of a leaf that one goroutine divides.
type stretch struct {
	pair        int
	rows, spare []uint32
	lo, hi      int
	left        int // how many go left: they are the first of rows then, and the others the first of spare
}

// stretches cuts a run of rows into stretches of about the same length. Each has the part of spare at its own place.
func (g *grower) stretches(all []stretch, pair int, rows, spare []uint32, lo, hi int) []stretch {
	parts := max(1, min(g.Cores, (hi-lo)/chunk))
	for i := range parts {
		from, to := lo+(hi-lo)*i/parts, lo+(hi-lo)*(i+1)/parts
		all = append(all, stretch{pair: pair, rows: rows, spare: spare, lo: from, hi: to})
	}
	return all
}
