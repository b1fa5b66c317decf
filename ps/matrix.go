package ps

import (
	"context"
	"fmt"
	"math"
	"slices"

	"thole.example/matrix"
	"thole.example/part"
	"thole.example/rpc"
	"thole.example/ssp"
)

// Matrix is a matrix on the servers, used by the task of its client.
type Matrix struct {
	c       *Client
	meta    matrix.Meta
	parts   *part.Map
	bound   ssp.Bound
	numbers []uint32  // that the servers gave it
	clock   int       // the task's
	reached int       // the slowest task's, when a reader looked last
	asOf    int       // the slowest clock of the last values
	cache   *cache    // of rows that were pulled
	hot     *keyCache // of keys that were pulled; nil: there is none

	own     bool // reads have the task's own writes
	gather  gathering
	divisor int64   // of increments; 0: they are as they come
	rate    float64 // by which learning rates are multiplied, or, if it is fixed, all of them; 0 counts as 1
	fixed   bool
	filter  float64      // increments of at most that magnitude wait; below 0: all are sent
	wire    matrix.DType // as which values cross the wire; Invalid: as they are
	sums    sums         // what waits, if not as it came; nil: nothing yet
}

// Meta describes the matrix; it must not be changed.
func (m *Matrix) Meta() *matrix.Meta { return &m.meta }

// SetRate makes the learning rates that Clock gives count rate times for this matrix, or, if it is fixed, makes rate that of all
// clocks. All tasks of a job set the same, before the first clock; a rate that is not above zero or not finite is refused.
func (m *Matrix) SetRate(rate float64, fixed bool) error {
	if !(rate > 0) || math.IsInf(rate, 0) {
		return fmt.Errorf("ps: matrix %s: learning rate times %v, want a finite number above 0", m.meta.Name, rate)
	}
	m.rate, m.fixed = rate, fixed
	return nil
}

// SetRate is Matrix.SetRate by name.
func (c *Client) SetRate(name string, rate float64, fixed bool) error {
	m, err := c.Matrix(name)
	if err != nil {
		return err
	}
	return m.SetRate(rate, fixed)
}

// rateOf is the rate of a clock for this matrix.
func (m *Matrix) rateOf(rate float64) float64 {
	switch {
	case m.rate == 0:
		return rate
	case m.fixed:
		return m.rate
	}
	return rate * m.rate
}

// Parts is the matrix's routing map; it must not be changed.
func (m *Matrix) Parts() *part.Map { return m.parts }

// AsOf is the slowest task's clock as of which the last values were that the matrix was asked for: those of the row that
// a flow gave last, too.
func (m *Matrix) AsOf() int { return m.asOf }

// mapVersion is the version of the routing maps that both ends compute.
const mapVersion = 1

// Create makes the matrices on the servers, cut by the named partitioner ("": by hash if sparse, by columns if dense).
// Every task of the job calls it with the same descriptions; the first call makes them.
func (c *Client) Create(ctx context.Context, partitioner string, ms ...matrix.Meta) error {
	if err := c.begin(ctx, "create", nil); err != nil {
		return err
	}
	defer c.end()
	specs, fresh, maps := make([]rpc.Spec, len(ms)), make([]*Matrix, len(ms)), make([]string, len(ms))
	for i, meta := range ms {
		cut, err := part.Lookup(partitioner, &meta)
		if err != nil {
			return err
		}
		m := &Matrix{c: c, meta: meta.Clone(), bound: c.o.Bound, cache: &cache{}, filter: unfiltered, numbers: make([]uint32, len(c.links))}
		specs[i] = rpc.Spec{Meta: meta, Partitioner: cut.Name, NonFinite: c.o.NonFinite}
		if own, has := c.o.Bounds[meta.Name]; has {
			m.bound, specs[i].Bound = own, &own
		}
		if m.parts, err = part.NewMap(&meta, cut, len(c.links), mapVersion); err != nil {
			return err
		}
		fresh[i], maps[i] = m, m.parts.Digest()
	}
	xs, err := c.askAll(ctx, rpc.OpCreate, func(i int) any {
		return rpc.Create{Matrices: specs, Servers: len(c.links), Index: i, Maps: maps}
	})
	if err != nil {
		return err
	}
	for _, x := range xs {
		if err := x.link.created(x.resp, fresh); err != nil {
			return err
		}
	}
	return c.adopt(fresh)
}

// created takes the answer to a Create.
func (l *link) created(r *rpc.Response, fresh []*Matrix) error {
	var answer rpc.Created
	if err := l.read(r, &answer); err != nil {
		return err
	}
	if n := len(fresh); len(answer.Numbers) != n || len(answer.Clocks) != n || answer.Maps != nil && len(answer.Maps) != n {
		return l.lie("%d numbers, %d clocks and %d maps of %d matrices", len(answer.Numbers), len(answer.Clocks), len(answer.Maps), n)
	}
	for i, m := range fresh {
		if answer.Numbers[i] == 0 {
			return l.lie("matrix %s has number 0, which is none", m.meta.Name)
		}
		m.numbers[l.index] = answer.Numbers[i]
		clock := int(answer.Clocks[i])
		if clock < 0 || l.index > 0 && clock != m.clock {
			return l.lie("matrix %s: the task is at clock %d, on the first server at %d", m.meta.Name, clock, m.clock)
		}
		m.clock = clock
		if answer.Maps == nil || string(answer.Maps[i]) == "null" {
			continue
		}
		parts, err := part.Parse(answer.Maps[i], &m.meta, len(l.c.links))
		switch {
		case err != nil:
			return l.lie("%v", err)
		case l.index > 0 && !parts.Equal(m.parts):
			return l.lie("map %d of matrix %s is not that of the first server", parts.Version, m.meta.Name)
		}
		m.parts = parts
	}
	return nil
}

// adopt keeps the handles of new matrices; those that were there stay.
func (c *Client) adopt(fresh []*Matrix) error {
	for _, m := range fresh {
		have := c.mats[m.meta.Name]
		if have == nil {
			m.share()
			c.mats[m.meta.Name] = m
			c.order = append(c.order, m)
			continue
		}
		if have.clock != m.clock || !slices.Equal(have.numbers, m.numbers) {
			return fmt.Errorf("ps: matrix %s is there, at clock %d, and not at %d", m.meta.Name, have.clock, m.clock)
		}
		have.parts = m.parts
	}
	return nil
}

// row is the rectangle of a row.
func (m *Matrix) row(r int64) (matrix.Rect, error) {
	if r < 0 || r >= m.meta.Rows {
		return matrix.Rect{}, fmt.Errorf("ps: matrix %s: row %d, want one in [0,%d)", m.meta.Name, r, m.meta.Rows)
	}
	return matrix.Rect{Rows: matrix.Range{Lo: r, Hi: r + 1}, Cols: m.meta.Rect().Cols}, nil
}
