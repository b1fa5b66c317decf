package feature

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Survey finds out what the columns of a table hold, for people, from one part after the other. It keeps what it found and not the rows:
// its memory does not grow with them. One goroutine uses it; it uses all processors, and what it finds does not depend on how many.
type Survey struct {
	plan   *Plan
	rows   int
	stats  []stat   // by field
	levels []*tally // by column, of those with levels
	spans  []span   // by column of times
}

// Survey is a new one for tables of the plan, which is open.
func (p *Plan) Survey() *Survey {
	s := &Survey{plan: p, stats: make([]stat, len(p.fields)), levels: make([]*tally, len(p.columns)), spans: make([]span, len(p.columns))}
	for i := range p.columns {
		if p.columns[i].leveled() {
			s.levels[i] = &tally{known: newDictionary(), counts: []int{0}}
		}
	}
	return s
}

// Add adds the rows of a part of a plan that ForSurvey made, and their labels.
func (s *Survey) Add(part *Part, label []float32) {
	s.rows += part.Rows
	for i, one := range part.spans {
		s.spans[i].join(one)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(s.stats)+1) {
		wg.Go(func() {
			for at := int(next.Add(1)) - 1; at <= len(s.stats); at = int(next.Add(1)) - 1 {
				if at < len(s.stats) {
					s.field(at, part)
				} else {
					s.labels(part, label)
				}
			}
		})
	}
	wg.Wait()
}

// field adds the values of a field.
func (s *Survey) field(at int, part *Part) {
	one := &s.plan.fields[at]
	switch {
	case one.kind == Hash, one.part != nil && one.part.values > 0:
	case one.kind == Categorical:
		here := stat{counts: make([]int, part.plan.open[one.column].len())}
		here.add(&part.fields[at], part.Rows, nil)
		s.levels[one.column].add(part.plan.open[one.column], here.counts)
	default:
		s.stats[at].add(&part.fields[at], part.Rows, nil)
	}
}

// labels adds labels that are texts.
func (s *Survey) labels(part *Part, label []float32) {
	for i := range s.plan.columns {
		if s.plan.columns[i].Kind != Label || s.levels[i] == nil {
			continue
		}
		counts := make([]int, part.plan.open[i].len())
		for _, code := range label {
			counts[int(code)]++
		}
		s.levels[i].add(part.plan.open[i], counts)
	}
}

// tally counts levels, exactly those that came first, up to a limit. How many others there are it estimates.
type tally struct {
	known  *dictionary
	counts []int   // by code
	others *sketch // of all levels, once there are more than the limit; nil: the counts are all there is
}

// Limits of what a survey keeps of a column.
const (
	tallyLevels = 1 << 18
	tallyText   = 1 << 24 // bytes of levels
)

// add adds the counts of codes of another dictionary, in the order of that.
func (t *tally) add(of *dictionary, counts []int) {
	t.counts[0] += counts[0]
	for code := 1; code < len(counts); code++ {
		n := counts[code]
		if n == 0 { // of a row that is of no use
			continue
		}
		text := of.bytes(int32(code))
		h := hashText(text)
		at := t.known.known.find(h)
		if at < 0 && t.full(len(text)) {
			t.others.add(text)
			continue
		}
		if at < 0 {
			at, _ = t.known.code(h, text) // which has room
			t.counts = append(t.counts, 0)
		}
		t.counts[at] += n
	}
}

// settled is the tally with one category for all its spellings.
func (t *tally) settled(c *Column, missing map[string]bool) *tally {
	s := settle(t.known, t.counts, c.Compare, c.Min, missing)
	return &tally{s.dictionary, s.counts, t.others}
}

// full reports whether there is no room for one more level: from then on there is none for any.
func (t *tally) full(text int) bool {
	if t.others == nil && (len(t.counts) > tallyLevels || len(t.known.texts)+text > tallyText) {
		t.others = &sketch{}
		for code := 1; code < t.known.len(); code++ {
			t.others.add(t.known.bytes(int32(code)))
		}
	}
	return t.others != nil
}

// distinct is how many levels there are, and whether that is an estimate.
func (t *tally) distinct() (n int, about bool) {
	if t.others != nil {
		return t.others.estimate(), true
	}
	return len(t.counts) - 1, false
}

// span is the first and the last of some times.
type span struct {
	n           int
	first, last time.Time
}

func (s *span) join(o span) {
	if o.n == 0 {
		return
	}
	if s.n == 0 || o.first.Before(s.first) {
		s.first = o.first
	}
	if s.n == 0 || o.last.After(s.last) {
		s.last = o.last
	}
	s.n += o.n
}

// keepTimes adds the times of the rows of the block that are of use to a part of a plan for a survey.
func (e *Encoder) keepTimes(p *Part) {
	if p.plan = e.plan; p.spans == nil {
		p.spans = make([]span, len(e.when))
	}
	for i, all := range e.when {
		for k, one := range all[:min(e.rows, len(all))] {
			if one.ok && e.Bad[k] == nil {
				p.spans[i].join(span{1, one.at, one.at})
			}
		}
	}
}

// Labels are the labels where they are texts: at most so many, the most frequent first, how many different ones there are, and whether that
// is an estimate. positive is the share of positive examples where there are two. None: they are numbers, or there is no label.
func (s *Survey) Labels(most int) (all []LevelOfRows, distinct int, about bool, positive *float64, err error) {
	for i := range s.plan.columns {
		c, t := s.plan.columns[i], s.levels[i]
		if c.Kind != Label || t == nil || s.rows == 0 {
			continue
		}
		t = t.settled(&c, nil)
		distinct, about = t.distinct()
		f := Fit{plan: &Plan{open: []*dictionary{t.known}, positive: s.plan.positive}, labels: make([]bool, t.known.len())}
		for code := range f.labels {
			f.labels[code] = true
		}
		if err := f.label(&c, 0); err != nil {
			return nil, 0, false, nil, fmt.Errorf("column %q: %w", c.Name, err)
		}
		all = t.frequent(len(t.counts))
		if len(c.Levels) == 2 {
			at := slices.IndexFunc(all, func(l LevelOfRows) bool { return l.Level == c.Levels[1] })
			share := float64(all[at].Rows) / float64(s.rows)
			positive = &share
		}
		return all[:min(most, len(all))], distinct, about, positive, nil
	}
	return nil, 0, false, nil, nil
}

// LabelName is the name of the column of labels, "" if there is none.
func (s *Survey) LabelName() string {
	for i := range s.plan.columns {
		if s.plan.columns[i].Kind == Label {
			return s.plan.columns[i].Name
		}
	}
	return ""
}

// TextLabels reports whether the labels are texts.
func (s *Survey) TextLabels() bool { return s.plan.TextLabels() }

// Rows is how many rows were added.
func (s *Survey) Rows() int { return s.rows }
