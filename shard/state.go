package shard

import (
	"fmt"
	"slices"

	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/wire"
)

// The methods here put back what a Mark has read with the rule's state, also of partitions that were cut in another way: what
// lies outside of this one is passed over.

// Slots is how many values are kept beside each of a matrix with the rule, which may be nil: those of the rule, and after them the
// counts of columns, if the matrix has some.
func Slots(m *matrix.Meta, rule *psf.Rule) int {
	if rule == nil {
		return 0
	}
	return rule.Slots + m.Keep.CountSlots(m.Rows)
}

// Slots is how many values are kept beside each.
func (s *Shard) Slots() int { return Slots(s.meta, s.rule) }

// SetSteps says how many steps the rule has made, or without a rule from which number clocks are counted. What columns are now
// they are after so many.
func (s *Shard) SetSteps(n int64) {
	if s.lazy != nil && s.steps != n {
		s.store.catchUp()
		for _, l := range s.lazy {
			l.begin(n)
		}
	}
	s.steps = n
	s.store.setSteps(n)
}

// Reserve prepares a sparse partition that is empty for about n columns: without it those that come in the order of
// kernel.Hash, as a mark gives them, take very long to put in. A dense partition has room already.
func (s *Shard) Reserve(n int64) error { return s.wrap(s.store.widen(int(max(0, n)))) }

// RestoreColumns replaces columns of a sparse partition with all that the rule keeps. values are as [Mark.Read] gives them with
// state, of a partition that had these rows: of each key the values of the rows, and those of each slot. Keys are columns of
// this partition, none twice; rows that it does not have are passed over, those that it has beyond stay as they are.
func (s *Shard) RestoreColumns(rows matrix.Range, keys []int64, values []byte) error {
	if err := s.columnsFit(rows, keys, values); err != nil {
		return err
	}
	return s.wrap(s.store.restore(rows, keys, values, nil))
}

// columnsFit tells why columns could not be restored.
func (s *Shard) columnsFit(rows matrix.Range, keys []int64, values []byte) error {
	if s.meta.Layout != matrix.RowSparse {
		return fmt.Errorf("matrix %s: columns of a dense partition, want cells by place", s.meta.Name)
	}
	width, ok := matrix.Cells(rows.Len(), int64(1+s.Slots()))
	if !ok {
		return fmt.Errorf("matrix %s: columns of %d rows with %d slots", s.meta.Name, rows.Len(), s.Slots())
	}
	if err := s.fits(values, int64(len(keys)), width); err != nil {
		return err
	}
	return s.has(keys, s.at.Cols)
}

// RestoreStale is RestoreColumns for columns as [Mark.ReadStale] gives them: as of steps of a past. If the partition can go on
// from that past they stay behind; else they are brought up to date first.
func (s *Shard) RestoreStale(p *Past, rows matrix.Range, keys []int64, values []byte, stamps []int64) error {
	if err := s.columnsFit(rows, keys, values); err != nil {
		return err
	}
	if err := p.knows(stamps, len(keys)); err != nil {
		return s.wrap(err)
	}
	if s.lazy == nil || slices.ContainsFunc(s.lazy, func(l *lazy) bool { return !l.goOn(p) }) {
		s.settled = true
		values, stamps = settled(s.meta.DType, p, int(rows.Len()), s.Slots(), s.Slots()-s.meta.Keep.CountSlots(s.meta.Rows), values, stamps), nil
	}
	return s.wrap(s.store.restore(rows, keys, values, stamps))
}

// Settled reports whether columns that were behind had to be brought up to date: they are not what was restored any more.
func (s *Shard) Settled() bool { return s.settled }

// RestoreAges says for how long nothing has named columns, in the order of the keys, after SetSteps. Keys that have no column are
// passed over, and all of them if columns neither expire nor are evicted.
func (s *Shard) RestoreAges(keys []int64, ages Ages) error {
	if err := s.agesFit(keys, ages); err != nil {
		return err
	}
	s.store.setAges(keys, ages)
	return nil
}

// agesFit reports ages that are not those of keys that can be here.
func (s *Shard) agesFit(keys []int64, ages Ages) error {
	if l, r := len(ages.Last), len(ages.Ranks); ages.Last != nil && l != len(keys) || ages.Ranks != nil && r != len(keys) {
		return fmt.Errorf("matrix %s: last steps of %d columns and %d ranks, want %d or none", s.meta.Name, l, r, len(keys))
	}
	return s.has(keys, s.at.Cols)
}

// RestoreCandidates puts back columns that were named and not made; they are passed over if the matrix makes all at once.
// Counts are 1 to [matrix.KeepLimit].
func (s *Shard) RestoreCandidates(all []Candidate) error {
	if s.life == nil || s.life.candidates == nil {
		return nil
	}
	keys, val := make([]int64, len(all)), make([]int32, 0, 2*len(all))
	ages := Ages{make([]int64, len(all)), make([]uint8, len(all))}
	for i, c := range all {
		if c.Count < 1 || c.Count > matrix.KeepLimit {
			return fmt.Errorf("matrix %s: column %d was named %d times, want 1 to 2^30", s.meta.Name, c.Key, c.Count)
		}
		keys[i], val = c.Key, append(val, int32(min(c.Count, s.meta.Keep.AdmitAfter)), int32(c.Last))
		ages.Last[i], ages.Ranks[i] = c.Last, c.Rank
	}
	if err := s.has(keys, s.at.Cols); err != nil {
		return err
	}
	if err := s.life.candidates.restore(candidateRows, keys, wire.View(val), nil); err != nil {
		return s.wrap(err)
	}
	s.life.candidates.setAges(keys, ages)
	return nil
}

