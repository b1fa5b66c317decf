package spill

import (
	"cmp"
	"fmt"
	"slices"

	"thole.example/blockio"
	"thole.example/matrix"
	"thole.example/wire"
)

// Put keeps b under the key, in place of what was there. The block belongs to the store from now on: its slices must not
// be changed any more. A block that breaks the rules of its type is refused. When room is needed and the disk cannot
// take what would have to go there, that is the error, and the store has what it had before.
func (s *Store) Put(key Key, b matrix.Block) error {
	size, err := sound(key, b)
	if err != nil {
		return err
	}
	for {
		e, err := s.claim(key)
		if err != nil {
			return err
		}
		gone := e.gone // deleted while this waited for it
		if !gone {
			err = s.replace(e, b, size)
			if e.absent() {
				s.forget(e)
			}
		}
		e.mu.Unlock()
		s.done(e)
		if !gone {
			return err
		}
	}
}

// replace makes b the block of e, whose mu the caller has.
func (s *Store) replace(e *entry, b matrix.Block, size int64) error {
	if size > s.budget {
		rec, err := s.disk.write(e, record{}, b) // not over the old one, which is kept if this does not succeed
		if err != nil {
			return err
		}
		s.disk.release(e.rec)
		s.disk.recycle(e.buf)
		e.rec, e.block, e.buf = rec, matrix.Block{}, nil
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unlink(e)
		s.resize(e, 0)
		e.dirty, e.used = false, false
		return nil
	}
	s.mu.Lock()
	more := size - e.size
	s.mu.Unlock()
	if more > 0 {
		if err := s.reserve(e, more, true); err != nil {
			return err
		}
	}
	s.disk.recycle(e.buf)
	e.buf = nil
	s.adopt(e, b, size)
	return nil
}

// adopt makes b the changed block of e in memory.
func (s *Store) adopt(e *entry, b matrix.Block, size int64) {
	e.block = b
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resize(e, size)
	e.dirty, e.used = true, true
	s.link(e)
}

// Get is a copy of the key's block, which belongs to the caller.
func (s *Store) Get(key Key) (b matrix.Block, err error) {
	err = s.look(key, func(e *entry) (err error) {
		if e.block.Data != nil {
			b = e.block.Clone()
			return nil
		}
		b, err = s.disk.read(e, nil)
		return err
	}, func(record) bool { return true })
	return b, err
}

// View calls fn with the key's block, which fn must neither change nor keep: it may be the store's own, read-only memory of a
// mapped file, or memory that the next one is read into. Views of one block run at the same time; what changes the block
// waits for them. The error of fn is returned as it is.
func (s *Store) View(key Key, fn func(b matrix.Block) error) error {
	return s.look(key, func(e *entry) (err error) {
		if e.block.Data != nil {
			return fn(e.block)
		}
		return s.disk.view(e, fn)
	}, record.flat)
}

// look runs fn with a reader's lock on the key's entry. Its block is in memory, or on disk where fromDisk says that this
// will do and nothing speaks for bringing it.
func (s *Store) look(key Key, fn func(*entry) error, fromDisk func(record) bool) error {
	e, err := s.find(key)
	if err != nil {
		return err
	}
	defer s.done(e)
	e.mu.RLock()
	bring := !e.absent() && s.touch(e)
	for !e.absent() && e.block.Data == nil && (bring || !fromDisk(e.rec)) {
		e.mu.RUnlock()
		if err := s.bring(e); err != nil {
			return err
		}
		bring = false
		e.mu.RLock()
	}
	defer e.mu.RUnlock()
	if e.absent() {
		return notFound(key)
	}
	return fn(e)
}

// touch counts an access to e and reports whether its block should come into memory: if there is room for it, or when
// it is asked for a second time. So one pass over many blocks does not drive out those that are in use.
func (s *Store) touch(e *entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := e.used
	e.used = true
	if e.block.Data != nil {
		s.stats.Hits++
		return false
	}
	s.stats.Misses++
	need := e.rec.memory
	return need <= s.budget && (again || s.stats.Resident+need <= s.budget)
}

func (s *Store) bring(e *entry) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return s.load(e, false)
}

// load brings the block of e, whose mu the caller has, into memory. must is that of reserve.
func (s *Store) load(e *entry, must bool) error {
	if e.absent() {
		return notFound(e.key)
	}
	if e.block.Data != nil {
		return nil
	}
	if err := s.reserve(e, e.rec.memory, must); err != nil {
		return err
	}
	var buf *buffer
	if e.rec.flat() {
		buf = s.disk.buffer(e.rec.class)
	}
	b, err := s.disk.read(e, buf)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.resize(e, 0)
		s.disk.recycle(buf)
		return err
	}
	e.block, e.buf = b, buf
	s.link(e)
	return nil
}

// Update calls fn with the key's block, which fn may change, in place or by other data, and must not keep; data that it
// replaces is the caller's. Nobody else sees the block meanwhile. After an error of fn, which is returned as it is, or if
// fn leaves a block that breaks the rules of its type, the block has the place and the slices that it had; what fn changed
// in them stays. Where no room can be made because the disk is full, that is the error, before fn is called.
func (s *Store) Update(key Key, fn func(b *matrix.Block) error) error {
	e, err := s.find(key)
	if err != nil {
		return err
	}
	defer s.done(e)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.absent() {
		return notFound(key)
	}
	s.touch(e)
	if err := s.load(e, true); err != nil {
		return err
	}
	s.mu.Lock()
	e.dirty = true // before fn: it may change values and end in any way
	s.mu.Unlock()
	b := e.block
	if err := fn(&b); err != nil {
		return err
	}
	size, err := sound(key, b)
	if err != nil {
		return err
	}
	if b.Data != e.block.Data {
		e.buf = nil
	}
	s.adopt(e, b, size)
	return nil
}

// Delete forgets the key's block; a key without one is no error.
func (s *Store) Delete(key Key) error {
	s.mu.Lock()
	absent := s.entries[key] == nil && !s.closed
	s.mu.Unlock()
	if absent {
		return nil
	}
	e, err := s.claim(key)
	if err != nil {
		return err
	}
	defer s.done(e)
	defer e.mu.Unlock()
	if !e.gone {
		s.forget(e)
	}
	return nil
}

// Keys are all keys, by name, then by first and last row, then by columns.
func (s *Store) Keys() []Key {
	s.mu.Lock()
	keys := make([]Key, 0, len(s.entries))
	for k := range s.entries {
		keys = append(keys, k)
	}
	s.mu.Unlock()
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.At.Rows.Lo, b.At.Rows.Lo), cmp.Compare(a.At.Rows.Hi, b.At.Rows.Hi),
			cmp.Compare(a.At.Cols.Lo, b.At.Cols.Lo), cmp.Compare(a.At.Cols.Hi, b.At.Cols.Hi))
	})
	return keys
}

// sound checks what a block must be to come back from disk as it went, and gives the bytes that it takes in memory.
func sound(key Key, b matrix.Block) (int64, error) {
	h, err := blockio.Encoder{}.Head(b)
	if err == nil {
		err = b.Check()
	}
	if err != nil {
		return 0, fmt.Errorf("spill: block %v: %w", key, err)
	}
	if h.Type == matrix.Bool {
		values, _ := wire.ViewAny(b.Data.Values())
		for i, v := range values {
			if v > 1 {
				return 0, fmt.Errorf("spill: block %v: value %d is boolean %d, want 0 or 1", key, i, v)
			}
		}
	}
	return memory(h, b), nil
}
