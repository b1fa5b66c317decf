package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"thole.example/runlog"
)

// lineLog is a file or stream of JSON lines, which can be read while it grows. What could not be written is an error of
// every later write and of close; of a file only whole lines stay.
type lineLog struct {
	checked
	io.Closer
	file  *os.File // nil for a stream
	whole int64    // bytes of the file's lines
}

// lines begins a log at the path, in the place of what was there.
func (s *sink) lines(ctx context.Context) (*lineLog, error) {
	if s.streams() {
		w, err := s.open(ctx)
		if err != nil {
			return nil, err
		}
		return &lineLog{checked: checked{w: w, name: s.path}, Closer: w}, nil
	}
	if s.appends {
		return s.moreLines()
	}
	how := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if !s.force {
		how |= os.O_EXCL // nobody else's that came meanwhile
	}
	f, err := os.OpenFile(s.file, how, 0o666)
	if err != nil {
		return nil, err
	}
	return &lineLog{checked: checked{w: f, name: s.path}, Closer: f, file: f}, nil
}

// moreLines goes on with a log. Half a line at its end, of a process that was killed, goes.
func (s *sink) moreLines() (*lineLog, error) {
	f, err := os.OpenFile(s.file, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	l := &lineLog{checked: checked{w: f, name: s.path}, Closer: f, file: f}
	info, err := f.Stat()
	if err == nil {
		end := make([]byte, min(info.Size(), lineMost))
		if _, err = f.ReadAt(end, info.Size()-int64(len(end))); err == nil {
			l.whole = info.Size() - int64(len(end)-1-bytes.LastIndexByte(end, '\n'))
			err = f.Truncate(l.whole)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// lineMost is how long a line of a log may be, with space to spare.
const lineMost = 1 << 20

// append writes an event as a line.
func (l *lineLog) append(record any) error {
	line, err := runlog.Line(record)
	if err != nil {
		return err
	}
	n, err := l.Write(append(line, '\n'))
	if err == nil {
		l.whole += int64(n)
	} else if l.file != nil {
		_ = l.file.Truncate(l.whole) // half a line is of no use; err says that it is missing
	}
	return err
}

// close ends the log and says whether all of it was written.
func (l *lineLog) close() error {
	l.fails(l.Close())
	if l.failed != nil {
		return fmt.Errorf("--log %w: lines are missing", l.failed)
	}
	return nil
}
