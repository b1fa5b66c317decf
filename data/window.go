package data

import (
	"fmt"
	"runtime"

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
	s.Label, s.Weight, s.Group, s.values, s.used = s.Label[:0], s.Weight[:0], s.Group[:0], 0, 0
}

// Free gives the memory of a set back that nobody uses any more. One that is not freed is collected some time after.
func (s *Set) Free() {
	s.memory.free()
	*s = Set{memory: s.memory}
}

// Take adds the examples lo, lo+step, ... below hi of another set, of which or with which Like made this one. Those of a file are read
// from there in one go, into memory that nothing pushes out; several may do so at once. After an error this set is as it was.
func (s *Set) Take(from *Set, lo, hi, step int) error {
	defer runtime.KeepAlive(from)
	n, rows := len(s.Label), hi-lo
	if rows <= 0 {
		return nil
	}
	if err := s.room(s.used, rows+1); err != nil {
		return err
	}
	before, ends := max(0, lo-1), s.ends[n:n+rows+1] // ends[i] is where the row lo+i begins, and ends[i+1] where it ends
	ends[0] = 0
	if err := from.memory.ends.ReadAt(wire.View(ends[before-(lo-1):]), 8*before); err != nil {
		return unreadable(err)
	}
	first, at := ends[0], s.used
	count := ends[rows] - first
	if ends[rows] < first || ends[rows] > from.used {
		return unreadable(fmt.Errorf("the examples %d to %d end at word %d of %d", lo, hi, ends[rows], from.used))
	}
	if err := s.room(at+count, rows+1); err != nil {
		return err
	}
	ends = s.ends[n : n+rows+1]
	if err := from.memory.words.ReadAt(wire.View(s.words[at:at+count]), 4*int(first)); err != nil {
		return unreadable(err)
	}
	used, values, taken := at, 0, 0
	for i := 0; i < rows; i += step {
		begin, end := ends[i]-first, ends[i+1]-first
		if begin >= end || end > count || uint64(s.words[at+begin]) >= end-begin {
			return unreadable(fmt.Errorf("example %d is said to be the words %d to %d of %d", lo+i, begin, end, count))
		}
		values += int(s.words[at+begin])
		if step > 1 {
			copy(s.words[used:], s.words[at+begin:at+end])
		}
		used += end - begin
		ends[taken] = used
		taken++
	}
	s.used, s.values = used, s.values+values
	for i := lo; i < hi; i += step {
		s.Label = append(s.Label, from.Label[i])
		if len(from.Weight) > 0 {
			s.Weight = append(s.Weight, from.Weight[i])
		}
		if len(from.Group) > 0 {
			s.Group = append(s.Group, from.Group[i])
		}
	}
	return nil
}

// unreadable is an error of the file that examples are in.
func unreadable(err error) error {
	return fmt.Errorf("data: the file of examples that do not fit their memory: %w", err)
}
