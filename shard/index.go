package shard

import "thole.example/kernel"

// index finds the row of a key: open addressing over lines of five slots, with the place of a key ascending with its hash
// (see kernel.Spread). A key stands in its line or, where that was full, in the first one to the right that was not: so all
// lines from the place of a key to where it is are full but for the last. There is no way around from the end to the
// beginning; after the last place are some lines more.
//
// It grows in place (grow.go): there never is a second table, so it can be rather full all the time.
type index struct {
	spread   kernel.Spread
	mem      kernel.Memory
	lines    []kernel.Line // those in use, and some free ones after them
	keys     int
	last     int // the last line that ever had a key
	edge     int // while it grows: lines from here on have moved
	ready    int // lines from here to readyEnd are prepared for growing next
	readyEnd int
	run      []slot // those that move
}

// slot is what the index knows of a key.
type slot struct {
	key   uint64
	row   uint32
	stamp uint8
}

// slotOf is a slot that is taken.
func slotOf(l *kernel.Line, i int) slot { return slot{l.Key[i], l.Row[i], l.Stamp(i)} }

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

// row is the row of a key whose search begins at a line, 0 if it is not there.
func (x *index) row(line int, key uint64) uint32 {
	for ; ; line++ {
		l := &x.lines[line]
		for i, k := range l.Key {
			if k == key && l.Row[i] != 0 {
				return l.Row[i]
			}
		}
		if !l.Full() {
			return 0
		}
	}
}

// set fills the first free slot of a line.
func (x *index) set(line, at int, s slot) {
	l := &x.lines[line]
	l.Key[at], l.Row[at] = s.key, s.row
	l.SetStamp(at, s.stamp)
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
		x.set(line, kernel.Slots-1, slotOf(&x.lines[from], i))
		line, at = from, i
	}
}

// drop takes out a slot; the last one of the line fills it.
func (x *index) drop(line, at int) {
	l := &x.lines[line]
	end := l.Taken() - 1
	l.Key[at], l.Row[at] = l.Key[end], l.Row[end]
	l.SetStamp(at, l.Stamp(end))
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

// allStamps is the set of all stamps.
const allStamps = 1<<64 - 1

// scan calls f for the keys whose points are in [from, to), in no order.
func (x *index) scan(from, to uint64, f func(s slot)) {
	x.visit(from, to, allStamps, func(line, at int) { f(slotOf(&x.lines[line], at)) })
}

// visit calls f for the slots of the keys whose points are in [from, to) and whose stamps are in the set.
func (x *index) visit(from, to, stamps uint64, f func(line, at int)) {
	if from >= to {
		return
	}
	first := int(x.spread.Line(from << (32 - x.spread.Bits)))
	end := int(x.spread.Line((to - 1) << (32 - x.spread.Bits)))
	within := func(key uint64) bool { p := x.spread.Point(kernel.Hash(key)); return p >= from && p < to }
	edge := true // keys from before may stand in the first lines, up to one that is not full, and keys from after in the last
	for line := first; line < len(x.lines); line++ {
		l := &x.lines[line]
		edge = edge || line >= end
		if l.HasStamp(stamps) {
			for i := range l.Taken() {
				if stamps>>l.Stamp(i)&1 != 0 && (!edge || within(l.Key[i])) {
					f(line, i)
				}
			}
		}
		if edge = l.Full() && edge; line >= end && !edge {
			return
		}
	}
}

// bytes is the memory of the lines in use.
func (x *index) bytes() int64 { return int64(x.mem.Resident(64*(x.last+1)) + 16*cap(x.run)) }
