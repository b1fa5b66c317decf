package kernel

// Slots is the number of keys in a line.
const Slots = 5

// LineBytes is the size of a Line.
const LineBytes = 64

// Line is five slots of an index in one line of the cache, keys beside keys, so that one comparison meets them all. Slots
// are taken from the first one on; keys and rows of those after them are zero. A key and its row cost 12 bytes and a part of the
// last four, a fifth less than slots of 16 bytes: an index of the same size is that much emptier, and most searches end where
// they begin. The last four are a stamp for each slot, whatever it is for: a search that has found a key has it at hand.
//
//	0  key    5 x u64
//	40 row    5 x u32, from 1 on; 0 where the slot is free
//	60 stamps 5 x u6 from the lowest bits on, and two bits
type Line struct {
	Key    [Slots]uint64
	Row    [Slots]uint32
	stamps uint32
}

// StampBits is how many bits a stamp has.
const StampBits = 6

// stampMask is a stamp of all ones.
const stampMask = 1<<StampBits - 1

// Stamp is that of a slot.
func (l *Line) Stamp(i int) uint8 { return uint8(l.stamps >> (StampBits * i) & stampMask) }

// SetStamp replaces that of a slot; v is below 1<<StampBits.
func (l *Line) SetStamp(i int, v uint8) {
	l.stamps = l.stamps&^(stampMask<<(StampBits*i)) | uint32(v)<<(StampBits*i)
}

// HasStamp reports whether a slot, be it free or not, has one of the stamps in the set: bit v stands for stamp v.
func (l *Line) HasStamp(set uint64) bool {
	s := l.stamps
	return (set>>(s&63)|set>>(s>>6&63)|set>>(s>>12&63)|set>>(s>>18&63)|set>>(s>>24&63))&1 != 0
}

// Stamp is a stamp as [FindStamp] sets it: by slot what stays of the others, and the stamp itself.
type Stamp struct{ keep, put [8]uint32 }

// NewStamp is the stamp v, below 1<<StampBits.
func NewStamp(v uint8) (s Stamp) {
	for i := range Slots {
		s.keep[i], s.put[i] = ^uint32(stampMask<<(StampBits*i)), uint32(v)<<(StampBits*i)
	}
	return s
}

// Taken is how many slots have a key.
func (l *Line) Taken() int {
	for i, row := range l.Row {
		if row == 0 {
			return i
		}
	}
	return Slots
}

// Full reports whether all slots have a key: then a search goes on in the next line.
func (l *Line) Full() bool { return l.Row[Slots-1] != 0 }

// Locate writes for every key the line where its search begins.
func Locate(s *Spread, keys []int64, at []uint32) {
	if len(keys) > 0 {
		locateOn(machine, s, keys, at[:len(keys)])
	}
}

// Finder searches for keys, and meanwhile has the processor fetch what is needed soon. The zero Finder fetches lines alone.
type Finder struct {
	stamp *Stamp
	asm   finding
}

// NewFinder is a Finder that stamps the slots of the keys that it finds if s is not nil, and else has the first size bytes of their
// rows fetched; row i of the slab begins at i*stride.
func NewFinder(s *Stamp, slab []byte, stride, size int) Finder {
	return Finder{s, newFinding(s, slab, stride, size)}
}

// Find writes for every key its row, or 0 where there is none, and counts the latter. The search goes from the line in at
// to the first one with a free slot; there must be one. next are lines where later searches will begin: it has one of them fetched
// for each key.
func (f *Finder) Find(lines []Line, keys []int64, at, rows, next []uint32) (missing int) {
	if len(keys) == 0 {
		return 0
	}
	return f.find(machine, lines, keys, at[:len(keys)], rows[:len(keys)], next)
}

// FindNext is Find without lines, where the keys lo, lo+1 and so on are in rows 1 to n.
func FindNext(lo, n int64, keys []int64, rows []uint32) { findNext(machine, lo, n, keys, rows) }

func findNext(on level, lo, n int64, keys []int64, rows []uint32) {
	rows = rows[:len(keys)]
	for i := findNextOn(on, lo, n, keys, rows); i < len(keys); i++ {
		row := keys[i] - lo // which may go beyond int64, and back as a uint64
		if uint64(row) >= uint64(n) {
			row = -1
		}
		rows[i] = uint32(row + 1)
	}
}

// Fetch has the processor fetch the first size bytes of the rows; row i of the slab begins at i*stride.
func Fetch(slab []byte, stride, size int, rows []uint32) {
	if len(rows) > 0 && size > 0 {
		fetchOn(machine, slab, stride, size, rows)
	}
}

func locate(s *Spread, keys []int64, at []uint32) {
	for i, key := range keys {
		at[i] = s.Line(Hash(uint64(key)))
	}
}

func find(lines []Line, keys []int64, at, rows []uint32, s *Stamp) (missing int) {
	for i, key := range keys {
		rows[i] = findOne(lines, uint64(key), at[i], s)
		if rows[i] == 0 {
			missing++
		}
	}
	return missing
}

// findOne takes a free slot for the key 0: its row is 0 all the same, and the key itself would stand before it. A stamp of that
// means nothing.
func findOne(lines []Line, key uint64, at uint32, s *Stamp) uint32 {
	for ; ; at++ {
		l := &lines[at]
		for i, k := range l.Key {
			if k == key {
				if s != nil {
					l.stamps = l.stamps&s.keep[i] | s.put[i]
				}
				return l.Row[i]
			}
		}
		if !l.Full() {
			return 0
		}
	}
}
