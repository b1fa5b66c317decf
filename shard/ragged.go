package shard

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/wire"
)

// ragged keeps columns of which some store fewer rows than the matrix has (matrix.Meta.Widths): those of each width in a table of their
// own, whose rows in the slab have no room for what they do not store. A table is what a matrix of the first rows would have, of the
// same name, so its columns have the bits that they would have in a matrix where all columns store all rows. To others every column has
// all rows: those that it does not store are 0, also in its state.
type ragged[T number] struct {
	at     matrix.Rect
	tables []*keyed[T] // the widest columns first
	widths []matrix.Width
	of     []uint8 // table of each of the widths
	rest   uint8   // of the other columns
	slots  int     // of all rows: those of the rule, and for counts
	own    int     // those of the rule
	life   *life   // which the tables share; nil: all columns are kept
	soon   int     // columns that are going to be restored; 0: that is not known
}

func newRagged[T number](m *matrix.Meta, at matrix.Rect, bits int, step psf.Step, slots int) (*ragged[T], error) {
	if at.Rows != m.Rect().Rows {
		return nil, fmt.Errorf("matrix %s: partition of rows %v, want all %d: its columns have several widths", m.Name, at.Rows, m.Rows)
	}
	q, err := newQuotas(m, slots)
	if err != nil {
		return nil, err
	}
	r := &ragged[T]{at: at, widths: m.Widths, slots: slots, own: slots - m.Keep.CountSlots(m.Rows)}
	if r.life, err = newLife(m, at, bits, q); err != nil {
		return nil, err
	}
	if r.life != nil {
		r.life.shared = true
	}
	kinds := m.WidthKinds()
	for i, kind := range kinds {
		meta, own := ofKind(m, kind.Rows, slots)
		k, err := newColumns[T](&meta, matrix.Rect{Rows: matrix.Range{Hi: kind.Rows}, Cols: at.Cols}, bits, step, own, q.table(i))
		if err != nil {
			r.close()
			return nil, err
		}
		k.life = r.life
		r.tables = append(r.tables, k)
	}
	table := func(rows int64) uint8 {
		return uint8(slices.IndexFunc(kinds, func(k matrix.WidthKind) bool { return k.Rows == rows }))
	}
	for _, w := range m.Widths {
		r.of = append(r.of, table(w.Rows))
	}
	r.rest = table(m.Rows) // which is there if there are such columns
	return r, nil
}

// table is which one has a column.
func (r *ragged[T]) table(key int64) uint8 {
	i := sort.Search(len(r.widths), func(i int) bool { return r.widths[i].Cols.Hi > key })
	if i < len(r.widths) && r.widths[i].Cols.Lo <= key {
		return r.of[i]
	}
	return r.rest
}

// share is those of some columns that a table has.
type share struct {
	keys []int64
	at   []int // places of them among all
}

// shares are the columns of each table, in their order.
func (r *ragged[T]) shares(keys []int64) []share {
	of, counts := make([]uint8, len(keys)), make([]int, len(r.tables))
	for i, key := range keys {
		of[i] = r.table(key)
		counts[of[i]]++
	}
	all, room, places := make([]share, len(r.tables)), make([]int64, len(keys)), make([]int, len(keys))
	from := 0
	for i, n := range counts {
		all[i] = share{room[from : from : from+n], places[from : from : from+n]}
		from += n
	}
	for i, key := range keys {
		s := &all[of[i]]
		s.keys, s.at = append(s.keys, key), append(s.at, i)
	}
	return all
}

// each calls f for the columns of each table that has some of the keys, up to the first error.
func (r *ragged[T]) each(keys []int64, f func(i int, k *keyed[T], s share) error) error {
	for i, s := range r.shares(keys) {
		if len(s.keys) == 0 {
			continue
		}
		if err := f(i, r.tables[i], s); err != nil {
			return err
		}
	}
	return nil
}

func (r *ragged[T]) aligned(values []byte) bool { return aligned[T](values) }

func (r *ragged[T]) sum(f func(k *keyed[T]) int) (n int) {
	for _, k := range r.tables {
		n += f(k)
	}
	return n
}

func (r *ragged[T]) stored() int { return r.sum((*keyed[T]).stored) }

func (r *ragged[T]) read(dst []byte, rows matrix.Range, keys []int64) {
	n := int(rows.Len())
	out, _ := wire.Numbers[T](dst)
	var val []T
	_ = r.each(keys, func(_ int, k *keyed[T], s share) error {
		has := rows.Intersect(k.at.Rows)
		if has.Len() == 0 {
			has = matrix.Range{}
		}
		m := int(has.Len())
		val = grown(val, m*len(s.keys))
		k.read(wire.View(val), has, s.keys)
		for i, at := range s.at {
			into := out[at*n:][:n]
			clear(into[copy(into, val[i*m:][:m]):])
		}
		return nil
	})
}

func (r *ragged[T]) readRect([]byte, matrix.Rect) {}

func (r *ragged[T]) keys(within matrix.Range) (keys []int64) {
	for _, k := range r.tables {
		keys = append(keys, k.keys(within)...)
	}
	slices.Sort(keys)
	return keys
}

