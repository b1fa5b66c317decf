package ps

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/wire"
)

// sums is what was added to a matrix and not sent, each cell once: increments are added in the order of the calls, the first one of
// a cell to nothing.
type sums interface {
	// block adds dense cells.
	block(b matrix.Block) error
	// keyed adds values of keys of which none comes twice, for all the rows; they are in the groups of a plan, if that is known.
	keyed(rows matrix.Range, keys []int64, groups []rpc.Group, values []byte) error
	// empty reports whether nothing waits.
	empty() bool
	// fold moves what is to be sent to the client's oplog: all of it, or with a threshold of 0 or more what is beyond that.
	fold(threshold float64) error
	// round rounds what is sent of keys as it came.
	round(d *delta)
	// owed is how many bytes of what rounding for the wire lost are kept; full says that they are too many.
	owed() (bytes int, full bool)
}

// sumsOf are the sums of a matrix of one element type: some rows as they are, others by their keys.
type sumsOf[T matrix.Elem] struct {
	m    *Matrix
	rows map[int64]*denseRow[T]
	ones map[int64]*keyLog[T] // of single rows
	tall []*keyLog[T]         // of several rows each
	torn bool                 // rows come in other groups than before: each has its own
	plan Keys                 // memory

	lost  remainders[T] // of what was rounded for the wire
	owing int           // bytes of that from which on all is sent as it is
	exact bool          // nothing is rounded in this fold

	spare *keyLog[T] // memory of the log that was sent last
}

// tallLimit is how many groups of rows are kept as groups.
const tallLimit = 64

// newSums is nil if nothing can be added to the matrix.
func newSums(m *Matrix) sums {
	switch m.meta.DType {
	case matrix.F64:
		return sumsFor[float64](m)
	case matrix.F32:
		return sumsFor[float32](m)
	case matrix.I64:
		return sumsFor[int64](m)
	case matrix.I32:
		return sumsFor[int32](m)
	case matrix.I16:
		return sumsFor[int16](m)
	case matrix.I8:
		return sumsFor[int8](m)
	case matrix.U64:
		return sumsFor[uint64](m)
	case matrix.U32:
		return sumsFor[uint32](m)
	case matrix.U16:
		return sumsFor[uint16](m)
	case matrix.U8:
		return sumsFor[uint8](m)
	}
	return nil
}

func sumsFor[T matrix.Elem](m *Matrix) sums {
	return &sumsOf[T]{m: m, rows: map[int64]*denseRow[T]{}, ones: map[int64]*keyLog[T]{}, owing: owingLimit}
}

func (s *sumsOf[T]) owed() (bytes int, full bool) { return s.lost.bytes, s.lost.bytes > s.owing }

func (s *sumsOf[T]) empty() bool { return len(s.rows)+len(s.ones)+len(s.tall) == 0 }

func (s *sumsOf[T]) keyed(rows matrix.Range, keys []int64, groups []rpc.Group, values []byte) error {
	vals, ok := wire.Numbers[T](values)
	if !ok {
		return fmt.Errorf("ps: matrix %s: %d bytes are no values of %v", s.m.meta.Name, len(values), s.m.meta.DType)
	}
	if l := s.group(rows); l != nil {
		l.add(keys, groups, vals, l.lump())
		return s.grown(l)
	}
	for r := rows.Lo; r < rows.Hi; r++ {
		if err := s.addRow(r, keys, groups, vals[r-rows.Lo:], int(rows.Len())); err != nil {
			return err
		}
	}
	return nil
}

// group is the log of several rows together; nil if each has its own.
func (s *sumsOf[T]) group(rows matrix.Range) *keyLog[T] {
	if rows.Len() == 1 || s.torn || s.m.gather == gatherDense {
		return nil
	}
	for _, l := range s.tall {
		if l.rows == rows {
			return l
		}
	}
	if len(s.tall) >= tallLimit || s.overlaps(rows) {
		s.tear()
		return nil
	}
	l := s.spare
	if s.spare = nil; l == nil || l.rows != rows {
		l = newKeyLog[T](rows)
	}
	s.tall = append(s.tall, l)
	return l
}

// overlaps reports whether something waits for some of the rows.
func (s *sumsOf[T]) overlaps(rows matrix.Range) bool {
	for _, l := range s.tall {
		if l.rows.Intersect(rows).Len() > 0 {
			return true
		}
	}
	for r := range s.rows {
		if rows.Has(r) {
			return true
		}
	}
	for r := range s.ones {
		if rows.Has(r) {
			return true
		}
	}
	return false
}

// tear gives each row a log of its own.
func (s *sumsOf[T]) tear() {
	s.torn = true
	for _, l := range s.tall {
		s.single(l)
	}
	s.tall = nil
}

