package kernel

// Hash spreads keys over all 64 bits, also keys that are equal in their low or high bits or in arithmetic progression. It
// is the one hash of the system: its top bits choose the partition of a key, the 32 bits after them its place in the
// partition's index. No two keys have the same hash, so an order by hash is total. Source: Mayhew's finalizer with
// Degski's constant, a multiplication between three shifts by half a word, twice.
func Hash(key uint64) uint64 {
	const m = 0xd6e8feb86659fd93
	key ^= key >> 32
	key *= m
	key ^= key >> 32
	key *= m
	return key ^ key>>32
}

// Spread says where in an index a hash belongs. Places ascend with the hash, whatever the number of lines is, so an index
// lies almost in the order of hashes. While an index grows, hashes from From on are spread over Wide lines, the others
// still over Lines; an index that does not grow has From = 1<<32 or Wide = Lines.
type Spread struct {
	Bits  uint64 // top bits of the hash that are the same for all keys here: those that chose the partition
	Lines uint64 // below 1<<32
	Wide  uint64 // below 1<<32
	From  uint64 // a place in the circle of 1<<32 places that Point gives
}

// Point is the 32 bits of a hash that choose its line.
func (s *Spread) Point(hash uint64) uint64 { return hash << s.Bits >> 32 }

// Line is the line where the search for a hash begins.
func (s *Spread) Line(hash uint64) uint32 {
	at, lines := s.Point(hash), s.Lines
	if at >= s.From {
		lines = s.Wide
	}
	return uint32(at * lines >> 32)
}

// Hashes writes the hash of each key.
func Hashes(dst []uint64, keys []int64) { hashes(machine, dst, keys) }

func hashes(on level, dst []uint64, keys []int64) {
	dst = dst[:len(keys)]
	for i := hashOn(on, dst, keys); i < len(keys); i++ {
		dst[i] = Hash(uint64(keys[i]))
	}
}

// Within is how many keys stand before the first one that is not in [lo, hi), or whose hash does not begin with top as its first bits,
// of which there may be none.
func Within(keys []int64, lo, hi int64, bits int, top uint64) int {
	return within(machine, keys, lo, hi, bits, top)
}

func within(on level, keys []int64, lo, hi int64, bits int, top uint64) int {
	width := uint64(max(lo, hi) - lo) // also where that goes beyond int64
	i := withinOn(on, keys, lo, width, bits, top)
	for ; i < len(keys); i++ {
		if uint64(keys[i]-lo) >= width || Hash(uint64(keys[i]))>>(64-bits) != top {
			break
		}
	}
	return i
}