func (r *ragged[T]) deltas(b matrix.Block) []Delta { return deltasOf[T](b) }

// byColumn is the delta by column, as [keyed.columns] has it.
func (r *ragged[T]) byColumn(d *Delta) columns[T] { return r.tables[0].columns(d) }

// cut is what the tables store of a delta: nothing of those whose columns it does not have, or whose columns do not store its rows.
func (r *ragged[T]) cut(d *Delta, into [][]Delta) {
	c := r.byColumn(d)
	_ = r.each(c.keys, func(i int, k *keyed[T], s share) error {
		has := d.Rows.Intersect(k.at.Rows)
		n, val := int(has.Len()), c.val
		if n == 0 {
			return nil
		}
		if len(s.keys) < len(c.keys) || n < c.n {
			val = gathered(&c, s.at, n)
		}
		into[i] = append(into[i], Delta{Rows: has, Cols: d.Cols, Keys: s.keys, Values: wire.View(val)})
		return nil
	})
}

// gathered is the first n values of the columns at some places.
func gathered[T number](c *columns[T], at []int, n int) []T {
	val := make([]T, len(at)*n)
	for i, at := range at {
		copy(val[i*n:][:n], c.val[at*c.n:])
	}
	return val
}

// eachCut calls f for what each table stores of a delta, up to the first error.
func (r *ragged[T]) eachCut(d *Delta, f func(k *keyed[T], d *Delta) error) error {
	parts := make([][]Delta, len(r.tables))
	r.cut(d, parts)
	for i, part := range parts {
		for j := range part {
			if err := f(r.tables[i], &part[j]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *ragged[T]) add(d *Delta, t int64) error {
	return r.eachCut(d, func(k *keyed[T], d *Delta) error { return k.add(d, t) })
}

func (r *ragged[T]) set(d *Delta) error {
	c := r.byColumn(d)
	err := r.each(c.keys, func(_ int, k *keyed[T], s share) error {
		first := int(max(0, k.at.Rows.Hi-d.Rows.Lo))
		for i, at := range s.at {
			if err := zeros(c.of(int32(at)), first, s.keys[i], k.rows, d.Rows.Lo); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.eachCut(d, func(k *keyed[T], d *Delta) error { return k.set(d) })
}

// zeros tells why values of a column cannot be set that stores so many rows, where those from one on, which are of rows from the first
// on, are not 0.
func zeros[T number](val []T, from int, key int64, rows int, first int64) error {
	for i := from; i < len(val); i++ {
		if val[i] != 0 {
			return fmt.Errorf("column %d stores %d rows, found %v in row %d, want 0", key, rows, val[i], first+int64(i))
		}
	}
	return nil
}

// apply has every table make the step, also if one fails, so that all have made the same steps.
func (r *ragged[T]) apply(deltas []Delta, scale, rate float64, t int64) (err error) {
	parts := make([][]Delta, len(r.tables))
	for i := range deltas {
		r.cut(&deltas[i], parts)
	}
	for i, k := range r.tables {
		err = cmp.Or(err, k.apply(parts[i], scale, rate, t))
	}
	if r.life != nil {
		r.life.forget()
	}
	return err
}

func (r *ragged[T]) count(deltas []Delta) error {
	parts := make([][]Delta, len(r.tables))
	for i := range deltas {
		c := r.byColumn(&deltas[i])
		for j, s := range r.shares(c.keys) {
			if len(s.keys) > 0 {
				parts[j] = append(parts[j], Delta{Rows: deltas[i].Rows, Cols: deltas[i].Cols, Keys: s.keys, Values: wire.View(gathered(&c, s.at, c.n))})
			}
		}
	}
	for i, k := range r.tables {
		if err := k.count(parts[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *ragged[T]) remove(keys []int64) (n int) {
	_ = r.each(keys, func(_ int, k *keyed[T], s share) error { n += k.remove(s.keys); return nil })
	return n
}

func (r *ragged[T]) missing(keys []int64) (n int) {
	_ = r.each(keys, func(_ int, k *keyed[T], s share) error { n += k.missing(s.keys); return nil })
	return n
}

func (r *ragged[T]) make(keys []int64) error {
	return r.each(keys, func(_ int, k *keyed[T], s share) error { return k.make(s.keys) })
}

func (r *ragged[T]) readyMark(int64) {}

func (r *ragged[T]) track(p *period) {
	p.tables = make([]*period, len(r.tables))
	for i, k := range r.tables {
		p.tables[i] = &period{since: p.since}
		k.track(p.tables[i])
	}
}

func (r *ragged[T]) absent() []byte {
	val, found := make([]T, r.at.Rows.Len()), false
	for _, k := range r.tables {
		if some := k.absent(); some != nil {
			copy(wire.View(val), some)
			found = true
		}
	}
	if !found {
		return nil
	}
	return wire.View(val)
}

func (r *ragged[T]) setAbsent(rows matrix.Range, values []byte) {
	for _, k := range r.tables {
		k.setAbsent(rows, values)
	}
}

func (r *ragged[T]) bytes() int64 {
	n := int64(0)
	for _, k := range r.tables {
		n += k.ownBytes()
	}
	return n + r.life.bytes()
}

func (r *ragged[T]) living() *life { return r.life }

// aging is what stamps mean, which is the same in all tables.
func (r *ragged[T]) aging() *aging { return r.tables[0].age }

func (r *ragged[T]) setSteps(n int64) {
	for _, k := range r.tables {
		k.setSteps(n)
	}
}

func (r *ragged[T]) setAges(keys []int64, ages Ages) {
	_ = r.each(keys, func(_ int, k *keyed[T], s share) error {
		k.setAges(s.keys, Ages{picked(ages.Last, s.at), picked(ages.Ranks, s.at)})
		return nil
	})
}

// picked is the elements at some places; nil of nil.
func picked[E any](all []E, at []int) []E {
	if all == nil {
		return nil
	}
	some := make([]E, len(at))
	for i, at := range at {
		some[i] = all[at]
	}
	return some
}

func (r *ragged[T]) passing() (all []*lazy) {
	for _, k := range r.tables {
		all = append(all, k.passing()...)
	}
	return all
}

func (r *ragged[T]) catchUp() {
	for _, k := range r.tables {
		k.catchUp()
	}
}

func (r *ragged[T]) page(Disk) error { return errNoPaging }

func (r *ragged[T]) makeRoom(int64) error { return errNoPaging }

func (r *ragged[T]) paged() (away, movable int64, ok bool) { return 0, 0, false }

func (r *ragged[T]) failed() error { return nil }

func (r *ragged[T]) close() {
	for _, k := range r.tables {
		k.close()
	}
	if r.life != nil {
		r.life.close()
	}
}

// widen keeps in mind how many columns will come: how many of each width is seen of the first that do (restore).
func (r *ragged[T]) widen(n int) error {
	r.soon = n
	return nil
}

// widenFor has the tables be wide enough for the columns that will come, of which these are the first: in the order of their hashes, so
// each width has about the same part of these as of all.
func (r *ragged[T]) widenFor(keys []int64) error {
	n := max(r.soon, len(keys))
	r.soon = 0
	return r.each(keys, func(_ int, k *keyed[T], s share) error {
		if k.index.keys > 0 {
			return nil
		}
		return k.widen(expected(len(s.keys), len(keys), n))
	})
}

// expected is how many of n columns are of a width that some of the first ones have, with as many more as chance may make them.
func expected(some, first, n int) int {
	if n <= first {
		return some
	}
	return int((float64(some) + 3*math.Sqrt(float64(some))) / float64(first) * float64(n))
}

// restore replaces columns, which have all rows.
func (r *ragged[T]) restore(rows matrix.Range, keys []int64, values []byte, stamps []int64) error {
	if rows != r.at.Rows {
		return fmt.Errorf("state of rows %v, want all %d: columns have several widths", rows, r.at.Rows.Len())
	}
	if len(keys) == 0 {
		return nil
	}
	if r.soon > 0 {
		if err := r.widenFor(keys); err != nil {
			return err
		}
	}
	val, _ := wire.Numbers[T](values) // aligned: fits has looked
	high := r.width()
	return r.each(keys, func(_ int, k *keyed[T], s share) error {
		some := make([]T, len(s.keys)*k.slab.width)
		for i, at := range s.at {
			if err := r.narrow(k, some[i*k.slab.width:][:k.slab.width], val[at*high:][:high], s.keys[i]); err != nil {
				return err
			}
		}
		return k.restore(k.at.Rows, s.keys, wire.View(some), picked(stamps, s.at))
	})
}

func (r *ragged[T]) restoreRect(matrix.Rect, int, []byte) {}

// width is how many values a column of all rows has with its slots.
func (r *ragged[T]) width() int { return int(r.at.Rows.Len()) * (1 + r.slots) }

var errWidths = errors.New("want the widths of columns with which it was written")

// narrow is what a table keeps of a column with its slots. What it does not store has to be 0.
func (r *ragged[T]) narrow(k *keyed[T], into, column []T, key int64) error {
	rows := int(r.at.Rows.Len())
	for slot := range 1 + r.own {
		from := column[slot*rows:][:rows]
		copy(into[slot*k.rows:][:k.rows], from)
		if err := zeros(from, k.rows, key, k.rows, 0); err != nil {
			return fmt.Errorf("%w; %w", err, errWidths)
		}
	}
	copy(into[(1+k.own)*k.rows:], column[(1+r.own)*rows:]) // counts
	return nil
}

// wide is the way back: a column with its slots, of all rows.
func (r *ragged[T]) wide(k *keyed[T], into, column []T) {
	rows := int(r.at.Rows.Len())
	clear(into)
	for slot := range 1 + r.own {
		copy(into[slot*rows:], column[slot*k.rows:][:k.rows])
	}
	copy(into[(1+r.own)*rows:], column[(1+k.own)*k.rows:])
}
