// Package shard keeps one partition of a matrix in memory: dense rows, or columns by key (an index of hashes into a slab of
// rows), with the state of the update rule beside the weights. Values change by adding deltas, by an update rule, by an
// update function, or by loading. A mark keeps a partition as it is for reading while it changes.
//
// Values come and go as bytes: numbers of the matrix's element type in the order of this machine's bytes, aligned to their
// size. So a request's values are used where its frame has them.
//
// A Shard is not safe for concurrent use, its owner serializes; only Read, ReadRect and Missing may run beside each other
// while nothing changes, if the partition has no place on disk (Shard.Page). Memory of large partitions lies outside of the Go
// heap: they have to be closed.
package shard

import (
	"fmt"

	"thole.example/matrix"
	"thole.example/psf"
)

// Shard is one partition.
type Shard struct {
	meta    *matrix.Meta
	at      matrix.Rect
	bits    int
	rule    *psf.Rule
	steps   int64
	clock   int64 // of what is added
	store   store
	life    *life   // of its store
	lazy    []*lazy // of its tables; all have made the same steps
	settled bool    // see Settled

	periods []*period // nil: nothing is remembered; the last one goes on
}

// store holds the values of one element type in one layout. Places and keys that it is given lie in the partition, and
// bytes are as many as they have to be.
type store interface {
	aligned(values []byte) bool
	stored() int
	read(dst []byte, rows matrix.Range, keys []int64)
	readRect(dst []byte, at matrix.Rect)
	keys(within matrix.Range) []int64
	deltas(b matrix.Block) []Delta
	add(d *Delta, t int64) error
	set(d *Delta) error
	apply(deltas []Delta, scale, rate float64, t int64) error
	remove(keys []int64) int
	missing(keys []int64) int
	make(keys []int64) error
	mark(since *period) mark
	readyMark(limit int64)
	track(p *period)
	widen(n int) error
	restore(rows matrix.Range, keys []int64, values []byte, stamps []int64) error
	restoreRect(at matrix.Rect, slot int, values []byte)
	absent() []byte
	setAbsent(rows matrix.Range, values []byte)
	bytes() int64
	living() *life
	aging() *aging
	setSteps(n int64)
	setAges(keys []int64, ages Ages)
	count(deltas []Delta) error
	passing() []*lazy
	catchUp()
	page(d Disk) error
	makeRoom(more int64) error
	paged() (away, movable int64, ok bool)
	failed() error
	close()
}

// maxBits is how many bits of the hash can choose a partition.
const maxBits = 32

// New is the partition of m at the place, with the initial values that m.Init says. bits is how many of the top bits of
// kernel.Hash chose it, if it is one of those that a hash makes, else 0: keys here have them in common. rule is nil if
// pushed deltas are added. The Meta must not be changed afterwards.
func New(m *matrix.Meta, at matrix.Rect, bits int, rule *psf.Rule) (*Shard, error) {
	s := &Shard{meta: m, at: at, bits: bits, rule: rule}
	step, slots, err := bind(m, rule)
	if err != nil {
		return nil, err
	}
	if bits < 0 || bits > maxBits {
		return nil, fmt.Errorf("matrix %s: partition by %d bits of a hash, want 0 to %d", m.Name, bits, maxBits)
	}
	if s.store, err = newStore(m, at, bits, step, slots); err != nil {
		return nil, err
	}
	s.life, s.lazy = s.store.living(), s.store.passing()
	return s, nil
}

// Check tells why there can be no partitions of m.
func Check(m *matrix.Meta, rule *psf.Rule) error {
	_, _, err := bind(m, rule)
	return err
}

