// Package journal keeps a log of records on disk: many goroutines append, one writes what waits with one call and makes it durable with
// one fsync, and whoever opens the log after a crash finds everything that was said to be durable, in order, and after it at most a
// beginning of what else was appended. It knows nothing of what the records mean.
//
// A position is a number of bytes of records since the log began. It names a place between records: [Log.Append] gives the position after
// its record, [Log.Wait] waits until everything before a position is durable, [Log.Truncate] removes what is before one, and [Log.Read]
// begins at one. Positions never come twice.
//
// The log is a folder of segments, each named by its first position in 20 decimal digits, with the ending ".log". All numbers are
// little-endian, checksums are CRC32C, and begin with that of the identity, so that records of another log, and bytes that somebody
// appended in a record to look like one, are none here.
//
//	segment   0  8  magic "THOLELOG"
//	          8  4  version, 1
//	         12  4  checksum of the identity and bytes 16 to 96
//	         16  8  first position
//	         24  8  synced: everything before this position was durable when the segment was made
//	         32  8  first position of the segment before, its own if there never was one
//	         40 56  identity of the log, a text, and zeros
//	         96     records
//
//	record    0  4  checksum of the identity and bytes 4 to 32
//	          4  4  checksum of the identity and the body
//	          8  8  position of the record
//	         16  4  n, length of the body
//	         20  4  kind, any number of the user's
//	         24  8  synced: everything before this position was durable when the record was written
//	         32  n  body
//	                zeros up to a multiple of 8
//
// Segments are made larger than what is in them. The log ends at the first place at which there is no record with its own position and
// the right checksums. If a later head, of a record or of a segment, says that it was synced beyond that place, then a record that was
// durable is damaged there, and the log is refused. Otherwise a crash has torn what was being written: nobody was told that it is
// durable, and it is cut off. docs/format/journal.md says more.
package journal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// What errors say of a log; ask with errors.Is.
var (
	ErrDamaged = errors.New("the log is damaged")
	ErrForeign = errors.New("the log is another one")
	ErrGone    = errors.New("the records were removed")
	ErrClosed  = errors.New("the log is closed")
	ErrFull    = errors.New("the disk is full")
)

// Options say how a log is kept. The zero value is a good one.
type Options struct {
	Identity string // the log's, 1 to 56 bytes; "" for that of the log that is there, or for a new one a random text
	First    uint64 // position at which a new log begins, as one does that continues a copy of another from there on
	Segment  int64  // bytes of a segment, 256 MiB if 0; one that begins with a larger group of records is larger
	Queue    int64  // bytes of records that may wait for being durable, 16 MiB if 0; Append waits beyond that

	// NoSync lets what is written count as durable: a process that is killed loses nothing, but a machine whose power fails loses
	// what its system had not brought to disk, and the log is then cut off where something is missing.
	NoSync bool

	// Spares is how many segments are kept at hand to be written again: those that Truncate removes, and one that is filled with zeros in
	// the background when the last one is half full. To write where a file has been written costs a sync much less than to write where
	// it has only been made longer. A reader in a segment that is removed may then find its records gone.
	Spares int

	// Delay is how long a group waits for more records, if there is room for them. With 0 it begins as soon as the one before is durable.
	Delay time.Duration

	// Patience is how long the log waits for room when the disk, or the quota of its user, is full, before it fails with ErrFull. What is
	// appended meanwhile is not durable. Full, if there is one, is called by the writing goroutine when it begins to wait, with the
	// error, and with nil when there is room.
	Patience time.Duration
	Full     func(err error)

	// Notify, if there is one, is called by the writing goroutine after each group of records: everything before durable is durable,
	// and the slices of those records are their owner's again. With an error it is called for the last time: nothing more will be
	// durable, and no slice is used any more. It must not call Close, nor wait for the log.
	Notify func(durable uint64, err error)
}

const (
	defaultSegment = 256 << 20
	defaultQueue   = 16 << 20
)

// Log is a log that is open for appending. All methods may be called by many goroutines.
type Log struct {
	files   Files
	options Options
	id      string
	seed    uint32 // checksum of the identity, with which all others begin
	cut     error
	unlock  func() error

	active *segment // of the writing goroutine
	synced uint64   // what Open has found and made durable: nothing later is certain under NoSync
	wake   chan struct{}
	hurry  chan struct{} // ends the delay
	shut   chan struct{} // closed by Close
	done   chan struct{} // closed when the writing goroutine has ended
	turn   chan struct{} // whoever is next of those for whom there was no room

	removing sync.Mutex // of Truncate

	mu       sync.Mutex
	open     *group // records that wait for being written
	next     uint64 // position after the last record
	durable  uint64
	segments []*segment    // oldest first, never none
	spares   []string      // names of files to be written again
	made     int           // spares so far
	filling  chan struct{} // closed when none is being filled; nil: none was
	tickets  []*ticket
	unused   []*ticket
	blocked  int
	closing  bool
	err      error // why nothing more will be durable
}

