package shard

import (
	"fmt"

	"thole.example/matrix"
	"thole.example/wire"
)

// Mark is a partition as it was at one moment, with the rule's state, for reading in bands of bounded length while writes
// go on between them; the owner of the shard serializes both. What a write would change is copied first, unless it has
// been read: so a mark takes at most the memory of what has changed, and [Shard.Bytes] counts it. Columns that came later
// are not in it.
type Mark struct {
	s      *Shard
	steps  int64
	absent []byte
	mark   mark
	age    *aging // says what stamps mean; nil: there are none
	past   *Past
	// candidates is nil if there are none.
	candidates *keyedMark[int32]

	since   *period // nil: it has everything
	columns int64
}

// mark is what the two layouts do for a Mark.
type mark interface {
	list(n int) []int64
	collect(some []listed, n int) []listed
	copyOut(dst []byte, stamps []int64, all []listed, owner bool) error
	read(dst []byte, of ofColumns, keys []int64, state bool) error
	readRect(dst []byte, at matrix.Rect, slot int) error
	before() *Past
	view(absent []byte, visit visitor) (stored int, cells any)
	bytes() int64
	close()
}

// ofColumns is what a mark tells of columns beside their values; what is nil is not asked for.
type ofColumns struct {
	ages []uint8 // its stamp of age
	as   []int64 // the step that it is as of; without, values are brought up to date
}

// Mark marks the partition as it is now. It takes no time that grows with the values, and has to be closed.
func (s *Shard) Mark() *Mark { return s.marked(nil) }

// ReadyMark has the system find memory, no more than limit bytes, for what the next mark copies of a large dense partition whose steps
// change all of it: the step after a first mark would have to wait for that else. Other partitions need none.
func (s *Shard) ReadyMark(limit int64) { s.store.readyMark(limit) }

// marked is a mark of what has changed in a period, or of everything.
func (s *Shard) marked(since *period) *Mark {
	m := &Mark{s: s, steps: s.steps, absent: s.Absent(), mark: s.store.mark(since), since: since, columns: int64(s.store.stored())}
	m.past = m.mark.before()
	if l := s.life; l != nil {
		m.age = s.store.aging()
		if l.candidates != nil {
			m.candidates = l.candidates.mark(nil).(*keyedMark[int32])
		}
	}
	return m
}

// Steps is how many steps the rule had made.
func (m *Mark) Steps() int64 { return m.steps }

// Absent is what [Shard.Absent] was.
func (m *Mark) Absent() []byte { return m.absent }

// Keys lists the stored columns of a sparse partition, band after band: about n on each call, in ascending order of
// kernel.Hash, nil at the end. A partial mark lists those that have changed, and may have an empty band before the end.
func (m *Mark) Keys(n int) []int64 { return m.mark.list(max(1, n)) }

// Read copies columns of a sparse partition to dst, one after the other, in any order, each at most once in the life of
// the mark: the values of all rows, and with state those of each slot of the rule after them.
func (m *Mark) Read(dst []byte, keys []int64, state bool) error {
	return m.s.wrap(m.mark.read(dst, ofColumns{}, keys, state))
}

// Aged reports whether columns expire, so that the steps that named them last are a part of the state.
func (m *Mark) Aged() bool { return m.age != nil && m.age.after > 0 }

// Ranked reports whether columns are evicted, so that their ranks are a part of the state.
func (m *Mark) Ranked() bool { return m.age != nil && m.age.top() > 0 }

// ReadState is Read with state, and for how long nothing has named the columns.
func (m *Mark) ReadState(dst []byte, keys []int64) (Ages, error) { return m.read(dst, nil, keys) }

// read is ReadState; into as, if it is not nil, come the steps that columns are as of.
func (m *Mark) read(dst []byte, as, keys []int64) (ages Ages, err error) {
	var stamps []uint8
	if m.age != nil {
		stamps = make([]uint8, len(keys))
	}
	if err := m.mark.read(dst, ofColumns{ages: stamps, as: as}, keys, true); err != nil {
		return Ages{}, m.s.wrap(err)
	}
	if m.Aged() {
		ages.Last = make([]int64, len(keys))
		for i, v := range stamps {
			ages.Last[i] = m.age.last(v, m.steps)
		}
	}
	if m.Ranked() {
		ages.Ranks = stamps
		for i, v := range stamps {
			ages.Ranks[i] = m.age.rank(v)
		}
	}
	return ages, nil
}

// Past is the steps that were made, as far back as columns may be; nil if all columns are always up to date.
func (m *Mark) Past() *Past { return m.past }

// ReadStale is ReadState of columns as they lie there: as of earlier steps, which it writes into stamps. It is for marks that have a
// Past, which brings such columns up to date.
func (m *Mark) ReadStale(dst []byte, stamps, keys []int64) (Ages, error) {
	if m.past == nil || len(stamps) != len(keys) {
		return Ages{}, fmt.Errorf("matrix %s: %d steps of %d columns, want one of each, of a mark that has a past",
			m.s.meta.Name, len(stamps), len(keys))
	}
	return m.read(dst, stamps, keys)
}

// step is a step of which 32 bits were kept.
func (m *Mark) step(short uint32) int64 { return m.steps - int64(uint32(m.steps)-short) }

// Candidate is a column that steps have named and that is not made yet.
type Candidate struct {
	Key   int64
	Count int64 // steps that named it
	Last  int64 // of them
	Rank  uint8 // in its bucket, as of [Ages]
}

// Candidates lists the columns that were named and not made, band after band like Keys, none at the end.
func (m *Mark) Candidates(n int) ([]Candidate, error) {
	if m.candidates == nil {
		return nil, nil
	}
	keys := m.candidates.list(max(1, n))
	val := make([]int32, int(candidateRows.Len())*len(keys))
	age := m.candidates.k.age
	var stamps []uint8
	if age != nil {
		stamps = make([]uint8, len(keys))
	}
	if err := m.candidates.read(wire.View(val), ofColumns{ages: stamps}, keys, false); err != nil {
		return nil, m.s.wrap(err)
	}
	all := make([]Candidate, len(keys))
	for i, key := range keys {
		all[i] = Candidate{Key: key, Count: int64(val[2*i]), Last: m.step(uint32(val[2*i+1]))}
		if age != nil {
			all[i].Rank = age.rank(stamps[i])
		}
	}
	return all, nil
}

// ReadRect copies cells of a dense partition to dst, row after row: values if slot is 0, or those of the slot counted from
// 1. Places that follow each other in the order of rows (whole rows, or parts of one row) free what was copied for them,
// and what lies before them cannot be read again; others can be read as often as need be. It may be called beside the owner of the
// shard, as [Mark.Copy].
func (m *Mark) ReadRect(dst []byte, at matrix.Rect, slot int) error {
	if err := m.mark.readRect(dst, at, slot); err != nil { // beside the owner: nothing else is looked at
		return fmt.Errorf("matrix %s: %w", m.s.meta.Name, err)
	}
	return nil
}

// Close ends the mark and frees what it kept. Closing twice does nothing.
func (m *Mark) Close() {
	m.mark.close()
	if m.candidates != nil {
		m.candidates.close()
	}
}

// values is bytes as n numbers.
func values[T number](b []byte, n int) ([]T, error) {
	v, ok := wire.Numbers[T](b)
	if !ok || len(v) != n {
		return nil, fmt.Errorf("room for %d values of %d bytes, want %d, aligned", len(b)/sizeOf[T](), sizeOf[T](), n)
	}
	return v, nil
}
