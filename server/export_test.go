package server

// NonFinite is how many parts of pushes to a matrix had values that are not finite.
func (s *Server) NonFinite(job, matrix string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range (*s.jobs[job].stores.Load())[1:] {
		if st.meta.Name == matrix {
			return st.refused.Load() + st.skipped
		}
	}
	return -1
}
