package gbdt

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"thole.example/tree"
)

// surveyed is what first passes find of the features that occur: of the others, which no row mentions, there are no bins. All slices are
// by their numbers.
type surveyed struct {
	features    tree.Features
	occurring   *tree.Numbering
	ids         []int32 // of the features
	categorical []bool
	rows        int
	mentioned   []int // rows that say a number other than 0, or a level
	missing     []int // rows that lack it
	least, most []float64
	double      []bool // some of its numbers are no float32
	lacks       []bool // rows that do not mention it lack it
	heldMissing []bool // it is missing in rows that are held out
}

// of is the number of a column's feature.
func (s *surveyed) of(c *column) int { return s.occurring.Of(c.feature) }

// mentions is how many rows mention the feature of a column.
func (s *surveyed) mentions(c *column) int { return s.mentioned[s.of(c)] + s.missing[s.of(c)] }

// blocks calls f for all rows of so many features in blocks, the first of which is row lo, on so many goroutines. It refuses rows that are
// none.
func blocks(ctx context.Context, rows Rows, features, cores int, f func(worker int, b *Block, lo int) error) error {
	own := make([]Block, cores)
	total := rows.Len()
	return each(ctx, cores, spans(total), func(worker, at int) error {
		b, lo := &own[worker], at*blockRows
		hi := min(lo+blockRows, total)
		b.Reset()
		rows.Read(lo, hi, b)
		if err := b.check(lo, hi, features); err != nil {
			return err
		}
		return f(worker, b, lo)
	})
}

// occurring finds the features that rows mention.
func occurring(ctx context.Context, rows Rows, features, cores int) (*tree.Numbering, error) {
	parts := make([]*tree.Numbering, cores)
	err := blocks(ctx, rows, features, cores, func(worker int, b *Block, _ int) error {
		if parts[worker] == nil {
			parts[worker] = tree.NewNumbering(features)
		}
		for _, f := range b.Feature {
			parts[worker].Add(int(f))
		}
		return nil
	})
	all := tree.NewNumbering(features)
	for _, p := range parts {
		if p != nil {
			all.Join(p)
		}
	}
	return all.Number(), err
}

// count counts how often rows mention each feature, and with which numbers.
func (s *surveyed) count(ctx context.Context, rows Rows, cores int) error {
	parts := make([]*surveyed, cores)
	err := blocks(ctx, rows, s.features.Width, cores, func(worker int, b *Block, lo int) error {
		if parts[worker] == nil {
			parts[worker] = s.fresh()
		}
		return parts[worker].add(b, lo)
	})
	s.rows = rows.Len()
	for _, p := range parts {
		if p != nil {
			s.join(p)
		}
	}
	return err
}

// fresh is a survey of the same features that has seen nothing.
func (s *surveyed) fresh() *surveyed {
	n, none := s.occurring.Count(), math.Inf(1)
	return &surveyed{features: s.features, occurring: s.occurring, ids: s.ids, categorical: s.categorical, mentioned: make([]int, n),
		missing: make([]int, n), least: slices.Repeat([]float64{none}, n), most: slices.Repeat([]float64{-none}, n),
		double: make([]bool, n)}
}

