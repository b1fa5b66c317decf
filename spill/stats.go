package spill

// Stats are numbers of a store at one moment. Bytes of blocks are those of their slices.
type Stats struct {
	Resident       int64 // bytes of blocks in memory, those on their way included
	Pinned         int64 // of these, bytes of blocks that calls are working on
	ResidentBlocks int   // blocks in memory
	SpilledBlocks  int   // blocks on disk only
	Disk           int64 // bytes of slots taken, also by older records of blocks in memory
	Segments       int   // files

	Hits      int64 // blocks found in memory by Get, View and Update
	Misses    int64 // blocks that were on disk
	Evictions int64 // blocks that left memory
	Failures  int64 // evictions that ended with an error; the block stayed

	BytesWritten, BytesRead int64 // of records, to and from files and mappings
}

// Stats are the numbers now. The ones on disk are taken a moment after those in memory.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	st := s.stats
	st.SpilledBlocks = len(s.entries) - st.ResidentBlocks
	s.mu.Unlock()
	d := &s.disk
	d.mu.Lock()
	st.Disk = d.used
	d.mu.Unlock()
	st.Segments = int(d.segments.Load())
	st.BytesWritten, st.BytesRead = d.bytesWritten.Load(), d.bytesRead.Load()
	return st
}
