package data

import (
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"os"
	"runtime"

	"thole.example/kernel"
	"thole.example/wire"
)

// spill says when a set has its place in a file, instead of in memory.
type spill struct {
	limit  int64  // bytes that it takes before; 0: it always is in memory
	folder string // of the file; "": that of the system for such files
}

// at is where a set begins that is made of this one: in a file, if this one is in one.
func (s *Set) at() spill {
	to := s.spill
	if s.Spilled() {
		to.limit = 1
	}
	return to
}

// Spilled is whether the examples are in a file, which has no name: their values; labels, weights, groups and start scores are in memory.
func (s *Set) Spilled() bool { return s.memory != nil && s.memory.filed }

// Bytes is how many bytes the examples take but for labels, weights, groups and start scores.
func (s *Set) Bytes() int64 { return 4*int64(s.used) + 8*int64(len(s.Label)) }

// MarkBytes is how many bytes an example takes beside those: its label, and its weight, group and start scores if there are some.
func (s *Set) MarkBytes() int64 {
	n := int64(4)
	if len(s.Weight) > 0 {
		n += 4
	}
	if len(s.Group) > 0 {
		n += 8
	}
	return n + 8*int64(len(s.Start)/max(1, len(s.Label)))
}

// back moves the set into a file of the folder.
func (s *Set) back() error {
	if s.Spilled() {
		return nil
	}
	if err := backIn(s.spill.folder, &s.memory.words, 4*int(s.used)); err != nil {
		return err
	}
	if err := backIn(s.spill.folder, &s.memory.ends, 8*len(s.Label)); err != nil {
		return err
	}
	s.memory.filed = true
	return nil
}

// backIn moves the first n bytes of memory into a file of the folder that has no name, and is gone with the process, however that ends.
func backIn(folder string, m *kernel.Memory, n int) error {
	if !kernel.CanBack {
		return fmt.Errorf("data: examples that do not fit their memory, on %s: want a larger limit, as they cannot be in a file here: %w",
			runtime.GOOS, errors.ErrUnsupported)
	}
	f, err := os.CreateTemp(folder, "thole-examples-*")
	if err == nil {
		if err = os.Remove(f.Name()); err != nil {
			f.Close()
		}
	}
	if err == nil {
		err = m.Back(f, n)
	}
	if err != nil {
		return fmt.Errorf("data: a file for examples that do not fit their memory: %w", err)
	}
	return nil
}

// stride is after how many bytes that were gone over the system is told that they are not needed.
const stride = 8 << 20

// all are the examples by number, each valid until the next one, and are released as they are gone over.
func (s *Set) all() iter.Seq2[int, *rows] {
	return func(yield func(int, *rows) bool) {
		defer runtime.KeepAlive(s)
		row, first := newRows(1, 0, false), 0
		var from uint64
		for i := range s.Label {
			row.reset()
			s.row(&row, i)
			if !yield(i, &row) {
				break
			}
			if s.memory.filed && s.ends[i]-from > stride/4 {
				from = s.ends[i]
				s.release(first, i+1)
				first = i + 1
			}
		}
		s.release(first, s.Len())
	}
}

// release tells the system that the examples [lo, hi) are not needed soon, if they are in a file. Others may still read them.
func (s *Set) release(lo, hi int) {
	if !s.Spilled() || lo >= hi {
		return
	}
	var from uint64
	if lo > 0 {
		from = s.ends[lo-1]
	}
	s.memory.words.Release(4*int(from), 4*int(s.ends[hi-1]+1))
	s.memory.ends.Release(8*max(0, lo-1), 8*hi)
	runtime.KeepAlive(s)
}

// Checksum tells sets apart that differ in any label, column, value, field, weight, group or start score.
func (s *Set) Checksum() uint32 {
	defer runtime.KeepAlive(s)
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Checksum(wire.View(s.Label), table)
	words, ends := []byte(nil), []byte(nil)
	if len(s.Label) > 0 {
		words, ends = wire.View(s.words[:s.used]), wire.View(s.ends[:len(s.Label)])
	}
	for at := 0; at < len(words); at += stride {
		sum = crc32.Update(sum, table, words[at:min(at+stride, len(words))])
		s.memory.words.Release(at, min(at+stride, len(words)))
	}
	sum = crc32.Update(sum, table, ends)
	s.memory.ends.Release(0, len(ends))
	for _, bytes := range s.marks() {
		sum = crc32.Update(sum, table, bytes)
	}
	return sum
}
