package state

import (
	"context"
	"fmt"
	"iter"

	"thole.example/format"
	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/wire"
)

// mergedBytes is about how much a band has that is made of several.
const mergedBytes = 256 << 10

// cursor is at a column that a checkpoint has, or has removed, of those of one partition in the order of their hashes.
type cursor struct {
	age     int // of the checkpoint: 0 is the newest
	gone    bool
	next    func() (piece, error, bool)
	at      piece
	keys    []int64 // of the band, those that are left
	i       int     // place of the first of them in the band
	hash    uint64  // of the first of them
	belongs func(key int64) bool
}

// columns reports whether the band is one that the cursor is for.
func (c *cursor) columns(b *Band) []int64 {
	switch {
	case c.gone:
		return b.Removed
	case b.Counts != nil || b.Rates != nil || b.Removed != nil:
		return nil
	}
	return b.Keys
}

// advance goes to the next column; ok is false at the end.
func (c *cursor) advance() (ok bool, err error) {
	for {
		if len(c.keys) > 0 {
			c.keys, c.i = c.keys[1:], c.i+1
		}
		for len(c.keys) == 0 {
			if c.at, err, ok = c.next(); err != nil || !ok {
				return false, err
			}
			c.keys, c.i = c.columns(&c.at.b), 0
		}
		if c.belongs(c.keys[0]) {
			c.hash = kernel.Hash(uint64(c.keys[0]))
			return true, nil
		}
	}
}

// before reports whether the column comes before that of another: by hash, and of one column that of the newest checkpoint first. Where
// one checkpoint has a column and has removed it, it was made again.
func (c *cursor) before(o *cursor) bool {
	switch {
	case c.hash != o.hash:
		return c.hash < o.hash
	case c.age != o.age:
		return c.age < o.age
	}
	return !c.gone && o.gone
}

// cursors are those of a partition of the last checkpoint. Hash partitions follow each other in the order of hashes; rectangles have
// each its own.
func (s *sources) cursors(ctx context.Context, m *Matrix, p *Partition) (all []*cursor, stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, f := range stops {
			f()
		}
	}
	beside := p.ID % m.Map.Beside()
	belongs := func(key int64) bool { return m.Map.Of(key) == beside }
	open := func(age int, gone bool, ids []int) error {
		read := s.read
		if gone { // the same bytes again
			read = func(int64) {}
		}
		c := &cursor{age: age, gone: gone, belongs: belongs}
		var end func()
		c.next, end = iter.Pull2(s.of[age].pieces(ctx, ids, read))
		stops = append(stops, end)
		ok, err := c.advance()
		if ok {
			all = append(all, c)
		}
		return err
	}
	for age := range s.of {
		from := &s.of[age]
		groups := [][]int{from.common(m, p.ID)}
		if from.Map.Bits == 0 {
			ids := groups[0]
			groups = nil
			for _, id := range ids {
				groups = append(groups, []int{id})
			}
		}
		for _, ids := range groups {
			err := open(age, false, ids)
			if err == nil && !from.in.Whole() {
				err = open(age, true, ids)
			}
			if err != nil {
				stop()
				return nil, nil, err
			}
		}
	}
	return all, stop, nil
}

// sparse writes the columns of a partition: each from the newest checkpoint that has it, unless a newer one has removed it.
func (s *sources) sparse(ctx context.Context, w *Writer, m *Matrix, p *Partition) error {
	rates, err := s.rates(ctx, p)
	if err == nil && rates != nil {
		err = w.Band(Band{Rates: rates})
	}
	if err != nil {
		return err
	}
	all, stop, err := s.cursors(ctx, m, p)
	if err != nil {
		return err
	}
	defer stop()
	out := newMerged(p, p.Steps-int64(len(rates)))
	done, any := uint64(0), false // the hash of the last column, if there was one
	for len(all) > 0 {
		first := 0
		for i := range all {
			if all[i].before(all[first]) {
				first = i
			}
		}
		c := all[first]
		if !any || c.hash != done {
			done, any = c.hash, true
			if !c.gone {
				if err := out.add(&s.of[c.age], &c.at, c.i); err != nil {
					return format.Wrap(codec, s.of[c.age].in.path, err)
				}
			}
		}
		if out.full() {
			if err := out.flush(w); err != nil {
				return err
			}
		}
		ok, err := c.advance()
		if err != nil {
			return err
		}
		if !ok {
			all = append(all[:first], all[first+1:]...)
		}
	}
	if err := out.flush(w); err != nil {
		return err
	}
	return s.candidates(ctx, w, p)
}

