package ps

import "thole.example/matrix"

// Forget empties the matrix's caches.
func Forget(m *Matrix) { forget([]*Matrix{m}) }

// Waiting is how many rows of the matrix's increments are held whole, and how many keys wait by themselves.
func Waiting(m *Matrix) (rows, keys int) {
	if s, ok := m.sums.(*sumsOf[float64]); ok {
		for _, l := range s.logs() {
			keys += len(l.keys)
		}
		rows = len(s.rows)
	}
	return rows, keys
}

// OplogTypes are the names of oplog types that are for values of a type.
func OplogTypes(d matrix.DType) (names []string) {
	for _, t := range allOplogTypes() {
		if t.dtype == d || t.dtype == matrix.Invalid {
			names = append(names, t.name)
		}
	}
	return names
}

// Remainders are what rounding for the wire lost and is still to be sent, by row and column; those of both ways to keep them added.
func Remainders(m *Matrix) map[[2]int64]float64 {
	switch s := m.sums.(type) {
	case *sumsOf[float32]:
		return remaindersOf(s)
	case *sumsOf[float64]:
		return remaindersOf(s)
	}
	return nil
}

func remaindersOf[T float32 | float64](s *sumsOf[T]) map[[2]int64]float64 {
	all := map[[2]int64]float64{}
	for r, row := range s.lost.rows {
		for i, v := range row {
			all[[2]int64{r, s.m.meta.ColLo + int64(i)}] += float64(v)
		}
	}
	for rows, rest := range s.lost.keyed {
		rest.each(func(key int64, _ uint32, left []T) {
			for i, v := range left {
				all[[2]int64{rows.Lo + int64(i), key}] += float64(v)
			}
		})
	}
	return all
}

// ForgetRemainders is what a client without error feedback would do after each change.
func ForgetRemainders(m *Matrix) { m.sums.(*sumsOf[float32]).lost = remainders[float32]{} }

// LimitRemainders sets from how many bytes of remainders on a change is sent as it is, and how many there are.
func LimitRemainders(m *Matrix, bytes int) (are int) {
	s := m.gathered().(*sumsOf[float32])
	s.owing = bytes
	return s.lost.bytes
}

// CacheBytes is the least size of a cache of the matrix that has room for so many keys.
func CacheBytes(m *Matrix, keys int) int64 {
	stride := headWords + (int(m.meta.Rows)*m.meta.DType.Size()+7)/8
	return int64(keys * (8*stride + besideRecord))
}