// ReserveCandidates is [Shard.Reserve] for columns that were named and not made.
func (s *Shard) ReserveCandidates(n int64) error {
	if s.life == nil || s.life.candidates == nil {
		return nil
	}
	return s.wrap(s.life.candidates.widen(int(max(0, n))))
}

// RestoreRect replaces cells of a dense partition, or of a slot of its rule counted from 1: those of the place that it has.
// values are all cells of the place, row after row.
func (s *Shard) RestoreRect(at matrix.Rect, slot int, values []byte) error {
	switch {
	case s.meta.Layout == matrix.RowSparse:
		return fmt.Errorf("matrix %s: cells of a sparse partition, want columns by key", s.meta.Name)
	case slot < 0 || slot > s.Slots():
		return fmt.Errorf("matrix %s: slot %d, want one from 0 to %d", s.meta.Name, slot, s.Slots())
	}
	if err := s.fits(values, at.Rows.Len(), at.Cols.Len()); err != nil {
		return err
	}
	s.store.restoreRect(at, slot, values)
	return nil
}

// Absent is the values of columns that a sparse partition does not have, one for each of its rows; nil: they are zero, or the
// initial values.
func (s *Shard) Absent() []byte { return s.store.absent() }

// SetAbsent replaces the values of columns that are not there: those of the rows that it has. values has one for each row.
func (s *Shard) SetAbsent(rows matrix.Range, values []byte) error {
	if s.meta.Layout != matrix.RowSparse || s.meta.Init.Random() {
		return fmt.Errorf("matrix %s: values of absent columns, which there are only in sparse matrices that begin with zeros", s.meta.Name)
	}
	if err := s.fits(values, rows.Len(), 1); err != nil {
		return err
	}
	s.store.setAbsent(rows, values)
	return nil
}

func (k *keyed[T]) absent() []byte {
	if !k.valued {
		return nil
	}
	return wire.View(slices.Clone(k.slab.values(k.slab.bytesOf(0), k.rows)))
}

func (k *keyed[T]) setAbsent(rows matrix.Range, values []byte) {
	val, _ := wire.Numbers[T](values)
	both := rows.Intersect(k.at.Rows)
	for r := both.Lo; r < both.Hi; r++ {
		k.SetValue(r, val[r-rows.Lo])
	}
}

func (d *dense[T]) absent() []byte { return nil }

func (d *dense[T]) setAbsent(matrix.Range, []byte) {}

// restore replaces columns, which are up to date if stamps is nil, and else as of these steps.
func (k *keyed[T]) restore(rows matrix.Range, keys []int64, values []byte, stamps []int64) error {
	both := rows.Intersect(k.at.Rows)
	val, _ := wire.Numbers[T](values) // aligned: fits has looked
	from, to := int(both.Lo-rows.Lo), int(both.Lo-k.at.Rows.Lo)
	n, high, slots := int(both.Len()), int(rows.Len()), k.slab.width/max(1, k.rows)
	if n == 0 {
		return nil
	}
	if err := k.allow(keys, false); err != nil {
		return err
	}
	part := both != k.at.Rows
	if part && stamps != nil {
		val, stamps = k.level(keys, val, high, stamps)
	}
	var w walk
	for k.begin(&w, keys, k.toSet(rows)); k.next(&w); {
		k.slab.need(w.rows(), true)
		k.keep(w.rows())
		if part && stamps == nil {
			k.settle(w.rows())
		}
		if k.lazy != nil {
			for j, row := range w.rows() {
				k.lazy.restored(row, w.at+j, stamps)
			}
		}
		some := val[w.at*slots*high:][:len(w.rows())*slots*high]
		if n == high && !part {
			k.slab.scatter(some, w.rows(), 0, k.slab.width)
			continue
		}
		for j, row := range w.rows() {
			into, column := k.slab.open(row), some[j*slots*high:]
			for slot := range slots {
				copy(into[slot*k.rows+to:][:n], column[slot*high+from:])
			}
			k.slab.shut(row, into)
		}
	}
	return w.err
}

func (k *keyed[T]) widen(n int) error {
	if err := k.index.widen(n); err != nil {
		return err
	}
	return k.slab.expect(n)
}

func (k *keyed[T]) restoreRect(matrix.Rect, int, []byte) {}

func (d *dense[T]) restoreRect(at matrix.Rect, slot int, values []byte) {
	val, _ := wire.Numbers[T](values) // aligned: fits has looked
	both := at.Intersect(d.at)
	n, width := int(both.Cols.Len()), at.Cols.Len()
	for r := both.Rows.Lo; r < both.Rows.Hi && n > 0; r++ {
		to := d.cell(r, both.Cols.Lo)
		d.keep(slot, to, to+n)
		d.save(slot, to, val[(r-at.Rows.Lo)*width+both.Cols.Lo-at.Cols.Lo:][:n])
	}
}

func (d *dense[T]) widen(int) error { return nil }

func (d *dense[T]) restore(matrix.Range, []int64, []byte, []int64) error { return nil }

func (d *dense[T]) catchUp() {}

func (d *dense[T]) passing() []*lazy { return nil }
