package journal

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"thole.example/wire"
)

const (
	suffix    = ".log"
	digits    = 20 // of a segment's name
	repairLen = 1 << 20
)

// name is that of the segment's file.
func (s *segment) name() string { return fmt.Sprintf("%0*d%s", digits, s.first, suffix) }

// segmentsOf are the segments among names, oldest first.
func segmentsOf(names []string) (out []*segment) {
	for _, name := range names {
		number, ok := strings.CutSuffix(name, suffix)
		first, err := strconv.ParseUint(number, 10, 64)
		if ok && err == nil && len(number) == digits {
			out = append(out, &segment{first: first})
		}
	}
	slices.SortFunc(out, func(a, b *segment) int { return cmp.Compare(a.first, b.first) })
	return out
}

// recover finds the end of the log, cuts off what is torn there, and makes ready for appending.
func (l *Log) recover() (err error) {
	// What the process before has removed, or made, must not come back when something else is removed.
	if err := l.files.Sync(); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	names, err := l.files.List()
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, sparePrefix) { // what is in them is not known
			if err := l.files.Remove(name); err != nil {
				return fmt.Errorf("journal: %w", err)
			}
		}
	}
	l.segments = segmentsOf(names)
	if len(l.segments) == 0 {
		return l.begin()
	}
	sources := make([]*source, 0, len(l.segments))
	defer func() {
		for _, s := range sources {
			if l.active == nil || s.file != l.active.file {
				err = errors.Join(err, s.file.Close())
			}
		}
	}()
	for _, g := range l.segments {
		s, err := openSource(l.files, g)
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		sources = append(sources, s)
		previous, err := l.label(s)
		if n := len(sources); err == nil && n > 1 && previous != sources[n-2].first {
			err = flaw(32, "the segment before begins at position %d, want %d, that of %s: if one is missing, bring it back, "+
				"else go on from a checkpoint with a new log", previous, sources[n-2].first, sources[n-2].name)
		}
		if err != nil {
			return wrong(s.name, err)
		}
	}
	return l.records(sources)
}

// begin makes the first segment of a new log.
func (l *Log) begin() error {
	if l.id = l.options.Identity; l.id == "" {
		l.id = rand.Text()
	}
	l.seed = seedOf(l.id)
	first := l.options.First
	s, err := l.create(label{first: first, synced: first, previous: first, identity: l.id})
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	l.active, l.segments, l.next, l.durable, l.synced = s, []*segment{s}, first, first, first
	return nil
}

// openSource opens a segment for reading, and for what recovery has to write.
func openSource(files Files, g *segment) (*source, error) {
	f, err := files.Open(g.name())
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", g.name(), err), f.Close())
	}
	return &source{file: f, name: g.name(), first: g.first, limit: size}, nil
}

// label reads the head of a segment. The first one says whose the log is. A segment has its name only when its head is durable, so no
// crash damages one. previous is the first position of the segment before.
func (l *Log) label(s *source) (previous uint64, err error) {
	b, err := s.bytes(0, int(min(s.limit, segmentHead)))
	if err != nil {
		return 0, err
	}
	h, err := decodeLabel(b, s.first)
	if err != nil {
		return 0, err
	}
	if l.id == "" {
		l.id, l.seed = h.identity, seedOf(h.identity)
	}
	for _, want := range []string{l.id, l.options.Identity} {
		if want != "" && h.identity != want {
			return 0, &wire.At{Off: 40, Err: fmt.Errorf("the identity is %q, want %q: %w", h.identity, want, ErrForeign)}
		}
	}
	s.seed, s.synced = l.seed, h.synced
	return h.previous, nil
}

