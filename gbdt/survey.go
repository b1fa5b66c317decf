package gbdt

import (
	"context"
	"fmt"
	"math"
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
	held        []bool // it is missing in rows that are held out
}

func survey(ctx context.Context, rows Rows, cores int) (*surveyed, error) {
	features := rows.Features()
	n := len(features)
	s := &surveyed{features: features, rows: rows.Len(), mentioned: make([]int, n), missing: make([]int, n), least: make([]float32, n),
		most: make([]float32, n), lacks: make([]bool, n), held: make([]bool, n)}
	parts := make([]surveyed, cores)
	for i := range parts {
		parts[i] = surveyed{mentioned: make([]int, n), missing: make([]int, n), least: make([]float32, n), most: make([]float32, n)}
		fill(parts[i].least, float32(math.Inf(1)))
		fill(parts[i].most, float32(math.Inf(-1)))
	}
	blocks := make([]Block, cores)
	err := each(ctx, cores, spans(s.rows), func(worker, at int) error {
		p, b := &parts[worker], &blocks[worker]
		lo := at * blockRows
		b.Reset()
		rows.Read(lo, min(lo+blockRows, s.rows), b)
		return p.add(features, b, lo)
	})
	if err != nil {
		return nil, err
	}
	fill(s.least, float32(math.Inf(1)))
	fill(s.most, float32(math.Inf(-1)))
	for i := range parts {
		p := &parts[i]
		for f := range n {
			s.mentioned[f] += p.mentioned[f]
			s.missing[f] += p.missing[f]
			s.least[f], s.most[f] = min(s.least[f], p.least[f]), max(s.most[f], p.most[f])
		}
	}
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
func (s *surveyed) add(features []tree.Feature, b *Block, lo int) error {
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

// rowOf is the row that value i of the block belongs to.
func rowOf(b *Block, i, lo int) int {
	at, found := slices.BinarySearch(b.Ptr, i)
	if !found {
		at--
	}
	return lo + at
}

// missingIn notes which features are missing in some of the rows.
func (s *surveyed) missingIn(ctx context.Context, rows Rows) error {
	said := make([]int, len(s.features))
	var b Block
	for lo := 0; lo < rows.Len() && ctx.Err() == nil; lo += blockRows {
		b.Reset()
		rows.Read(lo, min(lo+blockRows, rows.Len()), &b)
		for i, f := range b.Feature {
			if v := b.Value[i]; v != v || s.features[f].Categorical && v < 0 {
				s.held[f] = true
			}
			said[f]++
		}
	}
	for f := range said {
		s.held[f] = s.held[f] || s.lacks[f] && said[f] < rows.Len()
	}
	return ctx.Err()
}

// gatherMost is how many values are sorted at a time, at least those of one feature.
const gatherMost = 1 << 24

// columns are the features that vary, with their bins.
func (s *surveyed) columns(ctx context.Context, rows Rows, bins, cores int) ([]column, error) {
	var all []column
	var some []int // of which values are gathered next
	values := 0
	gathered := func() error {
		found, err := s.gather(ctx, rows, some, bins, cores)
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
	return slices.DeleteFunc(all, func(c column) bool { return c.bins+min(1, s.missing[c.feature]) < 2 }), err
}

// gather finds the bins of some features by all their values.
func (s *surveyed) gather(ctx context.Context, rows Rows, some []int, bins, cores int) ([]column, error) {
	place := make([]int32, len(s.features)) // 1 + where the feature is in some
	values := make([][]float32, len(some))
	for i, f := range some {
		place[f] = int32(i) + 1
		values[i] = make([]float32, 0, s.mentioned[f])
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
				values[at-1] = append(values[at-1], v)
			}
		}
	}
	columns := make([]column, len(some))
	err := each(ctx, cores, len(some), func(_, i int) error {
		f := some[i]
		c := column{feature: f, categorical: s.features[f].Categorical, missing: s.missing[f] > 0 || s.held[f] || s.features[f].Categorical}
		silent := 0
		if !s.lacks[f] {
			silent = s.rows - s.mentioned[f] - s.missing[f]
		}
		runs := runsOf(values[i], silent)
		values[i] = nil
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
	slices.SortStableFunc(runs, func(a, b run) int { return b.rows - a.rows })
	if len(runs) > LevelLimit {
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

func fill(s []float32, v float32) {
	for i := range s {
		s[i] = v
	}
}
