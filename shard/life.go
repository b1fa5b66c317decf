package shard

import (
	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/wire"
)

// life decides which columns a sparse partition makes and which it removes, as matrix.Keep says. What becomes of a column is a
// function of the steps that named it and of its key alone: so it is the same however the matrix is cut. Partitions of
// matrices that keep all have none.
type life struct {
	keep  matrix.Keep
	steps int64 // made, with the one that is being made
	fate  Fate

	mem  kernel.Memory
	last []uint32 // by row of the slab: the step that named the column last, or made it; nil if none expires

	// candidates are the columns that were named and are not made: of each the number of steps that named it, and the last of
	// them. nil if all are made at once.
	candidates *keyed[int32]

	due  []int64 // that go now
	some admission
}

// admission is the columns of a block that are made, or not.
type admission struct {
	missing, made [block]int64
	at            [block]int // which of the block is missing
	rows          [block]uint32
	from          [block]int // which of the missing is made
}

// Fate is how many columns were made, not made and removed for what matrix.Keep says, since the partition is there.
type Fate struct {
	Admitted int64 // were named often enough
	Refused  int64 // times that a step named a column that it did not make
	Expired  int64 // were removed because nothing named them
	Waiting  int64 // columns that were named and are not made yet, now
}

// candidateRows are what a candidate has: a count and a step.
var candidateRows = matrix.Range{Hi: 2}

// newLife is nil for a matrix that keeps all columns.
func newLife(m *matrix.Meta, at matrix.Rect, bits int) (*life, error) {
	if m.Keep == (matrix.Keep{}) {
		return nil, nil
	}
	l := &life{keep: m.Keep}
	if m.Keep.Admits() {
		of := matrix.Meta{Name: m.Name, Rows: candidateRows.Len(), Cols: m.Cols, ColLo: m.ColLo, DType: matrix.I32, Layout: matrix.RowSparse}
		var err error
		l.candidates, err = newKeyed[int32](&of, matrix.Rect{Rows: candidateRows, Cols: at.Cols}, bits, psf.Step{}, 0)
		if err != nil {
			return nil, err
		}
	}
	return l, l.reserve(1)
}

// reserve makes room for the last step of rows below n.
func (l *life) reserve(n int) error {
	if l.keep.ExpireAfter == 0 || n <= len(l.last) {
		return nil
	}
	if err := l.mem.Grow(4 * n); err != nil {
		return err
	}
	l.last, _ = wire.Numbers[uint32](l.mem.Data()[:len(l.mem.Data())/4*4]) // memory is aligned
	return nil
}

// made has a column live from now on.
func (l *life) made(key int64, row uint32) {
	if l.last != nil {
		l.last[row] = uint32(l.steps)
	}
	if l.candidates != nil {
		l.candidates.drop(key)
	}
}

// named has the columns of the rows live on.
func (l *life) named(rows []uint32) {
	if l.last == nil {
		return
	}
	for _, row := range rows {
		l.last[row] = uint32(l.steps)
	}
}

// expires reports whether it matters when columns were named last.
func (k *keyed[T]) expires() bool { return k.life != nil && k.life.last != nil }

func (k *keyed[T]) living() *life { return k.life }

func (d *dense[T]) living() *life { return nil }

// age is for how many steps nothing has named a column. It is less than 2^32: those that are older than 2^31 have gone.
func (l *life) age(last uint32) int64 { return int64(uint32(l.steps) - last) }

// admit counts the columns of a block that are not there, each once in a step, and makes those that were named often enough;
// the rows of the others stay 0.
func (k *keyed[T]) admit(keys []int64, rows []uint32) error {
	l, s := k.life, &k.life.some
	n := 0
	for j, row := range rows {
		if row != 0 {
			continue
		}
		if line, at, ok := k.index.find(uint64(keys[j])); ok { // it moved after it was located
			rows[j] = k.index.lines[line].Row[at]
			continue
		}
		s.missing[n], s.at[n] = keys[j], j
		n++
	}
	c, made := l.candidates, 0
	var w walk
	for c.begin(&w, s.missing[:n], makeAll); c.next(&w); {
		c.keep(w.rows())
		for j, row := range w.rows() {
			count := c.slab.row(row)
			if count[0] == 0 || count[1] != int32(l.steps) {
				count[0], count[1] = count[0]+1, int32(l.steps)
				if int64(count[0]) < l.keep.AdmitAfter {
					l.fate.Refused++
				} else {
					l.fate.Admitted++
				}
			}
			if int64(count[0]) >= l.keep.AdmitAfter {
				s.made[made], s.from[made], s.rows[made] = s.missing[j], s.at[j], 0
				made++
			}
		}
	}
	if w.err != nil || made == 0 {
		return w.err
	}
	if err := k.insert(s.made[:made], s.rows[:made], made); err != nil {
		return err
	}
	for j, at := range s.from[:made] {
		rows[at] = s.rows[j]
	}
	return nil
}

// drop takes out a column if it is there.
func (k *keyed[T]) drop(key int64) {
	if k.index.keys > 0 {
		k.remove([]int64{key})
	}
}

// expire removes what has not been named for long enough, of the columns whose turn it is after this step.
func (k *keyed[T]) expire() {
	l := k.life
	if after := l.keep.ExpireAfter; after > 0 {
		l.due = k.turn(l.due[:0], after, l.steps, func(row uint32) bool { return l.age(l.last[row]) >= after })
		l.fate.Expired += int64(k.remove(l.due))
	}
	if c, after := l.candidates, l.keep.ForgetAfter; c != nil && after > 0 {
		l.due = c.turn(l.due[:0], after, l.steps, func(row uint32) bool { return l.age(uint32(c.slab.row(row)[1])) >= after })
		c.remove(l.due)
	}
}

// turn appends the keys that go, of those whose turn it is in a step. The index is in the order of hashes: only a part of it
// is looked at.
func (k *keyed[T]) turn(due []int64, after, step int64, goes func(row uint32) bool) []int64 {
	if k.index.keys == 0 {
		return due
	}
	turns := matrix.TurnBits(after)
	want := uint64(step) & (1<<turns - 1)
	from, to := uint64(0), uint64(allPoints)
	switch have := k.prefix; {
	case turns <= k.bits: // all of the partition have the same turn
		if have>>(k.bits-turns) != want {
			return due
		}
	case want>>(turns-k.bits) != have:
		return due
	default:
		part := uint64(allPoints) >> (turns - k.bits)
		from = want & (1<<(turns-k.bits) - 1) * part
		to = from + part
	}
	k.index.scan(from, to, func(s slot) {
		if goes(s.row) {
			due = append(due, int64(s.key))
		}
	})
	return due
}

func (l *life) bytes() int64 {
	n := int64(l.mem.Resident(4*len(l.last))) + int64(8*cap(l.due))
	if l.candidates != nil {
		n += l.candidates.bytes()
	}
	return n
}

func (l *life) close() {
	l.mem.Free()
	l.last = nil
	if l.candidates != nil {
		l.candidates.close()
	}
}
