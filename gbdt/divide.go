package gbdt

import (
	"context"
	"encoding/binary"
	"slices"
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
	if cap(to) < g.codes {
		to = make([]uint8, g.codes)
	}
	to = to[:g.codes]
	if c.alone {
		for bin := range to {
			to[bin] = s.goesLeft(c, bin)
		}
		return to
	}
	usual := s.goesLeft(c, c.usual) // as are all that mention another feature of the group
	for i := range to {
		to[i] = usual
	}
	for bin := range c.all() {
		to[c.code(bin)] = s.goesLeft(c, bin)
	}
	return to
}

// divide puts the rows of each leaf that was split into those of its two children.
func (g *grower) divide(ctx context.Context, pairs [][2]int) error {
	for len(g.lookup) < len(pairs) {
		g.lookup = append(g.lookup, nil)
	}
	var all []stretch
	for i, p := range pairs {
		a := &g.leaves[p[0]]
		all = g.stretches(all, i, g.rows, g.spare, a.lo, a.hi)
		all = g.stretches(all, i, g.others, g.spare[len(g.rows):], a.from, a.to)
		g.lookup[i] = g.binned.side(&a.best, g.lookup[i])
	}
	err := each(ctx, g.Cores, len(all), func(_, i int) error {
		s := &all[i]
		best := &g.leaves[pairs[s.pair][0]].best
		group := &g.binned.groups[g.binned.columns[best.column].group]
		s.left = g.binned.partition(s.rows[s.lo:s.hi], group, g.lookup[s.pair], s.spare[s.lo:s.hi])
		return nil
	})
	if err != nil {
		return err
	}
	rest := all
	join := func(lo, hi int) (mid int) { // the stretches of a run of rows
		mid, n := lo, 0
		for done := false; !done; n++ {
			s := &rest[n]
			mid += copy(s.rows[mid:], s.rows[s.lo:s.lo+s.left])
			done = s.hi == hi
		}
		end := mid
		for _, s := range rest[:n] {
			end += copy(s.rows[end:], s.spare[s.lo:s.hi-s.left])
		}
		rest = rest[n:]
		return mid
	}
	for _, p := range pairs {
		a, b := &g.leaves[p[0]], &g.leaves[p[1]]
		mid := join(a.lo, a.hi)
		b.lo, b.hi, a.hi = mid, a.hi, mid
		mid = join(a.from, a.to)
		b.from, b.to, a.to = mid, a.to, mid
		a.count, b.count = a.hi-a.lo, b.hi-b.lo
	}
	return nil
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

// partition puts the rows that go left before the others, each in their order, and returns how many those are; the others are in rest.
// There is no branch in it: which way a row goes cannot be foreseen.
func (b *Binned) partition(rows []uint32, g *group, left []uint8, rest []uint32) int {
	if len(rows) == 0 {
		return 0
	}
	codes, stride := b.codes.Bytes[g.at:], b.codes.Stride
	rest = rest[:len(rows)]
	l := 0
	if g.wide {
		for i, row := range rows {
			code := binary.LittleEndian.Uint16(codes[int(row)*stride:])
			rows[l], rest[i-l] = row, row
			l += int(left[code])
		}
		return l
	}
	for i, row := range rows {
		rows[l], rest[i-l] = row, row
		l += int(left[codes[int(row)*stride]])
	}
	return l
}