// Open opens the log in a folder, or makes one if there is none. What a crash has torn at its end is cut off, see [Log.Cut]; a damaged
// log is refused with [ErrDamaged], one of another identity with [ErrForeign], both with the file, the byte, what was found and what is
// wanted. The log has to be closed. Nobody else has it open meanwhile, where the system has locks of files.
func Open(files Files, o Options) (*Log, error) {
	if o.Segment <= 0 {
		o.Segment = defaultSegment
	}
	if o.Queue <= 0 {
		o.Queue = defaultQueue
	}
	if strings.ContainsRune(o.Identity, 0) {
		return nil, fmt.Errorf("journal: the identity %q, want a text without zeros", o.Identity)
	}
	if o.First > positionLimit || o.First%8 != 0 {
		return nil, fmt.Errorf("journal: a log that begins at position %d, want a multiple of 8 of at most %d", o.First, uint64(positionLimit))
	}
	if len(o.Identity) > identityLen {
		return nil, fmt.Errorf("journal: an identity of %d bytes, want at most %d", len(o.Identity), identityLen)
	}
	unlock, err := files.Lock()
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	l := &Log{files: files, options: o, unlock: unlock, open: &group{}, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		shut: make(chan struct{}), done: make(chan struct{}), turn: make(chan struct{}, 1)}
	if err := l.recover(); err != nil {
		if isFull(err) {
			err = fmt.Errorf("%w: %w", ErrFull, err)
		}
		return nil, errors.Join(err, unlock())
	}
	go l.write()
	return l, nil
}

// Identity is the text that all segments of the log have.
func (l *Log) Identity() string { return l.id }

// Cut is nil, or says what Open found at the end of the log and cut off: the file, the byte, and why it is no record. None of it had been
// durable.
func (l *Log) Cut() error { return l.cut }

// First is the position of the oldest record that is there.
func (l *Log) First() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.segments[0].first
}

// Durable is the position before which everything is durable.
func (l *Log) Durable() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.durable
}

// End is the position after the last record that was appended. End less Durable is the number of bytes that wait.
func (l *Log) End() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next
}

// Wait waits until everything before the position, which Append gave, is durable. An error of ctx says nothing about that; any other one
// says why it will not be. What was durable before the log failed or was closed stays so, and Wait says it.
func (l *Log) Wait(ctx context.Context, position uint64) error {
	if end := l.End(); position > end {
		return fmt.Errorf("journal: waiting for position %d, want one that was given: the log ends at %d", position, end)
	}
	return l.await(ctx, position)
}

// Truncate removes the segments whose records are all before the position, but never the last segment. Readers that are in a removed one
// may read it to its end, unless it is written again (Options.Spares). After an error fewer may have been removed; the log goes on.
func (l *Log) Truncate(before uint64) error {
	l.removing.Lock()
	defer l.removing.Unlock()
	for {
		l.mu.Lock()
		if len(l.segments) < 2 || l.segments[1].first > before {
			l.mu.Unlock()
			return nil
		}
		s := l.segments[0]
		l.mu.Unlock()
		// One after the other, and none after one that may come back: an older segment without a newer one would be a gap.
		err := l.discard(s)
		if err != nil {
			return fmt.Errorf("journal: removing %s: %w", s.name(), err)
		}
	}
}

// Close makes durable what was appended, and closes the log. Its error is that of the log, if it has failed. Nothing can be appended
// meanwhile and afterwards; readers read what there is, and then get [ErrClosed].
func (l *Log) Close() error {
	l.mu.Lock()
	first := !l.closing
	l.closing = true
	l.mu.Unlock()
	if !first {
		<-l.done
		return nil
	}
	close(l.shut)
	poke(l.wake)
	poke(l.hurry)
	<-l.done
	l.mu.Lock()
	err, filling := l.err, l.filling
	l.mu.Unlock()
	if filling != nil {
		<-filling
	}
	if err == ErrClosed {
		err = l.active.file.Truncate(l.active.size) // what no record needs
	}
	return errors.Join(err, l.active.file.Close(), l.dropSpares(), l.unlock())
}

// poke tells somebody who may already have been told.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
