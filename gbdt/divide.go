package gbdt

import (
	"context"
	"encoding/binary"
)

// side says for each code of a group whether rows with it go left by a split.
func (b *Binned) side(s *split, to []bool) []bool {
	c := &b.columns[s.column]
	g := &b.groups[c.group]
	if cap(to) < g.codes {
		to = make([]bool, g.codes)
	}
	to = to[:g.codes]
	left := func(bin int) bool {
		switch {
		case bin == c.bins:
			return s.missing && !c.categorical
		case !c.categorical:
			return bin <= s.bin
		}
		for _, in := range s.set {
			if int(in) == bin {
				return true
			}
		}
		return false
	}
	if c.alone {
		for bin := range to {
			to[bin] = left(bin)
		}
		return to
	}
	usual := left(c.usual) // as are all that mention another feature of the group
	for i := range to {
		to[i] = usual
	}
	for bin := range c.all() {
		to[c.code(bin)] = left(bin)
	}
	return to
}

// divide puts the rows of each leaf that was split into those of its two children.
func (g *grower) divide(ctx context.Context, pairs [][2]int) error {
	for len(g.lookup) < len(pairs) {
		g.lookup = append(g.lookup, nil)
	}
	return each(ctx, g.Cores, len(pairs), func(worker, i int) error {
		a, b := &g.leaves[pairs[i][0]], &g.leaves[pairs[i][1]]
		g.lookup[i] = g.binned.side(&a.best, g.lookup[i])
		group := &g.binned.groups[g.binned.columns[a.best.column].group]
		mid := a.lo + g.binned.part(g.rows[a.lo:a.hi], group, g.lookup[i], &g.spare[worker])
		b.lo, b.hi, a.hi = mid, a.hi, mid
		mid = a.from + g.binned.part(g.others[a.from:a.to], group, g.lookup[i], &g.spare[worker])
		b.from, b.to, a.to = mid, a.to, mid
		a.count, b.count = a.hi-a.lo, b.hi-b.lo
		return nil
	})
}

// part puts the rows that go left before the others, each in their order, and returns how many those are.
func (b *Binned) part(rows []uint32, g *group, left []bool, spare *[]uint32) int {
	if cap(*spare) < len(rows) {
		*spare = make([]uint32, len(rows))
	}
	rest := (*spare)[:len(rows)]
	l, r := 0, 0
	if g.wide {
		for _, row := range rows {
			code := binary.LittleEndian.Uint16(b.codes[int(row)*b.stride+g.at:])
			rows[l], rest[r] = row, row
			if left[code] {
				l++
			} else {
				r++
			}
		}
	} else {
		for _, row := range rows {
			rows[l], rest[r] = row, row
			if left[b.codes[int(row)*b.stride+g.at]] {
				l++
			} else {
				r++
			}
		}
	}
	copy(rows[l:], rest[:r])
	return l
}