// records reads all records, and finds where the log ends.
func (l *Log) records(sources []*source) error {
	for i, s := range sources[:len(sources)-1] {
		s.limit = min(s.limit, s.at(min(sources[i+1].first, s.first+uint64(s.limit))))
	}
	ends := scanAll(sources)
	group := sources[0].first // where the last group begins
	for i, s := range sources {
		last := i == len(sources)-1
		next := s.first
		if !last {
			next = sources[i+1].first
		}
		end, err := ends[i].end, ends[i].err
		if end > s.first {
			group = ends[i].group
		}
		if err == nil && !last && end != next {
			err = flaw(s.limit, "the file ends at position %d, want records up to %d, where %s begins", end, next, sources[i+1].name)
		}
		switch {
		case err != nil && !torn(err):
			return wrong(s.name, err)
		case err != nil:
			if err := l.tear(sources[i:], end, err); err != nil {
				return err
			}
			return l.resume(s, end, group)
		case last:
			return l.resume(s, end, group)
		}
		if err := s.file.Sync(); err != nil {
			return wrong(s.name, err)
		}
	}
	return nil
}

// scanned is what was found in a segment.
type scanned struct {
	end   uint64 // position after the last record
	group uint64 // where the group of that begins, if there are records
	err   error  // of what comes there, nil for the end of the segment
}

// scanAll reads the records of all segments, of several at a time.
func scanAll(sources []*source) []scanned {
	out := make([]scanned, len(sources))
	var next atomic.Int64
	var running sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(sources)) {
		running.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(sources)); i = next.Add(1) - 1 {
				out[i] = sources[i].scan()
			}
		})
	}
	running.Wait()
	return out
}

// scan reads the records of a segment.
func (s *source) scan() scanned {
	out := scanned{end: s.first}
	for s.at(out.end) < s.limit {
		h, _, err := s.record(out.end)
		if err != nil {
			out.err = err
			break
		}
		out.group = h.synced
		out.end += uint64(padded(int(h.n)))
	}
	return out
}

// tear decides what it means that there is no record at the end, in the first of the segments: it refuses the log if anything later
// knows that the place was durable, and else removes the segments after the first.
func (l *Log) tear(sources []*source, end uint64, cause error) error {
	s := sources[0]
	for i, t := range sources {
		from := t.first
		if i == 0 {
			from = end
		} else if t.synced > end {
			return damaged(s.name, cause, t.first)
		}
		found, ok, err := t.later(from, end)
		if err != nil {
			return wrong(t.name, err)
		}
		if ok {
			return damaged(s.name, cause, found)
		}
	}
	blank, err := s.blank(end)
	if err != nil {
		return wrong(s.name, err)
	}
	if !blank || len(sources) > 1 {
		l.cut = wrong(s.name, cause)
	}
	for i := len(sources) - 1; i > 0; i-- { // the last one first: never is there a gap
		err := l.files.Remove(sources[i].name)
		if err == nil {
			err = l.files.Sync()
		}
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		l.segments = l.segments[:len(l.segments)-1]
	}
	return nil
}

// damaged refuses a log.
func damaged(name string, cause error, later uint64) error {
	return fmt.Errorf("journal: %s: %w: it was durable when position %d was written, so no crash has torn it; "+
		"restore the file, or go on from a checkpoint with a new log", name, cause, later)
}

// resume makes the log go on at its end, in the segment s, with everything before it durable.
func (l *Log) resume(s *source, end, group uint64) error {
	g := l.segments[len(l.segments)-1]
	g.file, g.size = s.file, s.at(end)
	err := s.file.Truncate(g.size) // else a torn record could come to stand behind a new one as if it had followed it
	if err == nil && !l.options.NoSync {
		err = s.repair(max(group, s.first), end)
	}
	if err == nil {
		err = s.file.Allocate(segmentHead + l.options.Segment)
	}
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		return wrong(s.name, err)
	}
	l.active, l.next, l.durable, l.synced = g, end, end, end
	return nil
}

// repair writes the last group again, as it is. If the process before could not make it durable the system may have it in memory and
// believe that it is on disk: a sync alone would do nothing.
func (s *source) repair(from, end uint64) error {
	s.limit = s.at(end)
	for at := s.at(from); at < s.limit; at += repairLen {
		n := int(min(repairLen, s.limit-at))
		b, err := s.bytes(at, n)
		if err != nil {
			return err
		}
		if wrote, err := s.file.WriteVec([][]byte{b}, at); err != nil || wrote != int64(n) {
			return errors.Join(err, fmt.Errorf("%d of %d bytes written again at byte %d", wrote, n, at))
		}
	}
	return nil
}
