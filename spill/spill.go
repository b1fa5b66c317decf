// Package spill keeps matrix.Blocks in memory up to a number of bytes and moves them to disk beyond it; they come back by
// themselves when they are asked for. It is a cache of one process: nothing of it outlives the process, and nothing is
// left behind when the process is killed.
//
// A block on disk is a record in a slot of a segment file. The block's bytes are those of package blockio: the DAPHNE
// document's block, or the wide form where that cannot hold it. All numbers are little-endian; h is the length of the
// block's head (25 to 56 bytes), n that of the whole block.
//
//	offset  size  field
//	     0     4  magic "TSPL"
//	     4     4  CRC32C of the record from byte 8 on
//	     8     8  key: the number that the store gave to the block's name
//	    16     8  write: the number of the write, so that an older record is not taken for a newer one
//	    24     8  n
//	    32     4  h
//	    36        zero
//	 128-h     h  head of the block
//	   128   n-h  cells of the block
//
// Slots begin at multiples of 64 bytes and cells at 128 in the slot, so dense values and selected columns lie aligned and
// can be looked at in a mapping of the file, without a copy. A slot has 128 bytes and a size class for the cells: the
// next multiple of 64 up to 512, above that of an eighth of the power of two below. A segment has slots of one class, in
// a file of about Options.Segment bytes; a block larger than that has a file alone. Slots are used again in place, so
// nothing is ever moved; a segment without blocks gives its file back.
//
// Files are removed from the directory as soon as they are open where the system allows it (it does on Unix), and live
// until they are closed or the process ends. Names left by a process that died in between are removed by the next Open.
package spill

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"thole.example/matrix"
)

// Key names a block: a matrix, and a place in it. The place is a part of the name: it is usually that of the block, but
// the store does not compare them.
type Key struct {
	Name string
	At   matrix.Rect
}

// String prints the key as "name at place".
func (k Key) String() string { return fmt.Sprintf("%s at %v", k.Name, k.At) }

// Options say how a store works. The zero value keeps nothing in memory and has its files in the system's temporary
// directory (which on some systems is memory itself).
type Options struct {
	Dir     string // directory of the files, made if it is missing; "": the system's temporary directory
	Budget  int64  // bytes of blocks in memory
	Disk    int64  // bytes of slots on disk at most; 0: as many as the disk has
	Segment int64  // bytes of a segment file, about; 0: 256 MiB
	NoMap   bool   // read files instead of mapping them
}

// defaultSegment makes a terabyte 4096 open files.
const defaultSegment = 256 << 20

// Errors that the methods of Store wrap.
var (
	ErrNotFound = errors.New("no such block")
	ErrClosed   = errors.New("store is closed")
	ErrFull     = errors.New("limit of bytes on disk reached")
	ErrDamaged  = errors.New("damaged")
)

// Error is what went wrong with a file. It wraps ErrDamaged, ErrFull or what the system said.
type Error struct {
	File string // its name when it was made; usually it is no longer in the directory
	Off  int64  // the byte at which it was found
	Key  Key    // the block
	Err  error
}

// Error implements error as "spill: FILE at byte N: KEY: …".
func (e *Error) Error() string {
	return fmt.Sprintf("spill: %s at byte %d: block %v: %v", e.File, e.Off, e.Key, e.Err)
}

// Unwrap gives the error without the place.
func (e *Error) Unwrap() error { return e.Err }

// Store keeps blocks. All methods may be called by many goroutines; no lock that two keys share is held while a file is
// read or written. A function that is given to View or Update may call the store for other keys if all goroutines take
// the keys in one order, but never for its own key, and never Close.
type Store struct {
	budget int64
	disk   disk

	mu      sync.Mutex
	free    *sync.Cond // an eviction or a call has ended
	entries map[Key]*entry
	number  uint64 // of the last entry
	closed  bool
	active  int    // calls that hold an entry
	leaving int    // evictions that are running
	hand    *entry // of the clock, nil when no block is in memory
	stats   Stats
}

// Open makes an empty store. Several stores, of several processes too, may use one directory.
func Open(o Options) (*Store, error) {
	if o.Budget < 0 || o.Disk < 0 || o.Segment < 0 {
		return nil, fmt.Errorf("spill: budget %d, disk %d, segment %d: want none below 0", o.Budget, o.Disk, o.Segment)
	}
	if o.Dir == "" {
		o.Dir = os.TempDir()
	}
	if o.Segment == 0 {
		o.Segment = defaultSegment
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("spill: %w", err)
	}
	removeLeft(o.Dir)
	s := &Store{budget: o.Budget, entries: map[Key]*entry{}}
	s.disk = disk{dir: o.Dir, limit: o.Disk, segment: o.Segment, mapped: !o.NoMap, room: map[int64][]*segment{}}
	s.disk.writeAt = (*os.File).WriteAt
	s.free = sync.NewCond(&s.mu)
	return s, nil
}

// Close waits for the calls that are running, and gives back all memory and files. Later calls give ErrClosed; another
// Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	for s.active > 0 {
		s.free.Wait()
	}
	entries := s.entries
	s.entries, s.hand, s.stats.Resident, s.stats.ResidentBlocks = nil, nil, 0, 0
	s.mu.Unlock()
	for _, e := range entries {
		s.disk.release(e.rec)
	}
	return nil
}
