package ps

import "thole.example/matrix"

// Forget empties the matrix's row cache.
func Forget(m *Matrix) { m.cache.forget() }

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
