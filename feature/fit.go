package feature

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Fit finds out what the rows of an open plan say of its columns.
type Fit struct {
	plan   *Plan
	stats  []stat  // by field
	labels []bool  // codes of labels that are texts which rows have
	rows   int     // that were looked at
	texts  settled // the labels, if they are texts
}

// stat is what is known of a field.
type stat struct {
	Moments
	counts  []int // of codes: examples that have them
	missing int
	spread  float64 // deviation of the numbers, also where the sums are of logarithms
	sample  numbers // each step-th one
	step    int     // a power of two
}

// sampleLimit is of how many numbers buckets are made at most.
const sampleLimit = 1 << 18

// Fit looks at the rows of all parts, in their order, but for those that are held out; nil: none is. label are the labels of all rows,
// which tell what labels there are if they are texts. It uses all processors, and what it finds does not depend on how many there are.
func (p *Plan) Fit(parts []*Part, label []float32, held func(i int) bool) *Fit {
	f := &Fit{plan: p, stats: make([]stat, len(p.fields)), labels: p.seen(label)}
	for i := range label {
		if held == nil || !held(i) {
			f.rows++
		}
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(p.fields)) {
		wg.Go(func() {
			for at := int(next.Add(1)) - 1; at < len(p.fields); at = int(next.Add(1)) - 1 {
				f.stats[at] = p.stat(at, parts, held)
			}
		})
	}
	wg.Wait()
	return f
}

// seen are the codes of labels that rows have, whatever lines have that are of no use; nil if labels are no texts.
func (p *Plan) seen(label []float32) (all []bool) {
	for i := range p.columns {
		if d := p.open[i]; d != nil && p.columns[i].Kind == Label {
			all = make([]bool, d.len())
			for _, code := range label {
				all[int(code)] = true
			}
		}
	}
	return all
}

// stat looks at one field.
func (p *Plan) stat(at int, parts []*Part, held func(i int) bool) (s stat) {
	one := &p.fields[at]
	switch {
	case one.kind == Hash, one.part != nil && one.part.values > 0:
		return s
	case one.kind == Categorical:
		s.counts = make([]int, p.open[one.column].len())
	}
	s.look(p, at, parts, held)
	_, plain := s.Of()
	if s.skewed(one, &p.columns[one.column]) {
		s = stat{Moments: Logs()}
		s.look(p, at, parts, held)
	}
	s.spread = plain
	return s
}

// skewed reports whether training takes the logarithms of the numbers that were looked at.
func (s *stat) skewed(one *field, c *Column) bool {
	return one.kind == Numeric && c.Scale != None && s.n > 0 && (c.Log == nil && one.part == nil && s.Skewed() || c.Log != nil && *c.Log)
}

// look looks at the values of the field.
func (s *stat) look(p *Plan, at int, parts []*Part, held func(i int) bool) {
	row := 0
	for _, part := range parts {
		out := held
		if held != nil {
			out = func(i int) bool { return held(row + i) }
		}
		s.add(&part.fields[at], part.Rows, out)
		row += part.Rows
		part.Done()
	}
}

// add looks at the values of some rows, but for those that are held out; nil: none is.
func (s *stat) add(st *stored, rows int, held func(i int) bool) {
	switch {
	case s.counts == nil:
		for i, x := range st.value.all {
			switch {
			case held != nil && held(i):
			case x != x:
				s.missing++
			default:
				s.number(x)
			}
		}
	case st.end == nil:
		for i, code := range st.code[:rows] {
			if held == nil || !held(i) {
				s.counts[code]++
			}
		}
	default:
		s.lists(st, rows, held)
	}
}

// lists counts the levels of rows that have several; a level counts once in a row.
func (s *stat) lists(st *stored, rows int, held func(i int) bool) {
	from := 0
	for i := range rows {
		codes := st.code[from:st.end[i]]
		from = int(st.end[i])
		if held != nil && held(i) {
			continue
		}
		for k, code := range codes {
			if !slices.Contains(codes[:k], code) {
				s.counts[code]++
			}
		}
	}
}

func (s *stat) number(x float64) {
	if s.sample.len() == sampleLimit { // every second one stays, and so it goes on
		s.sample.halve()
		s.step = 2 * s.step
	}
	if s.step = max(1, s.step); s.n&(s.step-1) == 0 {
		s.sample.add(x)
	}
	s.Add(x, 1)
}

