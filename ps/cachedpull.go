package ps

import (
	"math"
	"slices"

	"thole.example/kernel"
	"thole.example/rpc"
	"thole.example/ssp"
	"thole.example/wire"
)

// cachedPull is what a pull by key has from the cache, and what it asks for.
type cachedPull struct {
	c     *keyCache
	whole *Keys    // the plan of the caller
	out   []byte   // where the caller wants the values
	rest  Keys     // the keys that are asked for: their inputs are places in base
	uses  []uint8  // of each of these
	base  []byte   // values of the unique keys of whole, in their order
	words []uint64 // memory of base
	since int      // the reader's clock
	asked uint64
	asOf  int // the slowest clock of the values from the cache
}

// split takes from the cache what it has for the reading, which then asks for the rest.
func (c *keyCache) split(r *reading) {
	p := &cachedPull{}
	if n := len(c.spare); n > 0 {
		p, c.spare = c.spare[n-1], c.spare[:n-1]
	}
	c.asked++
	p.c, p.whole, p.out, p.since, p.asked, p.asOf = c, r.keys, r.out, r.clock, c.asked, ssp.Finished
	k, lump := r.keys, c.lump
	if p.base = r.out; k.order != nil || k.first != nil {
		p.base = wire.View(resize(&p.words, (len(k.unique)*lump+7)/8))
	}
	rest, at := &p.rest, 0
	unique, order := resize(&rest.memory.unique, len(k.unique))[:0], resize(&rest.memory.order, len(k.unique))[:0]
	rest.parts, rest.groups, rest.of, p.uses = k.parts, rest.groups[:0], rest.of[:0], p.uses[:0]
	for _, g := range k.groups {
		before := len(unique)
		for _, key := range k.unique[at : at+int(g.Keys)] {
			uses, hit := c.get(p, r, key, p.base[at*lump:][:lump])
			if !hit {
				order = append(order, kernel.Input{Key: key, Input: uint32(at), Position: uint32(len(unique))})
				unique, p.uses = append(unique, key), append(p.uses, uses)
			}
			at++
		}
		if n := len(unique) - before; n > 0 {
			rest.group(int(g.Partition), uint32(n))
		}
	}
	rest.unique, rest.order, rest.inputs = unique, order, len(unique)
	r.keys, r.out, r.cached = rest, p.base, p
}

// get copies the values of a key if they are here and fresh. It says how often the key was used.
func (c *keyCache) get(p *cachedPull, r *reading, key int64, dst []byte) (uses uint8, hit bool) {
	h := c.hash(key)
	_, i := c.find(key, h)
	if i < 0 {
		return c.seen.add(h), false
	}
	c.use(i)
	rec := c.record(i)
	asOf, since := clocksOf(rec)
	if r.make || !c.fresh(r.m.bound, asOf, since, r.clock) {
		return c.uses[i], false
	}
	p.asOf = min(p.asOf, asOf)
	copy(dst, wire.View(rec[headWords:]))
	return c.uses[i], true
}

// complete keeps what the servers answered, and gives the caller all values.
func (p *cachedPull) complete(r *reading) {
	c, lump := p.c, p.c.lump
	for i, e := range p.rest.order {
		c.put(e.Key, p.base[int(e.Input)*lump:][:lump], r.asOf, p.since, p.asked, p.uses[i])
	}
	all, misses := len(p.whole.unique), len(p.rest.unique)
	c.stats.Hits += int64(all - misses)
	c.stats.Misses += int64(misses)
	c.age(all)
	if p.whole.order != nil || p.whole.first != nil {
		for run := range p.whole.runs(p.whole.parts, 0, math.MaxInt) {
			at := lumps{k: p.whole, run: run, lump: lump, n: lump}
			at.scatter(p.out, p.base[run.lo*lump:run.hi*lump])
		}
	}
	r.asOf = min(r.asOf, p.asOf)
	r.m.asOf = r.asOf
	r.keys, r.out, r.cached = p.whole, p.out, nil
	p.whole, p.out, p.base = nil, nil, nil
	c.spare = append(c.spare, p)
}

// complete completes the readings of the batch of which a cache had some keys, once all answers are taken.
func (b *batch) complete() {
	for _, r := range b.reads {
		if r.cached != nil {
			r.cached.complete(r)
		}
	}
}

// dropPushed takes what is about to be sent out of the caches of matrices under ASP that the change has no clock for, and ends pulls ahead
// of them: a read after it has to see it. Values that a clock changes are used for as many clocks as the staleness says.
func (c *Client) dropPushed(t ticks) {
	late := func(m *Matrix) bool { return m.bound == ssp.ASP && !slices.Contains(t.of, m) }
	if len(c.ahead) == 0 && !slices.ContainsFunc(c.order, func(m *Matrix) bool { return m.hot != nil && late(m) }) {
		return
	}
	c.fold()
	for i := range c.oplog {
		d := &c.oplog[i]
		if !late(d.m) {
			continue
		}
		c.dropAhead(func(r *reading) bool { return r.m == d.m })
		if d.m.hot == nil {
			continue
		}
		for k := range d.shares {
			if s := &d.shares[k]; s.part.Kind != rpc.KindKeys {
				d.m.hot.forget()
			} else if s.keys.n > 0 {
				keys, _ := wire.Numbers[int64](c.arenas[s.server].in(s.keys))
				d.m.hot.drop(keys)
			} else {
				d.m.hot.drop(s.part.Keys)
			}
		}
		if d.block.Data != nil {
			d.m.hot.forget()
		}
	}
}
