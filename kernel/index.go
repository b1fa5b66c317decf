package kernel

// Slots is the number of keys in a line.
const Slots = 5

// Line is five slots of an index in one line of the cache, keys beside keys, so that one comparison meets them all. Slots
// are taken from the first one on; those after them are zero. A key and its row cost 12 bytes and a part of the last four, a
// fifth less than slots of 16 bytes: an index of the same size is that much emptier, and most searches end where they
// begin.
//
//	0  key   5 x u64
//	40 row   5 x u32, from 1 on; 0 where the slot is free
//	60 free  u32
type Line struct {
	Key [Slots]uint64
	Row [Slots]uint32
	_   uint32
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

// Locate writes for every key the line where its search begins, and has the processor fetch it. Every line that s gives
// must be among lines.
func Locate(s *Spread, lines []Line, keys []int64, at []uint32) {
	if len(keys) > 0 {
		locateOn(machine, s, lines, keys, at[:len(keys)])
	}
}

// Find writes for every key its row, or 0 where there is none, and counts the latter. The search goes from the line in at
// to the first one with a free slot; there must be one.
func Find(lines []Line, keys []int64, at, rows []uint32) (missing int) {
	if len(keys) == 0 {
		return 0
	}
	return findOn(machine, lines, keys, at[:len(keys)], rows[:len(keys)])
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

func find(lines []Line, keys []int64, at, rows []uint32) (missing int) {
	for i, key := range keys {
		rows[i] = findOne(lines, uint64(key), at[i])
		if rows[i] == 0 {
			missing++
		}
	}
	return missing
}

// findOne takes a free slot for the key 0: its row is 0 all the same, and the key itself would stand before it.
func findOne(lines []Line, key uint64, at uint32) uint32 {
	for ; ; at++ {
		l := &lines[at]
		for i, k := range l.Key {
			if k == key {
				return l.Row[i]
			}
		}
		if !l.Full() {
			return 0
		}
	}
}
