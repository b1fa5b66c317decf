package shard

import "thole.example/kernel"

// index finds the row of a key: open addressing over lines of five slots, with the place of a key ascending with its hash
// (see kernel.Spread). A key stands in its line or, where that was full, in the first one to the right that was not: so all
// lines from the place of a key to where it is are full but for the last. There is no way around from the end to the
// beginning; after the last place are some lines more.
//
// It grows in place (grow.go): there never is a second table, so it can be rather full all the time.
type index struct {
	spread kernel.Spread
	mem    kernel.Memory
	lines  []kernel.Line // those in use, and some free ones after them
	keys   int
	last   int    // the last line that ever had a key
	edge   int    // while it grows: lines from here on have moved
	ready  int    // lines for which there is memory
	run    []slot // those that move
}

// slot is what the index knows of a key.
type slot struct {
	key uint64
	row uint32
}

// firstLines is how many lines an index begins with.
const firstLines = 4

// allPoints is after every point of a hash.
const allPoints = 1 << 32

func newIndex(bits int) (*index, error) {
	x := &index{spread: kernel.Spread{Bits: uint64(bits), Lines: firstLines, Wide: firstLines, From: allPoints}}
	return x, x.extend(0)
}

// line is where the search for a key begins.
func (x *index) line(key uint64) int { return int(x.spread.Line(kernel.Hash(key))) }

// find is the line of a key and its slot there; ok is false if it is not there, and the slot then the one for it.
func (x *index) find(key uint64) (line, at int, ok bool) {
	for line = x.line(key); ; line++ {
		l := &x.lines[line]
		taken := l.Taken()
		for i := range taken {
			if l.Key[i] == key {
				return line, i, true
			}
		}
		if taken < kernel.Slots {
			return line, taken, false
		}
	}
}

// set fills the first free slot of a line.
func (x *index) set(line, at int, s slot) {
	x.lines[line].Key[at], x.lines[line].Row[at] = s.key, s.row
	x.last = max(x.last, line)
}

// remove takes a key out and gives its row. What stands to the right because lines were full moves back, so that no search
// ends too early.
func (x *index) remove(key uint64) (row uint32, ok bool) {
	line, at, ok := x.find(key)
	if !ok {
		return 0, false
	}
	x.keys--
	row = x.lines[line].Row[at]
	for {
		full := x.lines[line].Full()
		x.drop(line, at)
		if !full {
			return row, true
		}
		from, i := x.strayed(line)
		if i < 0 {
			return row, true
		}
		l := &x.lines[from]
		x.set(line, kernel.Slots-1, slot{l.Key[i], l.Row[i]})
		line, at = from, i
	}
}

// drop takes out a slot; the last one of the line fills it.
func (x *index) drop(line, at int) {
	l := &x.lines[line]
	end := l.Taken() - 1
	l.Key[at], l.Row[at] = l.Key[end], l.Row[end]
	l.Key[end], l.Row[end] = 0, 0
}

// strayed finds a key after a line whose search goes through it: in the first line that has one, up to the first that is
// not full. at is -1 if there is none.
func (x *index) strayed(hole int) (line, at int) {
	for line = hole + 1; ; line++ {
		l := &x.lines[line]
		for i := range l.Taken() {
			if x.line(l.Key[i]) <= hole {
				return line, i
			}
		}
		if !l.Full() {
			return line, -1
		}
	}
}

// scan calls f for the keys whose points are in [from, to), in no order.
func (x *index) scan(from, to uint64, f func(s slot)) {
	if from >= to {
		return
	}
	first := int(x.spread.Line(from << (32 - x.spread.Bits)))
	end := int(x.spread.Line((to - 1) << (32 - x.spread.Bits)))
	for line := first; line < len(x.lines); line++ {
		l := &x.lines[line]
		for i := range l.Taken() {
			if p := x.spread.Point(kernel.Hash(l.Key[i])); p >= from && p < to {
				f(slot{l.Key[i], l.Row[i]})
			}
		}
		if line >= end && !l.Full() {
			return
		}
	}
}

// bytes is the memory of the lines in use.
func (x *index) bytes() int64 { return int64(x.mem.Resident(64*(x.last+1)) + 16*cap(x.run)) }