// bind is the rule's step with the matrix's settings.
func bind(m *matrix.Meta, rule *psf.Rule) (step psf.Step, slots int, err error) {
	switch m.DType {
	case matrix.F64, matrix.F32, matrix.I64, matrix.I32:
	default:
		return step, 0, fmt.Errorf("matrix %s: element type %v on a server, want f64, f32, i64 or i32", m.Name, m.DType)
	}
	if err := checkStorage(m); err != nil {
		return step, 0, err
	}
	if err := m.Init.Check(); err != nil {
		return step, 0, fmt.Errorf("matrix %s: %w", m.Name, err)
	}
	if n := int64(len(m.Init.Values)); n > 0 && (m.Init.Kind != "constant" || m.Layout != matrix.RowDense || m.ColLo != 0 || m.Cols != n) {
		return step, 0, fmt.Errorf("matrix %s: %d initial values (%s) of a %v matrix at %v, want constants, one for each column of a dense "+
			"matrix from column 0 on", m.Name, n, m.Init.Kind, m.Layout, m.Rect())
	}
	switch {
	case m.Keep == (matrix.Keep{}):
	case m.Layout != matrix.RowSparse:
		return step, 0, fmt.Errorf("matrix %s: columns of a dense matrix are all there, want a sparse one to admit or expire them", m.Name)
	case rule == nil:
		return step, 0, fmt.Errorf("matrix %s: columns are admitted and expire by steps of a rule, want one", m.Name)
	}
	if rule == nil {
		return step, 0, nil
	}
	if step, err = rule.Bind(m.Hyper); err != nil {
		return step, 0, fmt.Errorf("matrix %s: %w", m.Name, err)
	}
	if m.DType != matrix.F32 && m.DType != matrix.F64 {
		return step, 0, fmt.Errorf("matrix %s: rule %s on %v, want f32 or f64", m.Name, rule.Name, m.DType)
	}
	if m.Storage != matrix.Invalid && m.Keep.Counts() {
		return step, 0, fmt.Errorf("matrix %s: counts of columns whose weights are kept as %v, want them as they are", m.Name, m.Storage)
	}
	if m.Storage != matrix.Invalid {
		step.Idle = nil // catching up would round once more
	}
	return step, Slots(m, rule), nil
}

func newStore(m *matrix.Meta, at matrix.Rect, bits int, step psf.Step, slots int) (store, error) {
	switch m.DType {
	case matrix.F64:
		return layout[float64](m, at, bits, step, slots)
	case matrix.F32:
		return layout[float32](m, at, bits, step, slots)
	case matrix.I64:
		return layout[int64](m, at, bits, step, slots)
	case matrix.I32:
		return layout[int32](m, at, bits, step, slots)
	}
	return nil, fmt.Errorf("matrix %s: element type %v on a server, want f64, f32, i64 or i32", m.Name, m.DType)
}

func layout[T number](m *matrix.Meta, at matrix.Rect, bits int, step psf.Step, slots int) (store, error) {
	switch {
	case m.Layout == matrix.RowSparse && len(m.Widths) > 0:
		return newRagged[T](m, at, bits, step, slots)
	case m.Layout == matrix.RowSparse:
		return newKeyed[T](m, at, bits, step, slots)
	}
	return newDense[T](m, at, step, slots)
}

// Meta describes the matrix.
func (s *Shard) Meta() *matrix.Meta { return s.meta }

// At is the place of the partition.
func (s *Shard) At() matrix.Rect { return s.at }

// Steps is how many steps the rule has made.
func (s *Shard) Steps() int64 { return s.steps }

// Read copies the rows of the columns keys to dst, one column after the other, in the order of the keys; a key may come
// more than once. Columns that were never written have their initial values. dst has room for exactly that.
func (s *Shard) Read(dst []byte, rows matrix.Range, keys []int64) error {
	if err := s.canRead(dst, rows, keys); err != nil {
		return err
	}
	s.store.read(dst, rows, keys)
	return s.wrap(nil)
}

// canRead says what is wrong with the arguments of a Read.
func (s *Shard) canRead(dst []byte, rows matrix.Range, keys []int64) error {
	if !s.at.Rows.Contains(rows) {
		return fmt.Errorf("matrix %s: read of rows %v from the partition at %v", s.meta.Name, rows, s.at)
	}
	if err := s.fits(dst, int64(len(keys)), rows.Len()); err != nil {
		return err
	}
	return s.has(keys, s.at.Cols)
}

// ReadRect copies the cells of a dense partition to dst, row after row.
func (s *Shard) ReadRect(dst []byte, at matrix.Rect) error {
	if !s.at.Contains(at) {
		return fmt.Errorf("matrix %s: read of %v from the partition at %v", s.meta.Name, at, s.at)
	}
	if s.meta.Layout == matrix.RowSparse {
		return fmt.Errorf("matrix %s: read of all cells of a sparse matrix, want columns by key", s.meta.Name)
	}
	if err := s.fits(dst, at.Rows.Len(), at.Cols.Len()); err != nil {
		return err
	}
	s.store.readRect(dst, at)
	return nil
}

// fits reports a destination that is not the size of some cells.
func (s *Shard) fits(dst []byte, a, b int64) error {
	size := int64(s.meta.DType.Size())
	n, ok := matrix.Cells(a, b)
	if !ok || n != int64(len(dst))/size || n*size != int64(len(dst)) || !s.store.aligned(dst) {
		return fmt.Errorf("matrix %s: %d bytes for %d x %d values of %v, want as many, aligned", s.meta.Name, len(dst), a, b, s.meta.DType)
	}
	return nil
}

