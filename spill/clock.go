package spill

import "thole.example/matrix"

// link puts e, whose block is in memory, on the clock: just before the hand, so that it is looked at last.
func (s *Store) link(e *entry) {
	switch {
	case e.next != nil:
		return
	case s.hand == nil:
		e.prev, e.next = e, e
		s.hand = e
	default:
		e.next, e.prev = s.hand, s.hand.prev
		e.prev.next, e.next.prev = e, e
	}
	s.stats.ResidentBlocks++
}

// unlink takes e off the clock.
func (s *Store) unlink(e *entry) {
	if e.next == nil {
		return
	}
	if s.hand == e {
		s.hand = e.next
	}
	if e.next == e {
		s.hand = nil
	}
	e.prev.next, e.next.prev = e.next, e.prev
	e.prev, e.next = nil, nil
	s.stats.ResidentBlocks--
}

// victim moves the hand to a block that nobody holds and that was not used since the hand was there last. The second
// round finds one that was used, if there is no other. nil: all are held, or, if only clean ones are asked for, dirty.
func (s *Store) victim(clean bool) *entry {
	for range 2 * s.stats.ResidentBlocks {
		e := s.hand
		s.hand = e.next
		switch {
		case e.holds > 0 || clean && e.dirty:
		case e.used:
			e.used = false
		default:
			return e
		}
	}
	return nil
}

// evict moves v, which victim found, out of memory. s.mu is given up while a file is written. Where v was taken hold of
// in the meantime it stays: who asked for it would only have to fetch it again. v is in memory after an error, too.
func (s *Store) evict(v *entry) error {
	s.hold(v)
	s.leaving++
	s.mu.Unlock()
	defer func() {
		s.leaving--
		s.unhold(v)
		s.free.Broadcast()
	}()
	if !v.mu.TryLock() {
		s.mu.Lock()
		return nil
	}
	defer v.mu.Unlock()
	err := s.save(v)
	s.mu.Lock()
	if err != nil {
		s.stats.Failures++
		return err
	}
	if v.holds == 1 && v.next != nil {
		s.unlink(v)
		s.resize(v, 0)
		s.disk.recycle(v.buf)
		v.block, v.buf = matrix.Block{}, nil
		v.used = false
		s.stats.Evictions++
	}
	return nil
}

// save writes the block of v, whose mu the caller has, if its record does not hold it already. It goes to the slot that
// it has, if it fits: changing blocks on a full disk never needs more disk.
func (s *Store) save(v *entry) error {
	if v.block.Data == nil || !v.dirty {
		return nil
	}
	rec, err := s.disk.write(v, v.rec, v.block)
	if err != nil {
		return err
	}
	v.rec = rec
	s.mu.Lock()
	v.dirty = false
	s.mu.Unlock()
	return nil
}

// reserve counts n more bytes for e, which is held, and makes room for them. Once a block could not be written, only those
// make room that need not be. If that is not enough and it must, this is an error and nothing is counted; else the budget
// is passed, as it is when every block is held or e alone is larger.
func (s *Store) reserve(e *entry, n int64, must bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed error
	for s.stats.Resident+n > s.budget && e.size+n <= s.budget {
		v := s.victim(failed != nil)
		if v == nil && s.leaving > 0 {
			s.free.Wait()
			continue
		}
		if v == nil && must && failed != nil {
			return failed
		}
		if v == nil {
			break
		}
		if err := s.evict(v); err != nil {
			failed = err
		}
	}
	s.resize(e, e.size+n)
	return nil
}
