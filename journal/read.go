package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Record is a record as it is read.
type Record struct {
	Position uint64 // of the record
	End      uint64 // after it
	Kind     uint32
	Body     []byte
}

// Reader reads records in order, and follows the end of the log. It is for one goroutine; a log may have many.
type Reader struct {
	log      *Log
	position uint64
	limit    uint64 // up to here the source can be read
	source   *source
	window   int                      // of sources; 0: windowLen
	renew    func(used []byte) []byte // of sources
	ahead    *ahead                   // nil: records are read when they are asked for
}

// Read gives a reader of the records from a position on, which has to be one that Append or a Record gave, or that of [Log.First]. Close
// it. If the position is before those that are there the error is [ErrGone].
func (l *Log) Read(from uint64) (*Reader, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first := l.segments[0].first; from < first {
		return nil, fmt.Errorf("journal: reading from position %d, want at least %d: %w", from, first, ErrGone)
	}
	if from > l.next {
		return nil, fmt.Errorf("journal: reading from position %d, want at most the end of the log, %d: is the position of another log?",
			from, l.next)
	}
	return &Reader{log: l, position: from, limit: from}, nil
}

// Position is that of the record that Next gives next.
func (r *Reader) Position() uint64 { return r.position }

// Next gives the next record, and waits until it is durable. The body is valid until the next call. Errors are that of ctx, after which
// Next may be called again; [ErrClosed], or why the log failed, when everything durable was read; [ErrGone] if Truncate has removed what
// comes next; and [ErrDamaged].
func (r *Reader) Next(ctx context.Context) (Record, error) {
	if r.ahead != nil {
		rec, err := r.ahead.take(ctx)
		if err == nil {
			r.position = rec.End
		}
		return rec, err
	}
	if r.position >= r.limit {
		if err := r.log.await(ctx, r.position+1); err != nil {
			return Record{}, err
		}
		if err := r.more(); err != nil {
			return Record{}, err
		}
	}
	h, body, err := r.source.record(r.position)
	if first := r.log.First(); torn(err) && r.position < first {
		return Record{}, fmt.Errorf("journal: reading at position %d, want at least %d: %w", r.position, first, ErrGone)
	}
	if err != nil {
		return Record{}, wrong(r.source.name, err)
	}
	rec := Record{h.position, h.position + uint64(padded(int(h.n))), h.kind, body}
	r.position = rec.End
	return rec, nil
}

// more finds out in which segment the position is, and how much of it can be read.
func (r *Reader) more() error {
	l := r.log
	l.mu.Lock()
	i := len(l.segments) - 1
	r.limit = l.durable
	for i >= 0 && l.segments[i].first > r.position {
		r.limit = min(r.limit, l.segments[i].first)
		i--
	}
	if i < 0 {
		first := l.segments[0].first
		l.mu.Unlock()
		r.limit = r.position
		return fmt.Errorf("journal: reading at position %d, want at least %d: %w", r.position, first, ErrGone)
	}
	g := l.segments[i]
	l.mu.Unlock()
	if r.source == nil || r.source.first != g.first {
		s, err := openSource(l.files, g)
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.Join(err, ErrGone)
		}
		if err != nil {
			r.limit = r.position
			return fmt.Errorf("journal: %w", err)
		}
		s.seed, s.window, s.renew = l.seed, r.window, r.renew
		if err := r.Close(); err != nil {
			return errors.Join(err, s.file.Close())
		}
		r.source = s
	}
	r.source.limit = r.source.at(r.limit)
	return nil
}

// Close ends reading. It does not touch the log.
func (r *Reader) Close() error {
	if r.ahead != nil {
		return r.ahead.close()
	}
	if r.source == nil {
		return nil
	}
	s := r.source
	r.source = nil
	if err := s.file.Close(); err != nil {
		return wrong(s.name, err)
	}
	return nil
}
