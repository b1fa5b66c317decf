package data

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"thole.example/matrix"
	"thole.example/wire"
)

// Like is a set of no examples in memory, with the columns and fields of s: a place that Take brings some of them to, again and again.
func (s *Set) Like() *Set {
	out := newSet()
	out.Fields, out.dim, out.fielded, out.wide = s.Fields, s.dim, s.fielded, s.wide
	return out
}

// Reset forgets the examples of a set that Like made, and keeps its memory.
func (s *Set) Reset() {
	s.cut(0)
	s.values, s.used = 0, 0
}

// Free gives the memory of a set back that nobody uses any more. One that is not freed is collected some time after.
func (s *Set) Free() {
	s.memory.free()
	*s = Set{memory: s.memory}
}

// takers is how many stretches of a file are read at a time: a disk is fast when it is asked for more than one, and each takes a processor
// away from the training for a while.
const takers = 2

// Take adds the examples lo, lo+step, ... below hi of each of the ranges, one after the other, of another set, of which or with which
// Like made this one. Those of a file are read from there, each range in one go and some ranges at a time, into memory that nothing pushes
// out; several sets may take at once. After an error this set is as it was.
func (s *Set) Take(from *Set, step int, ranges ...matrix.Range) error {
	defer runtime.KeepAlive(from)
	n, rows := len(s.Label), 0
	parts := make([]taken, 0, len(ranges))
	for _, r := range ranges {
		if r.Lo < r.Hi {
			parts = append(parts, taken{lo: int(r.Lo), hi: int(r.Hi), at: n + rows})
			rows += int(r.Hi-r.Lo) + 1
		}
	}
	if err := s.room(s.used, rows); err != nil {
		return err
	}
	// the ends of the row before and of all rows of a range: ends[k] is where its row k begins
	if err := each(parts, func(p *taken) error {
		before, ends := max(0, p.lo-1), s.ends[p.at:p.at+p.hi-p.lo+1]
		ends[0] = 0
		return from.memory.ends.ReadAt(wire.View(ends[before-(p.lo-1):]), 8*before)
	}); err != nil {
		return unreadable(err)
	}
	used := s.used
	for i := range parts {
		p := &parts[i]
		last := s.ends[p.at+p.hi-p.lo]
		if p.first = s.ends[p.at]; last < p.first || last > from.used {
			return unreadable(fmt.Errorf("the examples %d to %d end at word %d of %d", p.lo, p.hi, last, from.used))
		}
		p.words, p.count = used, last-p.first
		used += p.count
	}
	if err := s.room(used, rows); err != nil {
		return err
	}
	if err := each(parts, func(p *taken) error {
		return from.memory.words.ReadAt(wire.View(s.words[p.words:p.words+p.count]), 4*int(p.first))
	}); err != nil {
		return unreadable(err)
	}
	return s.join(from, step, parts)
}

// taken is a range of rows that is taken: first is the number of its first word in the set that it is of, words where they are in the new
// one, and at where its ends are.
type taken struct {
	lo, hi, at          int
	first, words, count uint64
}

// each calls do with all parts, some at a time.
func each(parts []taken, do func(p *taken) error) (err error) {
	if len(parts) == 1 {
		return do(&parts[0])
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, len(parts))
	for range min(takers, len(parts)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(parts); i = int(next.Add(1)) - 1 {
				errs[i] = do(&parts[i])
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// join moves the rows that were asked for together, of words that are there.
func (s *Set) join(from *Set, step int, parts []taken) error {
	used, values, n := s.used, 0, len(s.Label)
	for _, p := range parts {
		ends := s.ends[p.at : p.at+p.hi-p.lo+1]
		for i := 0; i < p.hi-p.lo; i += step {
			begin, end := ends[i]-p.first, ends[i+1]-p.first
			if begin >= end || end > p.count || uint64(s.words[p.words+begin]&^rowExact) >= end-begin {
				return unreadable(fmt.Errorf("example %d is said to be the words %d to %d of %d", p.lo+i, begin, end, p.count))
			}
			values += int(s.words[p.words+begin] &^ rowExact)
			if used != p.words+begin {
				copy(s.words[used:], s.words[p.words+begin:p.words+end])
			}
			used += end - begin
			s.ends[n] = used // which is before those that are still to be looked at
			n++
		}
	}
	s.used, s.values = used, s.values+values
	for _, p := range parts {
		for i := p.lo; i < p.hi; i += step {
			s.Label = append(s.Label, from.Label[i])
			if len(from.Weight) > 0 {
				s.Weight = append(s.Weight, from.Weight[i])
			}
			if len(from.Group) > 0 {
				s.Group = append(s.Group, from.Group[i])
			}
			s.Start = append(s.Start, startsOf(from.Start, len(from.Label), i, i+1)...)
		}
	}
	return nil
}

// unreadable is an error of the file that examples are in.
func unreadable(err error) error {
	return fmt.Errorf("data: the file of examples that do not fit their memory: %w", err)
}
