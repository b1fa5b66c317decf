package ps

// Forget empties the matrix's row cache.
func Forget(m *Matrix) { m.cache.forget() }
