package spill

import (
	"fmt"
	"sync"

	"thole.example/matrix"
)

// EntryBytes is about what a block on disk takes of memory.
const EntryBytes = 400

// entry is a key's block, wherever it is. Locks are taken in the order mu, Store.mu; whoever waits for mu holds the entry
// (Store.hold), and what is held is not chosen for eviction.
type entry struct {
	key    Key
	number uint64

	mu    sync.RWMutex // readers look at the block or its record, a writer changes or moves it
	block matrix.Block // Data is nil while it is not in memory
	rec   record       // the zero record while it has no slot
	buf   *buffer      // what block lies in, if the store has made it
	gone  bool         // deleted: the key may have another entry by now

	// Guarded by Store.mu.
	holds      int
	size       int64  // bytes that are counted for it as resident
	dirty      bool   // in memory, and different from rec; changed by who has mu too
	used       bool   // since the clock's hand went by; on disk: since it went there
	prev, next *entry // on the clock, nil while it is not
}

// absent reports whether e, whose mu the caller has, has no block: it was deleted, or Put has made it and not filled it yet.
func (e *entry) absent() bool { return e.gone || e.block.Data == nil && e.rec.seg == nil }

// hold keeps e from being evicted.
func (s *Store) hold(e *entry) {
	if e.holds == 0 {
		s.stats.Pinned += e.size
	}
	e.holds++
}

func (s *Store) unhold(e *entry) {
	e.holds--
	if e.holds == 0 {
		s.stats.Pinned -= e.size
	}
}

// resize counts e, which is held, as size bytes in memory.
func (s *Store) resize(e *entry, size int64) {
	s.stats.Resident += size - e.size
	s.stats.Pinned += size - e.size
	e.size = size
}

// find holds the entry of the key.
func (s *Store) find(key Key) (*entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("spill: %w", ErrClosed)
	}
	e := s.entries[key]
	if e == nil {
		return nil, notFound(key)
	}
	s.hold(e)
	s.active++
	return e, nil
}

func notFound(key Key) error { return fmt.Errorf("spill: block %v: %w", key, ErrNotFound) }

// claim holds and locks the entry of the key, which is made if there is none.
func (s *Store) claim(key Key) (*entry, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, fmt.Errorf("spill: %w", ErrClosed)
	}
	e := s.entries[key]
	if e == nil {
		s.number++
		e = &entry{key: key, number: s.number}
		s.entries[key] = e
	}
	s.hold(e)
	s.active++
	s.mu.Unlock()
	e.mu.Lock()
	return e, nil
}

// done ends what find and claim began, and brings the store back within its budget where that can be done. An eviction
// that did not succeed is not an error of the call that ends here: the block is still in memory.
func (s *Store) done(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unhold(e)
	if e.holds == 0 && e.next != nil && e.size > s.budget {
		s.evict(e) // alone beyond the budget: all others would have to leave for it
	}
	for clean := false; s.stats.Resident > s.budget; {
		v := s.victim(clean)
		if v == nil {
			break
		}
		if s.evict(v) != nil {
			clean = true // these at least can go without being written
		}
	}
	s.active--
	s.free.Broadcast()
}

// forget deletes e, whose mu the caller has.
func (s *Store) forget(e *entry) {
	s.disk.release(e.rec)
	e.rec, e.block, e.buf, e.gone = record{}, matrix.Block{}, nil, true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlink(e)
	s.resize(e, 0)
	if s.entries[e.key] == e {
		delete(s.entries, e.key)
	}
}
