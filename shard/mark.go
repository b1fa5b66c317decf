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
	aged   bool
	past   *Past
	// candidates is nil if there are none.
	candidates *keyedMark[int32]
}

// mark is what the two layouts do for a Mark.
type mark interface {
	list(n int) []int64
	read(dst []byte, of ofColumns, keys []int64, state bool) error
	readRect(dst []byte, at matrix.Rect, slot int) error
	before() *Past
	view(absent []byte, visit visitor) (stored int, cells any)
	bytes() int64
	close()
}

// ofColumns is what a mark tells of columns beside their values; what is nil is not asked for.
type ofColumns struct {
	last   []uint32 // the step that named it last
	stamps []int64  // the step that it is as of; without, values are brought up to date
}

// Mark marks the partition as it is now. It takes no time that grows with the values, and has to be closed.
func (s *Shard) Mark() *Mark {
	m := &Mark{s: s, steps: s.steps, absent: s.Absent(), mark: s.store.mark()}
	m.past = m.mark.before()
	if l := s.life; l != nil {
		m.aged = l.last != nil
		if l.candidates != nil {
			m.candidates = l.candidates.mark().(*keyedMark[int32])
		}
	}
	return m
}

// Steps is how many steps the rule had made.
func (m *Mark) Steps() int64 { return m.steps }

// Absent is what [Shard.Absent] was.
func (m *Mark) Absent() []byte { return m.absent }

// Keys lists the stored columns of a sparse partition, band after band: about n on each call, in ascending order of
// kernel.Hash, none at the end.
func (m *Mark) Keys(n int) []int64 { return m.mark.list(max(1, n)) }

// Read copies columns of a sparse partition to dst, one after the other, in any order, each at most once in the life of
// the mark: the values of all rows, and with state those of each slot of the rule after them.
func (m *Mark) Read(dst []byte, keys []int64, state bool) error {
	return m.s.wrap(m.mark.read(dst, ofColumns{}, keys, state))
}

// Aged reports whether columns expire, so that the steps that named them last are a part of the state.
func (m *Mark) Aged() bool { return m.aged }

// ReadAged is Read with state, and into last the step that named each column last, or made it. It is for marks that are Aged.
func (m *Mark) ReadAged(dst []byte, last []int64, keys []int64) error {
	if !m.aged || len(last) != len(keys) {
		return fmt.Errorf("matrix %s: last steps of %d columns for %d keys, want as many of a matrix whose columns expire",
			m.s.meta.Name, len(last), len(keys))
	}
	return m.read(dst, last, nil, keys)
}

func (m *Mark) read(dst []byte, last, stamps []int64, keys []int64) error {
	of := ofColumns{stamps: stamps}
	if last != nil {
		of.last = make([]uint32, len(keys))
	}
	if err := m.mark.read(dst, of, keys, true); err != nil {
		return m.s.wrap(err)
	}
	for i, v := range of.last {
		last[i] = m.step(v)
	}
	return nil
}

// Past is the steps that were made, as far back as columns may be; nil if all columns are always up to date.
func (m *Mark) Past() *Past { return m.past }

// ReadStale is Read with state, of columns as they lie there: as of earlier steps, which it writes into stamps. It is for marks
// that have a Past, which brings such columns up to date. last is that of ReadAged, nil if the mark is not Aged.
func (m *Mark) ReadStale(dst []byte, last, stamps []int64, keys []int64) error {
	if m.past == nil || m.aged != (last != nil) || m.aged && len(last) != len(keys) || len(stamps) != len(keys) {
		return fmt.Errorf("matrix %s: %d steps, and %d last ones, of %d columns, want one of each for every column that has it",
			m.s.meta.Name, len(stamps), len(last), len(keys))
	}
	return m.read(dst, last, stamps, keys)
}

// step is a step of which 32 bits were kept.
func (m *Mark) step(short uint32) int64 { return m.steps - int64(uint32(m.steps)-short) }

// Candidate is a column that steps have named and that is not made yet.
type Candidate struct {
	Key   int64
	Count int64 // steps that named it
	Last  int64 // of them
}

// Candidates lists the columns that were named and not made, band after band like Keys, none at the end.
func (m *Mark) Candidates(n int) ([]Candidate, error) {
	if m.candidates == nil {
		return nil, nil
	}
	keys := m.candidates.list(max(1, n))
	val := make([]int32, int(candidateRows.Len())*len(keys))
	if err := m.candidates.read(wire.View(val), ofColumns{}, keys, false); err != nil {
		return nil, m.s.wrap(err)
	}
	all := make([]Candidate, len(keys))
	for i, key := range keys {
		all[i] = Candidate{key, int64(val[2*i]), m.step(uint32(val[2*i+1]))}
	}
	return all, nil
}

// ReadRect copies cells of a dense partition to dst, row after row: values if slot is 0, or those of the slot counted from
// 1. Places that follow each other in the order of rows (whole rows, or parts of one row) free what was copied for them,
// and what lies before them cannot be read again; others can be read as often as need be.
func (m *Mark) ReadRect(dst []byte, at matrix.Rect, slot int) error {
	if err := m.mark.readRect(dst, at, slot); err != nil {
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
