package gbdt

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"thole.example/tree"
)

// surveyed is what a first pass finds of each feature.
type surveyed struct {
	features    []tree.Feature
	rows        int
	mentioned   []int // rows that say a number other than 0, or a level
	missing     []int // rows that lack it
	least, most []float32
	lacks       []bool // rows that do not mention it lack it
	heldMissing []bool // it is missing in rows that are held out
}

// counted is how often rows mention each feature, and with which numbers. It refuses rows that are none.
func counted(ctx context.Context, rows Rows, features []tree.Feature, cores int) (*surveyed, error) {
	parts := make([]surveyed, cores)
	blocks := make([]Block, cores)
	total := rows.Len()
	err := each(ctx, cores, spans(total), func(worker, at int) error {
		p, b := &parts[worker], &blocks[worker]
		if p.features == nil {
			*p = *newSurveyed(features)
		}
		lo, hi := at*blockRows, min((at+1)*blockRows, total)
		b.Reset()
		rows.Read(lo, hi, b)
		if err := b.check(lo, hi, len(features)); err != nil {
			return err
		}
		return p.add(b, lo)
	})
	s := newSurveyed(features)
	s.rows = total
	for i := range parts {
		if p := &parts[i]; p.features != nil {
			s.join(p)
		}
	}
	return s, err
}

func newSurveyed(features []tree.Feature) *surveyed {
	n := len(features)
	none := float32(math.Inf(1))
	return &surveyed{features: features, mentioned: make([]int, n), missing: make([]int, n), least: slices.Repeat([]float32{none}, n),
		most: slices.Repeat([]float32{-none}, n)}
}

// join adds what was found in other rows.
func (s *surveyed) join(p *surveyed) {
	for f := range s.features {
		s.mentioned[f] += p.mentioned[f]
		s.missing[f] += p.missing[f]
		s.least[f], s.most[f] = min(s.least[f], p.least[f]), max(s.most[f], p.most[f])
	}
}

// check refuses a block that is not rows lo to hi of so many features.
func (b *Block) check(lo, hi, features int) error {
	n := hi - lo
	if len(b.Ptr) != n+1 || b.Ptr[0] != 0 || b.Ptr[n] != len(b.Feature) || len(b.Value) != len(b.Feature) || !slices.IsSorted(b.Ptr) {
		return fmt.Errorf("%w: rows %d to %d were read as %d of %d values, of which bounds or numbers do not fit", ErrRows, lo, hi, len(b.Ptr)-1,
			len(b.Feature))
	}
	for i := range n {
		last := int32(-1)
		for _, f := range b.Feature[b.Ptr[i]:b.Ptr[i+1]] {
			switch {
			case uint(f) >= uint(features):
				return fmt.Errorf("%w: row %d has a value of feature %d, want one of %d", ErrRows, lo+i, f, features)
			case f <= last:
				return fmt.Errorf("%w: row %d has feature %d after feature %d, want them ascending, each once", ErrRows, lo+i, f, last)
			}
			last = f
		}
	}
	return nil
}

func survey(ctx context.Context, rows Rows, cores int) (*surveyed, error) {
	s, err := counted(ctx, rows, rows.Features(), cores)
	if err != nil {
		return nil, err
	}
	n := len(s.features)
	s.lacks, s.heldMissing = make([]bool, n), make([]bool, n)
	for f := range n {
		silent := s.rows - s.mentioned[f] - s.missing[f]
		switch s.lacks[f] = rows.Missing(f); {
		case s.lacks[f]:
			s.missing[f] += silent
		case silent > 0:
			s.least[f], s.most[f] = min(s.least[f], 0), max(s.most[f], 0)
		}
		if s.least[f] > s.most[f] { // it is missing in all rows
			s.least[f], s.most[f] = 0, 0
		}
	}
	return s, nil
}

// add counts the block, whose first row is lo.
func (s *surveyed) add(b *Block, lo int) error {
	features := s.features
	for i, f := range b.Feature {
		v := b.Value[i]
		switch c := features[f].Categorical; {
		case v != v:
			s.missing[f]++
		case math.IsInf(float64(v), 0):
			return fmt.Errorf("%w: row %d has the value %v of feature %s", ErrRows, rowOf(b, i, lo), v, features[f].Name)
		case c && v < 0:
			s.missing[f]++
		case c && (v != float32(math.Trunc(float64(v))) || v >= tree.LevelLimit):
			return fmt.Errorf("%w: row %d has the level %v of feature %s, want a whole number below %d", ErrRows, rowOf(b, i, lo), v,
				features[f].Name, tree.LevelLimit)
		case v == 0 && !c: // as those that do not mention it, or almost
			s.least[f], s.most[f] = min(s.least[f], 0), max(s.most[f], 0)
			s.mentioned[f]++
		default:
			s.least[f], s.most[f] = min(s.least[f], v), max(s.most[f], v)
			s.mentioned[f]++
		}
	}
	return nil
}

