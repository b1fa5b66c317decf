package ps

import (
	"context"
	"fmt"
	"slices"

	"thole.example/matrix"
	"thole.example/wire"
)

// Pull is a pull under way.
type Pull struct {
	c     *Client
	m     *Matrix // nil: several
	keys  *Keys   // of StartPullKeys and NextKeys
	out   []byte  // and where their values go
	reads []*reading

	b       *batch // nil: nothing was asked for yet
	windows windows
	begun   int // windows that were sent
	done    bool
	err     error

	// Of a pull as of the next clock: what it is for, the plans that it uses, and whether its values, or even its plan, are of no use.
	ahead          bool
	lookups        []matrix.Lookup
	plans          []*Keys
	dropped, again bool
}

// StartPullKeys begins to pull; several pulls may be under way. Until Wait has returned, dst and k are the pull's: k may be
// used for other pulls and pushes, but not planned again.
func StartPullKeys[T matrix.Elem](ctx context.Context, m *Matrix, k *Keys, dst []T) (*Pull, error) {
	return startPullKeys(ctx, m, k, dst, false)
}

func startPullKeys[T matrix.Elem](ctx context.Context, m *Matrix, k *Keys, dst []T, create bool) (*Pull, error) {
	c := m.c
	if err := c.begin(ctx, "pull", m); err != nil {
		return nil, err
	}
	defer c.end()
	if err := m.fits(k, matrix.DTypeOf[T](), len(dst)); err != nil {
		return nil, err
	}
	p := &Pull{c: c, m: m, keys: k, out: wire.View(dst)}
	return p, p.start(ctx, create)
}

// start sends all requests for the keys, as of the present clock.
func (p *Pull) start(ctx context.Context, create bool) error {
	r := p.m.readKeys(p.keys, p.out)
	r.make = create
	p.reads = []*reading{&r}
	p.b = p.c.batch(p.reads)
	p.windows = p.b.windows()
	p.begun = len(p.windows)
	return p.windows.start(ctx)
}

// begin sends the first requests of a pull as of the next clock: as many as a pull has under way.
func (p *Pull) begin(ctx context.Context) error {
	p.b = p.c.batch(p.reads)
	p.windows = p.b.windows()
	p.begun = min(len(p.windows), 1+windowsAhead)
	for _, w := range p.windows {
		w.ahead, w.after = true, p.c.changes
	}
	err := p.windows[:p.begun].start(ctx)
	if err != nil {
		p.begun = 0
		p.drop()
	}
	return err
}

// Wait waits until the values are there. If the context ends the pull is given up. A second Wait returns the same. That of [NextKeys]
// wants the clock to have ticked.
func (p *Pull) Wait(ctx context.Context) error {
	if p.done {
		return p.err
	}
	if p.ahead && p.m.clock == p.reads[0].from {
		return fmt.Errorf("ps: matrix %s: values of the next clock are waited for at clock %d, want a Clock before", p.m.meta.Name, p.m.clock)
	}
	p.done = true
	c := p.c
	if p.err = c.begin(ctx, "pull", p.m); p.err != nil {
		p.drop()
		return p.err
	}
	defer c.end()
	switch {
	case !p.ahead:
	case p.again:
		p.err = fmt.Errorf("ps: matrix %s: the keys were planned again before the values were there, want another plan", p.m.meta.Name)
	case p.b == nil || p.dropped || !p.due():
		p.drop()
		p.err = p.start(ctx, false)
	}
	if p.err == nil {
		p.err = p.finish(ctx)
	}
	return p.err
}

// finish takes the answers.
func (p *Pull) finish(ctx context.Context) error {
	p.unlink()
	b, ws := p.b, p.windows
	p.b, p.windows = nil, nil
	return b.takeAll(ctx, ws, p.begun)
}

// drop gives the answers up.
func (p *Pull) drop() {
	p.windows[:p.begun].leave()
	p.unlink()
	p.b, p.windows, p.begun, p.dropped = nil, nil, 0, true
}

// unlink takes a pull as of the next clock out of those that there are.
func (p *Pull) unlink() {
	is := func(o *Pull) bool { return o == p }
	p.c.ahead = slices.DeleteFunc(p.c.ahead, is)
	for _, k := range p.plans {
		k.ahead = slices.DeleteFunc(k.ahead, is)
	}
	p.plans = nil
}