// rates are those of the last steps, that columns catch up by: those of the last checkpoint are of all its columns.
func (s *sources) rates(ctx context.Context, p *Partition) (rates []float64, err error) {
	for at, err := range s.of[0].pieces(ctx, []int{p.ID}, func(int64) {}) {
		if err != nil || at.b.Rates == nil && at.b.Keys != nil {
			return rates, err
		}
		rates = append(rates, at.b.Rates...)
	}
	return rates, nil
}

// candidates copies those of the last checkpoint, which has all of them.
func (s *sources) candidates(ctx context.Context, w *Writer, p *Partition) error {
	for at, err := range s.of[0].pieces(ctx, []int{p.ID}, func(int64) {}) {
		if err == nil && at.b.Counts != nil {
			err = w.Band(at.b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// merged is a band that is made of columns of several.
type merged struct {
	p        *Partition
	earliest int64 // step that a column may be as of
	room     int64 // columns
	each     int   // bytes of one
	b        Band
	values   []byte
}

func newMerged(p *Partition, earliest int64) *merged {
	each := p.Width() * int64(p.DType.Size())
	return &merged{p: p, earliest: earliest, each: int(each), room: max(1, mergedBytes/max(1, each+8))}
}

func (o *merged) full() bool { return int64(len(o.b.Keys)) >= o.room }

// add takes a column of a band.
func (o *merged) add(from *source, at *piece, i int) error {
	p, b, key := at.p, &at.b, at.b.Keys[i]
	if p.Slots != o.p.Slots || p.At.Rows != o.p.At.Rows || p.DType != o.p.DType {
		return fmt.Errorf("partition %d of matrix %q has %d slots at rows %v, want %d at %v",
			p.ID, p.Matrix, p.Slots, p.At.Rows, o.p.Slots, o.p.At.Rows)
	}
	values, _ := wire.ViewAny(b.Values[0].Data.Values())
	o.values = append(o.values, values[i*o.each:][:o.each]...)
	o.b.Keys = append(o.b.Keys, key)
	if o.p.Aged {
		last := from.named
		if !from.ageless && b.Last != nil {
			last = b.Last[i]
		}
		o.b.Last = append(o.b.Last, min(last, o.p.Steps))
	}
	if o.p.Stale {
		step := p.Steps // it was up to date
		if b.Stamps != nil {
			step = b.Stamps[i]
		}
		if step < o.earliest || step > o.p.Steps {
			return fmt.Errorf("column %d of matrix %q is as of step %d, want one from %d to %d, of which the increment knows the rates: %w",
				key, p.Matrix, step, o.earliest, o.p.Steps, format.ErrCorrupt)
		}
		o.b.Stamps = append(o.b.Stamps, step)
	}
	if o.p.Ranked {
		rank := uint8(0)
		if b.Ranks != nil {
			rank = b.Ranks[i]
		}
		o.b.Ranks = append(o.b.Ranks, rank)
	}
	return nil
}

// flush writes what there is.
func (o *merged) flush(w *Writer) error {
	if len(o.b.Keys) == 0 {
		return nil
	}
	rows := matrix.NewDense(o.p.DType, matrix.At(0, int64(len(o.b.Keys)), 0, o.p.Width()))
	into, _ := wire.ViewAny(rows.Data.Values())
	copy(into, o.values)
	o.b.Values = []matrix.Block{rows}
	err := w.Band(o.b)
	o.values = o.values[:0]
	o.b = Band{Keys: o.b.Keys[:0], Last: o.b.Last[:0], Stamps: o.b.Stamps[:0], Ranks: o.b.Ranks[:0]}
	return err
}
