package journal

import (
	"errors"
	"fmt"
	"io/fs"
)

// sparePrefix begins the names of files that are to be written again. Records in them have positions of which none comes again, so none
// is found where they lie.
const sparePrefix = "spare."

// fillLen is how many zeros are written at once.
const fillLen = 1 << 20

// discard removes the oldest segment, or makes it a spare one.
func (l *Log) discard(s *segment) error {
	name := ""
	l.mu.Lock()
	if len(l.spares) < l.options.Spares && !l.closing {
		l.made++
		name = fmt.Sprint(sparePrefix, l.made)
	}
	l.mu.Unlock()
	var err error
	if name == "" {
		err = l.files.Remove(s.name())
	} else {
		err = l.files.Rename(s.name(), name)
	}
	if errors.Is(err, fs.ErrNotExist) { // it went before, and the sync failed then
		name, err = "", nil
	}
	if err == nil {
		err = l.files.Sync()
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments = l.segments[1:]
	if name != "" {
		l.spares = append(l.spares, name)
	}
	return nil
}

// spare is the name of a file to write again, which is the caller's; "": there is none.
func (l *Log) spare() (name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.spares) > 0 {
		name, l.spares = l.spares[0], l.spares[1:]
	}
	return name
}

// fill has a spare file made, if there is none and none is being made. Where nothing is synced it would save nothing.
func (l *Log) fill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.options.Spares == 0 || l.options.NoSync || len(l.spares) > 0 || l.closing {
		return
	}
	if l.filling != nil {
		select {
		case <-l.filling:
		default:
			return
		}
	}
	done := make(chan struct{})
	l.made++
	name := fmt.Sprint(sparePrefix, l.made)
	l.filling = done
	go func() {
		defer close(done)
		err := l.zeros(name)
		l.mu.Lock()
		defer l.mu.Unlock()
		if err == nil { // else the next segment is made as it is without
			l.spares = append(l.spares, name)
		}
	}()
}

// zeros makes a file of the length of a segment.
func (l *Log) zeros(name string) error {
	f, err := l.files.Create(name)
	if err != nil {
		return err
	}
	size := segmentHead + l.options.Segment
	err = f.Allocate(size)
	b := make([]byte, min(size, fillLen))
	for off := int64(0); off < size && err == nil; off += int64(len(b)) {
		l.mu.Lock()
		closing := l.closing
		l.mu.Unlock()
		if closing {
			err = ErrClosed
			break
		}
		_, err = f.WriteVec([][]byte{b[:min(int64(len(b)), size-off)]}, off)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = l.files.Remove(name) // the next process does otherwise
	}
	return err
}

// dropSpares removes the files that nobody will write again.
func (l *Log) dropSpares() (err error) {
	for name := l.spare(); name != "" && err == nil; name = l.spare() {
		err = l.files.Remove(name)
	}
	return err
}
