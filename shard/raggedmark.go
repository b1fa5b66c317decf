package shard

import (
	"errors"

	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/wire"
)

// raggedMark is a partition with columns of several widths as it was: a mark of each table.
type raggedMark[T number] struct {
	r     *ragged[T]
	of    []*keyedMark[T]
	since *period
	next  uint64 // points below are listed
	keys  int    // about how many there are
	asked int    // of a partial mark: about how many of them are read
}

func (r *ragged[T]) mark(since *period) mark {
	m := &raggedMark[T]{r: r, since: since}
	for i, k := range r.tables {
		var part *period
		if since != nil {
			part = since.tables[i]
		}
		one := k.mark(part).(*keyedMark[T])
		m.of = append(m.of, one)
		m.keys, m.asked = m.keys+one.keys, m.asked+one.asked
	}
	return m
}

func (m *raggedMark[T]) list(n int) []int64 { return keysOf(m.collect(nil, n)) }

// collect lists the columns of all tables between the same points, so that they come in the order of their hashes.
func (m *raggedMark[T]) collect(some []listed, n int) []listed {
	if m.next >= allPoints {
		return nil
	}
	step, partial := listStep(n, m.keys, m.asked, m.since != nil), m.since != nil
	if some == nil {
		some = make([]listed, 0, n+n/8)
	}
	for more := true; more; more = len(some) == 0 && m.next < allPoints && !partial {
		to := min(m.next+step, allPoints)
		for i, one := range m.of {
			from := len(some)
			some = one.upTo(some, to)
			for j := from; j < len(some); j++ {
				some[j].table = uint8(i)
			}
		}
		m.next = to
	}
	return some
}

// copyOut copies columns with their state, as a partition has them in which all columns store all rows.
func (m *raggedMark[T]) copyOut(dst []byte, stamps []int64, all []listed, owner bool) error {
	width := m.r.width()
	val, err := values[T](dst, len(all)*width)
	if err != nil {
		return err
	}
	some, at := make([][]listed, len(m.of)), make([][]int, len(m.of))
	for i, x := range all {
		some[x.table], at[x.table] = append(some[x.table], x), append(at[x.table], i)
	}
	for i, one := range m.of {
		if len(some[i]) == 0 {
			continue
		}
		k := one.k
		room, as := make([]T, len(some[i])*k.slab.width), picked(stamps, at[i])
		if err := one.copyOut(wire.View(room), as, some[i], owner); err != nil {
			return err
		}
		for j, place := range at[i] {
			m.r.wide(k, val[place*width:][:width], room[j*k.slab.width:][:k.slab.width])
			if as != nil {
				stamps[place] = as[j]
			}
		}
	}
	return nil
}

func (m *raggedMark[T]) read(dst []byte, of ofColumns, keys []int64, state bool) error {
	width := int(m.r.at.Rows.Len())
	if state {
		width = m.r.width()
	}
	val, err := values[T](dst, len(keys)*width)
	if err != nil {
		return err
	}
	return m.r.each(keys, func(i int, k *keyed[T], s share) error {
		n := k.rows
		if state {
			n = k.slab.width
		}
		room, part := make([]T, len(s.keys)*n), ofColumns{picked(of.ages, s.at), picked(of.as, s.at)}
		if err := m.of[i].read(wire.View(room), part, s.keys, state); err != nil {
			return err
		}
		for j, at := range s.at {
			into, column := val[at*width:][:width], room[j*n:][:n]
			if state {
				m.r.wide(k, into, column)
			} else {
				clear(into[copy(into, column):])
			}
			if of.ages != nil {
				of.ages[at] = part.ages[j]
			}
			if of.as != nil {
				of.as[at] = part.as[j]
			}
		}
		return nil
	})
}

func (m *raggedMark[T]) readRect([]byte, matrix.Rect, int) error {
	return errors.New("cells of a sparse partition, want columns by key")
}

// before is the past of the tables, which is the same in all.
func (m *raggedMark[T]) before() *Past { return m.of[0].before() }

func (m *raggedMark[T]) bytes() (n int64) {
	for _, one := range m.of {
		n += one.bytes()
	}
	return n
}

func (m *raggedMark[T]) close() {
	for _, one := range m.of {
		one.close()
	}
	m.next = allPoints
}

func (m *raggedMark[T]) view(absent []byte, visit visitor) (int, any) {
	p := &pastRagged[T]{past: newPast[T](visit, m.r.at.Rows, absent)}
	for _, one := range m.of {
		p.of = append(p.of, &pastKeyed[T]{newPast[T](visit, one.k.at.Rows, nil), one})
	}
	return m.keys, p
}

// pastRagged is the cells of a partition with columns of several widths at a mark.
type pastRagged[T number] struct {
	past[T]
	of []*pastKeyed[T]
}

// Together implements psf.Cells.
func (p *pastRagged[T]) Together(rows []int64, changed int, f func(c *psf.Chunk[T]) error) error {
	return p.Apart(rows, changed > 0, func(c *psf.Chunk[T]) error {
		c.All = nil
		return f(c)
	})
}

// Apart implements psf.Cells.
func (p *pastRagged[T]) Apart(rows []int64, change bool, f func(c *psf.Chunk[T]) error) error {
	if change {
		return errPast
	}
	for _, one := range p.of {
		err := filled(rows, one.rows, f, func(rows []int64, f func(c *psf.Chunk[T]) error) error { return one.chunks(rows, false, f) })
		if err != nil {
			return err
		}
	}
	return nil
}
