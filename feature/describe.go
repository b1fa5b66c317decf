package feature

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Description is what a column of a table holds.
type Description struct {
	Name    string `json:"name"`
	Kind    Kind   `json:"kind"` // that training takes
	Rows    int    `json:"rows"` // that have a value
	Missing int    `json:"missing"`

	Numbers  *Numbers      `json:"numbers,omitempty"`
	Distinct int           `json:"distinct,omitempty"` // levels; a missing one is none
	Rare     int           `json:"rare,omitempty"`     // of them, those of fewer examples than training gives a feature of its own
	Levels   []LevelOfRows `json:"levels,omitempty"`   // the most frequent ones, the first of them first
	// About says that there are too many levels to count: Distinct is an estimate, to about 1 %, Rare is not known, and Levels are of those
	// that came first.
	About bool   `json:"about,omitempty"`
	First string `json:"first,omitempty"` // time
	Last  string `json:"last,omitempty"`
	// Of dates the format in the notation of strptime, and the zone of the times, "" if they have none.
	Format   string `json:"format,omitempty"`
	Timezone string `json:"timezone,omitempty"`
	Hint     string `json:"hint,omitempty"` // what a person should do about it, "" for nothing
}

// Numbers are sizes of numbers. Quantiles are of a sample of at most 262144 of them, those of the shares that QuantileShares has.
type Numbers struct {
	Min       float64   `json:"min"`
	Mean      float64   `json:"mean"`
	Deviation float64   `json:"deviation"`
	Max       float64   `json:"max"`
	Quantiles []float64 `json:"quantiles"`
	Log       bool      `json:"log"` // training takes their logarithms
}

// LevelOfRows is a level and how many rows have it.
type LevelOfRows struct {
	Level string `json:"level"`
	Rows  int    `json:"rows"`
}

// Hints are what a person should do about columns that nothing can be learned from; of few rows about those alone that are all missing.
func (f *Fit) Hints() (all []string) {
	for i := range f.plan.columns {
		c := &f.plan.columns[i]
		if c.Kind == Label || c.Kind == Weight || c.Kind == Group {
			continue
		}
		if z := f.plan.zones[i]; z != nil {
			if note := z.note(c.Name); note != "" {
				all = append(all, note)
			}
		}
		d := f.outline(i)
		if hint := d.hint(); hint != "" && (d.Rows == 0 || f.rows >= differentRows) {
			all = append(all, fmt.Sprintf("column %q: %s", c.Name, hint))
		}
	}
	return all
}

// outline is as much of the description of a column as a hint is of.
func (f *Fit) outline(i int) *Description {
	d := &Description{Name: f.plan.columns[i].Name, Kind: f.plan.columns[i].Kind}
	for at := f.plan.first[i]; at < f.plan.first[i+1]; at++ {
		s, one := &f.stats[at], &f.plan.fields[at]
		switch {
		case s.counts != nil && one.part == nil:
			d.Missing = s.counts[0]
			for _, n := range s.counts[1:] {
				d.Distinct += min(1, n)
			}
		case one.part != nil && one.part.values == 0: // the days of a time
			if d.Missing = s.missing; s.n > 0 {
				d.First, d.Last = fmt.Sprint(s.lo), fmt.Sprint(s.hi)
			}
		case one.isNumber():
			if d.Missing = s.missing; s.n > 0 {
				d.Numbers = &Numbers{Min: s.lo, Deviation: s.spread, Max: s.hi}
			}
		}
	}
	d.Rows = f.rows - d.Missing
	return d
}

// QuantileShares are the shares of numbers that lie below the quantiles of a description.
func QuantileShares() []float64 { return []float64{0.01, 0.25, 0.5, 0.75, 0.99} }

