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
	First    string        `json:"first,omitempty"`    // time, to the minute or so
	Last     string        `json:"last,omitempty"`
	Hint     string        `json:"hint,omitempty"` // what a person should do about it, "" for nothing
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

// QuantileShares are the shares of numbers that lie below the quantiles of a description.
func QuantileShares() []float64 { return []float64{0.01, 0.25, 0.5, 0.75, 0.99} }

// Describe describes the columns of so many rows, those of the label, weights and groups left out, with at most so many levels of each.
// Of hashed and ignored columns only the kind is known.
func (f *Fit) Describe(rows, levels int) (all []Description) {
	for i := range f.plan.columns {
		c := &f.plan.columns[i]
		if c.Kind == Label || c.Kind == Weight || c.Kind == Group {
			continue
		}
		d := f.outline(i, rows)
		for at := f.plan.first[i]; at < f.plan.first[i+1]; at++ {
			if s := &f.stats[at]; s.counts != nil {
				d.Levels = frequent(f.plan.open[i], s.counts, levels)
			} else if d.Numbers != nil {
				d.Numbers.Quantiles = s.quantiles()
			}
		}
		if d.Hint == "" && 2*d.Missing > rows && c.Kind != Ignore && c.Kind != Hash {
			d.Hint = "mostly missing"
		}
		all = append(all, d)
	}
	return all
}

// Hints are what a person should do about columns that nothing can be learned from, none of few rows.
func (f *Fit) Hints() (all []string) {
	if f.rows < differentRows {
		return nil
	}
	for i := range f.plan.columns {
		c := &f.plan.columns[i]
		if c.Kind == Label || c.Kind == Weight || c.Kind == Group {
			continue
		}
		if d := f.outline(i, f.rows); d.Hint != "" {
			all = append(all, fmt.Sprintf("column %q: %s", c.Name, d.Hint))
		}
	}
	return all
}

// outline is the description of a column of so many rows, without levels and quantiles.
func (f *Fit) outline(i, rows int) Description {
	c := &f.plan.columns[i]
	d := Description{Name: c.Name, Kind: c.Kind}
	for at := f.plan.first[i]; at < f.plan.first[i+1]; at++ {
		s, one := &f.stats[at], &f.plan.fields[at]
		switch {
		case s.counts != nil && one.part == nil:
			d.Missing = s.counts[0]
			for _, n := range s.counts[1:] {
				if n > 0 {
					d.Distinct++
				}
				if n > 0 && n < c.Min {
					d.Rare++
				}
			}
		case one.part != nil && one.part.values == 0:
			d.Missing = s.missing
			if s.n > 0 {
				d.First, d.Last = timeOf(s.lo), timeOf(s.hi)
			}
		case one.isNumber():
			if d.Missing = s.missing; s.n > 0 {
				d.Numbers = &Numbers{Min: s.lo, Mean: s.mean, Deviation: s.spread, Max: s.hi, Log: s.log}
			}
		}
	}
	if d.Rows = rows - d.Missing; c.Kind != Ignore && c.Kind != Hash {
		d.Hint = d.hint()
	}
	return d
}

// frequent are the levels that most rows have, by how many rows have each code.
func frequent(texts *dictionary, counts []int, most int) (all []LevelOfRows) {
	var codes []int32
	for code, n := range counts {
		if code > 0 && n > 0 {
			codes = append(codes, int32(code))
		}
	}
	slices.SortFunc(codes, func(a, b int32) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), bytes.Compare(texts.bytes(a), texts.bytes(b)))
	})
	for _, code := range codes[:min(most, len(codes))] {
		all = append(all, LevelOfRows{texts.text(code), counts[code]})
	}
	return all
}

// quantiles are those of the sample.
func (s *stat) quantiles() (all []float64) {
	sorted := slices.Clone(s.sample)
	slices.Sort(sorted)
	for _, share := range QuantileShares() {
		at := int(math.Ceil(share*float64(len(sorted)))) - 1
		all = append(all, float64(sorted[max(0, at)]))
	}
	return all
}

// timeOf is the time of days since 1970, which are known to some minutes.
func timeOf(days float64) string {
	t := time.Unix(int64(math.Round(days*secondsOfDay)), 0).UTC()
	if days == math.Floor(days) {
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02 15:04")
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
	case d.Rows == 0:
		return "all missing: --ignore " + d.Name
	case d.Missing == 0 && (d.Distinct == 1 || n != nil && n.Min == n.Max || d.First != "" && d.First == d.Last):
		return "all equal: --ignore " + d.Name
	case d.Kind == Numeric && d.Missing == 0 && d.Rows >= differentRows && n.numbersRows(d.Rows):
		return "it seems to number the rows: --ignore " + d.Name
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
