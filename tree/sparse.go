package tree

import (
	"math"

	"thole.example/kernel"
)

// sparseKeys is memory for the keys of rows that say some features each. Between two calls they are those of a row without any, so that a
// call sets and resets the keys of its rows, however many columns there are.
type sparseKeys struct {
	block
	rows, row, column int    // how many rows there are; how far those of the next row, and of the next column, are
	absent            uint64 // bits of the value whose keys they are
	filled            bool
}

// fill makes the keys those of the value absent, unless they are.
func (k *sparseKeys) fill(s *Scorer, absent float64) {
	bits := math.Float64bits(absent)
	if k.filled && k.absent == bits {
		return
	}
	k.filled, k.absent = true, bits
	for i := range s.columns {
		key := s.key(i, absent)
		if keys := k.keys[i*k.column:]; k.row == 1 {
			keys = keys[:k.rows]
			for r := range keys {
				keys[r] = key
			}
			continue
		}
		for r := range k.rows {
			k.keys[r*k.row+i] = key
		}
	}
}

// Sparse scores rows that say some features each, and of which all others have the value absent, which is 0 or NaN most often, into out,
// as Batch does: row i has the features ids[ptr[i]:ptr[i+1]] with the values of the same places. Features that no tree asks for are
// nothing; of one that a row has twice the last value counts. exact, if not nil, has the values that are no
// float32 in place of values. A row takes as long as it says features, however many there are. Nothing is
// allocated after the first calls.
func (s *Scorer) Sparse(ptr []int, ids []int64, values []float32, exact []float64, absent float64, out []float64) {
	classes := s.e.Classes
	n := len(out) / classes
	if s.wides != nil && n >= blockLeast {
		k := s.sparseBlocks.Get().(*sparseKeys)
		for n >= blockLeast {
			some := min(n, k.rows)
			s.setKeys(k, ptr[:some+1], ids, values, exact, absent)
			s.wideSums(&k.block, some, out)
			s.resetKeys(k, ptr[:some+1], ids, absent)
			ptr, out, n = ptr[some:], out[some*classes:], n-some
		}
		s.sparseBlocks.Put(k)
	}
	if n == 0 {
		return
	}
	k := s.sparseRows.Get().(*sparseKeys)
	for n > 0 {
		some := min(n, k.rows)
		s.setKeys(k, ptr[:some+1], ids, values, exact, absent)
		s.rows(k.keys, some, out[:some*classes])
		s.resetKeys(k, ptr[:some+1], ids, absent)
		ptr, out, n = ptr[some:], out[some*classes:], n-some
	}
	s.sparseRows.Put(k)
}

// setKeys sets the keys of what rows say; all others are those of the value absent.
func (s *Scorer) setKeys(k *sparseKeys, ptr []int, ids []int64, values []float32, exact []float64, absent float64) {
	k.fill(s, absent)
	for r := range len(ptr) - 1 {
		lo, hi := ptr[r], ptr[r+1]
		for i, id := range ids[lo:hi] {
			number := s.features.Of(int(id))
			if number < 0 {
				continue
			}
			v, whole := values[lo+i], float64(values[lo+i])
			if exact != nil {
				whole = exact[lo+i]
			}
			for c := s.first[number]; c < s.first[number+1]; c++ {
				key := order(v)
				if float64(v) != whole || v-v != 0 || !s.plainColumns[c] { // what most values are is done here without a call
					key = s.key(int(c), whole)
				}
				k.keys[r*k.row+int(c)*k.column] = key
			}
		}
	}
}

// resetKeys makes the keys that rows set those of the value absent again. Where they say much it is faster to fill all.
func (s *Scorer) resetKeys(k *sparseKeys, ptr []int, ids []int64, absent float64) {
	n := len(ptr) - 1
	if 8*(ptr[n]-ptr[0]) > k.rows*len(s.columns) {
		k.filled = false
		return
	}
	for r := range n {
		for _, id := range ids[ptr[r]:ptr[r+1]] {
			number := s.features.Of(int(id))
			if number < 0 {
				continue
			}
			for c := s.first[number]; c < s.first[number+1]; c++ {
				k.keys[r*k.row+int(c)*k.column] = s.key(int(c), absent)
			}
		}
	}
}

// number numbers the features that trees ask for, and makes memory for what rows say of them.
func (s *Scorer) number() {
	s.features = NewNumbering(s.e.Features.Width)
	for i, c := range s.columns {
		s.features.Add(int(c.feature))
		if i == 0 || c.feature != s.columns[i-1].feature {
			s.first = append(s.first, int32(i))
		}
	}
	s.features.Number()
	s.first = append(s.first, int32(len(s.columns)))
	columns := len(s.columns)
	s.sparseRows.New = func() any {
		return &sparseKeys{block: block{keys: make([]int32, s.block*columns)}, rows: s.block, row: columns, column: 1}
	}
	s.sparseBlocks.New = func() any {
		return &sparseKeys{block: *s.newBlock(), rows: kernel.LeafRows, row: 1, column: kernel.LeafRows}
	}
}