// rowOf is the row that value i of the block belongs to: the last one that does not begin after it.
func rowOf(b *Block, i, lo int) int {
	after, _ := slices.BinarySearch(b.Ptr, i+1)
	return lo + after - 1
}

// missingIn notes which features are missing in some of the rows, which are held out.
func (s *surveyed) missingIn(ctx context.Context, rows Rows, cores int) error {
	other, err := counted(ctx, rows, s.features, cores)
	if err != nil {
		return fmt.Errorf("held-out rows: %w", err)
	}
	for f := range s.features {
		s.heldMissing[f] = other.missing[f] > 0 || s.lacks[f] && other.mentioned[f] < other.rows
	}
	return nil
}

// gatherMost is how many values are sorted at a time, at least those of one feature. They take 4 bytes each.
const gatherMost = 1 << 23

// gathering is room for the values of some features, and for sorting them.
type gathering struct {
	room    []uint32
	sorters []sorter // of each goroutine
}

// columns are the features that vary, with their bins.
func (s *surveyed) columns(ctx context.Context, rows Rows, bins, cores int) ([]column, error) {
	var all []column
	var some []int // of which values are gathered next
	values, g := 0, gathering{sorters: make([]sorter, cores)}
	gathered := func() error {
		found, err := s.gather(ctx, rows, some, bins, &g)
		all, some, values = append(all, found...), some[:0], 0
		return err
	}
	for f := range s.features {
		if s.least[f] == s.most[f] && s.missing[f] == 0 || s.missing[f] == s.rows {
			continue // nothing to split
		}
		if values+s.mentioned[f] > gatherMost && values > 0 {
			if err := gathered(); err != nil {
				return nil, err
			}
		}
		some, values = append(some, f), values+s.mentioned[f]
	}
	err := gathered()
	g = gathering{}
	runtime.GC() // what values were gathered in is room for codes, which are made next, and are as many bytes
	return slices.DeleteFunc(all, func(c column) bool { return c.bins+min(1, s.missing[c.feature]) < 2 }), err
}

// gather finds the bins of some features by all their values.
func (s *surveyed) gather(ctx context.Context, rows Rows, some []int, bins int, g *gathering) ([]column, error) {
	place := make([]int32, len(s.features)) // 1 + where the feature is in some
	values := make([][]uint32, len(some))   // orders of them
	all := 0
	for i, f := range some {
		place[f] = int32(i) + 1
		all += s.mentioned[f]
	}
	if cap(g.room) < all {
		g.room = make([]uint32, all)
	}
	room := g.room[:all]
	for i, f := range some {
		n := s.mentioned[f]
		values[i], room = room[:0:n], room[n:]
	}
	var b Block
	for lo := 0; lo < s.rows && len(some) > 0; lo += blockRows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b.Reset()
		rows.Read(lo, min(lo+blockRows, s.rows), &b)
		for i, f := range b.Feature {
			v := b.Value[i]
			if at := place[f]; at != 0 && v == v && (v >= 0 || !s.features[f].Categorical) {
				values[at-1] = append(values[at-1], order(v))
			}
		}
	}
	columns := make([]column, len(some))
	err := each(ctx, len(g.sorters), len(some), func(worker, i int) error {
		f := some[i]
		c := column{feature: f, categorical: s.features[f].Categorical}
		c.missing = s.missing[f] > 0 || s.heldMissing[f] || c.categorical
		silent := 0
		if !s.lacks[f] {
			silent = s.rows - s.mentioned[f] - s.missing[f]
		}
		runs := g.sorters[worker].runsOf(values[i], silent)
		if c.categorical {
			c.level(runs)
		} else {
			c.uppers = cut(runs, bins)
			c.bins = len(c.uppers) + 1
		}
		if c.usual = c.bins; !s.lacks[f] {
			c.usual = c.binOf(0)
		}
		columns[i] = c
		return nil
	})
	return columns, err
}

// level gives the levels bins, the most frequent first. Those that have none, in rows to come, are as missing ones.
func (c *column) level(runs []run) {
	slices.SortStableFunc(runs, func(a, b run) int { return int(b.rows) - int(a.rows) })
	if c.crowded = len(runs) > LevelLimit; c.crowded {
		runs = runs[:LevelLimit]
	}
	c.bins = len(runs)
	for i, r := range runs {
		l := int32(r.value)
		c.levels = append(c.levels, l)
		for int(l) >= len(c.places) {
			c.places = append(c.places, make([]int32, int(l)+1-len(c.places))...)
		}
		c.places[l] = int32(i) + 1
	}
}

// binOf is the bin of a value; levels that have none are as missing ones.
func (c *column) binOf(v float32) int {
	switch {
	case !c.categorical && v == v:
		return binOf(c.uppers, v)
	case c.categorical && v >= 0:
		if l := int(v); l < len(c.places) && c.places[l] > 0 {
			return int(c.places[l]) - 1
		}
	}
	return c.bins
}
