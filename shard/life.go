package shard

import (
	"thole.example/matrix"
	"thole.example/psf"
)

// life decides which columns a sparse partition makes and which it removes, as matrix.Keep says. What becomes of a column is a
// function of the steps that named it and of its key alone, or with a budget of those of its bucket: so it is the same however
// the matrix is cut. Partitions of matrices that keep all have none.
type life struct {
	keep  matrix.Keep
	steps int64 // made, with the one that is being made
	fate  Fate

	// candidates are the columns that were named and are not made: of each the number of steps that named it, and the last of
	// them. nil if all are made at once.
	candidates *keyed[int32]

	shared bool // by several tables: what they do not name in a step is known when all have made it
}

// Fate is how many columns were made, not made and removed for what matrix.Keep says, since the partition is there.
type Fate struct {
	Admitted int64 // were named often enough
	Refused  int64 // times that a step named a column that it did not make
	Expired  int64 // were removed because nothing named them
	Evicted  int64 // were removed because others needed their room
	Waiting  int64 // columns that were named and are not made yet, now
}

// candidateRows are what a candidate has: a count and a step.
var candidateRows = matrix.Range{Hi: 2}

// candidateMeta describes the candidates of a matrix as one.
func candidateMeta(m *matrix.Meta) *matrix.Meta {
	return &matrix.Meta{
		Name: m.Name, Rows: candidateRows.Len(), Cols: m.Cols, ColLo: m.ColLo, DType: matrix.I32, Layout: matrix.RowSparse,
		Keep: matrix.Keep{ExpireAfter: m.Keep.ForgetAfter},
	}
}

// newLife is nil for a matrix that keeps all columns.
func newLife(m *matrix.Meta, at matrix.Rect, bits int, q *quotas) (l *life, err error) {
	if m.Keep == (matrix.Keep{}) {
		return nil, nil
	}
	l = &life{keep: m.Keep}
	if m.Keep.Admits() {
		var waiting *quota
		if q != nil {
			waiting = q.waiting
		}
		l.candidates, err = newColumns[int32](candidateMeta(m), matrix.Rect{Rows: candidateRows, Cols: at.Cols}, bits, psf.Step{}, 0, waiting)
	}
	return l, err
}

func (k *keyed[T]) living() *life { return k.life }

func (d *dense[T]) living() *life { return nil }

func (k *keyed[T]) aging() *aging { return k.age }

func (d *dense[T]) aging() *aging { return nil }

// setSteps says how many steps were made, or which one begins.
func (k *keyed[T]) setSteps(n int64) {
	if k.age != nil {
		k.age.begin(n)
	}
	if b := k.buckets; b != nil {
		b.late, b.place = b.late[:0], b.place[:0]
	}
	if l := k.life; l != nil {
		l.steps = n
		if l.candidates != nil {
			l.candidates.setSteps(n)
		}
	}
}

func (d *dense[T]) setSteps(int64) {}

// created has a column live from now on.
func (l *life) created(key int64) {
	if l.candidates != nil {
		l.candidates.drop(key)
	}
}

// admission is the columns of a block that a step names and that are not there.
type admission struct {
	keys [block]int64
	at   [block]int // which of the block
	rows [block]uint32
}

// admit makes those columns of a block that a step names and that are not there, if they are worth it, and counts those that it
// did not make: their rows stay 0.
func (k *keyed[T]) admit(w *walk, at int, keys []int64, rows []uint32) (absent int, err error) {
	s, n := &k.some, 0
	for j, row := range rows {
		if row != 0 {
			continue
		}
		if line, at, ok := k.index.find(uint64(keys[j])); ok { // it moved after it was located
			rows[j] = k.index.lines[line].Row[at]
			if k.age != nil {
				k.restamp(line, at, k.age.value)
			}
			continue
		}
		s.keys[n], s.at[n], s.rows[n] = keys[j], j, 0
		n++
	}
	absent = n
	if k.life != nil && k.life.candidates != nil {
		if n, err = k.life.count(s, n); err != nil {
			return absent, err
		}
	}
	if b := k.buckets; b != nil {
		for i, j := range s.at[:n] {
			b.late, b.place = append(b.late, s.keys[i]), append(b.place, place{w.delta, int32(at + j)})
		}
		return absent, nil
	}
	before := k.index.keys
	if err := k.insert(s.keys[:n], s.rows[:n], n, false); err != nil {
		return absent, err
	}
	if k.life != nil {
		k.life.admitted(k.index.keys - before)
	}
	for i, j := range s.at[:n] {
		rows[j] = s.rows[i]
	}
	return absent - n, nil
}

// count counts columns that are not there, each once in a step, and moves those that were named often enough to the front.
func (l *life) count(s *admission, n int) (admitted int, err error) {
	c := l.candidates
	var w walk
	for c.begin(&w, s.keys[:n], makeNamed); c.next(&w); {
		c.keep(w.rows())
		for j, row := range w.rows() {
			if row != 0 && l.counts(c.slab.row(row)) {
				s.keys[admitted], s.at[admitted] = s.keys[w.at+j], s.at[w.at+j]
				admitted++
			}
		}
	}
	return admitted, w.err
}

// counts counts that this step names a candidate, and reports whether it was named often enough.
func (l *life) counts(candidate []int32) bool {
	enough := int32(l.keep.AdmitAfter)
	if candidate[0] == 0 || candidate[1] != int32(l.steps) {
		candidate[0], candidate[1] = min(candidate[0]+1, enough), int32(l.steps)
		if candidate[0] < enough {
			l.fate.Refused++
		}
	}
	return candidate[0] == enough
}

// admitted counts columns that were made for having been named often enough.
func (l *life) admitted(n int) {
	if l.candidates != nil {
		l.fate.Admitted += int64(n)
	}
}

// drop takes out a column if it is there.
func (k *keyed[T]) drop(key int64) {
	if k.index.keys > 0 {
		k.remove([]int64{key})
	}
}

// come makes the new columns that the step has named and that there is room for in the budget, and begins to count others.
func (k *keyed[T]) come() error {
	l := k.life
	made, refused, err := k.decide()
	l.admitted(made)
	l.fate.Refused += int64(refused)
	if c := l.candidates; c != nil && err == nil {
		if made, refused, err = c.decide(); err != nil {
			return err
		}
		l.fate.Refused += int64(made + refused)
		var w walk
		for c.begin(&w, c.buckets.late, makeNone); c.next(&w); {
			for _, row := range w.rows() {
				n := c.slab.row(row)
				n[0], n[1] = 1, int32(l.steps)
			}
		}
	}
	return err
}

// expireAll removes what a step leaves too old.
func (k *keyed[T]) expireAll() {
	k.life.fate.Expired += int64(k.expire())
	if !k.life.shared {
		k.life.forget()
	}
}

// forget removes the candidates that a step leaves too old.
func (l *life) forget() {
	if l.candidates != nil {
		l.candidates.expire()
	}
}

func (l *life) bytes() int64 {
	if l == nil || l.candidates == nil {
		return 0
	}
	return l.candidates.bytes()
}

func (l *life) close() {
	if l.candidates != nil {
		l.candidates.close()
	}
}