// Transform is what was found out. ids are, for each field with levels, the ids of codes, counted from the field's first: what
// Values takes.
func (f *Fit) Transform() (t *Transform, ids [][]int32, err error) {
	t = &Transform{Missing: Texts{}, Columns: slices.Clone(f.plan.columns), Decimal: f.plan.decimal}
	for _, text := range f.plan.none {
		t.Missing = append(t.Missing, string(text))
	}
	ids = make([][]int32, len(f.plan.fields))
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Kind == Label {
			if err := f.label(c, i); err != nil {
				return nil, nil, fmt.Errorf("column %q: %w", c.Name, err)
			}
		}
		if z := f.plan.zones[i]; z != nil {
			c.Timezone = z.name()
		}
	}
	for at := range f.plan.fields {
		one, s := &f.plan.fields[at], &f.stats[at]
		c := &t.Columns[one.column]
		switch {
		case s.counts != nil:
			one := settle(f.plan.open[one.column], s.counts, c.Compare, c.Min, f.plan.missing)
			ids[at] = c.choose(&one)
		case one.kind == Buckets && one.part == nil:
			c.Nothing, c.Bounds = s.missing > 0, bounds(s.sample.sorted(), c.Buckets)
		case one.kind == Numeric:
			c.Nothing = s.missing > 0
			if log := s.log || c.Log != nil && *c.Log; one.part == nil {
				c.Log = &log
			}
			if c.Scale == "" {
				c.Scale = Standard
			}
			if c.Scale == Standard {
				if c.Mean, c.Deviation = s.Of(); math.IsInf(c.Mean, 0) || !(c.Deviation <= math.MaxFloat64) {
					return nil, nil, fmt.Errorf("column %q: numbers from %v to %v are too large to be scaled: want their logarithm "+
						"(log: true for the column in --columns), or leave the column out (--ignore %s)", c.Name, s.lo, s.hi, shellWord(c.Name))
				}
			}
		}
	}
	return t, ids, t.prepare()
}

// label gives the texts of labels their numbers: in the order of the texts, but for the positive one, which is the last.
func (f *Fit) label(c *Column, i int) error {
	d := f.plan.open[i]
	if d == nil {
		if f.plan.positive != "" {
			return wrong("positive label %q, and the labels are numbers: want a label mapping", f.plan.positive)
		}
		return nil
	}
	counts := make([]int, len(f.labels))
	for code, seen := range f.labels {
		if seen {
			counts[code] = 1
		}
	}
	f.texts = settle(d, counts, c.Compare, 1, nil)
	c.Levels = nil
	for code, n := range f.texts.counts {
		if n > 0 && code > 0 {
			c.Levels = append(c.Levels, f.texts.text(int32(code)))
		}
	}
	slices.Sort(c.Levels)
	if f.plan.positive == "" {
		return nil
	}
	at := slices.Index(c.Levels, string(f.texts.as.canonical(nil, []byte(f.plan.positive), f.texts.words)))
	if at < 0 || len(c.Levels) > 2 {
		return wrong("positive label %q, and the labels are %s: want one of two", f.plan.positive, shown(c.Levels))
	}
	if at == 0 && len(c.Levels) == 2 {
		c.Levels[0], c.Levels[1] = c.Levels[1], c.Levels[0]
	}
	return nil
}

// Labels are the numbers of the codes of labels that are texts, nil if they are numbers.
func (f *Fit) Labels(t *Transform) []float32 {
	for i := range t.Columns {
		c, d := &t.Columns[i], f.plan.open[i]
		if c.Kind != Label || d == nil {
			continue
		}
		of := make([]float32, f.texts.len())
		for n, text := range c.Levels {
			of[f.texts.known.find(hashText([]byte(text)))] = float32(n)
		}
		numbers := make([]float32, d.len())
		for code := range numbers {
			numbers[code] = of[f.texts.of(code)]
		}
		return numbers
	}
	return nil
}

// choose gives the levels that are frequent enough ids, the most frequent one first, and answers with those of codes.
func (c *Column) choose(d *settled) []int32 {
	var codes []int32
	counts := d.counts
	for code, n := range counts {
		if n >= c.Min && n > 0 {
			codes = append(codes, int32(code))
		}
	}
	slices.SortFunc(codes, func(a, b int32) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), bytes.Compare(d.bytes(a), d.bytes(b)))
	})
	if c.Most > 0 && len(codes) > c.Most {
		codes = codes[:c.Most]
	}
	ids := make([]int32, len(counts))
	c.Levels, c.Other = make(Texts, len(codes)), false
	for i, code := range codes {
		ids[code], c.Levels[i] = int32(i+1), d.text(code)
	}
	for code, n := range counts {
		c.Other = c.Other || n > 0 && ids[code] == 0
	}
	if d.code == nil {
		return ids
	}
	all := make([]int32, len(d.code))
	for code, to := range d.code {
		all[code] = ids[to]
	}
	return all
}

// bounds cut numbers, which are sorted, into n parts as frequent as each other; equal ones stay together.
func bounds(sorted []float64, n int) (all []float64) {
	for i := 1; i < n; i++ {
		if len(sorted) == 0 {
			break
		}
		b := sorted[i*len(sorted)/n]
		if b > sorted[0] && (len(all) == 0 || b > all[len(all)-1]) {
			all = append(all, b)
		}
	}
	return all
}