// single puts what waits in the log of several rows into logs of their own.
func (s *sumsOf[T]) single(l *keyLog[T]) {
	for r := l.rows.Lo; r < l.rows.Hi; r++ {
		s.one(r).add(l.keys, nil, l.vals[r-l.rows.Lo:], l.lump())
	}
}

// one is the log of a row.
func (s *sumsOf[T]) one(r int64) *keyLog[T] {
	l := s.ones[r]
	if l == nil {
		l = newKeyLog[T](matrix.Range{Lo: r, Hi: r + 1})
		s.ones[r] = l
	}
	return l
}

// within tears the groups of rows if the row is of one.
func (s *sumsOf[T]) within(r int64) {
	for _, l := range s.tall {
		if l.rows.Has(r) {
			s.tear()
			return
		}
	}
}

// addRow adds to single cells of a row, whose values are vals[0], vals[stride] and so on.
func (s *sumsOf[T]) addRow(r int64, keys []int64, groups []rpc.Group, vals []T, stride int) error {
	s.within(r)
	row := s.rows[r]
	if row == nil && s.m.gather == gatherDense {
		row = s.dense(r)
	}
	if row == nil {
		l := s.one(r)
		l.add(keys, groups, vals, stride)
		return s.grown(l)
	}
	for i, key := range keys {
		row.add(key-s.m.meta.ColLo, vals[i*stride])
	}
	return nil
}

// dense makes a row one that is held whole.
func (s *sumsOf[T]) dense(r int64) *denseRow[T] {
	if row := s.rows[r]; row != nil {
		return row
	}
	s.within(r)
	row := newDenseRow[T](s.m.meta.Cols)
	s.rows[r] = row
	if l := s.ones[r]; l != nil {
		delete(s.ones, r)
		for i, key := range l.keys {
			row.add(key-s.m.meta.ColLo, l.vals[i])
		}
	}
	return row
}

// logLimit is how many different keys may wait for a group of rows.
const logLimit = math.MaxInt32 / 4

// grown compacts a log that has grown, and holds its rows whole where that is smaller.
func (s *sumsOf[T]) grown(l *keyLog[T]) error {
	if l.bytes() < l.next && len(l.keys) < logLimit {
		return nil
	}
	if err := l.compact(&s.plan, s.m); err != nil {
		return fmt.Errorf("ps: matrix %s: %w", s.m.meta.Name, err)
	}
	if s.smallerDense(l) {
		s.whole(l)
	}
	if len(l.keys) >= logLimit {
		return fmt.Errorf("ps: matrix %s: increments of %d keys wait, want fewer than %d: flush them", s.m.meta.Name, len(l.keys), logLimit)
	}
	return nil
}

// smallerDense reports whether the rows of the log take less memory if they are held whole, and may be.
func (s *sumsOf[T]) smallerDense(l *keyLog[T]) bool {
	return s.m.gather == gatherAuto && fitsDense(&s.m.meta) && l.bytes() > l.lump()*s.rowBytes()
}

// rowBytes is what a row takes that is held whole.
func (s *sumsOf[T]) rowBytes() int {
	return int(s.m.meta.Cols)*s.m.meta.DType.Size() + int(s.m.meta.Cols+7)/8
}

// whole holds the rows of the log whole.
func (s *sumsOf[T]) whole(l *keyLog[T]) {
	if i := slices.Index(s.tall, l); i >= 0 {
		s.tall = slices.Delete(s.tall, i, i+1)
		s.single(l)
	}
	for r := l.rows.Lo; r < l.rows.Hi; r++ {
		s.dense(r)
	}
	l.keys, l.vals = nil, nil
}

func (s *sumsOf[T]) block(b matrix.Block) error {
	val := b.Data.(*matrix.Dense[T]).Val
	size, width := int64(s.m.meta.DType.Size()), b.At.Cols.Len()
	wide := fitsDense(&s.m.meta) && width*(8+size) >= s.m.meta.Cols*size
	var keys []int64
	for r := b.At.Rows.Lo; r < b.At.Rows.Hi; r++ {
		cells := val[(r-b.At.Rows.Lo)*width:][:width]
		if s.rows[r] != nil || s.m.gather == gatherDense || s.m.gather == gatherAuto && wide {
			s.dense(r).addRun(b.At.Cols.Lo-s.m.meta.ColLo, cells)
			continue
		}
		if keys == nil {
			keys = make([]int64, width)
			for i := range keys {
				keys[i] = b.At.Cols.Lo + int64(i)
			}
		}
		if err := s.addRow(r, keys, nil, cells, 1); err != nil {
			return err
		}
	}
	return nil
}

// logs are all logs, rows ascending.
func (s *sumsOf[T]) logs() []*keyLog[T] {
	all := slices.Clone(s.tall)
	for _, r := range slices.Sorted(maps.Keys(s.ones)) {
		all = append(all, s.ones[r])
	}
	return all
}
