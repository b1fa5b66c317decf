package ps

import (
	"context"
	"slices"

	"thole.example/matrix"
	"thole.example/ssp"
	"thole.example/wire"
)

// Prefetch starts the pull of what the next batch needs, so that the values come while the present one is computed: call it with the
// next batch's lookups before the computation, and [Client.Next] with the same ones (matrix, plan and place) after it.
//
//	bound   values that Next gives for a lookup of Prefetch
//	BSP     the same as without: they exist only once the step is applied, so Next asks for them
//	SSP(k)  as of clock c+1-k or later, where c+1 is the clock that Next begins
//	ASP     what the servers had when Prefetch asked: they lack the step that is being computed
//
// Lookups of columns, of sparse matrices as a whole, and of matrices with their own writes are left to Next, too. The values are those of
// the next clock alone: a barrier, a load, a restore, an update function, PushNow, AssignNow, a Flush under ASP and another Prefetch end
// the pull, and Next asks again. Until Next has returned, the places belong to the pull. An error is one of the lookups or of sending;
// what the servers answer Next tells.
func (c *Client) Prefetch(ctx context.Context, lookups []matrix.Lookup) error {
	if err := c.begin(ctx, "prefetch", nil); err != nil {
		return err
	}
	defer c.end()
	if err := c.mayChange(); err != nil {
		return err
	}
	c.dropPrefetched()
	p := &Pull{c: c, ahead: true}
	for i, l := range lookups {
		m, err := c.Matrix(l.Matrix)
		if err != nil {
			return err
		}
		if l.Cols != nil || !m.early() {
			continue
		}
		r, err := c.reading(i, l)
		if err != nil {
			return err
		}
		if !r.listed() {
			p.reads, p.lookups = append(p.reads, r), append(p.lookups, l)
		}
	}
	if len(p.reads) == 0 {
		return nil
	}
	c.prefetched = p
	c.keepAhead(p)
	return p.begin(ctx)
}

// NextKeys plans the keys of the next batch into k, as [Matrix.Plan] does, and starts the pull of their values as of the task's next clock
// of the matrix, so that they come while the present batch is computed: call it before the computation, and Wait after Clock. dst gets
// the values of each key for all rows, key after key. What is read is what [Client.Prefetch] says; under BSP the servers are asked when
// the clock ticks. Until Wait has returned, dst is the pull's, and k may be used for pushes, but not planned again, which ends the pull.
// k must not be the plan of the present batch: two plans take turns.
func NextKeys[T matrix.Elem](ctx context.Context, m *Matrix, k *Keys, keys []int64, dst []T) (*Pull, error) {
	c := m.c
	if err := c.begin(ctx, "pull", m); err != nil {
		return nil, err
	}
	defer c.end()
	if err := c.mayChange(); err != nil {
		return nil, err
	}
	if _, err := m.Plan(k, keys); err != nil {
		return nil, err
	}
	if err := m.fits(k, matrix.DTypeOf[T](), len(dst)); err != nil {
		return nil, err
	}
	r := m.readKeys(k, wire.View(dst))
	p := &Pull{c: c, m: m, keys: k, out: wire.View(dst), reads: []*reading{&r}, ahead: true}
	c.keepAhead(p)
	if m.early() {
		return p, p.begin(ctx)
	}
	return p, nil
}

// early reports whether values of the matrix as of the next clock can come before this task has ended its present one.
func (m *Matrix) early() bool { return m.bound != ssp.BSP && !m.own }

// keepAhead notes a pull as of the next clocks. Under ASP clocks say nothing of values, but the cache goes by when it asked.
func (c *Client) keepAhead(p *Pull) {
	for _, r := range p.reads {
		if r.m.bound != ssp.ASP {
			r.clock++
		}
		if k := r.keys; k != nil {
			if k.from != nil {
				k = k.from
			}
			k.ahead, p.plans = append(k.ahead, p), append(p.plans, k)
		}
	}
	c.ahead = append(c.ahead, p)
}

// due reports whether the clocks are those after the ones at which the pull was asked for.
func (p *Pull) due() bool {
	return !slices.ContainsFunc(p.reads, func(r *reading) bool { return r.m.clock != r.from+1 })
}

// startDue starts the pulls that waited for the clock to tick. One that cannot be sent is sent when it is waited for.
func (c *Client) startDue(ctx context.Context) {
	for _, p := range slices.Clone(c.ahead) {
		if p.b == nil && p.due() {
			_ = p.begin(ctx)
		}
	}
}

// readingsBeyond are what the lookups read, and those of them that the prefetch does not have.
func (c *Client) readingsBeyond(p *Pull, lookups []matrix.Lookup) (reads, rest []*reading, err error) {
	fetched := p != nil && !p.dropped && !slices.ContainsFunc(p.reads, func(r *reading) bool { return r.m.clock != r.from })
	reads = make([]*reading, len(lookups))
	for i, l := range lookups {
		if fetched {
			if at := slices.IndexFunc(p.lookups, func(o matrix.Lookup) bool { return sameLookup(o, l) }); at >= 0 {
				reads[i] = p.reads[at]
				continue
			}
		}
		if reads[i], err = c.reading(i, l); err != nil {
			return nil, nil, err
		}
		rest = append(rest, reads[i])
	}
	return reads, rest, nil
}

// sameLookup reports whether both want the same values in the same place.
func sameLookup(a, b matrix.Lookup) bool {
	return a.Matrix == b.Matrix && a.Plan == b.Plan && a.Cols == nil && b.Cols == nil && len(a.Into) == len(b.Into) &&
		(len(a.Into) == 0 || &a.Into[0] == &b.Into[0])
}

// dropPrefetched ends the pull of Prefetch, if there is one.
func (c *Client) dropPrefetched() {
	if c.prefetched != nil {
		c.prefetched.drop()
		c.prefetched = nil
	}
}

// dropAhead ends pulls as of the next clock that have such a reading: what they bring is stale.
func (c *Client) dropAhead(stale func(r *reading) bool) {
	for _, p := range slices.Clone(c.ahead) {
		if slices.ContainsFunc(p.reads, stale) {
			p.drop()
		}
	}
}
