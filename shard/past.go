package shard

import (
	"fmt"
	"slices"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/psf"
)

// Past is the steps that the rule of a sparse partition has made, as far back as columns may be: what brings one up to date on
// those that did not name it. It does not change; a partition's own is extended by its steps.
//
// Steps are kept in spans. Of each step of a span there is the drift from it to the end of the span, and of each span the drift
// from its begin until now: two drifts bring a column from any step to the present, whatever lies between. Which two they are,
// and so the bits that come out, is a function of both steps and of the rates alone.
type Past struct {
	idle  *kernel.Idle
	now   int64     // the last step
	from  int64     // the first that a column can be as of
	rates []float64 // of the steps after from
	spans []*[span]kernel.Drift
	since []kernel.Drift // from the begin of each span until now
	first int64          // number of the first span
}

const (
	span = 512
	// A column is brought up to date every turns steps, if not because it is named: so no more steps than that have to be kept.
	turns    = 1 << turnBits
	turnBits = 12
	// rateLimit is how many rates a Past has at most.
	rateLimit = turns + 2*span
)

// pastAfter is that of a rule after some steps that need not be known.
func pastAfter(idle *kernel.Idle, steps int64) *Past {
	p := &Past{idle: idle, now: steps, from: steps, first: steps / span}
	p.begin()
	return p
}

// NewPast is the past of a partition of m after so many steps, of which the last had these rates. It is nil if all columns are
// always up to date.
func NewPast(m *matrix.Meta, rule *psf.Rule, steps int64, rates []float64) (*Past, error) {
	step, _, err := bind(m, rule)
	if err != nil || step.Idle == nil || m.Layout != matrix.RowSparse {
		return nil, err
	}
	if n := int64(len(rates)); n > rateLimit || n > steps {
		return nil, fmt.Errorf("matrix %s: rates of %d steps of %d, want at most as many and at most %d", m.Name, n, steps, rateLimit)
	}
	p := pastAfter(step.Idle, steps-int64(len(rates)))
	for _, rate := range rates {
		p.step(rate)
	}
	return p, nil
}

// Is reports whether the last steps had these rates, as [NewPast] wants them.
func (p *Past) Is(steps int64, rates []float64) bool {
	return p.now == steps && slices.Equal(p.rates, rates)
}

// Agrees reports whether both are of the same steps, as far as both know them.
func (p *Past) Agrees(q *Past) bool {
	more := len(p.rates) - len(q.rates)
	return p.now == q.now && slices.Equal(q.rates[max(0, -more):], p.rates[max(0, more):])
}

// Rates are those of the last steps, as [NewPast] wants them.
func (p *Past) Rates() []float64 { return p.rates }

// begin begins the span of the present step.
func (p *Past) begin() {
	now := &[span]kernel.Drift{}
	now[p.now%span] = kernel.NoDrift()
	p.spans, p.since = append(p.spans, now), append(p.since, kernel.NoDrift())
}

// step is one step more.
func (p *Past) step(rate float64) {
	d := p.idle.Step(rate)
	at, now := p.now%span, p.spans[len(p.spans)-1]
	p.idle.Extend(p.since, d)
	p.idle.Extend(now[:at+1], d)
	p.rates = append(p.rates, rate)
	if p.now++; at+1 < span {
		now[at+1] = kernel.NoDrift()
		return
	}
	p.begin()
	for i := range p.since {
		p.since[i].Flush()
	}
	if end := (p.first + 1) * span; end <= p.now-turns {
		p.rates = slices.Delete(p.rates, 0, int(end-p.from))
		p.spans, p.since = slices.Delete(p.spans, 0, 1), slices.Delete(p.since, 0, 1)
		p.first, p.from = p.first+1, end
	}
}

// drift writes what the steps after one make of a column that none of them names.
func (p *Past) drift(into *kernel.Drift, from int64) {
	i, at := int(uint64(from)/span)-int(p.first), uint64(from)%span
	*into = p.spans[i][at]
	if i++; i < len(p.spans) {
		into.Then(&p.since[i])
	}
}

// clone is the past as it is now, while the partition goes on.
func (p *Past) clone() *Past {
	c := *p
	c.rates, c.spans, c.since = slices.Clone(p.rates), slices.Clone(p.spans), slices.Clone(p.since)
	now := *p.spans[len(p.spans)-1]
	c.spans[len(c.spans)-1] = &now
	return &c
}

// alike reports whether the rules of both pasts do the same without gradients. The drift of one rate has all settings in it.
func (p *Past) alike(q *Past) bool {
	a, b := p.idle, q.idle
	return a.Form == b.Form && a.Eps == b.Eps && a.Step(1) == b.Step(1)
}

// knows tells why n columns cannot be as of these steps.
func (p *Past) knows(stamps []int64, n int) error {
	if p == nil || len(stamps) != n {
		return fmt.Errorf("%d steps for %d columns that are behind, want as many, and the past of their partition", len(stamps), n)
	}
	for _, t := range stamps {
		if t < p.from || t > p.now {
			return fmt.Errorf("a column as of step %d, want one from %d to %d", t, p.from, p.now)
		}
	}
	return nil
}

func (p *Past) bytes() int64 {
	return int64(8*cap(p.rates) + 48*cap(p.since) + len(p.spans)*span*40)
}