// join adds what was found in other rows.
func (s *surveyed) join(p *surveyed) {
	for f := range s.mentioned {
		s.mentioned[f] += p.mentioned[f]
		s.missing[f] += p.missing[f]
		s.least[f], s.most[f] = min(s.least[f], p.least[f]), max(s.most[f], p.most[f])
		s.double[f] = s.double[f] || p.double[f]
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
	of := &surveyed{features: rows.Features()}
	var err error
	if of.occurring, err = occurring(ctx, rows, of.features.Width, cores); err != nil {
		return nil, err
	}
	n := of.occurring.Count()
	of.ids = of.occurring.Features()
	of.categorical = make([]bool, n)
	for i, f := range of.features.Listed() {
		if at := of.occurring.Of(i); at >= 0 {
			of.categorical[at] = f.Categorical
		}
	}
	s := of.fresh()
	if err := s.count(ctx, rows, cores); err != nil {
		return nil, err
	}
	s.lacks, s.heldMissing = make([]bool, n), make([]bool, n)
	for f, id := range s.ids {
		silent := s.rows - s.mentioned[f] - s.missing[f]
		switch s.lacks[f] = rows.Missing(int(id)); {
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
	for i, id := range b.Feature {
		f := s.occurring.Of(int(id))
		if f < 0 {
			continue // held-out rows alone have it
		}
		v := finite(b.Value[i])
		switch c := s.categorical[f]; {
		case v != v:
			s.missing[f]++
		case c && v < 0:
			s.missing[f]++
		case c && (v != math.Trunc(v) || v >= tree.LevelLimit):
			return fmt.Errorf("%w: row %d has the level %v of feature %s, want a whole number below %d", ErrRows, rowOf(b, i, lo), b.Value[i],
				s.features.At(int(id)).Name, tree.LevelLimit)
		case v == 0 && !c: // as those that do not mention it, or almost
			s.least[f], s.most[f] = min(s.least[f], 0), max(s.most[f], 0)
			s.mentioned[f]++
		default:
			s.least[f], s.most[f] = min(s.least[f], v), max(s.most[f], v)
			s.double[f] = s.double[f] || float64(float32(v)) != v
			s.mentioned[f]++
		}
	}
	return nil
}

// finite is a number, the largest one in the place of an infinite one.
func finite(v float64) float64 { return max(-math.MaxFloat64, min(math.MaxFloat64, v)) }

// rowOf is the row that value i of the block belongs to: the last one that does not begin after it.
func rowOf(b *Block, i, lo int) int {
	after, _ := slices.BinarySearch(b.Ptr, i+1)
	return lo + after - 1
}

// missingIn notes which features are missing in some of the rows, which are held out.
func (s *surveyed) missingIn(ctx context.Context, rows Rows, cores int) error {
	other := s.fresh()
	if err := other.count(ctx, rows, cores); err != nil {
		return fmt.Errorf("held-out rows: %w", err)
	}
	for f := range s.heldMissing {
		s.heldMissing[f] = other.missing[f] > 0 || s.lacks[f] && other.mentioned[f] < other.rows
	}
	return nil
}

// gatherMost is how many values are sorted at a time, at least those of one feature. They take 4 bytes each; one of 8 counts twice.
const gatherMost = 1 << 23

// gathering is room for the values of some features, and for sorting them.
type gathering struct {
	room    []uint32
	room64  []uint64
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
	for f := range s.mentioned {
		if s.least[f] == s.most[f] && s.missing[f] == 0 || s.missing[f] == s.rows {
			continue // nothing to split
		}
		n := s.mentioned[f]
		if s.double[f] {
			n *= 2
		}
		if values+n > gatherMost && values > 0 {
			if err := gathered(); err != nil {
				return nil, err
			}
		}
		some, values = append(some, f), values+n
	}
	err := gathered()
	g = gathering{}
	runtime.GC() // what values were gathered in is room for codes, which are made next, and are as many bytes
	return slices.DeleteFunc(all, func(c column) bool { return c.bins+min(1, s.missing[s.of(&c)]) < 2 }), err
}

// gather finds the bins of some features by all their values.
func (s *surveyed) gather(ctx context.Context, rows Rows, some []int, bins int, g *gathering) ([]column, error) {
	place := make([]int32, len(s.mentioned))   // 1 + where the feature is in some
	values, doubles := g.begin(s, some, place) // orders of them
	var b Block
	for lo := 0; lo < s.rows && len(some) > 0; lo += blockRows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b.Reset()
		rows.Read(lo, min(lo+blockRows, s.rows), &b)
		for i, id := range b.Feature {
			f, v := s.occurring.Of(int(id)), finite(b.Value[i])
			if f < 0 {
				continue
			}
			switch at := place[f]; {
			case at == 0 || v != v || v < 0 && s.categorical[f]:
			case s.double[f]:
				doubles[at-1] = append(doubles[at-1], keyOf(v))
			default:
				values[at-1] = append(values[at-1], order32(v))
			}
		}
	}
	columns := make([]column, len(some))
	err := each(ctx, len(g.sorters), len(some), func(worker, i int) error {
		f := some[i]
		c := column{feature: int(s.ids[f]), categorical: s.categorical[f]}
		c.missing = s.missing[f] > 0 || s.heldMissing[f] || c.categorical
		silent := 0
		if !s.lacks[f] {
			silent = s.rows - s.mentioned[f] - s.missing[f]
		}
		var runs []run
		if c.double = s.double[f]; c.double {
			runs = g.sorters[worker].double(doubles[i], silent)
		} else {
			runs = g.sorters[worker].single(values[i], silent)
		}
		if c.categorical {
			c.level(runs)
		} else {
			c.uppers = cut(runs, bins, !c.double)
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

// begin makes room for the orders of the values of some features, of 32 or of 64 bits, and finds their places.
func (g *gathering) begin(s *surveyed, some []int, place []int32) (values [][]uint32, doubles [][]uint64) {
	values, doubles = make([][]uint32, len(some)), make([][]uint64, len(some))
	all, all64 := 0, 0
	for i, f := range some {
		if place[f] = int32(i) + 1; s.double[f] {
			all64 += s.mentioned[f]
		} else {
			all += s.mentioned[f]
		}
	}
	if cap(g.room) < all {
		g.room = make([]uint32, all)
	}
	if cap(g.room64) < all64 {
		g.room64 = make([]uint64, all64)
	}
	room, room64 := g.room[:all], g.room64[:all64]
	for i, f := range some {
		if n := s.mentioned[f]; s.double[f] {
			doubles[i], room64 = room64[:0:n], room64[n:]
		} else {
			values[i], room = room[:0:n], room[n:]
		}
	}
	return values, doubles
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
func (c *column) binOf(v float64) int {
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