// Describe describes the columns, those of the label, weights and groups left out, with at most so many levels of each. Of hashed and
// ignored columns only the kind is known.
func (s *Survey) Describe(levels int) (all []Description) {
	for i := range s.plan.columns {
		c := &s.plan.columns[i]
		if c.Kind == Label || c.Kind == Weight || c.Kind == Group {
			continue
		}
		d := Description{Name: c.Name, Kind: c.Kind}
		first := s.plan.first[i]
		switch span := &s.spans[i]; {
		case s.levels[i] != nil:
			d.levels(c, s.levels[i].settled(c, s.plan.missing), levels)
		case c.Kind == Date:
			if d.Missing = s.rows - span.n; span.n > 0 {
				d.First, d.Last = timeText(span.first), timeText(span.last)
				if k := s.plan.clocks[i]; k.main != nil && !k.main.dated {
					d.First, d.Last = span.first.Format(time.TimeOnly), span.last.Format(time.TimeOnly)
				}
			}
			d.Format, d.Timezone = c.Format, c.Timezone
			if z := s.plan.zones[i]; z != nil {
				d.Timezone, d.Hint = z.name(), z.note(c.Name)
			}
		case s.plan.first[i+1] > first && s.plan.fields[first].isNumber():
			d.numbers(&s.stats[first], s.stats[first].skewed(&s.plan.fields[first], c))
		}
		d.Rows = s.rows - d.Missing
		if d.Hint = cmp.Or(d.Hint, d.hint()); d.Hint == "" && 2*d.Missing > s.rows {
			d.Hint = "mostly missing"
		}
		all = append(all, d)
	}
	return all
}

// levels describes levels.
func (d *Description) levels(c *Column, t *tally, most int) {
	d.Missing, d.Levels = t.counts[0], t.frequent(most)
	if d.Distinct, d.About = t.distinct(); d.About {
		return
	}
	for _, n := range t.counts[1:] {
		if n < c.Min {
			d.Rare++
		}
	}
}

// frequent are the most frequent levels, ties in the order of their texts.
func (t *tally) frequent(most int) (all []LevelOfRows) {
	codes := make([]int32, 0, len(t.counts))
	for code := 1; code < len(t.counts); code++ {
		codes = append(codes, int32(code))
	}
	slices.SortFunc(codes, func(a, b int32) int {
		return cmp.Or(cmp.Compare(t.counts[b], t.counts[a]), bytes.Compare(t.known.bytes(a), t.known.bytes(b)))
	})
	for _, code := range codes[:min(most, len(codes))] {
		all = append(all, LevelOfRows{t.known.text(code), t.counts[code]})
	}
	return all
}

func (d *Description) numbers(s *stat, log bool) {
	if d.Missing = s.missing; s.n == 0 {
		return
	}
	sorted := s.sample.sorted()
	d.Numbers = &Numbers{Min: s.lo, Max: s.hi, Log: log}
	d.Numbers.Mean, d.Numbers.Deviation = s.Of()
	for _, share := range QuantileShares() {
		at := int(math.Ceil(share*float64(len(sorted)))) - 1
		d.Numbers.Quantiles = append(d.Numbers.Quantiles, sorted[max(0, at)])
	}
}

// timeText is a time with as many parts as it has.
func timeText(t time.Time) string {
	switch t = t.UTC(); {
	case t.Equal(t.Truncate(24 * time.Hour)):
		return t.Format(time.DateOnly)
	case t.Equal(t.Truncate(time.Minute)):
		return t.Format("2006-01-02 15:04")
	}
	return t.Format("2006-01-02 15:04:05.999999999")
}

// Of so many rows at least it is said that nearly all levels differ, and from this share on.
const (
	differentRows  = 20
	differentShare = 0.9
)

// hint is what should be done about a column that says nothing.
func (d *Description) hint() string {
	n := d.Numbers
	switch {
	case d.Kind == Ignore || d.Kind == Hash:
	case d.Rows == 0:
		return "all missing: --ignore " + d.Name
	case d.Missing == 0 && (d.Distinct == 1 || n != nil && n.Min == n.Max || d.First != "" && d.First == d.Last):
		return "all equal: --ignore " + d.Name
	case d.Kind == Numeric && d.Missing == 0 && d.Rows >= differentRows && n.numbersRows(d.Rows):
		return "it looks like a row number: --ignore " + d.Name
	case d.Kind == Categorical && d.Rows >= differentRows && float64(d.Distinct) >= differentShare*float64(d.Rows):
		return "nearly every row has its own level: --ignore " + d.Name + ", or --hashed " + d.Name
	}
	return ""
}

// numbersRows reports whether as many numbers are, by all that is known of them, those of rows, of which up to half may be missing: whole,
// and as many from the least to the largest.
func (n *Numbers) numbersRows(rows int) bool {
	most := n.Max - n.Min + 1
	even := math.Sqrt((most*most - 1) / 12) // their deviation
	return n.Min == math.Trunc(n.Min) && n.Max == math.Trunc(n.Max) && most >= float64(rows) && most <= 2*float64(rows) &&
		math.Abs(n.Deviation-even) <= even/50
}