// Stored is copies of the stored columns of a sparse partition that lie in cols, ascending, with the values of the rows,
// one column after the other. room gives the memory for the values of so many columns, aligned; it is called once.
func (s *Shard) Stored(rows, cols matrix.Range, room func(columns, bytes int) []byte) (keys []int64, values []byte, err error) {
	rows = rows.Intersect(s.at.Rows)
	keys = s.store.keys(cols)
	values = room(len(keys), len(keys)*int(rows.Len())*s.meta.DType.Size())
	s.store.read(values, rows, keys)
	return keys, values, s.wrap(nil)
}

// Keys is the stored columns of a sparse partition that lie in cols, ascending.
func (s *Shard) Keys(cols matrix.Range) []int64 { return s.store.keys(cols) }

// Columns is how many columns a sparse partition has stored.
func (s *Shard) Columns() int { return s.store.stored() }

// Add adds the delta to the values, without the rule.
func (s *Shard) Add(d Delta) error {
	if err := s.Fits(d); err != nil {
		return err
	}
	return s.wrap(s.store.add(&d, s.steps+s.clock))
}

// Set replaces the cells of the delta; the others stay as they are.
func (s *Shard) Set(d Delta) error {
	if err := s.Fits(d); err != nil {
		return err
	}
	return s.wrap(s.store.set(&d))
}

// Apply takes the deltas of one clock in their order. Without a rule they are added. With one, the rule makes a step
// with their sum divided by weight: over all cells of a dense matrix, over the columns that the deltas touch of a sparse
// one. A weight of 0 makes no step. Counts come after the step. If memory ends (nothing else fails once a delta fits) some columns may have
// changed.
func (s *Shard) Apply(deltas []Delta, weight, rate float64) error {
	for _, d := range deltas {
		if err := s.Fits(d); err != nil {
			return err
		}
	}
	var counts []Delta
	if s.meta.Keep.Counts() {
		deltas, counts = s.apart(deltas)
	}
	if s.rule == nil {
		for i := range deltas {
			if err := s.store.add(&deltas[i], s.steps+s.clock); err != nil {
				return s.wrap(err)
			}
		}
		return s.wrap(nil)
	}
	if weight <= 0 {
		return nil
	}
	s.steps++
	err := s.store.apply(deltas, 1/weight, rate, s.steps)
	if err == nil && s.meta.Keep.Counts() {
		err = s.store.count(counts)
	}
	return s.wrap(err)
}

// SetClock says of which clock what is added next is. Where there are no steps of a rule, how values that are kept in a narrow type
// are rounded goes by it, counted from what SetSteps says.
func (s *Shard) SetClock(n int64) { s.clock = n }

// wrap says of which matrix an error is; without one it is that of rows which are missing.
func (s *Shard) wrap(err error) error {
	if err == nil {
		err = s.store.failed()
	}
	return s.wrapped(err)
}

// wrapped is wrap without looking at the shard.
func (s *Shard) wrapped(err error) error {
	if err != nil {
		return fmt.Errorf("matrix %s: %w", s.meta.Name, err)
	}
	return nil
}

// Remove takes columns out of a sparse partition, with the rule's state: they have their initial values again. It counts
// those that were there. Their memory serves other columns.
func (s *Shard) Remove(keys []int64) int { return s.store.remove(keys) }

// Make makes the columns of a sparse partition that are not there, with their initial values. If memory ends some may be
// missing. A dense partition has all.
func (s *Shard) Make(keys []int64) error {
	if err := s.has(keys, s.at.Cols); err != nil {
		return err
	}
	return s.wrap(s.store.make(keys))
}

// Missing counts the keys that a sparse partition has no column for; one that comes twice counts twice.
func (s *Shard) Missing(keys []int64) int { return s.store.missing(keys) }

// Bytes is how much memory the partition takes: index, rows, what it keeps for steps, marks, and what has changed if that is tracked.
func (s *Shard) Bytes() int64 {
	n := s.store.bytes()
	for _, p := range s.periods {
		n += p.bytes()
	}
	return n
}

// Fate is what became of columns for what the matrix's Keep says.
func (s *Shard) Fate() Fate {
	if s.life == nil {
		return Fate{}
	}
	f := s.life.fate
	if c := s.life.candidates; c != nil {
		f.Waiting = int64(c.stored())
	}
	return f
}

// Close frees the memory. The shard and its marks must not be used afterwards, except that closing again does nothing.
func (s *Shard) Close() { s.store.close() }
