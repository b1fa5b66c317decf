package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"syscall"
	"time"
)

// segment is a file of the log.
type segment struct {
	first uint64
	size  int64 // bytes of its head and records; kept for the last one
	file  File  // of the last one
	used  bool  // its file was another segment before: zeros are written after its last record
}

// noHead is what is where no record begins.
var noHead [recordHead]byte

// write writes groups until the log is closed or fails.
func (l *Log) write() {
	defer close(l.done)
	spare := &group{}
	for closing := false; !closing; {
		<-l.wake
		l.delay()
		for {
			runtime.Gosched() // those who were told of the last group come into this one
			l.mu.Lock()
			g := l.open
			l.open = spare
			closing = l.closing
			l.mu.Unlock()
			spare = g
			if g.size == 0 {
				break
			}
			err := l.commit(g)
			l.finish(g.first+uint64(g.size), err)
			if g.clear(); err != nil {
				return
			}
		}
	}
	l.finish(l.durable, ErrClosed)
}

// delay waits for more records.
func (l *Log) delay() {
	if l.options.Delay <= 0 {
		return
	}
	timer := time.NewTimer(l.options.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.hurry:
	}
}

// finish makes known how far the log is durable, or why it will not be any further.
func (l *Log) finish(durable uint64, err error) {
	l.mu.Lock()
	if err == nil {
		l.durable = durable
	} else {
		l.err = err
	}
	durable = l.durable
	l.call()
	l.mu.Unlock()
	if l.options.Notify != nil {
		l.options.Notify(durable, err)
	}
}

// commit writes a group, in a new segment if the last one has no room, and makes it durable. What a full disk has no room for is
// written again later (Options.Patience): usually that is a new segment, whose space is taken before anything is written to it.
// After any other error nothing is tried again: the system may have forgotten what it could not write, and a second fsync would
// report success.
func (l *Log) commit(g *group) error {
	if l.active.size > segmentHead && l.active.size+g.size > segmentHead+l.options.Segment {
		if err := l.patiently(func() error { return l.goOn(g.first) }); err != nil {
			return l.failed(g.first, err)
		}
	}
	g.flush()
	s := l.active
	size := g.size
	if s.used && s.size+size+recordHead <= segmentHead+l.options.Segment {
		g.vec, size = append(g.vec, noHead[:]), size+recordHead
	}
	if err := l.patiently(func() error { return s.write(g.again(), s.size, size) }); err != nil {
		return l.failed(g.first, err)
	}
	if !l.options.NoSync {
		if err := s.file.Sync(); err != nil {
			return l.failed(g.first, fmt.Errorf("sync of %s: %w", s.name(), err))
		}
	}
	if s.size += g.size; s.size > segmentHead+l.options.Segment/2 {
		l.fill()
	}
	return nil
}

func (l *Log) failed(position uint64, err error) error {
	return fmt.Errorf("journal: nothing from position %d on is durable: %w; open the log again when the cause is gone", position, err)
}

// Pauses between attempts to write on a full disk.
const (
	firstPause = 100 * time.Millisecond
	mostPause  = 2 * time.Second
)

// patiently calls a function again while the disk is full, for as long as Options.Patience says. Its error is an ErrFull then.
func (l *Log) patiently(try func() error) error {
	err := try()
	if !isFull(err) {
		return err
	}
	if l.options.Full != nil && l.options.Patience > 0 {
		l.options.Full(err)
	}
	waited := time.Duration(0)
	for pause := firstPause; isFull(err) && waited < l.options.Patience; pause = min(2*pause, mostPause) {
		pause = min(pause, l.options.Patience-waited)
		waited += pause
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-l.shut:
			timer.Stop()
			return fmt.Errorf("%w: %w", ErrFull, err)
		}
		err = try()
	}
	switch {
	case isFull(err):
		return fmt.Errorf("%w: %w", ErrFull, err)
	case err == nil && l.options.Full != nil:
		l.options.Full(nil)
	}
	return err
}

// isFull reports whether an error says that the disk, or the quota of the user, has no room.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// write writes all slices, of size bytes together.
func (s *segment) write(vec [][]byte, off, size int64) error {
	n, err := s.file.WriteVec(vec, off)
	if err == nil && n != size {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("%s: %d of %d bytes written at byte %d: %w", s.name(), n, size, off, err)
	}
	return nil
}

// goOn goes on in a new segment.
func (l *Log) goOn(first uint64) error {
	synced := first
	if l.options.NoSync {
		synced = l.synced
	}
	s, err := l.create(label{first, synced, l.active.first, l.id})
	if err != nil {
		return err
	}
	old := l.active.file
	l.active = s
	l.mu.Lock()
	l.segments = append(l.segments, s)
	l.mu.Unlock()
	return old.Close()
}

// fresh is the name of a segment until its head is durable.
const fresh = "new"

// create makes a segment, whose head and name are durable when it returns: what syncs its records says nothing of the folder.
func (l *Log) create(h label) (*segment, error) {
	s := &segment{first: h.first, size: segmentHead}
	name := l.spare()
	var err error
	if s.used = name != ""; s.used {
		s.file, err = l.files.Open(name)
	} else {
		name = fresh
		s.file, err = l.files.Create(name)
	}
	if err != nil {
		return nil, fmt.Errorf("new segment %s: %w", s.name(), err)
	}
	for _, step := range []func() error{
		func() error { return s.file.Allocate(segmentHead + l.options.Segment) },
		func() error { return s.write([][]byte{h.bytes(), noHead[:]}, 0, segmentHead+recordHead) },
		s.file.Sync,
		func() error { return l.files.Rename(name, s.name()) },
		l.files.Sync,
	} {
		if err := step(); err != nil {
			err = errors.Join(fmt.Errorf("new segment %s: %w", s.name(), err), s.file.Close())
			if gone := l.files.Remove(name); gone != nil && !errors.Is(gone, fs.ErrNotExist) { // others may need the space
				err = errors.Join(err, gone)
			}
			return nil, err
		}
	}
	return s, nil
}
