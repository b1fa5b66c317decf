package feature

import (
	"bytes"
	"cmp"
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
		d := Description{Name: c.Name, Kind: c.Kind}
		for at := f.plan.first[i]; at < f.plan.first[i+1]; at++ {
			s, one := &f.stats[at], &f.plan.fields[at]
			switch {
			case s.counts != nil && one.part == nil:
				d.levels(c, f.plan.open[i], s.counts, levels)
				d.Missing = s.counts[0]
			case one.part != nil && one.part.values == 0:
				d.Missing = s.missing
				if s.n > 0 {
					d.First, d.Last = timeOf(s.lo), timeOf(s.hi)
				}
			case one.isNumber():
				d.numbers(s)
			}
		}
		if d.Rows = rows - d.Missing; c.Kind != Ignore && c.Kind != Hash {
			d.Hint = d.hint(rows)
		}
		all = append(all, d)
	}
	return all
}

// levels describes levels by how many rows have each code.
func (d *Description) levels(c *Column, texts *dictionary, counts []int, most int) {
	var codes []int32
	for code, n := range counts {
		if code == 0 || n == 0 {
			continue
		}
		if d.Distinct++; n < c.Min {
			d.Rare++
		}
		codes = append(codes, int32(code))
	}
	slices.SortFunc(codes, func(a, b int32) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), bytes.Compare(texts.bytes(a), texts.bytes(b)))
	})
	for _, code := range codes[:min(most, len(codes))] {
		d.Levels = append(d.Levels, LevelOfRows{texts.text(code), counts[code]})
	}
}

func (d *Description) numbers(s *stat) {
	if d.Missing = s.missing; s.n == 0 {
		return
	}
	sorted := slices.Clone(s.sample)
	slices.Sort(sorted)
	d.Numbers = &Numbers{Min: s.lo, Mean: s.mean, Deviation: s.spread, Max: s.hi, Log: s.log}
	for _, share := range QuantileShares() {
		at := int(math.Ceil(share*float64(len(sorted)))) - 1
		d.Numbers.Quantiles = append(d.Numbers.Quantiles, float64(sorted[max(0, at)]))
	}
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

// hint is what should be done about the column.
func (d *Description) hint(rows int) string {
	n := d.Numbers
	switch {
	case d.Rows == 0:
		return "all missing: --ignore " + d.Name
	case d.Missing == 0 && (d.Distinct == 1 || n != nil && n.Min == n.Max || d.First != "" && d.First == d.Last):
		return "all equal: --ignore " + d.Name
	case d.Kind == Categorical && d.Rows >= differentRows && float64(d.Distinct) >= differentShare*float64(d.Rows):
		return "nearly every row has its own level: --ignore " + d.Name + ", or --hashed " + d.Name
	case 2*d.Missing > rows:
		return "mostly missing"
	}
	return ""
}
